//! Which part a task plays: how it decides, and what befalls it. Its number tells it, so that the model, who sees the
//! prompt alone, knows it too.

/// The strategy of a task, and the form in which its model speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Manner {
    Directive,
    Direct,
    Plan,
    Numbered,
    Goals,
}

impl Manner {
    pub const ALL: [Manner; 5] = [
        Manner::Directive,
        Manner::Direct,
        Manner::Plan,
        Manner::Numbered,
        Manner::Goals,
    ];

    /// The strategy's name.
    pub fn as_str(self) -> &'static str {
        match self {
            Manner::Directive => "directive",
            Manner::Direct => "direct",
            Manner::Plan => "plan",
            Manner::Numbered => "numbered",
            Manner::Goals => "goals",
        }
    }

    /// The kind of its tasks.
    pub fn kind(self) -> String {
        format!("torture_{}", self.as_str())
    }
}

/// What befalls a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fate {
    /// It leaves its marks and ends.
    Plain,
    /// It never ends by itself, and is cancelled while a call is in flight.
    Cancelled,
    /// It asks a person once.
    Asks,
    /// It has another task leave marks and waits for its end.
    Parent,
    /// It sleeps after every second mark until its schedule wakes it, and is cancelled in the end.
    Scheduled,
    /// The same, but somebody has to wake it.
    Woken,
    /// Its model sleeps for a second in the middle of its work.
    Naps,
    /// As `Woken`, but a computer tells of what it waits for.
    Told,
    /// Two of its marks need a person's consent, which is refused to the first of them.
    Consents,
    /// When it has ended, somebody forks it; the fork leaves marks of its own.
    Forked,
}

const FATES: [Fate; 10] = [
    Fate::Plain,
    Fate::Cancelled,
    Fate::Asks,
    Fate::Parent,
    Fate::Scheduled,
    Fate::Woken,
    Fate::Naps,
    Fate::Told,
    Fate::Consents,
    Fate::Forked,
];

/// Numbers of children begin here.
const CHILDREN: usize = 1_000_000;
/// Those of forks.
const FORKS: usize = 2_000_000;

/// A task's part.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Part {
    pub manner: Manner,
    pub fate: Fate,
}

impl Part {
    /// Every strategy meets every fate within 50 tasks.
    pub fn of(task: usize) -> Part {
        if is_fork(task) {
            return Part {
                manner: Part::of(task - FORKS).manner,
                fate: Fate::Plain,
            };
        }
        if is_child(task) {
            // Another strategy than its parent's.
            return Part {
                manner: Manner::ALL
                    [(number(Part::of(task - CHILDREN).manner) + 2) % Manner::ALL.len()],
                fate: Fate::Plain,
            };
        }
        Part {
            manner: Manner::ALL[(task + task / FATES.len()) % Manner::ALL.len()],
            fate: FATES[task % FATES.len()],
        }
    }

    /// Whether it sleeps and is woken.
    pub fn lives_on(self) -> bool {
        matches!(self.fate, Fate::Scheduled | Fate::Woken | Fate::Told)
    }

    /// Whether only a cancel ends it.
    pub fn is_endless(self) -> bool {
        self.fate == Fate::Cancelled || self.lives_on()
    }
}

/// Where a manner stands among all.
fn number(manner: Manner) -> usize {
    let same = |other: &Manner| *other == manner;
    Manner::ALL.iter().position(same).unwrap_or_default()
}

/// The number of the task that this one starts.
pub fn child_of(task: usize) -> usize {
    CHILDREN + task
}

/// Whether another task starts it.
pub fn is_child(task: usize) -> bool {
    (CHILDREN..FORKS).contains(&task)
}

/// The number of the task that goes on from this one.
pub fn fork_of(task: usize) -> usize {
    FORKS + task
}

/// Whether it goes on from another one.
pub fn is_fork(task: usize) -> bool {
    task >= FORKS
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn every_strategy_meets_every_fate_and_ten_tasks_have_some_of_each() {
        let names = |tasks: std::ops::Range<usize>| -> BTreeSet<String> {
            let parts = tasks.map(Part::of);
            parts
                .map(|part| format!("{:?} {:?}", part.manner, part.fate))
                .collect()
        };
        assert_eq!(names(0..50).len(), 50);
        let ten: Vec<Part> = (0..10).map(Part::of).collect();
        assert!(FATES.iter().all(|fate| ten.iter().any(|p| p.fate == *fate)));
        assert!(
            Manner::ALL
                .iter()
                .all(|m| ten.iter().any(|p| p.manner == *m))
        );
    }

    #[test]
    fn a_child_plays_another_manner_than_its_parent_a_fork_the_same_and_both_just_end() {
        for task in 0..50 {
            let child = Part::of(child_of(task));
            assert_ne!(child.manner, Part::of(task).manner);
            assert_eq!(child.fate, Fate::Plain);
            let fork = Part::of(fork_of(task));
            assert_eq!(fork.manner, Part::of(task).manner);
            assert_eq!(fork.fate, Fate::Plain);
            assert!(is_fork(fork_of(task)) && !is_child(fork_of(task)));
        }
    }
}

//! What is done to whom, from a seed. The same seed gives the same plan; when each blow falls in the work of the tasks is
//! not the same, because time is real.

use crate::crash_points::Point;
use crate::sim::Random;
use std::time::Duration;

/// Points of the server's write path, with how often one is passed at most before it strikes.
const SERVER_POINTS: &[(Point, u64)] = &[
    (Point::GenerationCommitted, 6),
    (Point::BeforeAnswerCommit, 12),
    (Point::AfterAnswerCommit, 12),
    (Point::BeforeDecidedCommit, 20),
    (Point::AfterDecidedCommit, 20),
    (Point::AfterReserve, 10),
    (Point::BeforeIntentCommit, 10),
    (Point::InTransaction, 40),
    (Point::CommittedUntold, 40),
    (Point::BeforeDispatch, 10),
    (Point::AfterDispatch, 10),
    (Point::BeforeResultCommit, 10),
    (Point::BeforeResultStored, 10),
    (Point::AfterResultStored, 10),
    (Point::BeforeEndCommit, 1),
    (Point::AfterEndCommit, 1),
];

/// Points of a computer's write path. Each call opens and writes about six files.
const COMPUTER_POINTS: &[Point] = &[
    Point::FileOpened,
    Point::BeforeFileWrite,
    Point::AfterFileWrite,
];
const MOST_FILE_WRITES: u64 = 30;

/// How a process dies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Death {
    /// At a named point, when it is passed for the n-th time.
    At(Point, u64),
    /// So long after calls were seen in flight.
    After(Duration),
}

/// What goes wrong without anybody being killed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Trouble {
    /// The connection of this computer breaks.
    Cut(usize),
    /// Nothing passes between this computer and the server for a while.
    Hold(usize, Duration),
    /// The disk of this computer takes no byte for a while.
    ComputerDiskFull(usize, Duration),
    /// The server's disk takes no byte for a while.
    ServerDiskFull(Duration),
}

/// What happens in one life of the server, in this order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Life {
    /// Milliseconds by which its clock is off.
    pub clock_ms: i64,
    pub troubles: Vec<Trouble>,
    /// Computers that are killed while it lives on, each so long after calls were in flight.
    pub computers: Vec<(usize, Duration)>,
    pub death: Death,
    /// A computer that dies together with it.
    pub with: Option<usize>,
}

/// An endless plan.
#[derive(Debug)]
pub struct Plan {
    seed: u64,
    computers: usize,
    random: Random,
    /// The lives of computers so far.
    boots: u64,
}

impl Plan {
    /// `computers` is at least 1.
    pub fn new(seed: u64, computers: usize) -> Self {
        Plan {
            seed,
            computers: computers.max(1),
            random: Random::new(seed),
            boots: 0,
        }
    }

    /// The next life of the server.
    pub fn life(&mut self) -> Life {
        // Within the 24 hours that an idempotency key holds, so that no task is started twice for that reason.
        let clock_ms = match self.chance(60) {
            true => 0,
            false => self.random.below(12 * 3_600_000) as i64 - 6 * 3_600_000,
        };
        let at_a_point = self.chance(65);
        let death = match at_a_point {
            true => {
                let (point, most) = self.of(SERVER_POINTS);
                Death::At(point, 1 + self.random.below(most))
            }
            false => Death::After(self.pause(0, 120)),
        };
        // A life that ends at a point may end at any moment: there is no order in which others could die before.
        let (mut computers, mut troubles) = (Vec::new(), Vec::new());
        if !at_a_point {
            for _ in 0..self.random.below(2) {
                computers.push((self.computer(), self.pause(0, 80)));
            }
        }
        if self.chance(40) {
            troubles.push(self.trouble());
        }
        let with = self.chance(15).then(|| self.computer());
        Life {
            clock_ms,
            troubles,
            computers,
            death,
            with,
        }
    }

    /// How the next process of a computer dies by itself, if it does. By its own count, since computers come back in
    /// an order that time decides.
    pub fn boot(&mut self) -> Option<(Point, u64)> {
        self.boots += 1;
        let mut random = Random::new(self.seed ^ self.boots.wrapping_mul(0x9E37_79B9));
        let wanted = random.below(100) < 60;
        let point = COMPUTER_POINTS[random.below(COMPUTER_POINTS.len() as u64) as usize];
        // The first writes are those of the boot itself.
        wanted.then(|| (point, 6 + random.below(MOST_FILE_WRITES)))
    }

    fn trouble(&mut self) -> Trouble {
        let computer = self.computer();
        match self.random.below(100) {
            0..45 => Trouble::Cut(computer),
            45..70 => Trouble::Hold(computer, self.pause(50, 400)),
            70..90 => Trouble::ComputerDiskFull(computer, self.pause(50, 400)),
            _ => Trouble::ServerDiskFull(self.pause(50, 300)),
        }
    }

    fn computer(&mut self) -> usize {
        self.random.below(self.computers as u64) as usize
    }

    fn chance(&mut self, percent: u64) -> bool {
        self.random.below(100) < percent
    }

    fn pause(&mut self, from_ms: u64, to_ms: u64) -> Duration {
        Duration::from_millis(from_ms + self.random.below(to_ms - from_ms))
    }

    fn of<T: Copy>(&mut self, list: &[T]) -> T {
        list[self.random.below(list.len() as u64) as usize]
    }
}

/// How many kills must be behind a task before it may end, so that all tasks together last as long as the kills do: one
/// after another comes to its end, and the last `live` ones when no kill is left.
pub fn kills_before_end(task: usize, tasks: usize, live: usize, kills: u64) -> u64 {
    let early = tasks.saturating_sub(live);
    if task >= early {
        return kills;
    }
    kills * (task as u64 + 1) / (early as u64 + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lives(seed: u64) -> Vec<(Life, Option<(Point, u64)>)> {
        let mut plan = Plan::new(seed, 4);
        (0..300).map(|_| (plan.life(), plan.boot())).collect()
    }

    #[test]
    fn the_same_seed_gives_the_same_plan_and_another_one_another() {
        assert_eq!(lives(7), lives(7));
        assert_ne!(lives(7), lives(8));
    }

    #[test]
    fn about_half_of_the_deaths_are_at_points_and_every_point_and_trouble_comes() {
        let lives = lives(1);
        let mut at_points = 0;
        for (point, _) in SERVER_POINTS {
            let there = lives
                .iter()
                .any(|(life, _)| matches!(life.death, Death::At(at, _) if at == *point));
            assert!(there, "{}", point.name());
        }
        let mut kinds = [0; 4];
        for (life, _) in &lives {
            at_points += usize::from(matches!(life.death, Death::At(..)));
            for trouble in &life.troubles {
                kinds[match trouble {
                    Trouble::Cut(_) => 0,
                    Trouble::Hold(..) => 1,
                    Trouble::ComputerDiskFull(..) => 2,
                    Trouble::ServerDiskFull(_) => 3,
                }] += 1;
            }
        }
        assert!((160..230).contains(&at_points), "{at_points}");
        assert!(kinds.iter().all(|count| *count > 0), "{kinds:?}");
        assert!(lives.iter().any(|(life, _)| life.with.is_some()));
        assert!(lives.iter().any(|(life, _)| life.clock_ms < 0));
        assert!(lives.iter().any(|(_, boot)| boot.is_some()));
    }

    #[test]
    fn tasks_end_one_after_another_and_the_last_ones_with_the_last_kill() {
        let ends: Vec<u64> = (0..10)
            .map(|task| kills_before_end(task, 10, 3, 80))
            .collect();
        assert!(ends.windows(2).all(|pair| pair[0] <= pair[1]), "{ends:?}");
        assert_eq!(ends[7..], [80, 80, 80]);
        assert!(ends[0] > 0 && ends[6] < 80, "{ends:?}");
        assert_eq!(kills_before_end(0, 1, 5, 8), 8);
    }
}

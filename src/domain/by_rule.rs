//! What the server does by rule in a step of its own, which no planner asked for.

/// Why such a step was made. Its request says so in these words, in the journal too.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ByRule {
    /// Reads the files that the task names, before any model is asked.
    FirstLook,
    /// Makes the searches that the task tells, before any model is asked.
    FirstSearch,
    /// Calls the tools that the task names and that only look, before any model is asked.
    FirstTool,
    /// Calls a tool that the task names first, where its model only runs the check which finds that undone.
    DueTool,
    /// Asks a person what the task tells to ask first.
    FirstQuestion,
    /// Makes a run of which a task speaks that wants a program mended.
    FirstRun,
    /// Makes a run anew, after a program was mended.
    RunAnew,
    /// Makes a check anew that failed, after something was changed.
    Recheck,
    /// Makes a run of which a task speaks, where a check has failed before it was made.
    RunForCheck,
    /// Makes a run which alone still stands between a task and its end.
    ClosingRun,
    /// Looks at what a task has changed before its end, where it has no program to run.
    ClosingLook,
    /// Looks around for a file which was not where something looked for it.
    LookAround,
    /// Calls a tool that only looks with the task's own word, of which a value was nearly one.
    MeantWord,
    /// Reads the file of which a failed check speaks, or the one that was looked around for.
    LookInto,
    /// Writes a file of which the task says word for word what it holds.
    SaidContent,
    /// Carries out an item of a plan which is a whole call.
    PlanItem,
    /// Does with a tool what the task tells to do with it, once its file was asked for alone.
    ToldUse,
}

impl ByRule {
    pub const ALL: [ByRule; 17] = [
        ByRule::FirstLook,
        ByRule::FirstSearch,
        ByRule::FirstTool,
        ByRule::DueTool,
        ByRule::FirstQuestion,
        ByRule::FirstRun,
        ByRule::RunAnew,
        ByRule::Recheck,
        ByRule::RunForCheck,
        ByRule::ClosingRun,
        ByRule::ClosingLook,
        ByRule::LookAround,
        ByRule::MeantWord,
        ByRule::LookInto,
        ByRule::SaidContent,
        ByRule::PlanItem,
        ByRule::ToldUse,
    ];

    /// What the request of such a step says. Journals hold these words.
    pub fn words(self) -> &'static str {
        match self {
            ByRule::FirstLook => "Reading the files that the task names",
            ByRule::FirstSearch => "Looking for what the task speaks of",
            ByRule::FirstTool => "Calling the tools that the task names",
            ByRule::DueTool => {
                "Calling the tool that the task tells to call, as nothing else was done"
            }
            ByRule::FirstQuestion => "Asking what the task tells to ask",
            ByRule::FirstRun => "Running what the task speaks of",
            ByRule::RunAnew => "Running it again after it was mended",
            ByRule::Recheck => "Running the check again after something was changed",
            ByRule::RunForCheck => "Running what the task speaks of, which the check may be about",
            ByRule::ClosingRun => "Running what the task speaks of before its end",
            ByRule::ClosingLook => "Looking at what was changed before the end",
            ByRule::LookAround => "Looking around for what was not there",
            ByRule::MeantWord => "Calling it with the word that the task says",
            ByRule::LookInto => "Reading the file that this is about",
            ByRule::SaidContent => "Writing what the task says that it holds",
            ByRule::PlanItem => "Carrying out what the plan says",
            ByRule::ToldUse => "Doing with the tool what the task tells",
        }
    }

    /// The reason that these words tell.
    pub fn told_by(words: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|why| why.words() == words)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_reason_is_told_by_words_of_its_own() {
        for why in ByRule::ALL {
            assert_eq!(ByRule::told_by(why.words()), Some(why));
        }
        assert_eq!(ByRule::told_by("Reading"), None);
    }
}

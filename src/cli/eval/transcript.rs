//! What happened in a run, for people who want to know why it failed: answers, refusals, calls and their ends.

use super::run::Job;
use crate::domain::decision::Decision;
use crate::domain::event::{StoredEvent, TaskEvent};
use crate::strategy::text::head_and_tail;
use std::fmt::Write;
use std::path::Path;

/// Bytes of one text that are shown.
const TEXT: usize = 4000;

/// Writes a run into a folder, as `CONTENDER-TASK-SEED.md`.
///
/// # Errors
/// The folder cannot be written.
pub fn write(
    dir: &Path,
    job: &Job,
    problem: Option<&str>,
    events: &[StoredEvent],
) -> std::io::Result<()> {
    std::fs::create_dir_all(dir)?;
    let file = format!("{}-{}-{}.md", job.contender, job.task.name, job.seed);
    let mut text = format!(
        "# {}, {}, seed {}\n\n",
        job.contender, job.task.name, job.seed
    );
    // Writing to a String cannot fail.
    let _ = writeln!(text, "{}\n", job.task.prompt);
    for stored in events {
        tell(&mut text, &stored.event);
    }
    let _ = writeln!(
        text,
        "\nOn the computers: {}",
        problem.unwrap_or("as it should be")
    );
    std::fs::write(dir.join(file), text)
}

fn tell(out: &mut String, event: &TaskEvent) {
    let _ = match event {
        TaskEvent::Decided {
            decision, track, ..
        } => match &**decision {
            Decision::Consult(consult) => {
                let shown = consult.prompt.append.last();
                let shown = shown.map(|m| head_and_tail(&m.content, TEXT));
                let role = consult.role.as_str();
                writeln!(
                    out,
                    "\n--- {role} is asked ({track:?}) ---\n{}",
                    shown.unwrap_or_default()
                )
            }
            Decision::Block { guard, evidence } => {
                writeln!(out, "\n--- refused ({}) ---\n{evidence}", guard.as_str())
            }
            Decision::Call { calls, .. } => {
                let calls: Vec<String> = calls
                    .iter()
                    .map(|c| {
                        format!(
                            "{} {} on {:?}",
                            c.tool,
                            head_and_tail(&c.args.to_string(), TEXT),
                            c.target
                        )
                    })
                    .collect();
                writeln!(out, "\n--- calls ---\n{}", calls.join("\n"))
            }
            other => {
                let told = serde_json::to_string(other).unwrap_or_default();
                writeln!(out, "\n--- decided ---\n{}", head_and_tail(&told, TEXT))
            }
        },
        TaskEvent::ModelAnswered { role, answer, .. } => {
            let said = match answer.tool_calls.is_empty() {
                true => answer.content.clone(),
                false => format!("{}\n{:?}", answer.content, answer.tool_calls),
            };
            writeln!(
                out,
                "\n--- {} answers ({:?}) ---\n{said}",
                role.as_str(),
                answer.stop
            )
        }
        TaskEvent::ModelFailed { failure, .. } => {
            writeln!(
                out,
                "\n--- no answer ---\n{}: {}",
                failure.code, failure.message
            )
        }
        TaskEvent::CallFinished { report, .. } => {
            let told = serde_json::to_string(report).unwrap_or_default();
            writeln!(out, "\n--- call ended ---\n{}", head_and_tail(&told, TEXT))
        }
        TaskEvent::CallNotPlaced { no_route, .. } => {
            writeln!(out, "\n--- call not placed ---\n{}", no_route.message)
        }
        TaskEvent::QuestionAnswered { answer, .. } => writeln!(out, "\n--- person ---\n{answer}"),
        TaskEvent::TaskFailed { code, error, .. } => {
            writeln!(out, "\n--- failed ---\n{code}: {error}")
        }
        _ => Ok(()),
    };
}

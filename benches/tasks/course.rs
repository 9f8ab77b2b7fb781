//! What the tasks of the bench do: their kinds, and what the model says.

use crate::model::{Said, number};
use ccfleet::domain::chat::ToolCall;
use ccfleet::llm::ChatRequest;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// What a server of the bench is told at its start.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Setup {
    pub course: Course,
    /// How long the model takes for an answer.
    pub model_ms: u64,
    /// Calls that the model's server takes at a time.
    pub slots: usize,
    /// Steps of one plan that may be under way.
    pub parallel_steps: usize,
}

#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub enum Course {
    /// Strategy `direct`: so many calls, one a step, then the answer.
    Calls(usize),
    /// Strategy `plan`: three layers of steps on four computers, each needs all of the layer before.
    Layers,
}

/// Layers of a plan, and how many of its steps stand beside each other.
pub const LAYERS: [usize; 3] = [4, 4, 1];

/// A plan or a task of many steps is nothing to be stopped.
const BUDGETS: &str = "\n[budgets]\nsteps = 1000\ncalls = 1000\nwall_time_s = 86400\n";

impl Course {
    /// The kind's name, and its TOML.
    pub fn kind(self) -> (&'static str, String) {
        let (name, strategy) = match self {
            Course::Calls(_) => ("bench_calls", "direct"),
            Course::Layers => ("bench_layers", "plan"),
        };
        let text = format!(
            "kind = \"{name}\"\ndescription = \"A bench\"\nstrategy = \"{strategy}\"\nallowed_tools = [\"*\"]\n\
             demand_proof = false\ninstructions = \"\"\n{BUDGETS}"
        );
        (name, text)
    }

    /// The model's next answer.
    pub fn say(self, request: &ChatRequest) -> Said {
        let made = number(request);
        match self {
            Course::Calls(calls) if made >= calls => ("FINAL ANSWER: done".to_owned(), vec![]),
            Course::Calls(_) => call(request, made),
            Course::Layers => (plan(), vec![]),
        }
    }
}

/// No two calls of a task are the same, so that nothing takes them for a circle.
fn call(request: &ChatRequest, made: usize) -> Said {
    let arguments = json!({"command": format!("farm/harvest field{made}")});
    if request.tools.is_empty() {
        let text = json!({"tool": "shell_exec", "args": arguments}).to_string();
        return (text, vec![]);
    }
    let call = ToolCall {
        id: Some(format!("call_{made}")),
        name: "shell_exec".to_owned(),
        arguments,
    };
    (String::new(), vec![call])
}

fn plan() -> String {
    let mut steps: Vec<Value> = Vec::new();
    let mut before: Vec<usize> = Vec::new();
    for (layer, width) in LAYERS.into_iter().enumerate() {
        let first = steps.len() + 1;
        for place in 0..width {
            steps.push(json!({
                "id": first + place,
                "action": "shell",
                "target": format!("farm/harvest layer{layer} field{place}"),
                "on": crate::tools::client_id(place),
                "reason": "the field is ripe",
                "depends_on": before,
            }));
        }
        before = (first..first + width).collect();
    }
    json!({"goal": "everything is harvested", "steps": steps}).to_string()
}

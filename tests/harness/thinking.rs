//! Agents with a model, and a tool that a test can block.

use std::fs;

use serde_json::Value;

use super::{Process, System, eventually};

/// The agent with the blockable tool.
pub(crate) const PRESS: &str = "agent_press";

/// A tool that notes the key of each call when it begins and ends, and blocks in between until released.
const HELD: &str = r#"
text=$(tee /dev/stderr)
echo "$AGENTHUB_IDEMPOTENCY_KEY" >>press.begun
while [ ! -e press.go ] && [ -e press.toml ]; do sleep 0.05; done
echo "$AGENTHUB_IDEMPOTENCY_KEY" >>press.done
echo "pressed $text"
"#;

impl System {
    /// Starts a supervisor from the command line, and waits until it is online.
    pub(crate) fn start_supervisor(&self, name: &str, more: &[&str]) -> Process {
        let mut args = vec!["agent", "supervisor", "--name", name];
        args.extend(more);
        let agent = self.start(&args);
        self.wait_online(name);
        agent
    }

    /// Starts an agent from a file with this text, and waits until it is online.
    pub(crate) fn start_file(&self, name: &str, text: &str, more: &[&str]) -> Process {
        let agent = self.begin_file(name, text, more);
        self.wait_online(name);
        agent
    }

    /// The same, without waiting.
    fn begin_file(&self, name: &str, text: &str, more: &[&str]) -> Process {
        let file = format!("{name}.toml");
        fs::write(self.folder().join(&file), text).expect("the folder is there");
        let mut args = vec!["agent", "run", &file];
        args.extend(more);
        self.start(&args)
    }

    /// A worker with one tool, which prints `result`.
    pub(crate) fn start_worker(&self, name: &str, what: &str, result: &str) -> Process {
        let worker = self.begin_worker(name, what, result);
        self.wait_online(name);
        worker
    }

    /// The same, without waiting until it is online.
    pub(crate) fn begin_worker(&self, name: &str, what: &str, result: &str) -> Process {
        let text = format!(
            "name = '{name}'\ndescription = '{what}'\n[[tool]]\nname = 'work'\ndescription = '{what}'\n\
             command = ['sh', '-c', 'cat >/dev/null; {result}']\n"
        );
        self.begin_file(name, &text, &["--ephemeral"])
    }

    /// The worker whose tool blocks until [released](Self::let_go). Its runs survive it.
    pub(crate) fn start_press(&self) -> Process {
        let what = "Prints a text on the printing press";
        let text = format!(
            "name = '{PRESS}'\ndescription = '{what}'\n[[tool]]\nname = 'press'\ndescription = '{what}'\n\
             command = ['sh', '-c', '''{HELD}''']\ninput = {{ type = 'object', required = ['text'], \
             properties = {{ text = {{ type = 'string' }} }} }}\n"
        );
        fs::write(self.folder().join("press.toml"), "").expect("the folder is there");
        self.start_file(PRESS, &text, &[])
    }

    /// Releases the blocked tool.
    pub(crate) fn let_go(&self) {
        fs::write(self.folder().join("press.go"), "").expect("the folder is there");
    }

    /// Keys of the begun calls of the blockable tool.
    pub(crate) fn begun(&self) -> Vec<String> {
        self.keys("press.begun")
    }

    /// Keys of its ended calls.
    pub(crate) fn done(&self) -> Vec<String> {
        self.keys("press.done")
    }

    fn keys(&self, file: &str) -> Vec<String> {
        let text = fs::read_to_string(self.folder().join(file)).unwrap_or_default();
        text.lines().map(str::to_owned).collect()
    }

    /// Waits until the blockable tool has this many begun calls.
    pub(crate) fn wait_begun(&self, count: usize) {
        eventually(&format!("the press was called {count} times"), || {
            (self.begun().len() >= count).then_some(())
        });
    }

    /// Delegates to an agent, under this task id, and prints the outcome.
    pub(crate) fn ask(&self, agent: &str, task: &str, words: &str) -> Process {
        self.start(&[
            "publish", "--to", agent, "--task", task, "--wait", "--json", words,
        ])
    }

    /// The ids and states of all tasks.
    pub(crate) fn states(&self) -> Vec<(String, String)> {
        let list = ["tasks", "list", "--json"];
        let tasks = eventually("the hub lists its tasks", || self.try_json(&list));
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        tasks
            .iter()
            .map(|task| (text(&task["id"]), text(&task["status"]["state"])))
            .collect()
    }

    /// Every end of a task in the log of a durable hub, as stored.
    pub(crate) fn ends(&self) -> Vec<Value> {
        let export = ["log", "export"];
        let records = eventually("the log is read", || self.try_json(&export));
        let updates = records
            .into_iter()
            .map(|mut record| record["event"]["statusUpdate"].take());
        updates.filter(is_end).collect()
    }
}

/// True if a status update ends its task.
fn is_end(update: &Value) -> bool {
    let state = update["status"]["state"].as_str().unwrap_or_default();
    ["COMPLETED", "FAILED", "CANCELLED", "REJECTED"]
        .iter()
        .any(|end| state.ends_with(end))
}

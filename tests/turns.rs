//! Crashes of Cortex during a turn: it finishes the turn after its restart, and the user gets one answer.

mod provider;

use std::path::PathBuf;

use nix::sys::signal::Signal;
use serde_json::Value;

use crate::harness::{Finished, Process, System, eventually, free_address};
use provider::{Provider, Question};

const ECHO: &str = "agent_echo";
const WORDS: &str = "tell me of patience";
const ANSWER: &str = "It says: Echo: tell me of patience";

/// A hub and an agent that stay, a Cortex that will be killed, a model, and a waiting user.
struct Turn {
    system: System,
    provider: Provider,
    cortex: Option<Process>,
    echo: Process,
    chat: Process,
    _broker: Process,
}

impl Turn {
    /// Sends the user's message; the model or the agent holds its answer back.
    fn begin(hold_back: impl FnOnce(&Provider, &Process)) -> Self {
        let (system, broker) = System::durable_broker();
        let echo = system.start_echo(ECHO);
        let provider = Provider::start(ECHO);
        let cortex = start_cortex(&system, &provider);
        let mut chat = system.start(&["chat"]);
        hold_back(&provider, &echo);
        chat.type_line(WORDS);
        Self {
            system,
            provider,
            cortex: Some(cortex),
            echo,
            chat,
            _broker: broker,
        }
    }

    fn kill_cortex(&mut self) {
        self.cortex.take().expect("it runs").kill();
    }

    fn start_cortex(&mut self) {
        self.cortex = Some(start_cortex(&self.system, &self.provider));
    }

    /// Waits until the agent has the work.
    fn wait_handed_over(&self) {
        eventually("the agent has the work", || {
            (!tasks(&self.system).is_empty()).then_some(())
        });
    }

    /// Checks that the user got one answer, and that the agent was called once. Returns, for each call of the model,
    /// whether results were there.
    fn end(self) -> Vec<bool> {
        answered(&self.chat.finish(""));
        let tasks = tasks(&self.system);
        assert_eq!(tasks.len(), 1, "{tasks:?}");
        assert_eq!(tasks[0]["status"]["state"], "TASK_STATE_COMPLETED");
        let history = tasks[0]["history"].as_array().map(Vec::len);
        assert_eq!(history, Some(2), "the request and one answer: {tasks:?}");
        let asked = self.provider.asked();
        assert!(asked.iter().all(|q| q.words == WORDS), "{asked:?}");
        asked.iter().map(|q| q.has_results).collect()
    }
}

fn start_cortex(system: &System, provider: &Provider) -> Process {
    let cortex = start(system, provider, &["cortex"]);
    cortex.line_with("is connected");
    cortex
}

/// Starts a program that uses the provider.
fn start(system: &System, provider: &Provider, args: &[&str]) -> Process {
    let variables = [
        ("AGENTHUB_MODEL", "openai/m"),
        ("AGENTHUB_MODEL_ENDPOINT", &*provider.url),
        ("OPENAI_API_KEY", "key-of-the-test"),
    ];
    let values = variables.map(|(_, value)| PathBuf::from(value));
    let names = variables.iter().map(|(name, _)| *name);
    let environment: Vec<(&str, &PathBuf)> = names.zip(&values).collect();
    Process::start_in(&environment, system.folder(), &system.hub(), args)
}

/// Full tasks of the agent.
fn tasks(system: &System) -> Vec<Value> {
    let listed = system.json(&["tasks", "list", "--agent", ECHO, "--json"]);
    let of_the_agent = listed
        .iter()
        .filter(|task| task["metadata"]["assignee"] != "cortex");
    let ids = of_the_agent.filter_map(|task| task["id"].as_str());
    ids.flat_map(|id| system.json(&["tasks", "show", id, "--json"]))
        .collect()
}

fn answered(chat: &Finished) {
    assert_eq!(chat.code, Some(0), "{chat:?}");
    assert_eq!(chat.stdout.matches(ANSWER).count(), 1, "{chat:?}");
    assert_eq!(chat.stdout.lines().count(), 1, "{chat:?}");
}

/// spec: HUB-7
#[test]
fn a_cortex_that_is_killed_before_the_model_answers_asks_once_more() {
    let mut turn = Turn::begin(|provider, _| provider.hold());
    turn.provider.wait_asked(1);
    turn.kill_cortex();
    turn.provider.let_go();
    turn.start_cortex();
    assert_eq!(turn.end(), [false, false, true]);
}

/// spec: HUB-7
#[test]
fn a_cortex_that_is_killed_while_a_task_is_out_asks_nobody_again() {
    let mut turn = Turn::begin(|_, echo| echo.signal(Signal::SIGSTOP));
    turn.wait_handed_over();
    turn.kill_cortex();
    turn.start_cortex();
    turn.echo.signal(Signal::SIGCONT);
    assert_eq!(turn.end(), [false, true]);
}

/// spec: HUB-7
#[test]
fn a_cortex_that_is_killed_after_the_result_does_not_have_the_work_done_twice() {
    let mut turn = Turn::begin(|_, echo| echo.signal(Signal::SIGSTOP));
    turn.wait_handed_over();
    turn.provider.hold();
    turn.echo.signal(Signal::SIGCONT);
    turn.provider.wait_asked(2);
    turn.kill_cortex();
    turn.provider.let_go();
    turn.start_cortex();
    assert_eq!(turn.end(), [false, true, true]);
}

/// The agent is done before Cortex has restarted.
///
/// spec: HUB-7
#[test]
fn a_result_that_comes_while_cortex_is_away_is_found() {
    let mut turn = Turn::begin(|_, echo| echo.signal(Signal::SIGSTOP));
    turn.wait_handed_over();
    turn.kill_cortex();
    turn.echo.signal(Signal::SIGCONT);
    eventually("the agent is done", || {
        let tasks = tasks(&turn.system);
        (tasks[0]["status"]["state"] == "TASK_STATE_COMPLETED").then_some(())
    });
    turn.start_cortex();
    assert_eq!(turn.end(), [false, true]);
}

/// Everything but the user's chat and the model is killed.
///
/// spec: HUB-7
#[test]
fn a_turn_outlives_everything_that_works_on_it() {
    let system = System::bare(free_address());
    let provider = Provider::start(ECHO);
    let start_all = || {
        let up = start(&system, &provider, &system.up_at("127.0.0.1:0"));
        up.line("the banner");
        up
    };
    let up = start_all();
    let mut chat = system.start(&["chat"]);
    provider.hold();
    chat.type_line(WORDS);
    provider.wait_asked(1);
    up.kill();
    provider.let_go();
    let _up = start_all();
    answered(&chat.finish(""));
    let asked: Vec<Question> = provider.asked();
    assert_eq!(asked.len(), 3, "{asked:?}");
}

#[test]
fn a_data_folder_belongs_to_one_cortex() {
    let (system, _broker) = System::durable_broker();
    let _cortex = system.start_cortex();
    let second = system.run(&["cortex"], "");
    assert_eq!(second.code, Some(1), "{second:?}");
    for part in ["cortex runs already", "--data"] {
        assert!(second.stderr.contains(part), "{part}: {second:?}");
    }
    let elsewhere = system.start(&["cortex", "--ephemeral"]);
    elsewhere.line_with("is connected");
}

//! Runs that ask their requesters: tools of a model, and agents that a supervisor asked.

use std::{process::Stdio, sync::Arc, time::Duration};

use agenthub_sdk::{
    Agent, AgentBuilder, Card, Client, Delegation, Failure, Outcome, Reply, TaskContext, Tool,
    ToolContext, model::Scripted, proto::a2a::TaskState, runs::journal::SqliteJournal,
};
use serde_json::json;
use tokio::{process::Command, sync::Notify, time::Instant};

use crate::{
    harness::{calls, eventually, hub, results, says, script, soon, url, user},
    journals::Kept,
};

const HUB: &str = "SDK_TEST_RUNS_ASKING_HUB";
const FOLDER: &str = "SDK_TEST_RUNS_ASKING_FOLDER";

/// A model that calls `tool` first, and then says what that gave.
fn calling(tool: &'static str, arguments: serde_json::Value) -> Scripted {
    Scripted::from_completion_fn(move |request| match results(request).pop() {
        None => calls([(tool, arguments.clone())]),
        Some(result) => says(format!("painted: {result}")),
    })
}

/// A tool that asks twice.
fn paint() -> Tool {
    let schema = json!({"type": "object"});
    Tool::new("paint", "Paints", schema, async |tool: ToolContext, _| {
        let colour = tool.ask_requester("Which colour?").await?.text();
        let size = tool.ask_requester("Which size?").await?.text();
        Ok::<_, Failure>(format!("{size} {colour}"))
    })
}

fn painter() -> AgentBuilder {
    Agent::worker(Card::new("painter", ""))
        .model(calling("paint", json!({})))
        .tool(paint())
}

async fn asked(client: &Client, delegation: Delegation) -> Outcome {
    let pending = client.delegate(delegation).await.expect("it is taken");
    soon(pending.outcome()).await.expect("an outcome")
}

fn answer(agent: &str, text: &str, asked: &Outcome) -> Delegation {
    Delegation::to(agent)
        .text(text)
        .task_id(asked.task_id.clone())
}

fn check(outcome: &Outcome, state: TaskState, text: &str) {
    let said = outcome.message.as_ref().map(|m| m.text());
    assert_eq!(
        (outcome.state, said.as_deref()),
        (state, Some(text)),
        "{outcome:?}"
    );
}

/// The messages of a task, in order.
async fn said(client: &Client, asked: &Outcome) -> Vec<String> {
    let task = client.task(&asked.task_id, 0).await.expect("it is kept");
    task.history.iter().map(|m| m.text()).collect()
}

/// spec: A2A 1.0.1 §3.4.3
#[tokio::test]
async fn a_tool_asks_and_goes_on_with_the_answer() {
    let hub = hub().await;
    let _agent = painter().start(url(&hub)).await.expect("it starts");
    let client = user(&hub).await;
    let first = asked(&client, Delegation::to("painter").text("a cat")).await;
    check(&first, TaskState::InputRequired, "Which colour?");
    let second = asked(&client, answer("painter", "blue", &first)).await;
    check(&second, TaskState::InputRequired, "Which size?");
    let done = asked(&client, answer("painter", "large", &first)).await;
    check(&done, TaskState::Completed, "painted: \"large blue\"");
}

#[tokio::test]
async fn a_model_asks_with_a_tool_of_its_own() {
    let hub = hub().await;
    let model = calling("ask_requester", json!({"question": "Which colour?"}));
    let agent = Agent::worker(Card::new("painter", ""))
        .model(model)
        .tool(Tool::ask_requester());
    let _agent = agent.start(url(&hub)).await.expect("it starts");
    let client = user(&hub).await;
    let first = asked(&client, Delegation::to("painter").text("a cat")).await;
    check(&first, TaskState::InputRequired, "Which colour?");
    let done = asked(&client, answer("painter", "blue", &first)).await;
    check(&done, TaskState::Completed, "painted: \"blue\"");
}

/// Two calls of one turn: the state says what is asked until that is answered.
#[tokio::test]
async fn questions_of_one_run_are_asked_one_after_the_other() {
    let hub = hub().await;
    let ask = |question: &str| ("ask_requester", json!({"question": question}));
    let model = script([calls([ask("One?"), ask("Two?")]), says("done")]);
    let agent = Agent::worker(Card::new("painter", ""))
        .model(model.clone())
        .tool(Tool::ask_requester());
    let _agent = agent.start(url(&hub)).await.expect("it starts");
    let client = user(&hub).await;
    let first = asked(&client, Delegation::to("painter").text("go")).await;
    let second = asked(&client, answer("painter", "1", &first)).await;
    let mut questions = [&first, &second].map(|o| o.message.as_ref().map(|m| m.text()));
    questions.sort();
    assert_eq!(questions, [Some("One?".into()), Some("Two?".into())]);
    let done = asked(&client, answer("painter", "2", &first)).await;
    check(&done, TaskState::Completed, "done");
    let told = results(model.requests().last().expect("it was asked"));
    let expected = match first.message.is_some_and(|m| m.text() == "One?") {
        true => [json!("1"), json!("2")],
        false => [json!("2"), json!("1")],
    };
    assert_eq!(told, expected, "each has the answer to its own question");
}

#[tokio::test]
async fn a_run_that_waits_for_an_answer_keeps_no_agent_from_stopping() {
    let hub = hub().await;
    let journal = Kept::empty();
    let start = async || {
        let agent = painter().instance_id("p-1").journal(journal.clone());
        agent.start(url(&hub)).await.expect("it starts")
    };
    let agent = start().await;
    let client = user(&hub).await;
    let first = asked(&client, Delegation::to("painter").text("a cat")).await;
    let began = Instant::now();
    agent.stop().await;
    assert!(began.elapsed() < Duration::from_secs(5), "it waited");
    // The answer comes while nobody is there.
    let pending = client.delegate(answer("painter", "blue", &first)).await;
    let pending = pending.expect("the answer waits for the agent");
    let _agent = start().await;
    let second = soon(pending.outcome()).await.expect("an outcome");
    check(&second, TaskState::InputRequired, "Which size?");
    let done = asked(&client, answer("painter", "large", &first)).await;
    check(&done, TaskState::Completed, "painted: \"large blue\"");
    assert_eq!(
        said(&client, &first).await,
        [
            "a cat",
            "Which colour?",
            "blue",
            "Which size?",
            "large",
            "painted: \"large blue\""
        ],
        "every question was asked once"
    );
}

/// The agents of the tests below, in processes of their own.
#[tokio::test]
#[ignore = "it is a part of other tests"]
async fn the_agents_in_a_process() {
    let hub = std::env::var(HUB).expect("the test says where its hub is");
    let folder = std::env::var(FOLDER).expect("the test says where its journal is");
    let journal = SqliteJournal::open(std::path::Path::new(&folder).join("runs.db"));
    let journal = Arc::new(journal.expect("a journal"));
    let painter = painter().instance_id("p-1").journal(journal.clone());
    let lead = Agent::supervisor(Card::new("lead", ""))
        .instance_id("l-1")
        .journal(journal)
        .model(calling("agent_asker", json!({"request": "a cat"})));
    let painter = painter.start(hub.clone()).await.expect("it starts");
    let lead = lead.start(hub).await.expect("it starts");
    tokio::join!(painter.closed(), lead.closed());
}

/// A process with the agents, which dies with what is returned.
fn process(hub: &str, folder: &std::path::Path) -> tokio::process::Child {
    let this_program = std::env::current_exe().expect("it has a path");
    Command::new(this_program)
        .args(["--exact", "asking::the_agents_in_a_process", "--ignored"])
        .env(HUB, hub)
        .env(FOLDER, folder)
        .stdout(Stdio::null())
        .kill_on_drop(true)
        .spawn()
        .expect("it starts")
}

async fn is_there(client: &Client, agent: &str) {
    eventually("the agent is there", || async {
        let entry = client.agent(agent).await;
        entry.is_ok_and(|entry| entry.instances.len() == 1)
    })
    .await;
}

/// With `kill -9`: before the answer comes, while it is under way, and after that.
#[tokio::test]
async fn a_question_of_a_run_and_its_answer_outlive_an_agent_that_is_killed() {
    let hub = hub().await;
    let folder = tempfile::tempdir().expect("a folder");
    let client = user(&hub).await;
    let mut agents = process(&url(&hub), folder.path());
    let first = asked(&client, Delegation::to("painter").text("a cat")).await;
    check(&first, TaskState::InputRequired, "Which colour?");
    for _ in 0..2 {
        agents.kill().await.expect("it runs");
        agents = process(&url(&hub), folder.path());
        is_there(&client, "painter").await;
    }
    agents.kill().await.expect("it runs");
    let pending = client.delegate(answer("painter", "blue", &first)).await;
    let pending = pending.expect("the answer waits for the agent");
    agents = process(&url(&hub), folder.path());
    let second = soon(pending.outcome()).await.expect("an outcome");
    check(&second, TaskState::InputRequired, "Which size?");
    agents.kill().await.expect("it runs");
    let _agents = process(&url(&hub), folder.path());
    is_there(&client, "painter").await;
    let done = asked(&client, answer("painter", "large", &first)).await;
    check(&done, TaskState::Completed, "painted: \"large blue\"");
    assert_eq!(
        said(&client, &first).await,
        [
            "a cat",
            "Which colour?",
            "blue",
            "Which size?",
            "large",
            "painted: \"large blue\""
        ],
        "every question was asked once"
    );
}

/// An agent that asks twice in a plain handler.
fn asker() -> AgentBuilder {
    let card = Card::new("asker", "").skill(agenthub_sdk::Skill::new("ask", "Ask", "Asks"));
    Agent::worker(card).on_task_type("ask", async |task: TaskContext| {
        let colour = task.ask_requester("Which colour?").await?.text();
        let size = task.ask_auth("Sign in, and say which size.").await?.text();
        Ok::<_, Failure>(Reply::text(format!("{size} {colour}")))
    })
}

/// spec: A2A 1.0.1 §3.4.3, §7.6.1
#[tokio::test]
async fn a_supervisor_passes_questions_up_and_answers_down() {
    let hub = hub().await;
    let _asker = asker().start(url(&hub)).await.expect("it starts");
    let lead = Agent::supervisor(Card::new("lead", ""))
        .model(calling("agent_asker", json!({"request": "a cat"})));
    let _lead = lead.start(url(&hub)).await.expect("it starts");
    let client = user(&hub).await;
    let first = asked(&client, Delegation::to("lead").text("a cat")).await;
    check(&first, TaskState::InputRequired, "Which colour?");
    let second = asked(&client, answer("lead", "blue", &first)).await;
    check(
        &second,
        TaskState::AuthRequired,
        "Sign in, and say which size.",
    );
    let done = asked(&client, answer("lead", "large", &first)).await;
    assert!(
        done.is_completed() && done.text.contains("large blue"),
        "{done:?}"
    );
}

/// spec: A2A 1.0.1 §7.6.1
#[tokio::test]
async fn a_question_that_needs_no_answer_any_more_is_taken_back() {
    let hub = hub().await;
    let (signed_in, is_enough) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    let (signs_in, ends) = (Arc::clone(&signed_in), Arc::clone(&is_enough));
    let card = Card::new("asker", "").skill(agenthub_sdk::Skill::new("ask", "Ask", "Asks"));
    let asker = Agent::worker(card).on_task_type("ask", move |task: TaskContext| {
        let (signs_in, ends) = (Arc::clone(&signs_in), Arc::clone(&ends));
        async move {
            tokio::select! {
                answer = task.ask_auth("Sign in.") => drop(answer?),
                () = signs_in.notified() => task.publish_update("somebody has signed in").await?,
            }
            ends.notified().await;
            Ok::<_, Failure>(Reply::text("a cat"))
        }
    });
    let _asker = asker.start(url(&hub)).await.expect("it starts");
    let lead = Agent::supervisor(Card::new("lead", ""))
        .model(calling("agent_asker", json!({"request": "a cat"})));
    let _lead = lead.start(url(&hub)).await.expect("it starts");
    let client = user(&hub).await;
    let first = asked(&client, Delegation::to("lead").text("a cat")).await;
    check(&first, TaskState::AuthRequired, "Sign in.");
    signed_in.notify_one();
    eventually("the task is shown as at work", || async {
        let task = client.task(&first.task_id, -1).await;
        task.is_ok_and(|task| task.state() == TaskState::Working)
    })
    .await;
    is_enough.notify_one();
    eventually("the task has ended", || async {
        let task = client.task(&first.task_id, -1).await;
        task.is_ok_and(|task| task.state() == TaskState::Completed)
    })
    .await;
}

/// With `kill -9` of the supervisor, before and after each answer.
#[tokio::test]
async fn a_question_that_is_passed_up_outlives_a_supervisor_that_is_killed() {
    let hub = hub().await;
    let folder = tempfile::tempdir().expect("a folder");
    let _asker = asker().start(url(&hub)).await.expect("it starts");
    let client = user(&hub).await;
    let mut agents = process(&url(&hub), folder.path());
    let first = asked(&client, Delegation::to("lead").text("a cat")).await;
    check(&first, TaskState::InputRequired, "Which colour?");
    agents.kill().await.expect("it runs");
    let pending = client.delegate(answer("lead", "blue", &first)).await;
    let pending = pending.expect("the answer waits for the agent");
    agents = process(&url(&hub), folder.path());
    let second = soon(pending.outcome()).await.expect("an outcome");
    check(
        &second,
        TaskState::AuthRequired,
        "Sign in, and say which size.",
    );
    agents.kill().await.expect("it runs");
    let _agents = process(&url(&hub), folder.path());
    is_there(&client, "lead").await;
    let done = asked(&client, answer("lead", "large", &first)).await;
    assert!(
        done.is_completed() && done.text.contains("large blue"),
        "{done:?}"
    );
    let said = said(&client, &first).await;
    assert_eq!(
        said[..5],
        [
            "a cat",
            "Which colour?",
            "blue",
            "Sign in, and say which size.",
            "large"
        ],
        "every question was passed up once"
    );
}

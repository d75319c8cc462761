//! A user's message, Cortex's delegation, and an agent's answer.

use agenthub_sdk::{Agent, Card, Failure, Reply, RunningAgent, Skill, TaskContext};
use tokio::runtime::Runtime;

use crate::{harness::System, terminal::Terminal};

/// spec: HUB-7, HUB-6.4
#[test]
fn a_user_is_answered_by_an_agent_through_cortex() {
    let (system, _up) = System::up();
    let chat = system.chat("echo \"hello there\"\n");
    assert_eq!(chat.code, Some(0), "{chat:?}");
    assert!(
        chat.stdout.contains("agent_echo") && chat.stdout.contains("hello there"),
        "{chat:?}"
    );

    let tasks = system.json(&["tasks", "list", "--agent", "agent_echo", "--json"]);
    assert_eq!(tasks.len(), 1, "the echo agent had the work: {tasks:?}");
    assert_eq!(tasks[0]["metadata"]["requester"], "cortex");
    assert_eq!(tasks[0]["status"]["state"], "TASK_STATE_COMPLETED");
}

/// spec: HUB-7
#[test]
fn piped_output_is_the_answers_alone() {
    let (system, _up) = System::up();
    let chat = system.chat("echo \"one\"\n\necho \"two\"\n");
    assert_eq!(chat.code, Some(0), "{chat:?}");
    let lines: Vec<&str> = chat.stdout.lines().collect();
    assert_eq!(lines.len(), 2, "{chat:?}");
    assert!(
        lines[0].contains("one") && lines[1].contains("two"),
        "{chat:?}"
    );
    assert!(!chat.stdout.contains('\u{1b}'), "no escape codes: {chat:?}");
}

/// Four users at once, two of them in the same conversation: each sees only their own answers.
#[test]
fn no_answer_crosses_from_one_user_to_another() {
    let (system, _up) = System::up();
    let users: Vec<_> = (0..4)
        .map(|user| {
            let process = match user {
                0 | 1 => system.start(&["chat", "--context", "shared"]),
                _ => system.start(&["chat"]),
            };
            let input: String = (0..5).map(|n| format!("echo 'word{user}x{n}'\n")).collect();
            (user, std::thread::spawn(move || process.finish(&input)))
        })
        .collect();
    for (user, thread) in users {
        let chat = thread.join().expect("the user's thread");
        assert_eq!(chat.code, Some(0), "{chat:?}");
        for n in 0..5 {
            assert!(chat.stdout.contains(&format!("word{user}x{n}")), "{chat:?}");
        }
        for other in (0..4).filter(|other| *other != user) {
            assert!(
                !chat.stdout.contains(&format!("word{other}x")),
                "user {user} saw user {other}: {chat:?}"
            );
        }
    }
}

#[test]
fn the_offline_model_says_what_it_is() {
    let (system, _up) = System::up();
    let chat = system.chat("who are you?\n");
    assert!(chat.stdout.contains("offline"), "{chat:?}");
}

/// An agent on a hub that asks its requester back before it paints.
fn painter(system: &System) -> (Runtime, RunningAgent) {
    let runtime = Runtime::new().expect("threads");
    let paint = Skill::new("paint", "Paint", "Paints a picture").tags(["picture"]);
    let card = Card::new("agent_painter", "Paints pictures of what is asked for");
    let agent = Agent::worker(card.skill(paint.clone())).on(
        &paint,
        async |task: TaskContext, _: String| {
            let colour = task.ask_requester("Which colour?").await?.text();
            let size = task.ask_requester("Which size?").await?.text();
            Ok::<_, Failure>(Reply::text(format!("a {size} {colour} cat")))
        },
    );
    let agent = runtime.block_on(agent.start(system.hub()));
    let agent = agent.expect("it starts");
    system.wait_online("agent_painter");
    (runtime, agent)
}

/// The states of all tasks of an agent.
fn states(system: &System, agent: &str) -> Vec<String> {
    let tasks = system.json(&["tasks", "list", "--agent", agent, "--json"]);
    let states = tasks.iter().map(|task| task["status"]["state"].to_string());
    states.collect()
}

/// The next words are the answer to the agent's question, and those after them a request again.
///
/// spec: A2A 1.0.1 §3.4.3
#[test]
fn what_is_said_next_answers_an_agent_that_asks_back() {
    let (system, _up) = System::up();
    let _painter = painter(&system);
    let chat = system.chat("agent_painter 'paint a cat'\nblue\nlarge\necho 'hello there'\n");
    assert_eq!(chat.code, Some(0), "{chat:?}");
    let lines: Vec<&str> = chat.stdout.lines().collect();
    let said = [
        "Which colour?",
        "Which size?",
        "a large blue cat",
        "hello there",
    ];
    assert_eq!(lines.len(), said.len(), "{chat:?}");
    for (line, said) in lines.iter().zip(said) {
        assert!(line.contains(said), "{said}: {chat:?}");
    }
    let completed = "\"TASK_STATE_COMPLETED\"";
    assert_eq!(states(&system, "agent_painter"), [completed]);
    // The picture with its two answers and the echo: what Cortex was asked, and what it asked for.
    assert_eq!(states(&system, "cortex"), [completed; 4]);
}

/// spec: A2A 1.0.1 §3.4.3
#[test]
fn an_agent_that_asks_back_is_answered_at_a_terminal() {
    let (system, _up) = System::up();
    let _painter = painter(&system);
    let mut chat = Terminal::start(&system, &["chat", "--ephemeral"]);
    chat.shows("> ");
    chat.press("ask agent_painter to paint a cat\r");
    for (asks, answer) in [("Which colour?", "blue\r"), ("Which size?", "large\r")] {
        chat.shows(asks);
        chat.shows("> ");
        chat.press(answer);
    }
    chat.shows("a large blue cat");
    chat.shows("> ");
    chat.press("\x04");
    assert_eq!(chat.left(), Some(0));
    assert_eq!(states(&system, "agent_painter").len(), 1);
}

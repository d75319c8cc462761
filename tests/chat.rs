//! A user's message, Cortex's delegation, and an agent's answer.

use crate::harness::System;

/// spec: HUB-7, HUB-6.4
#[test]
fn a_user_is_answered_by_an_agent_through_cortex() {
    let (system, _up) = System::up();
    let chat = system.chat("echo hello there\n");
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
    let chat = system.chat("echo one\n\necho two\n");
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
            let input: String = (0..5).map(|n| format!("echo word{user}x{n}\n")).collect();
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

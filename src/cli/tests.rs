use clap::{CommandFactory, error::ErrorKind};

use super::*;
use crate::settings::EndedTasks;

#[test]
fn the_definition_is_sound() {
    Cli::command().debug_assert();
}

#[test]
fn help_texts() {
    let mut command = Cli::command();
    command.build();
    let mut texts = command.render_long_help().to_string();
    for sub in command.get_subcommands() {
        if sub.get_name() == "help" {
            continue;
        }
        texts.push_str(&format!("\n=== {}\n", sub.get_name()));
        texts.push_str(&sub.clone().render_long_help().to_string());
    }
    let version = env!("CARGO_PKG_VERSION");
    insta::assert_snapshot!(texts.replace(version, "VERSION"));
}

#[test]
fn help_texts_of_sop() {
    let mut command = Cli::command();
    command.build();
    let sop = command.find_subcommand("sop").expect("it is a command");
    let subs = sop.get_subcommands().filter(|sub| sub.get_name() != "help");
    let texts: Vec<String> = subs
        .map(|sub| format!("=== {}\n{}", sub.get_name(), sub.clone().render_long_help()))
        .collect();
    insta::assert_snapshot!(texts.join("\n"));
}

#[test]
fn a_team_is_asked_in_the_usual_folder_or_in_another() {
    let asked = |line: &[&str]| {
        let line = ["agenthub", "sop", "ask"].iter().chain(line);
        let command = Cli::try_parse_from(line).expect("it is right").command;
        let Command::Sop(Sop::Ask(ask)) = command else {
            panic!("it is a question");
        };
        ask
    };
    let usual = asked(&["say hi"]);
    assert_eq!((usual.dir(), usual.request()), ("./sops".into(), "say hi"));
    let other = asked(&["team", "-", "--input", "tone=kind = good", "--input", "n=3"]);
    assert_eq!((other.dir(), other.request()), ("team".into(), "-"));
    let expected = [("tone", "kind = good"), ("n", "3")].map(|(n, v)| (n.into(), v.into()));
    assert_eq!(other.inputs, expected);
}

#[test]
fn what_is_wrong_is_wrong_usage() {
    for line in [
        "agenthub sop ask",
        "agenthub sop ask a --input tone",
        "agenthub sop ask a --error-mode sometimes",
        "agenthub sop ask a --timeout 0",
        "agenthub sop ask a --here --hub http://h:1",
        "agenthub sop new",
        "agenthub up --grpc nowhere",
        "agenthub agents list --state sleepy",
        "agenthub tasks list --state done",
        "agenthub publish",
        "agenthub fly",
    ] {
        let error = Cli::try_parse_from(line.split(' ')).expect_err(line);
        assert_eq!(error.exit_code(), 2, "{line}");
    }
    let help = Cli::try_parse_from(["agenthub", "--help"]).expect_err("help is no command");
    assert_eq!(help.kind(), ErrorKind::DisplayHelp);
    assert_eq!(help.exit_code(), 0);
}

#[test]
fn flags_become_settings() {
    let line = "agenthub up --grpc :0 --ephemeral --model ollama/llama3.2 --log debug";
    let layer = Cli::try_parse_from(line.split(' '))
        .expect("it is right")
        .layer();
    assert_eq!(
        layer.grpc.map(|g| g.to_string()),
        Some("127.0.0.1:0".into())
    );
    assert_eq!(layer.ephemeral, Some(true));
    assert_eq!(layer.insecure, None);
    assert_eq!(layer.model.name.as_deref(), Some("ollama/llama3.2"));
    assert_eq!(layer.log.as_deref(), Some("debug"));

    let line = "agenthub broker --ended-tasks 5 --ended-tasks-days 2 --ended-tasks-mib 1";
    let layer = Cli::try_parse_from(line.split(' '))
        .expect("it is right")
        .layer();
    let EndedTasks { most, days, mib } = layer.ended_tasks;
    assert_eq!((most, days, mib), (Some(5), Some(2), Some(1)));

    let line = "agenthub tasks show t1 --hub http://h:1";
    let layer = Cli::try_parse_from(line.split(' '))
        .expect("it is right")
        .layer();
    assert_eq!(layer.hub.as_deref(), Some("http://h:1"));
}

use clap::{CommandFactory, error::ErrorKind};

use super::*;

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
fn what_is_wrong_is_wrong_usage() {
    for line in [
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

    let line = "agenthub tasks show t1 --hub http://h:1";
    let layer = Cli::try_parse_from(line.split(' '))
        .expect("it is right")
        .layer();
    assert_eq!(layer.hub.as_deref(), Some("http://h:1"));
}

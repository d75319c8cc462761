//! An MCP server for tests, over stdio.

mod tools;

use std::{env, future::pending, path::PathBuf};

use rmcp::ServiceExt;

use tools::Tools;

#[tokio::main]
async fn main() {
    let mut tools = Tools::default();
    let mut is_deaf = false;
    let mut arguments = env::args().skip(1);
    while let Some(argument) = arguments.next() {
        let mut value = || arguments.next().expect("a value");
        match argument.as_str() {
            "--notes" => tools.notes = Some(PathBuf::from(value())),
            "--many" => tools.many = value().parse().expect("a number"),
            // It goes on when its stdin is closed.
            "--deaf" => is_deaf = true,
            // It never says anything.
            "--mute" => pending().await,
            // It does not begin at all.
            "--refuse" => {
                eprintln!("no licence, token=abcdefgh12345678");
                std::process::exit(2);
            }
            other => panic!("what is {other}?"),
        }
    }
    let id = std::process::id().to_string();
    if let Some(notes) = &tools.notes {
        std::fs::write(notes.join("id"), id).expect("the folder is there");
    }
    let transport = rmcp::transport::stdio();
    if let Ok(server) = tools.serve(transport).await {
        let _ = server.waiting().await;
    }
    if is_deaf {
        pending::<()>().await;
    }
}

//! Tools of MCP servers: real servers, as programs and over HTTP.

mod agents;
mod http;
mod real;
mod stdio;
#[path = "../server/tools.rs"]
mod tools;

use std::{future::pending, path::Path, time::Duration};

use agenthub_mcp::client::{Connection, Error, Reach, ServerSettings};
use agenthub_sdk::runs::ToolOutput;
use serde_json::Value;

/// How long something that must happen may take.
const LIMIT: Duration = Duration::from_secs(20);

/// The server of the tests, as a program.
const SERVER: &str = env!("CARGO_BIN_EXE_mcp-server-for-tests");

fn settings(line: &[&str]) -> ServerSettings {
    ServerSettings {
        name: "test".to_owned(),
        reach: Reach::Command {
            line: line.iter().map(|word| (*word).to_owned()).collect(),
            folder: None,
            environment: Vec::new(),
        },
        timeout: LIMIT,
    }
}

fn over_http(url: &str, token_env: Option<&str>) -> ServerSettings {
    ServerSettings {
        reach: Reach::Http {
            url: url.to_owned(),
            token_env: token_env.map(str::to_owned),
        },
        ..settings(&[])
    }
}

async fn call(connection: &Connection, tool: &str, input: Value) -> Result<ToolOutput, Error> {
    connection.call(tool, input, pending(), |_| {}).await
}

/// Waits until something holds.
async fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let waiting = async {
        while !holds() {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    let held = tokio::time::timeout(LIMIT, waiting).await;
    held.unwrap_or_else(|_| panic!("it does not happen that {what}"));
}

/// What a server has noted in a file.
fn noted(folder: &Path, file: &str) -> Option<String> {
    std::fs::read_to_string(folder.join(file)).ok()
}

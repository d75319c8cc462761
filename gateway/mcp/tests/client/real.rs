//! A server of somebody else, where one is named.

use agenthub_mcp::client::Connection;

use super::{over_http, settings};

/// With a command line in `AGENTHUB_TEST_MCP_SERVER`, such as `npx -y @modelcontextprotocol/server-everything`, or a URL; without it nothing
/// is shown.
#[tokio::test]
async fn a_server_from_elsewhere_lists_tools_that_an_agent_takes() {
    let Ok(line) = std::env::var("AGENTHUB_TEST_MCP_SERVER") else {
        return;
    };
    let line: Vec<&str> = line.split_whitespace().collect();
    let connection = Connection::new(match line[0].starts_with("http") {
        true => over_http(line[0], None),
        false => settings(&line),
    });
    let offer = connection.tools().await.expect("it lists them");
    for tool in &offer.tools {
        println!(
            "{}: {:.60} {:?}",
            tool.full_name, tool.description, tool.changed
        );
    }
    println!("left out: {:?}", offer.left_out);
    assert!(!offer.tools.is_empty());
    connection.close().await;
}

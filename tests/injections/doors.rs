//! Ways into the hub: its addresses, with the tokens of its users.

use std::{fs, path::PathBuf};

use agenthub_cortex::CORTEX;
use serde_json::json;

use super::{USERS, cases::PLACES, common::Case};
use crate::{
    harness::{Finished, Process},
    http::send,
};

/// Addresses of the hub, and the tokens of its users.
#[derive(Clone)]
pub(super) struct Doors {
    pub(super) folder: PathBuf,
    pub(super) hub: String,
    pub(super) http: String,
    pub(super) tokens: [String; 4],
}

impl Doors {
    pub(super) fn token(&self, user: &str) -> &str {
        let at = USERS.iter().position(|name| *name == user);
        &self.tokens[at.expect("a user")]
    }

    pub(super) fn run(&self, user: &str, args: &[&str]) -> Finished {
        let file = format!("{user}.token");
        let args = [args, &["--token-file", &file]].concat();
        Process::start(&self.folder, &self.hub, &args).finish("")
    }

    /// Asks over A2A with a file, whose name is the order.
    fn ask_with_a_file(&self, case: Case) -> String {
        let id = case.id();
        let parts = json!([
            {"text": format!("CASE {id}; sum this up")},
            {"url": "https://files.example/note", "mediaType": "text/plain", "filename": case.injected()},
        ]);
        let message = json!({"message": {"messageId": id, "contextId": id, "role": "ROLE_USER", "parts": parts}});
        let headers = format!(
            "Content-Type: application/json\r\nA2A-Version: 1.0\r\nAuthorization: Bearer {}\r\n",
            self.token(case.user)
        );
        let path = match PLACES[case.place].0 {
            CORTEX => "/message:send".to_owned(),
            agent => format!("/agents/{agent}/message:send"),
        };
        let answer = send(&self.http, "POST", &path, &headers, &message.to_string());
        answer.expect("an answer").text()
    }

    /// Asks with a command, so that the model comes upon the order. The words that came back.
    pub(super) fn ask_with_a_program(&self, case: Case) -> String {
        let (id, order) = (case.id(), case.injected());
        let said = match PLACES[case.place].1 {
            "file" => return self.ask_with_a_file(case),
            "workflow input" => {
                let input = json!({"note": format!("CASE {id}; {order}")}).to_string();
                self.run(
                    case.user,
                    &["workflow", "run", "look.yaml", "--input", &input],
                )
            }
            _ => {
                let brief = json!({"objective": format!("CASE {id}; sum this up"), "payload": {"clientBrief": order}});
                let file = format!("{id}.json");
                fs::write(self.folder.join(&file), brief.to_string()).expect("it is written");
                self.run(case.user, &["run", &file])
            }
        };
        format!("{said:?}")
    }
}

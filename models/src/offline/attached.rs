//! Data that came with the words of a request, and what becomes of them where nobody can read.

use serde_json::{Map, Value, json};

use super::passages::short;
use crate::{PromptMessage, PromptPart, PromptRole, Request};

/// The words of one piece of data that are told.
pub(super) const MOST_OF_DATA: usize = 12;

/// Data that came with the user's last words.
pub(super) struct Attached<'a> {
    /// The first object: an agent is handed one.
    pub(super) handed: Option<&'a Map<String, Value>>,
    /// Everything else, in order.
    left: Vec<&'a Value>,
    /// Names of the files that go with each request.
    files: Vec<&'a str>,
}

impl<'a> Attached<'a> {
    pub(super) fn of(request: &'a Request) -> Self {
        let said =
            |message: &&PromptMessage| message.role == PromptRole::User && message.text().is_some();
        let last = request.messages.iter().rev().find(said);
        let of_label = |wanted: &'static str| {
            let parts = last.into_iter().flat_map(|message| &message.parts);
            parts.filter_map(move |part| match part {
                PromptPart::Data { label, value } if label == wanted => Some(value),
                _ => None,
            })
        };
        let mut left: Vec<&Value> = of_label("attached").collect();
        let files = of_label("file").filter_map(|file| file["name"].as_str());
        let object = left.iter().position(|value| value.is_object());
        let handed = object.and_then(|at| left.remove(at).as_object());
        Self {
            handed,
            left,
            files: files.collect(),
        }
    }

    /// True if no data came along. Files are none: they go with a request as they are.
    pub(super) fn is_empty(&self) -> bool {
        self.handed.is_none() && self.left.is_empty()
    }

    /// The sentence on what was handed to the agents that were asked.
    pub(super) fn handed_on(&self) -> Option<String> {
        let names: Vec<&str> = self.handed?.keys().map(String::as_str).collect();
        Some(format!(
            "(The data that came along, {}, went with the request. No language model looked whether all of it was taken: name the agent \
             that it is for, and its card tells.)",
            names.join(", ")
        ))
    }

    /// The sentence on what no agent was handed.
    pub(super) fn left_out(&self) -> Option<String> {
        let left = told(self.left.iter().map(|value| value.to_string()))?;
        Some(format!(
            "(Nobody was handed what else came along: {left}. A request takes one object of data: put all of it into that.)"
        ))
    }

    /// The sentence on the files that went with the request.
    pub(super) fn files_handed_on(&self) -> Option<String> {
        let names = told(self.files.iter().map(|name| (*name).to_owned()))?;
        Some(format!(
            "(These files went with the request: {names}. No language model looked whether they were read.)"
        ))
    }

    /// The sentence on the data and files where nobody was asked.
    pub(super) fn handed_to_nobody(&self) -> Option<String> {
        let handed = self.handed.map(|object| json!(object).to_string());
        let all = handed
            .into_iter()
            .chain(self.left.iter().map(|value| value.to_string()))
            .chain(self.files.iter().map(|name| format!("the file {name}")));
        let all = told(all)?;
        Some(format!(
            "(Nobody looked at the data that came along: {all}.)"
        ))
    }
}

/// Pieces of data in a line, each shortened; `None` without any.
fn told(data: impl Iterator<Item = String>) -> Option<String> {
    let all: Vec<String> = data.map(|one| short(&one, MOST_OF_DATA)).collect();
    (!all.is_empty()).then(|| all.join(", "))
}

//! The part of an agent's stream that a person reads: answers and artifacts on stdout, all else beside them.

use crate::{
    json::to_json,
    v1::{
        Artifact, Message, Part, Role, TaskState, TaskStatus, part::Content,
        stream_response::Payload,
    },
};
use agenthub_sdk::runs::Shortfall;
use agenthub_terminal::output::plain;
use serde_json::Value;

/// Text of artifacts that is remembered, in bytes. Past that it is forgotten, and an answer that repeats it is printed again.
const MOST_REMEMBERED: usize = 1024 * 1024;

/// Something to print.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Piece {
    /// On stdout, as it is.
    Text(String),
    /// On stderr, a line.
    Aside(String),
}

/// Says what is printed of each event.
#[derive(Debug, Default)]
pub(super) struct Printer {
    /// Artifact whose text the last line is of.
    open: Option<String>,
    /// The line is ended already.
    is_ended: bool,
    /// Ids and texts of the artifacts as they were printed, which agents may say again.
    artifacts: Vec<(String, String)>,
    /// Words of the agent at work that are not printed yet, and the message that they are of.
    held: Option<(String, String)>,
    /// Last words of the agent.
    pub(super) words: String,
    /// Id of the task.
    pub(super) task_id: String,
    /// Shortfall of the answer, as its data say it.
    pub(super) shortfall: Option<Shortfall>,
    /// State of the task; `None` if the answer is a message.
    pub(super) state: Option<TaskState>,
}

impl Printer {
    /// True if words are held back: the next event may say them again.
    pub(super) fn is_holding(&self) -> bool {
        self.held.is_some()
    }

    /// The words that were held back.
    pub(super) fn release(&mut self) -> Vec<Piece> {
        let mut pieces = Vec::new();
        if let Some((_, words)) = self.held.take() {
            self.end_line(&mut pieces);
            pieces.push(Piece::Aside(words));
        }
        pieces
    }

    /// The pieces of an event.
    pub(super) fn take(&mut self, event: &Payload) -> Vec<Piece> {
        if self.is_held_again(event) {
            self.held = None;
        }
        let mut pieces = self.release();
        match event {
            Payload::Task(task) => {
                task.id.clone_into(&mut self.task_id);
                for artifact in &task.artifacts {
                    self.artifact(artifact, false, &mut pieces);
                }
                if let Some(status) = &task.status {
                    self.status(status.state(), status.message.as_ref(), &mut pieces);
                }
            }
            Payload::StatusUpdate(update) => {
                update.task_id.clone_into(&mut self.task_id);
                if let Some(status) = &update.status {
                    self.status(status.state(), status.message.as_ref(), &mut pieces);
                }
            }
            Payload::ArtifactUpdate(update) => {
                if let Some(artifact) = &update.artifact {
                    self.artifact(artifact, update.append, &mut pieces);
                }
            }
            Payload::Message(message) => {
                self.state = None;
                self.answered(&message.parts);
                self.answer(&mut pieces);
            }
        }
        pieces
    }

    /// True if an event says the words that are held back.
    fn is_held_again(&self, event: &Payload) -> bool {
        let Some((id, words)) = &self.held else {
            return false;
        };
        let is_text = |parts: &[Part]| text_of(parts).trim_end() == words.trim_end();
        let is_said = |status: &TaskStatus| {
            let said = status.message.as_ref();
            said.is_some_and(|said| said.message_id == *id || is_text(&said.parts))
        };
        match event {
            Payload::StatusUpdate(update) => update.status.as_ref().is_some_and(is_said),
            Payload::Task(task) => {
                task.status.as_ref().is_some_and(is_said)
                    || task.artifacts.iter().any(|a| is_text(&a.parts))
            }
            Payload::ArtifactUpdate(update) => {
                update.artifact.as_ref().is_some_and(|a| is_text(&a.parts))
            }
            Payload::Message(message) => is_text(&message.parts),
        }
    }

    /// True if these words are an artifact that was printed, or all of them.
    fn is_printed(&self, words: &str) -> bool {
        let is_it = |text: &str| text.trim_end() == words.trim_end();
        let texts: Vec<&str> = self.artifacts.iter().map(|(_, text)| &**text).collect();
        texts.iter().any(|text| is_it(text)) || ["", "\n"].iter().any(|s| is_it(&texts.join(s)))
    }

    fn status(&mut self, state: TaskState, message: Option<&Message>, pieces: &mut Vec<Piece>) {
        self.state = Some(state);
        let said = message.filter(|m| m.role() != Role::User);
        let parts = said.map_or(&[][..], |message| &message.parts);
        let words = text_of(parts);
        match state {
            TaskState::Completed => {
                self.answered(parts);
                self.answer(pieces);
            }
            TaskState::Working | TaskState::Submitted | TaskState::Unspecified => {
                let is_news = !words.is_empty() && !self.is_printed(&words);
                if let Some(said) = said.filter(|_| is_news) {
                    self.held = Some((said.message_id.clone(), words));
                }
            }
            // The caller says what these mean.
            _ => {
                self.end_line(pieces);
                self.words = words;
            }
        }
    }

    /// Takes in an answer; what it lacks, its words say.
    fn answered(&mut self, parts: &[Part]) {
        let is_mark = |part: &Part| Shortfall::of([&data_of(part)]).is_some();
        let marks: Vec<Value> = parts.iter().map(data_of).collect();
        // Of the answer itself, or else of an artifact.
        self.shortfall = Shortfall::of(&marks).or(self.shortfall.take());
        let told: Vec<Part> = parts.iter().filter(|p| !is_mark(p)).cloned().collect();
        self.words = text_of(&told);
    }

    fn answer(&mut self, pieces: &mut Vec<Piece>) {
        self.end_line(pieces);
        if !self.words.is_empty() && !self.is_printed(&self.words) {
            pieces.push(Piece::Text(format!("{}\n", self.words)));
        }
    }

    fn artifact(&mut self, artifact: &Artifact, append: bool, pieces: &mut Vec<Piece>) {
        let id = &artifact.artifact_id;
        let marks: Vec<Value> = artifact.parts.iter().map(data_of).collect();
        self.shortfall = self.shortfall.take().or(Shortfall::of(&marks));
        let text = text_of(&artifact.parts);
        let is_open = self.open.as_ref() == Some(id);
        let printed = self.remember(id, &text, append);
        // The whole, once more or as far as it has come.
        let rest = match printed {
            Some(printed) if printed == text => return,
            Some(printed) if is_open => text.strip_prefix(&*printed),
            _ => None,
        };
        let goes_on = is_open && (append || rest.is_some());
        if !goes_on {
            self.end_line(pieces);
            if !artifact.name.is_empty() && !append {
                pieces.push(Piece::Aside(format!("artifact {}:", plain(&artifact.name))));
            }
        }
        let text = rest.map_or(&*text, |rest| rest);
        if !text.is_empty() {
            self.open = Some(id.clone());
            self.is_ended = text.ends_with('\n');
            pieces.push(Piece::Text(text.to_owned()));
        }
    }

    /// Remembers the text of an artifact; the text that this replaces.
    fn remember(&mut self, id: &str, text: &str, append: bool) -> Option<String> {
        let remembered: usize = self.artifacts.iter().map(|(_, text)| text.len()).sum();
        if remembered + text.len() > MOST_REMEMBERED {
            self.artifacts.clear();
        }
        match self.artifacts.iter_mut().find(|(known, _)| known == id) {
            Some((_, known)) if append => {
                known.push_str(text);
                None
            }
            Some((_, known)) => Some(std::mem::replace(known, text.to_owned())),
            None => {
                self.artifacts.push((id.to_owned(), text.to_owned()));
                None
            }
        }
    }

    fn end_line(&mut self, pieces: &mut Vec<Piece>) {
        if self.open.take().is_some() && !self.is_ended {
            pieces.push(Piece::Text("\n".to_owned()));
        }
    }
}

/// The data of a part; null if it is none of data.
fn data_of(part: &Part) -> Value {
    match &part.content {
        Some(Content::Data(_)) => to_json(part)["data"].clone(),
        _ => Value::Null,
    }
}

/// The parts in words; files by their names, data as JSON.
fn text_of(parts: &[Part]) -> String {
    let words = |part: &Part| match &part.content {
        Some(Content::Text(text)) => text.clone(),
        Some(Content::Data(_)) => data_of(part).to_string(),
        Some(Content::Url(url)) => format!("[{} at {url}]", name_of(part)),
        Some(Content::Raw(bytes)) => format!("[{}, {} bytes]", name_of(part), bytes.len()),
        None => String::new(),
    };
    let all = parts.iter().map(words).collect::<Vec<_>>().join("\n");
    plain(&all).into_owned()
}

fn name_of(part: &Part) -> &str {
    match (part.filename.as_str(), part.media_type.as_str()) {
        ("", "") => "a file",
        ("", media_type) => media_type,
        (name, _) => name,
    }
}

#[cfg(test)]
mod tests {
    use crate::{json::from_json, v1::StreamResponse};
    use serde_json::json;

    use super::*;

    /// Everything that is printed, with lines on stderr in brackets.
    fn check(events: &[Value], expected: &str) {
        let mut printer = Printer::default();
        let (mut all, mut pieces) = (String::new(), Vec::new());
        for event in events {
            let event: StreamResponse = from_json(event.clone()).expect("an event");
            pieces.extend(printer.take(&event.payload.expect("something")));
        }
        pieces.extend(printer.release());
        for piece in pieces {
            match piece {
                Piece::Text(text) => all.push_str(&text),
                Piece::Aside(line) => all.push_str(&format!("({line})")),
            }
        }
        assert_eq!(all, expected);
    }

    fn status(state: &str, text: &str) -> Value {
        let message = json!({"messageId": text, "role": "ROLE_AGENT", "parts": [{"text": text}]});
        json!({"statusUpdate": {"taskId": "t", "status": {"state": format!("TASK_STATE_{state}"), "message": message}}})
    }

    fn chunk(text: &str, append: bool) -> Value {
        json!({"artifactUpdate": {"taskId": "t", "append": append,
            "artifact": {"artifactId": "a", "name": "a.txt", "parts": [{"text": text}]}}})
    }

    fn named(id: &str, text: &str, append: bool) -> Value {
        json!({"artifactUpdate": {"taskId": "t", "append": append,
            "artifact": {"artifactId": id, "parts": [{"text": text}]}}})
    }

    #[test]
    fn an_answer_is_printed_once_however_it_comes() {
        let done = |text: &str| status("COMPLETED", text);
        // Said at work under a message id of its own, as the SDK for Python does.
        let mut at_work = status("WORKING", "done");
        at_work["statusUpdate"]["status"]["message"]["messageId"] = json!("another");
        check(&[at_work, done("done")], "done\n");
        // Said at work, and an artifact.
        let words = |text: &str| status("WORKING", text);
        check(
            &[words("one"), named("a", "one", false), done("one")],
            "one\n",
        );
        check(
            &[named("a", "one", false), words("one"), done("one")],
            "one\n",
        );
        // The artifact in pieces, and once more as a whole, or as far as it has come.
        let pieces = [named("a", "one ", false), named("a", "two", true)];
        let whole = [&pieces[..], &[named("a", "one two", false)]].concat();
        check(&whole, "one two");
        check(
            &[named("a", "one ", false), named("a", "one two", false)],
            "one two",
        );
        // Another one stands between its pieces, or behind it.
        let [first, second] = pieces;
        let between = [first, named("b", "three", false), second];
        check(
            &[&between[..], &[done("one two")]].concat(),
            "one \nthree\ntwo\n",
        );
        let behind = [named("a", "one", false), named("b", "two", false)];
        for answer in ["one", "two", "one\ntwo", "onetwo"] {
            let all = [&behind[..], &[done(answer)]].concat();
            check(&all, "one\ntwo\n");
        }
        check(&[named("a", "one\n", false), done("one")], "one\n");
        // What is another text is another answer.
        check(&[named("a", "one", false), done("One")], "one\nOne\n");
        check(
            &[named("a", "one", false), named("a", "two", false)],
            "one\ntwo",
        );
    }

    #[test]
    fn words_that_come_again_are_said_once() {
        check(
            &[
                status("WORKING", "which?"),
                status("INPUT_REQUIRED", "which?"),
            ],
            "",
        );
        check(
            &[status("WORKING", "done"), status("COMPLETED", "done")],
            "done\n",
        );
        check(
            &[
                status("WORKING", "one"),
                status("WORKING", "two"),
                status("FAILED", "no"),
            ],
            "(one)(two)",
        );
        check(&[status("WORKING", "one")], "(one)");
    }

    /// spec: SOP-8.7
    #[test]
    fn what_an_answer_lacks_is_kept_beside_its_words() {
        let mut printer = Printer::default();
        let marks = json!({"partial": true, "undone": "all", "results": []});
        let event = json!({"message": {"messageId": "m", "role": "ROLE_AGENT", "parts": [{"text": "no"}, {"data": marks}]}});
        let event: StreamResponse = from_json(event).expect("an event");
        printer.take(&event.payload.expect("something"));
        assert_eq!(printer.words, "no");
        assert!(
            printer
                .shortfall
                .is_some_and(|shortfall| shortfall.is_nothing())
        );
    }

    /// spec: SOP-8.7
    #[test]
    fn an_artifact_says_what_the_answer_lacks_where_that_does_not() {
        let marks = json!({"partial": true, "results": []});
        let artifact =
            json!({"artifactId": "a", "parts": [{"data": {"score": 1}}, {"data": marks}]});
        let drawn = json!({"artifactUpdate": {"taskId": "t", "artifact": artifact}});
        let mut printer = Printer::default();
        for event in [drawn, status("COMPLETED", "done")] {
            let event: StreamResponse = from_json(event).expect("an event");
            printer.take(&event.payload.expect("something"));
        }
        assert!(printer.shortfall.is_some());
    }

    #[test]
    fn answers_are_printed_and_progress_stands_beside_them() {
        check(
            &[
                json!({"task": {"id": "t", "status": {"state": "TASK_STATE_SUBMITTED",
                    "message": {"messageId": "q", "role": "ROLE_USER", "parts": [{"text": "begin"}]}}}}),
                status("WORKING", "thinking"),
                chunk("one ", false),
                chunk("two", true),
                status("WORKING", "nearly"),
                status("COMPLETED", "done"),
            ],
            "(thinking)(artifact a.txt:)one two\n(nearly)done\n",
        );
        check(
            &[
                json!({"message": {"messageId": "m", "role": "ROLE_AGENT", "parts": [
                {"text": "hi\u{1b}[2J"}, {"data": {"a": 1}}, {"raw": "AQI=", "filename": "f"}, {"url": "http://u"}]}}),
            ],
            "hi[2J\n{\"a\":1}\n[f, 2 bytes]\n[a file at http://u]\n",
        );
        check(&[status("INPUT_REQUIRED", "which?")], "");
        // An answer that is the artifact is printed once.
        check(
            &[
                chunk("one ", false),
                chunk("two", true),
                status("COMPLETED", "one two"),
            ],
            "(artifact a.txt:)one two\n",
        );
    }
}

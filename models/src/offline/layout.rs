//! Answers of an agent without tools: what it was given, in order, or what can be counted in it.

use serde_json::Value;

use super::Answer;
use super::counting;
use super::handing_on::TOPICS;
use super::passages::count;
use super::stated::quotations;
use super::turn::Turn;
use super::words::{material, mention, points_ahead, subject};
use crate::{Request, Undone};

/// Says who made a text. It stands in an answer once, at its end.
pub(super) const MARK: &str =
    "(Put together by the offline stand-in from what it was given. No language model wrote this.)";

/// A task with one of these wants a text to be looked at, if one is given.
const REVIEWS: [&str; 8] = [
    "review",
    "check",
    "critici",
    "judge",
    "verify",
    "proofread",
    "assess",
    "look",
];

/// The longest task that is a title, in words.
const MAX_TITLE: usize = 6;

/// Inputs that take the text that is to be looked at.
const DRAFTS: [&str; 4] = ["draft", "text", "article", "content"];

/// True if the result, or its text, is marked.
pub(super) fn is_marked(value: &Value) -> bool {
    let text = value.get("text").unwrap_or(value);
    text.as_str().is_some_and(|text| text.contains(MARK))
}

/// The text without the mark.
pub(super) fn without_mark(text: &str) -> String {
    text.replace(MARK, "").trim().to_owned()
}

/// An answer made of what came with the request; nothing where that is no more than a line of words.
pub(super) fn answer(request: &Request) -> Option<Answer> {
    let given = AnswerMaterial::of(&Turn::of(request));
    if given.texts.is_empty() && given.title_from_words {
        return None;
    }
    let said = match given.wants_review && given.draft.is_some() {
        true => given.measured(),
        false => given.laid_out(),
    };
    // What was asked for beside that, and what the instructions want, nobody read.
    let undone = match given.says_nothing() {
        true => Undone::All,
        false => Undone::Part,
    };
    Some(Answer::Text(format!("{said}\n\n{MARK}"), Some(undone)))
}

/// The text that the words want to be looked at, without those that ask for it ("check this: …"); `None` if they give none, or want
/// something else.
pub fn text_to_check(words: &str) -> Option<&str> {
    let words = words.trim();
    let text = material(words)?;
    speaks_of_review(&words[..words.len() - text.len()]).then_some(text)
}

/// Material of an answer.
struct AnswerMaterial {
    title: String,
    title_from_words: bool,
    wants_review: bool,
    texts: Vec<String>,
    /// The text that is to be looked at, where an input is called as such texts are.
    draft: Option<String>,
    /// The items of lists, with the names of their inputs.
    lists: Vec<(String, Vec<String>)>,
    /// The most words that a text may have.
    most_words: Option<usize>,
}

impl AnswerMaterial {
    fn of(turn: &Turn<'_>) -> Self {
        let words = without_mark(&turn.words);
        let (head, rest) = words.split_once("\n\n").unwrap_or((&words, ""));
        // Whoever follows a procedure says first what is to be done, and then what was asked.
        let (task, asked) = head.split_once(": ").unwrap_or((head, head));
        let mut given = Self {
            title: title(task, asked).to_owned(),
            title_from_words: true,
            wants_review: speaks_of_review(task),
            texts: paragraphs(rest),
            draft: None,
            lists: Vec::new(),
            most_words: None,
        };
        for (name, value) in turn.input.and_then(Value::as_object).into_iter().flatten() {
            // Words that are data as well are no material twice.
            if value.as_str().map(str::trim) != Some(turn.words.trim()) {
                given.take(name, value);
            }
        }
        given.take_words(&words);
        given
    }

    /// Takes what the words give, where nothing else was given: the text behind the colon of what is to be done with it. What is to be
    /// looked at may stand in quotation marks or below as well.
    fn take_words(&mut self, words: &str) {
        if self.draft.is_some() || !self.title_from_words {
            return;
        }
        // "Check this: …" points at all that follows; a step of a procedure is followed by the request, and below it by the material.
        let head = words.split(':').next().unwrap_or_default();
        if self.says_nothing() || (self.lists.is_empty() && points_ahead(head)) {
            let quoted = || {
                quotations(words)
                    .into_iter()
                    .next()
                    .filter(|_| self.wants_review)
            };
            let Some(text) = material(words).or_else(quoted) else {
                return;
            };
            self.texts = paragraphs(text);
        }
        if self.wants_review && self.lists.is_empty() {
            self.draft = Some(self.texts.join("\n\n"));
        }
    }

    fn take(&mut self, name: &str, value: &Value) {
        match value {
            Value::String(text) if TOPICS.contains(&name) => {
                self.title.clone_from(text);
                self.title_from_words = false;
            }
            // A single word is a choice between several.
            Value::String(text)
                if DRAFTS.contains(&name) || text.trim().contains(char::is_whitespace) =>
            {
                let text = without_mark(text);
                self.texts.extend(paragraphs(&text));
                if DRAFTS.contains(&name) {
                    self.draft = Some(text);
                }
            }
            Value::Array(items) => {
                let items: Vec<String> = items
                    .iter()
                    .filter_map(Value::as_str)
                    .map(str::to_owned)
                    .collect();
                if !items.is_empty() {
                    self.lists.push((name.replace('_', " "), items));
                }
            }
            Value::Number(number) if mention(name, "words").is_some() => {
                self.most_words = number.as_u64().and_then(|most| usize::try_from(most).ok());
            }
            _ => {}
        }
    }

    /// True if there is nothing under the title.
    fn says_nothing(&self) -> bool {
        self.texts.is_empty() && self.lists.is_empty()
    }

    /// The title and under it what was given, as far as there is room for it.
    fn laid_out(&self) -> String {
        let mut text = format!("# {}", capitalized(&self.title));
        let mut left = self
            .most_words
            .unwrap_or(usize::MAX)
            .saturating_sub(count(&text) + count(MARK));
        let lists = self.lists.iter().map(|(_, items)| {
            let items = items.iter().map(|item| format!("- {item}"));
            items.collect::<Vec<_>>().join("\n")
        });
        let same = |paragraph: &String| {
            capitalized(paragraph.trim_start_matches(['#', ' '])) == capitalized(&self.title)
        };
        for paragraph in self.texts.iter().filter(|p| !same(p)).cloned().chain(lists) {
            let kept = within(&paragraph, left);
            left = left.saturating_sub(count(&kept));
            if !kept.is_empty() {
                text.push_str(&format!("\n\n{kept}"));
            }
        }
        if self.says_nothing() {
            text.push_str("\n\nNothing was given to say about it.");
        }
        text
    }

    /// Counts of the draft, and the demands that they meet.
    fn measured(&self) -> String {
        let text = self.draft.as_deref().unwrap_or_default();
        let mut lines = length(text, self.most_words);
        for (name, items) in &self.lists {
            let missing: Vec<&str> = items
                .iter()
                .map(String::as_str)
                .filter(|item| mention(text, item).is_none())
                .collect();
            lines.push(match missing.is_empty() {
                true => format!("It has all of: {name}."),
                false => format!("It does not have (of: {name}): {}.", missing.join("; ")),
            });
        }
        lines.push(
            "Whether it is right and reads well takes a language model or a person.".to_owned(),
        );
        lines.join(" ")
    }
}

fn speaks_of_review(task: &str) -> bool {
    let task = task.to_lowercase();
    let mut words = task.split(|c: char| !c.is_alphanumeric());
    words.any(|word| REVIEWS.iter().any(|stem| word.starts_with(stem)))
}

/// The subject of the request, if it says so; else the task, if that is short enough.
fn title<'t>(task: &'t str, asked: &'t str) -> &'t str {
    match asked.contains("about ") || count(task) > MAX_TITLE {
        true => subject(asked).split(": ").next().unwrap_or_default(),
        false => subject(task),
    }
}

fn paragraphs(text: &str) -> Vec<String> {
    let all = text
        .split("\n\n")
        .map(|paragraph| paragraph.trim().to_owned());
    all.filter(|paragraph| !paragraph.is_empty()).collect()
}

/// Whole sentences of a paragraph, at most so many words of them.
fn within(paragraph: &str, most: usize) -> String {
    if count(paragraph) <= most {
        return paragraph.to_owned();
    }
    let mut kept = "";
    for (at, _) in paragraph.match_indices(['.', '!', '?']) {
        let piece = &paragraph[..=at];
        if count(piece) > most {
            break;
        }
        kept = piece;
    }
    kept.to_owned()
}

fn capitalized(text: &str) -> String {
    let mut letters = text.chars();
    let first = letters.next().map(|first| first.to_uppercase().to_string());
    first.unwrap_or_default() + letters.as_str()
}

/// Length of a text in words, and whether it keeps to a limit, as far as its words can be counted.
fn length(text: &str, most: Option<usize>) -> Vec<String> {
    let Some(words) = counting::words(text) else {
        return vec!["Its words cannot be counted without a language model.".to_owned()];
    };
    let (fewest, highest) = words.into_inner();
    let is_sure = fewest == highest;
    let mut lines = vec![match is_sure {
        true => format!("It has {}.", so_many(fewest, "word")),
        false => format!("It has {fewest} to {highest} words, by how they are counted."),
    }];
    lines.extend(most.map(|most| match () {
        () if fewest > most => format!(
            "It is {}{} over the limit of {most}.",
            if is_sure { "" } else { "at least " },
            so_many(fewest - most, "word")
        ),
        () if highest <= most => format!("It keeps to the limit of {}.", so_many(most, "word")),
        () => format!("Whether it keeps to the limit of {most} depends on how they are counted."),
    }));
    lines
}

/// A number of things, in words.
fn so_many(n: usize, one: &str) -> String {
    match n {
        1 => format!("1 {one}"),
        n => format!("{n} {one}s"),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::{PromptMessage, PromptPart, PromptRole};

    fn asked(words: &str, input: Value) -> String {
        let mut parts = vec![PromptPart::Text(words.to_owned())];
        if !input.is_null() {
            let label = "input".to_owned();
            parts.push(PromptPart::Data {
                label,
                value: input,
            });
        }
        let request = Request::new(vec![PromptMessage::new(PromptRole::User, parts)]);
        match answer(&request) {
            Some(Answer::Text(text, undone)) => {
                assert_eq!(
                    undone == Some(Undone::All),
                    text.contains("Nothing was given"),
                    "{text}"
                );
                text
            }
            _ => String::new(),
        }
    }

    #[test]
    fn what_was_given_is_laid_out_under_what_it_is_about() {
        let marked = format!("Mail waits. It keeps.\n\nNobody loses it.\n\n{MARK}");
        let input = json!({"topic": "how mail waits", "findings": marked, "tone": "plain", "points": ["seven days"]});
        assert_eq!(
            asked("Write it: Write about mail", input),
            format!(
                "# How mail waits\n\nMail waits. It keeps.\n\nNobody loses it.\n\n- seven days\n\n{MARK}"
            )
        );
        let short = json!({"findings": "Mail waits. It keeps for days.", "max_words": 20});
        assert_eq!(
            asked("Write it: an article about mail", short),
            format!("# Mail\n\nMail waits.\n\n{MARK}")
        );
        assert_eq!(
            asked("Write: about mail\n\nIt waits.", Value::Null),
            format!("# About mail\n\nIt waits.\n\n{MARK}")
        );
        let notes = json!({"notes": "Joe brings the key."});
        assert_eq!(
            asked(
                "The tasks: Make minutes of this: Joe brings the key.",
                notes
            ),
            format!("# The tasks\n\nJoe brings the key.\n\n{MARK}")
        );
        assert_eq!(
            asked("Go", json!({"topic": "mail"})),
            format!("# Mail\n\nNothing was given to say about it.\n\n{MARK}")
        );
    }

    #[test]
    fn a_review_counts_what_can_be_counted() {
        let input = json!({"draft": "# Rain\n\nIt rains. It rains all day!", "findings": "It does rain.", "max_words": 6, "points": ["rain", "all day", "snow"]});
        let said = asked("Check the draft: rain", input);
        for part in [
            "It has 7 words.",
            "It is 1 word over the limit of 6.",
            "It does not have (of: points): snow.",
            MARK,
        ] {
            assert!(said.contains(part), "{part}: {said}");
        }
        let said = asked("Review it", json!({"draft": "Fine.", "max_words": 6}));
        assert!(said.contains("It keeps to the limit of 6 words."), "{said}");
    }

    #[test]
    fn what_is_to_be_done_with_a_text_is_no_part_of_it() {
        for (words, input) in [
            ("check this: The hub is fast.", Value::Null),
            ("check this:\n\nThe hub is fast.", Value::Null),
            ("ask counter to check \"The hub is fast.\"", Value::Null),
            (
                "ask counter to check this: The hub is fast.",
                json!({"text": "ask counter to check this: The hub is fast."}),
            ),
        ] {
            let said = asked(words, input);
            assert!(said.starts_with("It has 4 words."), "{words}: {said}");
        }
        assert_eq!(
            asked("Make notes of this: Joe brings the key.", Value::Null),
            format!("# Make notes of this\n\nJoe brings the key.\n\n{MARK}")
        );
        let request = Request::new(vec![PromptMessage::user("check this: It is.")]);
        let Some(Answer::Text(_, undone)) = answer(&request) else {
            panic!("it is looked at");
        };
        assert_eq!(undone, Some(Undone::Part), "nobody judged it");
    }

    #[test]
    fn a_text_to_check_stands_behind_the_words_that_ask_for_it() {
        assert_eq!(
            text_to_check("ask qa to check this: It is."),
            Some("It is.")
        );
        assert_eq!(
            text_to_check("Remember this: it rains."),
            None,
            "that is a text"
        );
    }

    #[test]
    fn a_line_of_words_is_nothing_to_lay_out() {
        assert_eq!(asked("Tell me about mail", Value::Null), "");
    }
}

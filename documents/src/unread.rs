//! Says in plain words why a document is no YAML.

mod missing;

use self::missing::missing_sign;
use crate::{
    Place,
    yaml::{Kind, Syntax, Unread},
};

/// The beginning of a document.
const BEGIN: Place = Place {
    line: 1,
    column: 1,
    length: 0,
};

/// The fault, and what to do.
type Words = (String, String);

/// The place of the fault for which a document can't be read, the fault, and what to do. `what` is the kind of document, such as
/// `front matter`.
pub fn explain(unread: &Unread, text: &str, what: &str) -> (Place, String, String) {
    let place = unread.place.filter(|place| place.line > 0).unwrap_or(BEGIN);
    let place = match &unread.kind {
        Kind::Syntax(Syntax::Tab) => tab(text, place),
        Kind::Syntax(Syntax::NotClosed) => open(text, place).unwrap_or(place),
        _ => place,
    };
    if let Some((place, message, help)) = missing_sign(unread, text, place) {
        return (place, message, help);
    }
    let (message, help) = said(unread, text, place, what);
    (place, message, help)
}

fn said(unread: &Unread, text: &str, place: Place, what: &str) -> Words {
    match &unread.kind {
        Kind::Syntax(Syntax::Colon) => colon(text, place),
        Kind::Syntax(Syntax::Tab) => words(
            &format!("a tab stands here; the {what} is indented with spaces"),
            "use spaces instead of tabs",
        ),
        Kind::Syntax(Syntax::NotClosed) => words(
            "what begins here does not end",
            "close the quote or the bracket",
        ),
        Kind::Syntax(Syntax::AfterQuote) => words(
            "the text goes on after its closing quote",
            "write `\\\"` for a quote inside a text in quotes",
        ),
        Kind::Syntax(Syntax::Escape) => words(
            "the text holds a `\\` that means nothing",
            "write `\\\\` for a `\\`, or put the text into single quotes",
        ),
        Kind::Syntax(Syntax::Reserved(character)) => words(
            &format!("a text can't begin with `{character}` here"),
            "put the text into quotes",
        ),
        Kind::UnknownAlias => words(
            "a text can't begin with `*` here",
            "put the text into quotes",
        ),
        Kind::Syntax(Syntax::Misplaced) => words(
            "this does not belong to what stands above it",
            "begin all fields in the same column, each with its name, a colon and a space",
        ),
        Kind::NoKey => words("a field has no name", "write its name before the colon"),
        Kind::OtherType => words(
            "a field can't be called so",
            "the name of a field is one word",
        ),
        Kind::SecondDocument => words(
            &format!("something follows after the end of the {what}"),
            "leave this line out: a file is one document",
        ),
        Kind::TooMuch => words(
            &format!("this is more, or deeper, than the {what} can hold"),
            "leave out what does not belong there",
        ),
        Kind::Syntax(Syntax::Other)
        | Kind::UnknownField(_)
        | Kind::DuplicateKey(_)
        | Kind::NonFinite
        | Kind::Other => words(
            &format!("the {what} is no YAML: {}", unread.why),
            "a field is its name, a colon, a space and its value, such as `name: researcher`",
        ),
    }
}

fn words(message: &str, help: &str) -> Words {
    (message.to_owned(), help.to_owned())
}

/// A colon where none can be.
fn colon(text: &str, place: Place) -> Words {
    let line = line(text, place);
    let before = &text[line.start..place.bytes(text).start];
    let text = &text[line];
    match (text.split_once(": "), before.trim_start().contains(": ")) {
        (Some((key, value)), true) if !value.contains('"') => words(
            "a second colon stands in this line",
            &format!(
                "put the text into quotes: `{}: \"{}\"`",
                key.trim(),
                value.trim()
            ),
        ),
        (_, true) => words(
            "a second colon stands in this line",
            "put the text behind the first one into quotes",
        ),
        _ if text.starts_with(' ') => words(
            "this line is indented, but the one above has a value already",
            "begin it in the same column as the line above",
        ),
        _ => words(
            "this line does not follow from what stands above it",
            "look at the line above: a field is its name, a colon, a space and its value",
        ),
    }
}

/// The tab that is meant: the first that indents a line from here on.
fn tab(text: &str, place: Place) -> Place {
    let lines = text.lines().zip(1..).skip(place.line as usize - 1);
    let found = lines.filter_map(|(line, number)| {
        let indent = &line[..line.len() - line.trim_start().len()];
        let column = indent.chars().position(|c| c == '\t')?;
        Some(Place {
            line: number,
            column: u32::try_from(column + 1).unwrap_or(u32::MAX),
            length: 1,
        })
    });
    found.into_iter().next().unwrap_or(place)
}

/// The nearest value above a place that begins with a quote or a bracket and does not end in its line.
fn open(text: &str, place: Place) -> Option<Place> {
    let above: Vec<(u32, &str)> = (1..=place.line).zip(text.lines()).collect();
    let above = above.into_iter().rev();
    above
        .filter_map(|(number, line)| {
            let at = line.find(": ").map(|at| at + 2).or_else(|| {
                let dash = line.trim_start().strip_prefix("- ")?;
                Some(line.len() - dash.len())
            })?;
            let value = line[at..].trim_end();
            let first = value.chars().next()?;
            let end = match first {
                '"' | '\'' => first,
                '[' => ']',
                '{' => '}',
                _ => return None,
            };
            let is_closed = value.len() > 1 && value.ends_with(end);
            (!is_closed).then(|| Place {
                line: number,
                column: u32::try_from(line[..at].chars().count() + 1).unwrap_or(u32::MAX),
                length: 1,
            })
        })
        .next()
}

/// The line of a place, in bytes.
fn line(text: &str, place: Place) -> std::ops::Range<usize> {
    Place {
        column: 1,
        length: u32::MAX,
        ..place
    }
    .bytes(text)
}

/// The text with the value of a line in quotes, if a colon in it is what can't be read. Other programs read such lines.
pub fn quoted(text: &str, unread: &Unread) -> Option<String> {
    if unread.kind != Kind::Syntax(Syntax::Colon) {
        return None;
    }
    let range = line(text, unread.place?);
    let (key, value) = text[range.clone()].split_once(": ")?;
    let value = value.trim();
    let is_plain = !key.contains([' ', '"', '\'', '#'])
        && value.contains(':')
        && !value.starts_with(['"', '\'', '[', '{', '|', '>', '&', '*']);
    is_plain.then(|| {
        let (before, after) = (&text[..range.start], &text[range.end..]);
        format!("{before}{key}: '{}'{after}", value.replace('\'', "''"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::yaml;

    /// The line, the part that is meant, the fault and the advice.
    fn told(text: &str) -> (u32, String, String, String) {
        let unread = yaml::tree(text).expect_err(text);
        let (place, message, help) = explain(&unread, text, "file");
        (
            place.line,
            text[place.bytes(text)].to_owned(),
            message,
            help,
        )
    }

    #[test]
    fn a_missing_comma_is_told_behind_the_value_before_it() {
        for (text, line, meant) in [
            ("a: { b: x c: y }\n", 1, "x"),
            ("a: { b: x, c: \"y\" d: 1 }\n", 1, "\"y\""),
            ("a: { b: \"x\" c: y }\n", 1, "\"x\""),
            ("a: [b, \"c\" \"d\"]\n", 1, "\"c\""),
            ("a: {\n  \"b\": { \"c\": 1 }\n  \"d\": 1\n}\n", 2, "}"),
            ("a: {\n  \"b\": 12\n  \"d\": 1\n}\n", 2, "12"),
        ] {
            let (line_told, meant_told, message, _) = told(text);
            assert_eq!(message, "a comma is missing behind this", "{text}");
            assert_eq!((line_told, meant_told.as_str()), (line, meant), "{text}");
        }
        let (_, _, message, _) = told("a: { b: \"say \"no\" \" }\n");
        assert!(message.contains("after its closing quote"), "{message}");
    }

    #[test]
    fn a_missing_colon_is_told_in_its_own_line() {
        for (text, line, meant, help) in [
            (
                "s:\n  a:\n    agent echo\n    text: x\n",
                3,
                "agent",
                "write `agent: echo`",
            ),
            (
                "s:\n  a:\n    agent echo\n    text: x: y\n",
                3,
                "agent",
                "write `agent: echo`",
            ),
            (
                "s:\n  a:\n    text: x\n    agent echo\n",
                4,
                "agent",
                "write `agent: echo`",
            ),
            ("name a story\ns: 1\n", 1, "name", "write `name: a story`"),
            ("steps\n  a: 1\n", 1, "steps", "write `steps:`"),
            ("s:\n  - id x\n    agent: y\n", 2, "id", "write `id: x`"),
        ] {
            let (line_told, meant_told, message, help_told) = told(text);
            assert_eq!(
                message,
                format!("a colon is missing behind `{meant}`"),
                "{text}"
            );
            assert_eq!(
                (line_told, meant_told.as_str(), help_told.as_str()),
                (line, meant, help)
            );
        }
        let (_, _, message, _) = told("a: b\n  c: d\n");
        assert!(message.contains("this line is indented"), "{message}");
    }

    #[test]
    fn what_is_not_closed_is_told_where_it_begins() {
        for (text, line, meant) in [
            ("a: [b, c\nd: x\n", 1, "["),
            ("a: { b: \"x }\nc: 1\n", 1, "\""),
        ] {
            let (line_told, meant_told, message, _) = told(text);
            assert_eq!(message, "what begins here does not end", "{text}");
            assert_eq!((line_told, meant_told.as_str()), (line, meant), "{text}");
        }
    }
}

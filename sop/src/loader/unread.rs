//! Says in plain words why front matter is no YAML.

use super::{faults::Faults, front::BEGIN};
use crate::{Place, yaml::Unread};

/// What is wrong, and what to do.
type Words = (String, String);

/// What writers get wrong: what the reader says of it, what it is, what to do.
const KNOWN: [(&str, &str, &str); 8] = [
    (
        "alias references unknown anchor",
        "a text can't begin with `*` here",
        "put the text into quotes",
    ),
    (
        "trailing content after",
        "the text goes on after its closing quote",
        "write `\\\"` for a quote inside a text in quotes",
    ),
    (
        "unknown escape",
        "the text holds a `\\` that means nothing",
        "write `\\\\` for a `\\`, or put the text into single quotes",
    ),
    (
        "did not find expected",
        "this does not belong to what stands above it",
        "begin all fields in the same column, each with its name, a colon and a space",
    ),
    (
        "null into string",
        "a field has no name",
        "write its name before the colon",
    ),
    (
        "expected string scalar",
        "a field can't be called so",
        "the name of a field is one word",
    ),
    (
        "multiple YAML documents",
        "something follows after the end of the front matter",
        "leave `...` out, or end the front matter with `---` above it",
    ),
    (
        "budget",
        "this is more, or deeper, than front matter can hold",
        "leave out what does not belong to the agent",
    ),
];

/// Tells why front matter can't be read.
pub(crate) fn tell(unread: &Unread, front: &str, faults: &mut Faults<'_>) {
    let why = unread.why.as_str();
    let place = unread.place.filter(|place| place.line > 0).unwrap_or(BEGIN);
    let (place, (message, help)) = if why.contains("mapping values are not allowed") {
        (place, colon(front, place))
    } else if why.contains("a tab") || why.contains("tabs disallowed") || why.contains("tab cannot")
    {
        let words = words(
            "a tab stands here; front matter is indented with spaces",
            "use spaces instead of tabs",
        );
        (tab(front, place), words)
    } else if let Some(open) = open(front, place).filter(|_| is_open(why)) {
        let words = words(
            "what begins here does not end",
            "close the quote or the bracket",
        );
        (open, words)
    } else if let Some((_, rest)) = why.split_once("unexpected character: `") {
        let character: String = rest.chars().take(1).collect();
        let message = format!("a text can't begin with `{character}` here");
        (place, words(&message, "put the text into quotes"))
    } else if let Some((_, message, help)) = KNOWN.iter().find(|(said, ..)| why.contains(said)) {
        (place, words(message, help))
    } else {
        let words = words(
            &format!("the front matter is no YAML: {why}"),
            "a field is its name, a colon, a space and its value, such as `name: researcher`",
        );
        (place, words)
    };
    faults.error(place, message, help);
}

fn words(message: &str, help: &str) -> Words {
    (message.to_owned(), help.to_owned())
}

/// A colon where none can be.
fn colon(front: &str, place: Place) -> Words {
    let line = line(front, place);
    let before = &front[line.start..place.bytes(front).start];
    let text = &front[line];
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
fn tab(front: &str, place: Place) -> Place {
    let lines = front.lines().zip(1..).skip(place.line as usize - 1);
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

/// Whether the end of the front matter came before that of a quote or a bracket.
fn is_open(why: &str) -> bool {
    let parts = [
        "quoted scalar",
        "bracket",
        "illegal placement of ':'",
        "flow ",
    ];
    parts.iter().any(|part| why.contains(part))
        && !why.contains("escape")
        && !why.contains("trailing")
}

/// The nearest value above a place that begins with a quote or a bracket and does not end in its line.
fn open(front: &str, place: Place) -> Option<Place> {
    let above: Vec<(u32, &str)> = (1..=place.line).zip(front.lines()).collect();
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
pub(crate) fn quoted(front: &str, unread: &Unread) -> Option<String> {
    if !unread.why.contains("mapping values are not allowed") {
        return None;
    }
    let range = line(front, unread.place?);
    let (key, value) = front[range.clone()].split_once(": ")?;
    let value = value.trim();
    let is_plain = !key.contains([' ', '"', '\'', '#'])
        && value.contains(':')
        && !value.starts_with(['"', '\'', '[', '{', '|', '>', '&', '*']);
    is_plain.then(|| {
        let (before, after) = (&front[..range.start], &front[range.end..]);
        format!("{before}{key}: '{}'{after}", value.replace('\'', "''"))
    })
}

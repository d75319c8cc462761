//! Says in plain words why front matter is no YAML.

use crate::{Place, faults::Faults, yaml::Unread};

/// What writers get wrong: what the reader says of it, what it is, what to do.
const KNOWN: [(&str, &str, &str); 12] = [
    (
        "mapping values are not allowed",
        "a colon stands here where none can be",
        "put a text that holds `: ` into quotes, write a space behind the colon of each field, and begin all fields in the same column",
    ),
    (
        "found a tab",
        "a tab stands here; front matter is indented with spaces",
        "replace the tab by spaces",
    ),
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
        "quoted scalar",
        "a text in quotes is not closed, or holds a `\\` that means nothing",
        "look for a quote that is opened and not closed; write `\\\\` for a `\\`",
    ),
    (
        "bracket",
        "a bracket is not closed, or closes none",
        "a list is written as `[one, two]`",
    ),
    (
        "illegal placement of ':'",
        "a colon stands here where none can be",
        "look for a bracket or a quote above that is not closed",
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
        "duplicate mapping key",
        "a field is there twice",
        "keep one of them",
    ),
];

/// Tells that front matter can't be read.
pub(crate) fn tell(unread: &Unread, begin: Place, faults: &mut Faults<'_>) {
    let place = unread.place.filter(|place| place.line > 0).unwrap_or(begin);
    let known = KNOWN.iter().find(|(said, _, _)| unread.why.contains(said));
    if let Some(character) = unread
        .why
        .strip_prefix("unexpected character: `")
        .and_then(|rest| rest.chars().next())
    {
        faults.error(
            place,
            format!("a text can't begin with `{character}` here"),
            "put the text into quotes",
        );
        return;
    }
    match known {
        Some((_, message, help)) => faults.error(place, *message, *help),
        None => faults.error(
            place,
            format!("the front matter is no YAML: {}", unread.why),
            "a field is its name, a colon, a space and its value, such as `name: researcher`",
        ),
    }
}

/// The text with the value of a line in quotes, if a colon in it is what can't be read. Other programs read such lines.
pub(crate) fn quoted(text: &str, unread: &Unread) -> Option<String> {
    let place = unread.place?;
    if !unread.why.contains("mapping values are not allowed") {
        return None;
    }
    let start = Place {
        column: 1,
        length: u32::MAX,
        ..place
    };
    let range = start.bytes(text);
    let line = &text[range.clone()];
    let (key, value) = line.split_once(": ")?;
    let is_plain = !key.contains([' ', '"', '\'', '#']) && value.contains(':');
    let value = value.trim();
    if !is_plain || value.starts_with(['"', '\'', '[', '{', '|', '>', '&', '*']) {
        return None;
    }
    let value = value.replace('\'', "''");
    Some(format!(
        "{}{key}: '{value}'{}",
        &text[..range.start],
        &text[range.end..]
    ))
}

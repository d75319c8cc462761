//! Commas and colons that are missing: the parser stops at what follows, which has no fault.

use super::line;
use crate::{
    Place,
    yaml::{Kind, Syntax, Unread},
};

/// A comma or a colon that is missing.
pub(super) fn missing_sign(
    unread: &Unread,
    text: &str,
    place: Place,
) -> Option<(Place, String, String)> {
    let Kind::Syntax(syntax) = unread.kind else {
        return None;
    };
    let at = unread.place?;
    match syntax {
        // The parser stops at what follows; what is not closed has nothing behind it.
        Syntax::NotClosed if unread.why.contains("expected ','") => comma(text, at),
        Syntax::AfterQuote => comma(text, at).filter(|_| is_field(&text[at.bytes(text).start..])),
        Syntax::Colon => colon_above(text, place),
        Syntax::Other if unread.why.contains("expected ':'") => {
            let (key, _) = lone_field(&text[line(text, place)])?;
            Some(colon_behind(text, place.line, key))
        }
        _ => None,
    }
}

/// The comma that is missing before a place, behind the value that ends there.
fn comma(text: &str, at: Place) -> Option<(Place, String, String)> {
    let before = text[..at.bytes(text).start].trim_end();
    // In `{ agent: x text: y }`, the second field is read as a part of the first one's value.
    let rest = text[at.bytes(text).start..].trim_start();
    let end = match rest.starts_with(':') {
        true => before.rfind([' ', '\n'])?,
        false => before.len(),
    };
    let before = before[..end].trim_end();
    let start = before
        .rfind([' ', '\n', '{', '[', ','])
        .map_or(0, |at| at + 1);
    let start = match before.ends_with(['}', ']']) {
        true => before.len() - 1,
        false => start,
    };
    Some((
        Place::of(start..before.len(), text),
        "a comma is missing behind this".to_owned(),
        "write `,` behind it".to_owned(),
    ))
}

/// True for a text that begins with a name and a colon, or with a text in quotes.
fn is_field(text: &str) -> bool {
    let text = text.trim_start();
    let word = text.find(|c: char| !c.is_alphanumeric() && c != '_' && c != '-');
    let is_named = word.is_some_and(|end| end > 0 && text[end..].starts_with(':'));
    is_named || text.starts_with('"')
}

/// The colon that is missing in the line above, so that this one does not follow from it.
fn colon_above(text: &str, place: Place) -> Option<(Place, String, String)> {
    let own = &text[line(text, place)];
    let above = (1..place.line).zip(text.lines());
    let (number, above) = above.filter(|(_, line)| !line.trim().is_empty()).last()?;
    let indent = |line: &str| line.len() - line.trim_start_matches([' ', '-']).len();
    let (key, has_value) = lone_field(above)?;
    let fits = match has_value {
        // `agent agent_echo` stands beside its neighbours, `steps` above what it holds.
        true => indent(own) == indent(above),
        false => indent(own) > indent(above),
    };
    fits.then(|| colon_behind(text, number, key))
}

/// The name with which a line begins, if it has no colon; true if a value stands behind it.
fn lone_field(line: &str) -> Option<(&str, bool)> {
    let line = line.trim();
    let line = line.strip_prefix("- ").unwrap_or(line);
    let mut words = line.split_whitespace();
    let key = words.next()?;
    let is_name = key
        .bytes()
        .all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'-');
    (is_name && !line.contains(':')).then_some((key, words.next().is_some()))
}

fn colon_behind(text: &str, number: u32, key: &str) -> (Place, String, String) {
    let begin = Place {
        line: number,
        column: 1,
        length: 0,
    };
    let range = line(text, begin);
    let start = range.start + text[range.clone()].find(key).unwrap_or_default();
    let value = text[start + key.len()..range.end].trim();
    let help = format!("write `{}`", format!("{key}: {value}").trim_end());
    let message = format!("a colon is missing behind `{key}`");
    (Place::of(start..start + key.len(), text), message, help)
}

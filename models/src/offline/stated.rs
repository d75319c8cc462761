//! Values that the words of a request state outright: in a JSON object, as `name=value`, or in quotation marks.

use serde_json::{Map, Value};

/// The places at which a JSON object is looked for.
const MAX_STARTS: usize = 8;

/// The marks around a quotation.
pub(super) const MARKS: [(char, char); 6] = [
    ('"', '"'),
    ('\'', '\''),
    ('`', '`'),
    ('“', '”'),
    ('‘', '’'),
    ('«', '»'),
];

/// The first JSON object in the words.
pub(super) fn object(words: &str) -> Option<Map<String, Value>> {
    let starts = words.match_indices('{').take(MAX_STARTS);
    let mut objects = starts.filter_map(|(at, _)| {
        let mut values = serde_json::Deserializer::from_str(&words[at..]).into_iter();
        match values.next()? {
            Ok(Value::Object(object)) => Some(object),
            _ => None,
        }
    });
    objects.next()
}

/// The value behind `name=`: a quotation, or a word.
pub(super) fn assigned<'a>(words: &'a str, name: &str) -> Option<&'a str> {
    if name.is_empty() {
        return None;
    }
    let lower = words.to_ascii_lowercase();
    let wanted = format!("{}=", name.to_ascii_lowercase());
    let at = lower.match_indices(&wanted).map(|(at, _)| at);
    let mut at = at.filter(|at| {
        let before = words[..*at].chars().next_back();
        before.is_none_or(|c| !c.is_alphanumeric() && !matches!(c, '_' | '-'))
    });
    let rest = &words[at.next()? + wanted.len()..];
    if let Some(quoted) = quotation(rest) {
        return Some(quoted);
    }
    let end = rest.find(|c: char| c.is_whitespace() || matches!(c, ',' | ';'));
    let word = &rest[..end.unwrap_or(rest.len())];
    // What ends a sentence or a quotation around it is none of it.
    let word = word.trim_end_matches(['"', '”', '?', '!', '.']);
    (!word.is_empty()).then_some(word)
}

/// The quotations of the words, in their order; apostrophes are none.
pub(super) fn quotations(words: &str) -> Vec<&str> {
    let mut found = Vec::new();
    let mut from = 0;
    while let Some((at, mark)) = words[from..].char_indices().find(|(at, c)| {
        let before = words[..from + at].chars().next_back();
        MARKS.iter().any(|(open, _)| open == c)
            && before.is_none_or(|c| c.is_whitespace() || matches!(c, '(' | '[' | '=' | ':'))
    }) {
        let start = from + at;
        from = start + mark.len_utf8();
        if let Some(quoted) = quotation(&words[start..]) {
            found.push(quoted);
            from += quoted.len();
        }
    }
    found
}

/// The quotation that the text begins with: up to a closing mark that ends a word.
pub(super) fn quotation(text: &str) -> Option<&str> {
    let mark = text.chars().next()?;
    let (_, close) = MARKS.iter().find(|(open, _)| *open == mark)?;
    let inner = &text[mark.len_utf8()..];
    let mut ends = inner.char_indices().filter(|(at, c)| {
        let after = inner[at + c.len_utf8()..].chars().next();
        c == close && after.is_none_or(|c| !c.is_alphanumeric())
    });
    let quoted = &inner[..ends.next()?.0];
    (!quoted.trim().is_empty()).then_some(quoted)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn quotations_are_found_and_apostrophes_are_none() {
        let found = |words| quotations(words);
        assert_eq!(found("search the project for 'mailbox'"), ["mailbox"]);
        assert_eq!(
            found("from \"a b\" to “c” (`d`), «e»."),
            ["a b", "c", "d", "e"]
        );
        assert_eq!(
            found("what's the price of Bob's 'ripe apple's'?"),
            ["ripe apple's"]
        );
        assert_eq!(found("it's \"never closed"), [""; 0]);
    }

    #[test]
    fn what_is_assigned_is_a_word_or_a_quotation() {
        let words = "price_of item='ripe apple', currency=EUR; max_item=3";
        assert_eq!(assigned(words, "item"), Some("ripe apple"));
        assert_eq!(assigned(words, "Currency"), Some("EUR"));
        assert_eq!(assigned(words, "price"), None);
        assert_eq!(assigned("item=", "item"), None);
        assert_eq!(assigned("ask it \"item=apple\".", "item"), Some("apple"));
        assert_eq!(assigned("is item=v1.2?", "item"), Some("v1.2"));
    }

    #[test]
    fn an_object_is_found_among_words() {
        let found = object("call it with {\"item\": \"apple\", \"n\": 2} now");
        assert_eq!(
            found.map(Value::Object),
            Some(json!({"item": "apple", "n": 2}))
        );
        assert_eq!(object("{not json} {\"a\": 1}").map(|o| o.len()), Some(1));
        assert_eq!(object("none"), None);
    }
}

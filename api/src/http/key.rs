//! The header `Idempotency-Key`, as draft-ietf-httpapi-idempotency-key-header has it.

use axum::http::HeaderMap;

use super::problem::{Kind, Problem};

const HEADER: &str = "idempotency-key";

/// The longest key, in bytes.
const MAX_BYTES: usize = 255;

/// The key of a request, if it has one: a string of RFC 9651 in quotes, or the same without quotes, as many clients send it.
///
/// # Errors
///
/// There are several, or it is empty, too long or not of printable ASCII.
pub(crate) fn idempotency_key(headers: &HeaderMap) -> Result<Option<String>, Problem> {
    let mut values = headers.get_all(HEADER).iter();
    let Some(value) = values.next() else {
        return Ok(None);
    };
    let wrong = |why: &str| Kind::InvalidParameter.with(format!("`Idempotency-Key` {why}"));
    if values.next().is_some() {
        return Err(wrong("is there more than once"));
    }
    let value = value
        .to_str()
        .map_err(|_| wrong("is not of printable ASCII"))?;
    let value = value.trim();
    let key = match value.strip_prefix('"') {
        Some(quoted) => unquoted(quoted).ok_or_else(|| wrong("is a string that is not closed"))?,
        None => value.to_owned(),
    };
    if key.is_empty() {
        return Err(wrong(
            "is empty: give each request that is new a key of its own, such as a UUID",
        ));
    }
    if key.len() > MAX_BYTES {
        return Err(wrong(&format!(
            "has {} bytes; at most {MAX_BYTES} are taken",
            key.len()
        )));
    }
    if !key.bytes().all(|byte| (b' '..=b'~').contains(&byte)) {
        return Err(wrong("is not of printable ASCII"));
    }
    Ok(Some(key))
}

/// The text of a string whose first quote was taken; nothing if it is none.
fn unquoted(quoted: &str) -> Option<String> {
    let mut text = String::new();
    let mut rest = quoted.chars();
    loop {
        match rest.next()? {
            '"' => break,
            '\\' => match rest.next()? {
                escaped @ ('"' | '\\') => text.push(escaped),
                _ => return None,
            },
            other => text.push(other),
        }
    }
    rest.as_str().is_empty().then_some(text)
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderValue;

    use super::*;

    fn key(values: &[&str]) -> Result<Option<String>, u16> {
        let mut headers = HeaderMap::new();
        for value in values {
            headers.append(HEADER, HeaderValue::from_str(value).expect("a header"));
        }
        idempotency_key(&headers).map_err(|problem| problem.details().status)
    }

    #[test]
    fn a_key_is_read_with_and_without_quotes() {
        let some = |key: &str| Ok(Some(key.to_owned()));
        assert_eq!(key(&[]), Ok(None));
        assert_eq!(key(&["abc-1"]), some("abc-1"));
        assert_eq!(key(&["\"abc-1\""]), some("abc-1"));
        assert_eq!(key(&[r#""a \"b\" \\""#]), some(r#"a "b" \"#));
        assert_eq!(key(&[&"k".repeat(255)]), some(&"k".repeat(255)));
    }

    #[test]
    fn what_is_no_key_is_refused() {
        for values in [
            &[""][..],
            &["\"\""],
            &["\"open"],
            &["\"a\"b"],
            &["\"a\\n\""],
            &["a", "b"],
            &["kä"],
            &["a\tb"],
            &[&"k".repeat(256)],
        ] {
            assert_eq!(key(values), Err(400), "{values:?}");
        }
    }
}

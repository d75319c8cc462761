//! Reason in plain words why a text is no JSON. YAML takes more than JSON does: comments, single quotes, a comma behind the last value.

use serde::de::IgnoredAny;

use crate::Place;

/// The place for which a text is no JSON, the fault, and what to do. `None` if it is JSON, or nested deeper than is looked at.
pub fn fault(text: &str) -> Option<(Place, String, String)> {
    if serde_json::from_str::<IgnoredAny>(text).is_ok() {
        return None;
    }
    let mut scanner = Scanner {
        text,
        at: 0,
        open: Vec::new(),
        last: 0..0,
        key: 0..0,
    };
    let Found {
        range,
        message,
        help,
    } = scanner.scan().err()?;
    Some((Place::of(range, text), message, help))
}

/// The parts that can stand at a place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Next {
    Value,
    /// An item, or the end of an empty list.
    FirstItem,
    Key,
    /// A key, or the end of an empty object.
    FirstKey,
    Colon,
    /// Behind a value.
    Comma,
}

type Bytes = std::ops::Range<usize>;

/// The first fault.
struct Found {
    range: Bytes,
    message: String,
    help: String,
}

fn found<T>(range: Bytes, message: impl Into<String>, help: impl Into<String>) -> Result<T, Found> {
    Err(Found {
        range,
        message: message.into(),
        help: help.into(),
    })
}

struct Scanner<'t> {
    text: &'t str,
    at: usize,
    /// Brackets that are open, with their places.
    open: Vec<(char, usize)>,
    /// The last part that was read.
    last: Bytes,
    /// The last key.
    key: Bytes,
}

impl Scanner<'_> {
    fn scan(&mut self) -> Result<(), Found> {
        let mut next = Next::Value;
        loop {
            let rest = &self.text[self.at..];
            let rest = rest.trim_start_matches([' ', '\n', '\r', '\t']);
            self.at = self.text.len() - rest.len();
            let Some(first) = rest.chars().next() else {
                return self.end(next);
            };
            self.foreign(rest)?;
            next = match next {
                Next::Comma => self.behind_value(first)?,
                Next::Colon if first == ':' => {
                    self.take(1);
                    Next::Value
                }
                Next::Colon => {
                    let key = &self.text[self.key.clone()];
                    let message = format!("a colon is missing behind `{key}`");
                    return found(self.key.clone(), message, format!("write `{key}: …`"));
                }
                Next::Key | Next::FirstKey => self.key(next, first)?,
                Next::Value | Next::FirstItem => self.value(next, first)?,
            };
        }
    }

    fn take(&mut self, bytes: usize) {
        self.last = self.at..self.at + bytes;
        self.at += bytes;
    }

    fn end(&self, next: Next) -> Result<(), Found> {
        match self.open.last() {
            Some((bracket, at)) => {
                let help = format!("close it with `{}`", closing(*bracket));
                found(*at..at + 1, "what begins here does not end", help)
            }
            None if next == Next::Comma => Ok(()),
            None => found(0..0, "there is nothing here", "write `{ … }`"),
        }
    }

    /// Forms that YAML and JavaScript have, and JSON has not.
    fn foreign(&self, rest: &str) -> Result<(), Found> {
        let line = rest.lines().next().unwrap_or_default().trim_end().len();
        if rest.starts_with("//") || rest.starts_with("/*") || rest.starts_with('#') {
            let help =
                "leave it out, or save the file as `.yaml`, in which a comment begins with `#`";
            return found(self.at..self.at + line, "JSON has no comments", help);
        }
        if let Some(behind) = rest.strip_prefix('\'') {
            let line = &behind[..line.saturating_sub(1)];
            let inner = line.split('\'').next().unwrap_or_default();
            let end = self.at + 1 + inner.len() + usize::from(inner.len() < line.len());
            let help = format!("write `\"{inner}\"`");
            return found(self.at..end, "JSON has double quotes alone", help);
        }
        Ok(())
    }

    fn behind_value(&mut self, first: char) -> Result<Next, Found> {
        let Some((bracket, opened)) = self.open.last().copied() else {
            let help = "leave it out: a file is one value";
            return found(
                self.at..self.at + 1,
                "something follows after the end",
                help,
            );
        };
        match first {
            ',' => {
                self.take(1);
                Ok(match bracket {
                    '{' => Next::Key,
                    _ => Next::Value,
                })
            }
            '}' | ']' if first == closing(bracket) => Ok(self.close()),
            '}' | ']' => {
                let line = self.text[..opened].matches('\n').count() + 1;
                let message =
                    format!("`{first}` closes nothing here: `{bracket}` in line {line} is open");
                let help = format!("write `{}` first", closing(bracket));
                found(self.at..self.at + 1, message, help)
            }
            _ => found(
                self.last.clone(),
                "a comma is missing behind this",
                "write `,` behind it",
            ),
        }
    }

    fn close(&mut self) -> Next {
        self.open.pop();
        self.take(1);
        Next::Comma
    }

    fn key(&mut self, next: Next, first: char) -> Result<Next, Found> {
        match first {
            '"' => {
                self.string()?;
                self.key = self.last.clone();
                Ok(Next::Colon)
            }
            '}' if next == Next::FirstKey => Ok(self.close()),
            '}' => self.trailing(),
            _ => {
                let word = self.word();
                let message = "the name of a field stands in double quotes";
                let help = match word.is_empty() {
                    true => "write `\"name\": value`".to_owned(),
                    false => format!("write `\"{}\"`", &self.text[word.clone()]),
                };
                found(
                    self.at..word.end.max(self.at + first.len_utf8()),
                    message,
                    help,
                )
            }
        }
    }

    /// A comma behind the last value.
    fn trailing(&self) -> Result<Next, Found> {
        let help = "leave it out: JSON has none behind the last value";
        found(
            self.last.clone(),
            "a comma stands behind the last value",
            help,
        )
    }

    fn value(&mut self, next: Next, first: char) -> Result<Next, Found> {
        match first {
            '"' => self.string()?,
            '{' | '[' => {
                self.open.push((first, self.at));
                self.take(1);
                return Ok(match first {
                    '{' => Next::FirstKey,
                    _ => Next::FirstItem,
                });
            }
            ']' if next == Next::FirstItem => return Ok(self.close()),
            ']' if self.text[self.last.clone()] == *"," => return self.trailing(),
            ',' | ':' | '}' | ']' => {
                let help = "write a value before it; `null` is none";
                return found(self.at..self.at + 1, "a value is missing here", help);
            }
            _ => {
                let word = self.word();
                let range = self.at..word.end.max(self.at + first.len_utf8());
                let written = &self.text[range.clone()];
                if serde_json::from_str::<IgnoredAny>(written).is_err() {
                    let message = format!("`{written}` is no value of JSON");
                    let help = match &*written.to_lowercase() {
                        word @ ("true" | "false") => format!("write `{word}`"),
                        "none" | "nil" | "undefined" => "write `null`".to_owned(),
                        _ => format!("write `\"{written}\"` for a text"),
                    };
                    return found(range, message, help);
                }
                self.take(range.len());
            }
        }
        Ok(Next::Comma)
    }

    /// A word or a number from here on.
    fn word(&self) -> Bytes {
        let rest = &self.text[self.at..];
        let is_part = |c: char| c.is_alphanumeric() || "_-+.$".contains(c);
        let end = rest.find(|c| !is_part(c)).unwrap_or(rest.len());
        self.at..self.at + end
    }

    fn string(&mut self) -> Result<(), Found> {
        let rest = &self.text[self.at..];
        let mut characters = rest.char_indices().skip(1);
        while let Some((at, character)) = characters.next() {
            let here = self.at + at;
            match character {
                '"' => {
                    self.take(at + 1);
                    return Ok(());
                }
                '\\' => match characters.next() {
                    Some((_, '"' | '\\' | '/' | 'b' | 'f' | 'n' | 'r' | 't' | 'u')) => {}
                    _ => {
                        let message = "the text holds a `\\` that means nothing";
                        return found(here..here + 1, message, "write `\\\\` for a `\\`");
                    }
                },
                '\n' => break,
                '\t' => {
                    return found(
                        here..here + 1,
                        "a tab stands in a text",
                        "write `\\t` for it",
                    );
                }
                _ => {}
            }
        }
        let help = "close it with `\"`, or write `\\n` for a line break";
        let message = "the text that begins here does not end in its line";
        found(self.at..self.at + 1, message, help)
    }
}

fn closing(bracket: char) -> char {
    match bracket {
        '{' => '}',
        _ => ']',
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The part that is meant, the fault and the advice.
    fn told(text: &str) -> Option<(u32, String, String, String)> {
        let (place, message, help) = fault(text)?;
        let meant = text[place.bytes(text)].to_owned();
        Some((place.line, meant, message, help))
    }

    #[test]
    fn slips_are_explained_as_what_they_are() {
        for (text, line, meant, message, help) in [
            (
                "{\n \"a\": \"x\"\n \"b\": 1\n}",
                2,
                "\"x\"",
                "a comma is missing behind this",
                "write `,`",
            ),
            (
                "{\n \"a\": { \"b\": 1 }\n \"c\": 1\n}",
                2,
                "}",
                "a comma is missing",
                "write `,`",
            ),
            ("[1 2]", 1, "1", "a comma is missing", "write `,`"),
            (
                "{\"a\": {\"b\": \"x\" \"c\": 1}}",
                1,
                "\"x\"",
                "a comma is missing",
                "write `,`",
            ),
            (
                "{\"a\" 1}",
                1,
                "\"a\"",
                "a colon is missing behind `\"a\"`",
                "write `\"a\": …`",
            ),
            (
                "{\"a\": 1,\n}",
                1,
                ",",
                "a comma stands behind the last value",
                "leave it out",
            ),
            (
                "[1,]",
                1,
                ",",
                "a comma stands behind the last value",
                "leave it out",
            ),
            ("{'a': 1}", 1, "'a'", "double quotes", "write `\"a\"`"),
            (
                "{\"a\": 'x y'}",
                1,
                "'x y'",
                "double quotes",
                "write `\"x y\"`",
            ),
            (
                "{a: 1}",
                1,
                "a",
                "the name of a field stands in double quotes",
                "write `\"a\"`",
            ),
            (
                "{\"a\": x}",
                1,
                "x",
                "`x` is no value of JSON",
                "write `\"x\"`",
            ),
            (
                "{\"a\": True}",
                1,
                "True",
                "no value of JSON",
                "write `true`",
            ),
            ("{\"a\": 01}", 1, "01", "no value of JSON", "write `\"01\"`"),
            (
                "{\"a\": 1, // b\n\"c\": 2}",
                1,
                "// b",
                "JSON has no comments",
                "`.yaml`",
            ),
            ("# a\n{}", 1, "# a", "JSON has no comments", "`.yaml`"),
            (
                "{\"a\": \"x\n\"}",
                1,
                "\"",
                "does not end in its line",
                "close it",
            ),
            ("{\"a\": \"\\d\"}", 1, "\\", "means nothing", "`\\\\`"),
            (
                "{\"a\": [1, 2}",
                1,
                "}",
                "`[` in line 1 is open",
                "write `]` first",
            ),
            (
                "{\n\"a\": [1\n",
                2,
                "[",
                "does not end",
                "close it with `]`",
            ),
            ("{\"a\": }", 1, "}", "a value is missing here", "`null`"),
            ("{} x", 1, "x", "something follows", "leave it out"),
            ("", 1, "", "there is nothing here", "write"),
        ] {
            let (line_told, meant_told, message_told, help_told) =
                told(text).unwrap_or_else(|| panic!("{text} is JSON"));
            assert_eq!(
                (line_told, meant_told.as_str()),
                (line, meant),
                "{text}: {message_told}"
            );
            assert!(message_told.contains(message), "{text}: {message_told}");
            assert!(help_told.contains(help), "{text}: {help_told}");
        }
    }

    #[test]
    fn json_has_no_fault() {
        for text in [
            "{}",
            " [ ] ",
            "{\"a\": [1, -2.5e3, true, null, \"\\u00fc \\\" '\"], \"b\": {\"c\": {}}}",
            "{\n\t\"a\": \"// no comment\"\n}",
            "\"x\"",
        ] {
            assert_eq!(told(text), None, "{text}");
            assert!(crate::yaml::tree(text).is_ok(), "{text:?} is YAML as well");
        }
    }
}

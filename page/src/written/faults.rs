//! All faults of a text that was meant as JSON, each with its place.
//!
//! The library that reads JSON stops at the first fault. Here reading goes on behind each, as somebody would who mends it: what is missing
//! counts as there, and what has no place as not there.

use serde_json::Value;

/// The most faults that are told. Behind so many, one has to mend some first.
const MAX_FAULTS: usize = 20;

/// Levels of lists and objects within one another, as the library has it.
const MAX_DEPTH: usize = 127;

/// Characters of a piece that are quoted.
const QUOTED: usize = 20;

/// A fault and its place, from 1.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct JsonFault {
    pub(super) what: String,
    pub(super) line: usize,
    /// In characters.
    pub(super) column: usize,
}

/// The faults in their order; none of a text that is JSON.
pub(super) fn faults(text: &str) -> Vec<JsonFault> {
    let mut reading = Reading {
        pieces: pieces(text),
        at: 0,
        end: place_behind(text),
        faults: Vec::new(),
        depth: 0,
        is_too_deep: false,
    };
    reading.value();
    if let Some(piece) = reading.piece() {
        let (line, column) = piece.place;
        let what = "nothing may stand behind the end".to_owned();
        reading.faults.push(JsonFault { what, line, column });
    }
    reading.faults.truncate(MAX_FAULTS);
    reading.faults
}

/// A piece of the text: a mark, a quoted text, or whatever stands between marks and spaces.
#[derive(Clone, Copy, Debug)]
struct Piece<'t> {
    text: &'t str,
    place: (usize, usize),
}

impl Piece<'_> {
    fn is(&self, mark: char) -> bool {
        self.text.len() == mark.len_utf8() && self.text.starts_with(mark)
    }

    fn is_mark(&self) -> bool {
        MARKS.iter().any(|mark| self.is(*mark))
    }

    /// Fault of a piece that is to be a value; `None` of one that is.
    fn fault(&self) -> Option<String> {
        if serde_json::from_str::<Value>(self.text).is_ok() {
            return None;
        }
        let quoted: String = self.text.chars().take(QUOTED).collect();
        let first = self.text.chars().next();
        Some(match first {
            Some('"') if !is_closed(self.text) => "a quotation mark is missing at the end of this text".to_owned(),
            Some('"') => "this text has a character that cannot stand so: write `\\n`, `\\t`, `\\\"` or `\\\\`".to_owned(),
            Some('\'' | '“' | '”' | '„' | '‘' | '`') => "texts stand in double quotation marks: \"…\"".to_owned(),
            Some('0'..='9' | '-' | '+' | '.') => format!("`{quoted}` is no number"),
            _ => format!("`{quoted}` is no value: texts stand in double quotation marks"),
        })
    }
}

const MARKS: [char; 6] = ['{', '}', '[', ']', ':', ','];

/// True if a text that begins with a quotation mark ends with one.
fn is_closed(text: &str) -> bool {
    let inner = text.get(1..).unwrap_or_default();
    let Some(inner) = inner.strip_suffix('"') else {
        return false;
    };
    let escapes = inner.chars().rev().take_while(|c| *c == '\\').count();
    escapes.is_multiple_of(2)
}

/// The pieces with their places.
fn pieces(text: &str) -> Vec<Piece<'_>> {
    let mut found = Vec::new();
    let mut rest = text;
    let (mut line, mut column) = (1, 1);
    while let Some(first) = rest.chars().next() {
        let end = match first {
            c if is_space(c) || MARKS.contains(&c) => first.len_utf8(),
            '"' => end_of_text(rest),
            _ => rest
                .find(|c| is_space(c) || MARKS.contains(&c) || c == '"')
                .unwrap_or(rest.len()),
        };
        let (piece, behind) = rest.split_at(end);
        if !is_space(first) {
            found.push(Piece {
                text: piece,
                place: (line, column),
            });
        }
        match first {
            '\n' => (line, column) = (line + 1, 1),
            _ => column += piece.chars().count(),
        }
        rest = behind;
    }
    found
}

fn is_space(c: char) -> bool {
    matches!(c, ' ' | '\n' | '\r' | '\t')
}

/// End of a text in quotation marks: behind the closing one, else at the end of the line.
fn end_of_text(text: &str) -> usize {
    let mut is_escaped = false;
    for (at, c) in text.char_indices().skip(1) {
        match c {
            '\n' => return at,
            '"' if !is_escaped => return at + 1,
            _ => is_escaped = c == '\\' && !is_escaped,
        }
    }
    text.len()
}

fn place_behind(text: &str) -> (usize, usize) {
    let text = text.trim_end();
    let line = text.matches('\n').count() + 1;
    let last = text.rsplit('\n').next().unwrap_or_default();
    (line, last.chars().count() + 1)
}

struct Reading<'t> {
    pieces: Vec<Piece<'t>>,
    at: usize,
    /// Place behind the last character.
    end: (usize, usize),
    faults: Vec<JsonFault>,
    depth: usize,
    /// Nothing is told of what stands deeper than it is read.
    is_too_deep: bool,
}

impl<'t> Reading<'t> {
    /// The next piece. Behind too many faults, there is none.
    fn piece(&self) -> Option<Piece<'t>> {
        self.pieces
            .get(self.at)
            .copied()
            .filter(|_| self.faults.len() < MAX_FAULTS)
    }

    fn is_next(&self, mark: char) -> bool {
        self.piece().is_some_and(|piece| piece.is(mark))
    }

    /// Takes this mark, if it is next.
    fn takes(&mut self, mark: char) -> bool {
        let is_it = self.is_next(mark);
        self.at += usize::from(is_it);
        is_it
    }

    /// A fault at the next piece, or at the end.
    fn fault(&mut self, what: impl Into<String>) {
        if self.is_too_deep {
            return;
        }
        let (line, column) = self
            .pieces
            .get(self.at)
            .map_or(self.end, |piece| piece.place);
        let what = what.into();
        self.faults.push(JsonFault { what, line, column });
    }

    fn value(&mut self) {
        if self.takes('{') {
            self.within('}', Self::member);
        } else if self.takes('[') {
            self.within(']', Self::value);
        } else {
            match self.piece() {
                Some(piece) if !piece.is_mark() => {
                    if let Some(what) = piece.fault() {
                        self.fault(what);
                    }
                    self.at += 1;
                }
                _ => self.fault("a value is missing"),
            }
        }
    }

    /// A name and its value.
    fn member(&mut self) {
        match self.piece() {
            Some(piece) if piece.text.starts_with('"') => {
                if let Some(what) = piece.fault() {
                    self.fault(what);
                }
                self.at += 1;
            }
            Some(piece) if !piece.is_mark() => {
                self.fault("names stand in double quotation marks");
                self.at += 1;
            }
            Some(piece) if piece.is(':') => self.fault("a name is missing"),
            Some(piece) if piece.is('{') || piece.is('[') => {
                self.fault("a name is missing");
                return self.value();
            }
            _ => return self.fault("a name with a value is missing"),
        }
        if !self.takes(':') {
            self.fault("expected `:`");
            if self.is_next(',') || self.is_next('}') {
                return;
            }
        }
        self.value();
    }

    /// A list or an object from behind its opening mark up to this closing one.
    fn within(&mut self, close: char, member: fn(&mut Self)) {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            self.fault("lists and objects stand too deep within one another");
            self.is_too_deep = true;
            self.at = self.pieces.len();
        }
        if !self.takes(close) {
            self.members(close, member);
        }
        self.depth -= 1;
    }

    /// The members up to the closing mark, at least one, with commas between them.
    fn members(&mut self, close: char, member: fn(&mut Self)) {
        loop {
            member(self);
            let has_comma = self.takes(',');
            match (self.piece(), has_comma) {
                (None, _) => {
                    self.fault(format!("`{close}` is missing"));
                    return;
                }
                (Some(next), true) if next.is(close) => {
                    self.fault(format!("no comma stands before `{close}`"));
                    self.at += 1;
                    return;
                }
                (Some(next), false) if next.is(close) => {
                    self.at += 1;
                    return;
                }
                (Some(next), _) if next.is('}') || next.is(']') => {
                    self.fault(format!("expected `{close}`"));
                    // It closes what stands around this, if anything does.
                    self.at += usize::from(self.depth == 1);
                    return;
                }
                (Some(_), true) => {}
                (Some(next), false) if next.is(':') => {
                    self.fault("`:` has no place here");
                    self.at += 1;
                }
                (Some(_), false) => self.fault("a comma is missing"),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn told(text: &str) -> Vec<(String, usize, usize)> {
        let faults = faults(text).into_iter();
        faults
            .map(|fault| (fault.what, fault.line, fault.column))
            .collect()
    }

    #[test]
    fn every_fault_is_told_with_its_place() {
        for (text, expected) in [
            (
                "{\"a\" 1,\n \"b\": two}",
                &[
                    ("expected `:`", 1, 6),
                    (
                        "`two` is no value: texts stand in double quotation marks",
                        2,
                        7,
                    ),
                ][..],
            ),
            (
                "{\"a\": 1\n \"b\": 2,}",
                &[
                    ("a comma is missing", 2, 2),
                    ("no comma stands before `}`", 2, 9),
                ],
            ),
            (
                "{a: 'x', \"b\": 01}",
                &[
                    ("names stand in double quotation marks", 1, 2),
                    ("texts stand in double quotation marks: \"…\"", 1, 5),
                    ("`01` is no number", 1, 15),
                ],
            ),
            ("[1, 2", &[("`]` is missing", 1, 6)]),
            (
                "{\"a\": \"open,\n \"b\": 2}",
                &[
                    ("a quotation mark is missing at the end of this text", 1, 7),
                    ("a comma is missing", 2, 2),
                ],
            ),
            ("{\"a\": [1, 2}", &[("expected `]`", 1, 12)]),
            (
                "{\"a\": , \"b\"}",
                &[("a value is missing", 1, 7), ("expected `:`", 1, 12)],
            ),
            ("{{\"a\": 1}}", &[("a name is missing", 1, 2)]),
            ("{[1]}", &[("a name is missing", 1, 2)]),
            (
                "{\"a\": 1, {}, 2",
                &[
                    ("a name is missing", 1, 10),
                    ("names stand in double quotation marks", 1, 14),
                    ("expected `:`", 1, 15),
                    ("a value is missing", 1, 15),
                    ("`}` is missing", 1, 15),
                ],
            ),
            ("{} {}", &[("nothing may stand behind the end", 1, 4)]),
            ("", &[("a value is missing", 1, 1)]),
        ] {
            let expected: Vec<(String, usize, usize)> = expected
                .iter()
                .map(|(what, line, column)| ((*what).to_owned(), *line, *column))
                .collect();
            assert_eq!(told(text), expected, "{text}");
        }
    }

    #[test]
    fn of_very_many_faults_some_are_told() {
        assert_eq!(faults(&"[,".repeat(10_000)).len(), MAX_FAULTS);
        assert_eq!(faults(&"[".repeat(10_000)).len(), 1);
    }

    proptest! {
        #[test]
        fn a_text_without_faults_is_json_and_json_has_none(text in r#"(\{|\}|\[|\]|:|,|"a"|"b"|"\\n|1|-|0|true|null|x| |\n|\t|'){0,12}"#) {
            let is_json = serde_json::from_str::<Value>(&text).is_ok();
            prop_assert_eq!(faults(&text).is_empty(), is_json, "{:?}", faults(&text));
        }
    }
}

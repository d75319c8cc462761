//! The strict form of an expression. Jinja compares anything with anything, and takes any value for true or false, so that a wrong branch
//! is taken without a word. In the strict form, functions of [`order`](super::order) compare, and judge conditions.
//!
//! Conditions are those of `if` and `when`, what stands behind `if` and `not`, and in a condition what `and`, `or` and `else` join.

use super::{
    order::{COMPARE, CONDITION},
    tokens::{Token, tokens},
};

/// Something that an expression asks of the types of its values, with the operands as they are written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Demand {
    /// Two numbers, or two texts.
    Order(String, String),
    /// Values that can be equal.
    Equality(String, String),
    /// True or false.
    Condition(String),
}

/// The strict form of an expression that has been read, and its demands.
pub(super) fn strict(text: &str, is_condition: bool) -> (String, Vec<Demand>) {
    let mut rewriting = Rewriting {
        text,
        demands: Vec::new(),
    };
    let parts = nested(&mut tokens(text).into_iter().peekable());
    let strict = rewriting.list(&parts, is_condition);
    (strict, rewriting.demands)
}

/// A token, or a bracket with what is in it.
enum Part<'t> {
    Token(Token<'t>),
    Group {
        open: Token<'t>,
        inner: Vec<Part<'t>>,
        close: Option<Token<'t>>,
    },
}

impl Part<'_> {
    fn word(&self) -> &str {
        match self {
            Part::Token(token) => token.text,
            Part::Group { .. } => "",
        }
    }

    fn start(&self) -> usize {
        match self {
            Part::Token(token) => token.start,
            Part::Group { open, .. } => open.start,
        }
    }

    fn end(&self) -> usize {
        match self {
            Part::Token(token) => token.range().end,
            Part::Group { open, inner, close } => {
                let inner = inner.last().map_or(open.range().end, Part::end);
                close.as_ref().map_or(inner, |close| close.range().end)
            }
        }
    }
}

fn nested<'t>(tokens: &mut std::iter::Peekable<impl Iterator<Item = Token<'t>>>) -> Vec<Part<'t>> {
    // A reader without recursion: the depth of what is read is not bounded here.
    let mut open: Vec<(Token<'t>, Vec<Part<'t>>)> = Vec::new();
    let mut parts: Vec<Part<'t>> = Vec::new();
    for token in tokens {
        match (token.text, open.pop()) {
            ("(" | "[" | "{", outer) => {
                open.extend(outer);
                open.push((token, std::mem::take(&mut parts)));
            }
            (")" | "]" | "}", Some((bracket, before))) => {
                let inner = std::mem::replace(&mut parts, before);
                parts.push(Part::Group {
                    open: bracket,
                    inner,
                    close: Some(token),
                });
            }
            (_, outer) => {
                open.extend(outer);
                parts.push(Part::Token(token));
            }
        }
    }
    while let Some((bracket, before)) = open.pop() {
        let inner = std::mem::replace(&mut parts, before);
        parts.push(Part::Group {
            open: bracket,
            inner,
            close: None,
        });
    }
    parts
}

struct Rewriting<'t> {
    text: &'t str,
    demands: Vec<Demand>,
}

impl Rewriting<'_> {
    /// Content of a bracket, or the whole expression.
    fn list(&mut self, parts: &[Part<'_>], is_condition: bool) -> String {
        let is_separator = |part: &Part<'_>| matches!(part.word(), "," | ":");
        let is_list = parts.iter().any(is_separator);
        let mut made = String::new();
        for piece in parts.split_inclusive(is_separator) {
            let (separator, piece) = match piece.split_last() {
                Some((last, piece)) if is_separator(last) => (last.word(), piece),
                _ => ("", piece),
            };
            // The name of an argument.
            let piece = match piece {
                [name, equals, value @ ..] if equals.word() == "=" => {
                    made += &format!("{}=", name.word());
                    value
                }
                piece => piece,
            };
            made += &self.choice(piece, is_condition && !is_list);
            made += separator;
            made += if separator.is_empty() { "" } else { " " };
        }
        made
    }

    /// `A if B else C`.
    fn choice(&mut self, parts: &[Part<'_>], is_condition: bool) -> String {
        let Some(at) = first(parts, "if") else {
            return self.any(parts, is_condition);
        };
        let value = self.any(&parts[..at], is_condition);
        let rest = &parts[at + 1..];
        match first(rest, "else") {
            None => format!("{value} if {}", self.any(rest, true)),
            Some(at) => {
                let condition = self.any(&rest[..at], true);
                let other = self.choice(&rest[at + 1..], is_condition);
                format!("{value} if {condition} else {other}")
            }
        }
    }

    fn any(&mut self, parts: &[Part<'_>], is_condition: bool) -> String {
        let operands = split(parts, "or").into_iter();
        let made: Vec<String> = operands
            .map(|operand| {
                let operands = split(operand, "and").into_iter();
                let made: Vec<String> = operands
                    .map(|operand| self.negated(operand, is_condition))
                    .collect();
                made.join(" and ")
            })
            .collect();
        made.join(" or ")
    }

    fn negated(&mut self, parts: &[Part<'_>], is_condition: bool) -> String {
        match parts {
            [not, rest @ ..] if not.word() == "not" => format!("not {}", self.negated(rest, true)),
            parts => self.compared(parts, is_condition),
        }
    }

    fn compared(&mut self, parts: &[Part<'_>], is_condition: bool) -> String {
        let mut operands = Vec::new();
        let mut operators: Vec<String> = Vec::new();
        let (mut begin, mut at) = (0, 0);
        while at < parts.len() {
            let is_negated = is_operator(parts, at, "not")
                && parts.get(at + 1).is_some_and(|next| next.word() == "in");
            let length = match parts[at].word() {
                "<" | "<=" | ">" | ">=" | "==" | "!=" => 1,
                _ if is_negated => 2,
                "in" if is_operator(parts, at, "in") => 1,
                _ => 0,
            };
            if length > 0 {
                operands.push(&parts[begin..at]);
                let words: Vec<&str> = parts[at..at + length].iter().map(Part::word).collect();
                operators.push(words.join(" "));
                begin = at + length;
            }
            at += length.max(1);
        }
        operands.push(&parts[begin..]);
        if operators.is_empty() {
            return self.operand(parts, is_condition);
        }
        let made: Vec<String> = operands.iter().map(|o| self.operand(o, false)).collect();
        let written: Vec<String> = operands.iter().map(|o| self.written(o)).collect();
        let pairs = operators.iter().enumerate().map(|(at, operator)| {
            let (left, right) = (&made[at], &made[at + 1]);
            let both = || (written[at].clone(), written[at + 1].clone());
            match &**operator {
                "==" | "!=" => {
                    let (one, other) = both();
                    self.demands.push(Demand::Equality(one, other));
                    format!("{left} {operator} {right}")
                }
                "in" | "not in" => format!("{left} {operator} {right}"),
                operator => {
                    let (one, other) = both();
                    self.demands.push(Demand::Order(one, other));
                    format!("{COMPARE}({left}, \"{operator}\", {right})")
                }
            }
        });
        let pairs: Vec<String> = pairs.collect();
        format!("({})", pairs.join(" and "))
    }

    /// A value that is no comparison itself.
    fn operand(&mut self, parts: &[Part<'_>], is_condition: bool) -> String {
        if let ([Part::Group { open, inner, .. }], true) = (parts, is_condition)
            && open.text == "("
        {
            return format!("({})", self.list(inner, true));
        }
        let (Some(first), Some(last)) = (parts.first(), parts.last()) else {
            return String::new();
        };
        let mut made = String::new();
        let mut from = first.start();
        for part in parts {
            if let Part::Group { open, inner, close } = part {
                made += &self.text[from..open.range().end];
                made += &self.list(inner, false);
                from = close.as_ref().map_or(part.end(), |close| close.start);
            }
        }
        made += &self.text[from..last.end()];
        match is_condition {
            false => made,
            true => {
                let written = self.written(parts);
                self.demands.push(Demand::Condition(written));
                format!("{CONDITION}({made})")
            }
        }
    }

    fn written(&self, parts: &[Part<'_>]) -> String {
        let (first, last) = (parts.first(), parts.last());
        let range = first.zip(last).map(|(f, l)| f.start()..l.end());
        self.text[range.unwrap_or_default()].to_owned()
    }
}

/// True if a word is an operator: no field, no filter, no test and no part of one.
fn is_operator(parts: &[Part<'_>], at: usize, word: &str) -> bool {
    let before = |by: usize| at.checked_sub(by).map_or("", |at| parts[at].word());
    let is_test = before(1) == "is" || (before(1) == "not" && before(2) == "is");
    parts[at].word() == word && !is_test && !matches!(before(1), "." | "|")
}

fn first(parts: &[Part<'_>], word: &str) -> Option<usize> {
    (0..parts.len()).find(|at| is_operator(parts, *at, word))
}

fn split<'p, 't>(parts: &'p [Part<'t>], word: &str) -> Vec<&'p [Part<'t>]> {
    let mut pieces = Vec::new();
    let mut begin = 0;
    for at in (0..parts.len()).filter(|at| is_operator(parts, *at, word)) {
        pieces.push(&parts[begin..at]);
        begin = at + 1;
    }
    pieces.push(&parts[begin..]);
    pieces
}

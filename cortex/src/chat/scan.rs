//! Reads JSON character by character, from wherever in a text it begins.

/// The deepest nesting that is followed.
const MAX_DEPTH: usize = 64;

/// The token that one character completes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Token {
    Open,
    Close,
    KeyStart,
    KeyEnd,
    TextStart,
    TextEnd,
    /// A character of the key or text that is open.
    Char(char),
    /// This is no JSON: all containers are closed, and the next bracket may begin again.
    Broken,
}

/// Follows nesting and strings. Numbers and words are passed over.
#[derive(Debug, Default)]
pub(crate) struct Scanner {
    state: State,
    /// The open containers, outermost first; `true` is an object, `false` a list.
    open: Vec<bool>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq)]
enum State {
    /// Before the first bracket and after the last.
    #[default]
    Outside,
    Key,
    Colon,
    Value,
    /// After a value, or inside a number or a word.
    After,
    InKey(Escape),
    InText(Escape),
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Escape {
    None,
    /// The high half of a surrogate pair came before.
    High(u32),
    Backslash(Option<u32>),
    /// The digits so far, their value, and the high half that came before.
    Unicode(u8, u32, Option<u32>),
}

impl Scanner {
    /// The open containers, outermost first; `true` is an object, `false` a list.
    pub(crate) fn open(&self) -> &[bool] {
        &self.open
    }

    pub(crate) fn read(&mut self, c: char) -> Option<Token> {
        match self.state {
            State::InKey(escape) => self.read_string(escape, c, State::InKey, Token::KeyEnd),
            State::InText(escape) => self.read_string(escape, c, State::InText, Token::TextEnd),
            State::Outside if !matches!(c, '{' | '[') => None,
            _ if c.is_whitespace() => None,
            state => self.read_structure(state, c),
        }
    }

    fn read_structure(&mut self, state: State, c: char) -> Option<Token> {
        let in_object = self.open.last() == Some(&true);
        let (next, token) = match (state, c) {
            (State::Outside | State::Value, '{' | '[') if self.open.len() < MAX_DEPTH => {
                self.open.push(c == '{');
                let next = if c == '{' { State::Key } else { State::Value };
                (next, Some(Token::Open))
            }
            (State::Key | State::After, '}') if in_object => self.close(),
            (State::Value | State::After, ']') if !in_object => self.close(),
            (State::Key, '"') => (State::InKey(Escape::None), Some(Token::KeyStart)),
            (State::Value, '"') => (State::InText(Escape::None), Some(Token::TextStart)),
            (State::Colon, ':') => (State::Value, None),
            (State::After, ',') if in_object => (State::Key, None),
            (State::After, ',') => (State::Value, None),
            (State::Value | State::After, '-' | '+' | '.' | '0'..='9' | 'a'..='z' | 'E') => {
                (State::After, None)
            }
            _ => {
                *self = Self::default();
                (State::Outside, Some(Token::Broken))
            }
        };
        self.state = next;
        token
    }

    fn close(&mut self) -> (State, Option<Token>) {
        self.open.pop();
        let next = if self.open.is_empty() {
            State::Outside
        } else {
            State::After
        };
        (next, Some(Token::Close))
    }

    fn read_string(
        &mut self,
        escape: Escape,
        c: char,
        state: fn(Escape) -> State,
        end: Token,
    ) -> Option<Token> {
        let (next, read) = match (escape, c) {
            (Escape::None | Escape::High(_), '"') => {
                self.state = if end == Token::KeyEnd {
                    State::Colon
                } else {
                    State::After
                };
                return Some(end);
            }
            (Escape::None, '\\') => (Escape::Backslash(None), None),
            (Escape::High(high), '\\') => (Escape::Backslash(Some(high)), None),
            (Escape::None | Escape::High(_), c) => (Escape::None, Some(c)),
            (Escape::Backslash(high), 'u') => (Escape::Unicode(0, 0, high), None),
            (Escape::Backslash(_), c) => (Escape::None, Some(unescaped(c))),
            (Escape::Unicode(digits, value, high), c) => {
                let value = value << 4 | c.to_digit(16).unwrap_or_default();
                match digits {
                    3 => code_unit(value, high),
                    _ => (Escape::Unicode(digits + 1, value, high), None),
                }
            }
        };
        self.state = state(next);
        read.map(Token::Char)
    }
}

fn unescaped(c: char) -> char {
    match c {
        'n' => '\n',
        't' => '\t',
        'r' => '\r',
        'b' => '\u{8}',
        'f' => '\u{c}',
        c => c,
    }
}

/// A UTF-16 code unit; two surrogates make one character.
fn code_unit(unit: u32, high: Option<u32>) -> (Escape, Option<char>) {
    match (unit, high) {
        (0xd800..=0xdbff, _) => (Escape::High(unit), None),
        (0xdc00..=0xdfff, Some(high)) => {
            let code = 0x1_0000 + ((high - 0xd800) << 10) + (unit - 0xdc00);
            (Escape::None, char::from_u32(code))
        }
        _ => (Escape::None, char::from_u32(unit)),
    }
}

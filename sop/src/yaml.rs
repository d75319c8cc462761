//! YAML 1.2 with the place of everything in it.
//!
//! [`tree`] keeps all that a document says, so that all that is wrong with it can be told at once; [`read`] makes a type of it, and says
//! where that fails.

use std::fmt;

use serde::{
    Deserialize,
    de::{DeserializeOwned, Deserializer, MapAccess, SeqAccess, Visitor},
};
use serde_json::Number;
use serde_saphyr::{
    Location, Options, Spanned, granit_parser::ErrorKind, localizer::ExternalMessageSource,
    options::DuplicateKeyPolicy, options::NonFiniteFloatPolicy,
    with_deserializer_from_str_with_options,
};

use crate::Place;

/// Depth of lists and mappings in each other, at most.
const MAX_DEPTH: usize = 64;

/// Their depth in a tree, at most, which takes much more of the stack.
const MAX_TREE_DEPTH: usize = 24;

/// Values of a tree, at most.
const MAX_NODES: usize = 10_000;

/// Part of a document that may come from its own repetitions (`*name`).
const MAX_REPEATED: usize = 10_000;

/// A value, and where it stands.
#[derive(Clone, Debug, PartialEq)]
pub struct Node {
    /// Its value.
    pub value: Value,
    /// Its beginning. The length is that of what stands in one line; 0 for a list, a mapping or nothing.
    pub place: Place,
}

/// Value of a document.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// Nothing.
    Null,
    /// `true` or `false`.
    Bool(bool),
    /// A number that JSON has too.
    Number(Number),
    /// A text.
    Text(String),
    /// A list.
    List(Vec<Node>),
    /// A mapping, in the order of the document. A key can be there twice.
    Map(Vec<(Key, Node)>),
}

/// The key of a mapping.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Key {
    /// The key as a text.
    pub name: String,
    /// Its place.
    pub place: Place,
}

/// The reason why a document can't be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unread {
    /// Where, if that is known.
    pub place: Option<Place>,
    /// The field that is being read there (`constraints.acceptanceCriteria[1]`); empty or `.` for the whole.
    pub path: String,
    /// Kind of the fault.
    pub kind: Kind,
    /// Why, in one line, for a person.
    pub why: String,
}

/// Kind of a document's fault, by what can be said about it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A type has no such field; it has these.
    UnknownField(Vec<&'static str>),
    /// A key is there twice.
    DuplicateKey(Option<String>),
    /// A second document follows.
    SecondDocument,
    /// A number that is none, or endless.
    NonFinite,
    /// A value is of another type than what is read there.
    OtherType,
    /// A value has no key.
    NoKey,
    /// An alias names nothing.
    UnknownAlias,
    /// More, or deeper, than may be read.
    TooMuch,
    /// It is no YAML.
    Syntax(Syntax),
    /// Anything else.
    Other,
}

/// Mistakes of writers that are no YAML.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Syntax {
    /// A colon stands where no value can begin.
    Colon,
    /// A tab stands where only spaces may.
    Tab,
    /// A quote or a bracket is not closed, or not by its own kind.
    NotClosed,
    /// Text goes on after its closing quote.
    AfterQuote,
    /// An escape in quotes means nothing.
    Escape,
    /// A text begins with a character that is reserved.
    Reserved(char),
    /// Something else was expected here.
    Misplaced,
    /// Anything else.
    Other,
}

impl Syntax {
    fn of(error: &ErrorKind) -> Self {
        match error {
            ErrorKind::MappingValueNotAllowed => Self::Colon,
            ErrorKind::TabNotAllowed
            | ErrorKind::TabInBlockIndentation
            | ErrorKind::TabAtBlockScalarStart
            | ErrorKind::TabInIndentation
            | ErrorKind::TabInPlainScalar => Self::Tab,
            ErrorKind::UnexpectedEofFlowSequence
            | ErrorKind::UnexpectedEofFlowMapping
            | ErrorKind::UnexpectedEofImplicitFlowMapping
            | ErrorKind::ExpectedFlowMappingSeparator
            | ErrorKind::ExpectedFlowSequenceSeparator
            | ErrorKind::MisplacedFlowCollectionEnd
            | ErrorKind::MismatchedFlowCollectionEnd { .. }
            | ErrorKind::UnclosedFlowCollection { .. }
            | ErrorKind::DocumentIndicatorInQuotedScalar
            | ErrorKind::UnclosedQuotedScalar
            | ErrorKind::InvalidQuotedScalarIndent
            | ErrorKind::InvalidFlowScalarIndent
            | ErrorKind::FlowMappingValueAdjacentCollection
            | ErrorKind::InvalidColonPlacement => Self::NotClosed,
            ErrorKind::InvalidTrailingSingleQuotedScalar
            | ErrorKind::InvalidTrailingDoubleQuotedScalar => Self::AfterQuote,
            ErrorKind::UnknownQuotedScalarEscape
            | ErrorKind::InvalidQuotedScalarHexEscape
            | ErrorKind::InvalidLowSurrogateHexEscape
            | ErrorKind::InvalidLowSurrogate
            | ErrorKind::MissingLowSurrogate
            | ErrorKind::UnpairedLowSurrogate
            | ErrorKind::InvalidUnicodeEscape => Self::Escape,
            ErrorKind::UnexpectedCharacter { character } => Self::Reserved(*character),
            ErrorKind::ExpectedNodeContent
            | ErrorKind::ExpectedDocumentStart
            | ErrorKind::ExpectedBlockMappingKey
            | ErrorKind::ExpectedBlockSequenceEntry => Self::Misplaced,
            _ => Self::Other,
        }
    }
}

impl Kind {
    fn of(error: &serde_saphyr::Error) -> Self {
        use serde_saphyr::Error;
        match error {
            Error::SerdeUnknownField { expected, .. } => Self::UnknownField(expected.clone()),
            Error::DuplicateMappingKey { key, .. } => Self::DuplicateKey(key.clone()),
            Error::MultipleDocuments { .. } => Self::SecondDocument,
            Error::NonFiniteFloat { .. } => Self::NonFinite,
            Error::Unexpected { .. }
            | Error::InvalidScalar { .. }
            | Error::InvalidBooleanStrict { .. }
            | Error::SerdeInvalidType { .. }
            | Error::SerdeInvalidValue { .. }
            | Error::SerdeInvalidLength { .. } => Self::OtherType,
            Error::AliasError { error, .. } => Self::of(error),
            Error::NullIntoString { .. } => Self::NoKey,
            Error::UnknownAnchor { .. } => Self::UnknownAlias,
            Error::Budget { .. } => Self::TooMuch,
            Error::ExternalMessage { source, .. } => match &**source {
                ExternalMessageSource::Parser(error) => Self::Syntax(Syntax::of(error.kind())),
                _ => Self::Other,
            },
            _ => Self::Other,
        }
    }
}

/// Reads a document as it is. An empty one is null.
///
/// # Errors
///
/// It is no YAML, is more than one document, is nested deeper than 24, or has more than 10,000 values.
pub fn tree(text: &str) -> Result<Node, Unread> {
    let mut options = options(MAX_TREE_DEPTH);
    options.budget = serde_saphyr::budget! { max_depth: MAX_TREE_DEPTH, max_nodes: MAX_NODES, max_events: 4 * MAX_NODES };
    options.duplicate_keys = DuplicateKeyPolicy::PassThrough;
    options.non_finite_float_policy = NonFiniteFloatPolicy::AsString;
    with_deserializer_from_str_with_options(text, options, |document| Node::deserialize(document))
        .map_err(|error: serde_saphyr::Error| unread(&error, String::new()))
}

/// Reads a document into a type.
///
/// # Errors
///
/// It is no YAML, is more than one document, is nested deeper than 64, does not fit the type, or a key is there twice.
pub fn read<T: DeserializeOwned>(text: &str) -> Result<T, Unread> {
    let mut path = String::new();
    let read = with_deserializer_from_str_with_options(text, options(MAX_DEPTH), |document| {
        serde_path_to_error::deserialize(document).map_err(|error| {
            path = error.path().to_string();
            error.into_inner()
        })
    });
    read.map_err(|error: serde_saphyr::Error| unread(&error, path))
}

impl Node {
    /// The value of a field, by its path from here (`constraints.acceptanceCriteria[1]`), if it is there.
    pub fn find(&self, path: &str) -> Option<&Node> {
        path.split('.').try_fold(self, |node, part| {
            let mut pieces = part.split('[');
            let node = node.get(pieces.next().filter(|key| !key.is_empty())?)?;
            pieces.try_fold(node, |node, index| {
                let index: usize = index.strip_suffix(']')?.parse().ok()?;
                match &node.value {
                    Value::List(items) => items.get(index),
                    _ => None,
                }
            })
        })
    }

    /// The value of a mapping for a key; the first, if the key is there twice.
    pub fn get(&self, name: &str) -> Option<&Node> {
        match &self.value {
            Value::Map(fields) => fields.iter().find(|(key, _)| key.name == name),
            _ => None,
        }
        .map(|(_, node)| node)
    }
}

impl Value {
    /// Its kind, for a sentence: `the text`, `a list`.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Null => "nothing",
            Self::Bool(_) => "true or false",
            Self::Number(_) => "a number",
            Self::Text(_) => "a text",
            Self::List(_) => "a list",
            Self::Map(_) => "a mapping",
        }
    }
}

/// As YAML 1.2 has it, in which `no` is a language and 007 a name.
fn options(max_depth: usize) -> Options {
    serde_saphyr::options! {
        budget: serde_saphyr::budget! { max_depth: max_depth },
        alias_limits: serde_saphyr::alias_limits! { max_total_replayed_events: MAX_REPEATED },
        strict_booleans: true,
        leading_zero_numbers_as_strings: true,
        underscored_numbers_as_strings: true,
        with_snippet: false,
    }
}

fn unread(error: &serde_saphyr::Error, path: String) -> Unread {
    let error = error.without_snippet();
    let said = error.to_string();
    let said = said.split(" at line ").next().unwrap_or(&said);
    Unread {
        place: error.location().map(place),
        path,
        kind: Kind::of(error),
        why: said.replace('\n', " "),
    }
}

fn place(location: Location) -> Place {
    let number = |n: u64| u32::try_from(n).unwrap_or(u32::MAX);
    Place {
        line: number(location.line()),
        column: number(location.column()),
        length: number(location.span().len()),
    }
}

impl<'de> Deserialize<'de> for Node {
    fn deserialize<D: Deserializer<'de>>(document: D) -> Result<Self, D::Error> {
        let spanned = Spanned::<Value>::deserialize(document)?;
        Ok(Self {
            place: place(spanned.referenced),
            value: spanned.value,
        })
    }
}

impl<'de> Deserialize<'de> for Value {
    fn deserialize<D: Deserializer<'de>>(document: D) -> Result<Self, D::Error> {
        document.deserialize_any(Values)
    }
}

struct Values;

impl<'de> Visitor<'de> for Values {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_none<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_some<D: Deserializer<'de>>(self, value: D) -> Result<Value, D::Error> {
        value.deserialize_any(self)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(Value::Number(value.into()))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(Value::Number(value.into()))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        let number = Number::from_f64(value);
        Ok(number.map_or_else(|| Value::Text(value.to_string()), Value::Number))
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(Value::Text(value.to_owned()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Value, A::Error> {
        let mut items = Vec::new();
        while let Some(item) = list.next_element()? {
            items.push(item);
        }
        Ok(Value::List(items))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Value, A::Error> {
        let mut fields = Vec::new();
        while let Some(key) = map.next_key::<Spanned<String>>()? {
            let key = Key {
                place: place(key.referenced),
                name: key.value,
            };
            fields.push((key, map.next_value()?));
        }
        Ok(Value::Map(fields))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(node: &Node, told: &mut Vec<String>) {
        let place = node.place;
        let at = format!("{}:{}+{}", place.line, place.column, place.length);
        match &node.value {
            Value::List(items) => {
                told.push(format!("{at} list"));
                items.iter().for_each(|item| line(item, told));
            }
            Value::Map(fields) => {
                told.push(format!("{at} map"));
                for (key, node) in fields {
                    let place = key.place;
                    told.push(format!(
                        "{}:{}+{} key {}",
                        place.line, place.column, place.length, key.name
                    ));
                    line(node, told);
                }
            }
            other => told.push(format!("{at} {other:?}")),
        }
    }

    #[test]
    fn everything_has_its_place() {
        let text = "---\nname: ü x\nversion: 1.10 # c\nfolded: >\n  a b\n  c\nquoted: 'it''s ü x'\nno: yes\n\
            list: [1, -2, 1e3, .nan, 007, 12345678901234567890123]\nname: again\nempty:\nanchor: &a foo\nalias: *a\n\
            nested:\n  value: true\n";
        let mut told = Vec::new();
        line(&tree(text).expect("it is YAML"), &mut told);
        insta::assert_snapshot!(told.join("\n"));
    }

    #[test]
    fn a_value_is_found_by_its_path() {
        let tree = tree("a:\n  b: [x, {c: y}]\n  b: z\n").expect("it is YAML");
        let at = |path: &str| {
            tree.find(path)
                .map(|node| (node.place.line, node.place.column))
        };
        assert_eq!(at("a.b[1].c"), Some((2, 14)));
        assert_eq!(at("a"), Some((2, 3)));
        for none in ["a.c", "a.b[2]", "a.b[x]", "a.b.c", "", "a..b", "b"] {
            assert_eq!(at(none), None, "{none}");
        }
    }

    #[test]
    fn what_would_take_too_much_is_refused() {
        let deep = |n: usize| format!("a: {}{}\n", "[".repeat(n), "]".repeat(n));
        assert!(tree(&deep(20)).is_ok());
        assert!(tree(&deep(30)).is_err());
        let mut many = "a: &a [x,x,x,x,x,x,x,x,x,x]\n".to_owned();
        for (from, to) in [("a", "b"), ("b", "c"), ("c", "d"), ("d", "e"), ("e", "f")] {
            let all = vec![format!("*{from}"); 10].join(",");
            many += &format!("{to}: &{to} [{all}]\n");
        }
        assert!(tree(&many).is_err());
    }

    #[test]
    fn a_type_is_read_with_the_path_of_what_does_not_fit() {
        assert_eq!(read::<Vec<u8>>("[1, 2]"), Ok(vec![1, 2]));
        let unread = read::<Vec<u8>>("- 1\n- x\n").expect_err("x is no number");
        assert_eq!(unread.path, "[1]");
        let place = unread.place.expect("it has a place");
        assert_eq!((place.line, place.column), (2, 3));
    }
}

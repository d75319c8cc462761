//! Reasons why a document can't be read.

use serde_saphyr::{Location, granit_parser::ErrorKind, localizer::ExternalMessageSource};

use crate::Place;

/// The reason why a document can't be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unread {
    /// Place, if it is known.
    pub place: Option<Place>,
    /// The field that is being read there (`constraints.acceptanceCriteria[1]`); empty or `.` for the whole.
    pub path: String,
    /// Kind of the fault.
    pub kind: Kind,
    /// Reason in one line, for a person.
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
    /// Not YAML.
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

impl Unread {
    /// The reason of an error at this path.
    pub(super) fn new(error: &serde_saphyr::Error, path: String) -> Self {
        let error = error.without_snippet();
        let said = error.to_string();
        let said = said.split(" at line ").next().unwrap_or(&said);
        Self {
            place: error.location().map(place),
            path,
            kind: Kind::of(error),
            why: said.replace('\n', " "),
        }
    }
}

pub(super) fn place(location: Location) -> Place {
    let number = |n: u64| u32::try_from(n).unwrap_or(u32::MAX);
    Place {
        line: number(location.line()),
        column: number(location.column()),
        length: number(location.span().len()),
    }
}

//! Where something is in a YAML document, and what is wrong there.

use std::fmt;

use serde::{
    Deserialize,
    de::{
        DeserializeOwned, DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor,
    },
};
use serde_saphyr::{Options, Spanned, with_deserializer_from_str_with_options};

/// What fields of a brief take, by the end of their path.
const TAKEN: [(&str, &str); 11] = [
    ("mode", "`app` or `chat`"),
    ("payload", "an object"),
    ("constraints", "an object"),
    ("budget", "an object"),
    ("qualityThreshold", "a number from 0 to 1"),
    ("executionDepth", "a whole number from 1 on"),
    ("maxTurns", "a whole number from 1 on"),
    ("acceptanceCriteria", "a list of texts and checks"),
    ("approvals", "a list of capabilities, or of `*` for all"),
    ("tokens", "a whole number"),
    ("calls", "a whole number"),
];

/// A place, counted from 1; columns are characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) line: u64,
    pub(super) column: u64,
}

/// What is wrong in a document.
#[derive(Clone, Debug)]
pub(super) struct Fault {
    pub(super) place: Option<Place>,
    pub(super) why: String,
}

/// Reads a document.
pub(super) fn read<T: DeserializeOwned>(text: &str) -> Result<T, Fault> {
    let mut path = String::new();
    let read = with_deserializer_from_str_with_options(text, options(), |document| {
        serde_path_to_error::deserialize(document).map_err(|error| {
            path = error.path().to_string();
            error.into_inner()
        })
    });
    read.map_err(|error: serde_saphyr::Error| fault(&error, &path))
}

/// Where the value of a field is, by its path (`constraints.acceptanceCriteria[1]`), if it is there.
pub(super) fn find(text: &str, path: &str) -> Option<Place> {
    let path: Vec<Segment> = segments(path)?;
    let found = with_deserializer_from_str_with_options(text, options(), |document| {
        Seek(&path).deserialize(document)
    });
    found.ok().flatten()
}

/// As YAML 1.2 has it, in which `no` is a language and 007 a name.
fn options() -> Options {
    serde_saphyr::options! {
        strict_booleans: true,
        leading_zero_numbers_as_strings: true,
        underscored_numbers_as_strings: true,
        with_snippet: false,
    }
}

fn fault(error: &serde_saphyr::Error, path: &str) -> Fault {
    let error = error.without_snippet();
    let place = error.location().map(|location| Place {
        line: location.line(),
        column: location.column(),
    });
    let said = error.to_string();
    let said = said.split(" at line ").next().unwrap_or(&said);
    let (holder, field) = path.rsplit_once('.').unwrap_or(("", path));
    let taken = TAKEN.iter().find(|(name, _)| *name == field);
    let why = if let Some((_, fields)) = said.split_once("expected one of ") {
        let holder = match holder {
            "" => "a brief".to_owned(),
            holder => format!("`{holder}`"),
        };
        format!("{holder} has no field `{field}`; it takes {fields}")
    } else if said.contains("duplicate mapping key") {
        let key = said.split([':', ',']).nth(1).unwrap_or_default();
        format!("`{}` is there twice", key.trim())
    } else if said.contains("multiple YAML documents") {
        "a second document begins here; a brief is one".to_owned()
    } else if said.contains("non-finite") {
        format!("`{path}` is no number; write null for a value that is missing")
    } else if matches!(path, "." | "" | "?") {
        match said.starts_with("expected mapping") {
            true => "a brief is an object with fields, such as `objective: …`".to_owned(),
            false => said.to_owned(),
        }
    } else if is_type(said) {
        let taken = taken.map_or("a text", |(_, taken)| taken);
        format!("`{path}` takes {taken}")
    } else {
        format!("`{path}`: {said}")
    };
    Fault {
        place,
        why: why.replace('\n', " "),
    }
}

/// Whether a value is of another type than its field.
fn is_type(said: &str) -> bool {
    said.starts_with("expected ") || said.starts_with("invalid ")
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Segment {
    Key(String),
    Index(usize),
}

fn segments(path: &str) -> Option<Vec<Segment>> {
    let mut segments = Vec::new();
    for part in path.split('.') {
        let mut pieces = part.split('[');
        segments.push(Segment::Key(
            pieces.next().filter(|k| !k.is_empty())?.to_owned(),
        ));
        for index in pieces {
            segments.push(Segment::Index(index.strip_suffix(']')?.parse().ok()?));
        }
    }
    Some(segments)
}

/// Goes down a path, and says where it ends.
struct Seek<'p>(&'p [Segment]);

impl<'de> DeserializeSeed<'de> for Seek<'_> {
    type Value = Option<Place>;

    fn deserialize<D: Deserializer<'de>>(self, value: D) -> Result<Self::Value, D::Error> {
        match self.0 {
            [] => {
                let found = Spanned::<IgnoredAny>::deserialize(value)?;
                Ok(Some(Place {
                    line: found.referenced.line(),
                    column: found.referenced.column(),
                }))
            }
            _ => value.deserialize_any(self),
        }
    }
}

impl<'de> Visitor<'de> for Seek<'_> {
    type Value = Option<Place>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object or a list")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut found = None;
        while let Some(key) = map.next_key::<String>()? {
            match self.0 {
                [Segment::Key(wanted), rest @ ..] if *wanted == key => {
                    found = map.next_value_seed(Seek(rest))?;
                }
                _ => {
                    map.next_value::<IgnoredAny>()?;
                }
            }
        }
        Ok(found)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Self::Value, A::Error> {
        let (wanted, rest) = match self.0 {
            [Segment::Index(index), rest @ ..] => (*index, rest),
            _ => (usize::MAX, &[][..]),
        };
        let mut found = None;
        for index in 0.. {
            if index == wanted {
                found = match list.next_element_seed(Seek(rest))? {
                    Some(found) => found,
                    None => break,
                };
            } else if list.next_element::<IgnoredAny>()?.is_none() {
                break;
            }
        }
        Ok(found)
    }
}

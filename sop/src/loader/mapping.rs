//! Reads the fields of a mapping, and tells what is wrong with them.

use agenthub_documents::{
    Place, choice, meant,
    yaml::{Key, Node, Value},
};

use super::faults::Faults;

/// The fields of a mapping, each once.
#[derive(Clone, Debug)]
pub(crate) struct Mapping<'n> {
    fields: Vec<Field<'n>>,
}

/// One field.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Field<'n> {
    pub(crate) key: &'n Key,
    pub(crate) node: &'n Node,
}

/// A value with its place.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Placed<T> {
    pub(crate) value: T,
    pub(crate) place: Place,
}

impl Field<'_> {
    /// The part that is underlined where the value is wrong: the value, or, if that is more than a line or nothing, its key.
    pub(crate) fn spot(&self) -> Place {
        self.spot_of(self.node)
    }

    /// As [`Self::spot`], for a part of the value.
    pub(crate) fn spot_of(&self, node: &Node) -> Place {
        match node.place.length {
            0 => self.key.place,
            _ => node.place,
        }
    }
}

impl<'n> Mapping<'n> {
    /// The fields of a mapping. A key that is there twice is an error, one that is not known a warning.
    pub(crate) fn of(
        fields: &'n [(Key, Node)],
        what: &str,
        known: &[&str],
        faults: &mut Faults<'_>,
    ) -> Self {
        let mut found: Vec<Field<'n>> = Vec::new();
        for (key, node) in fields {
            if let Some(first) = found.iter().find(|field| field.key.name == key.name) {
                faults.error(
                    key.place,
                    format!("`{}` is there twice", key.name),
                    format!(
                        "the first one is in line {}; keep one of them",
                        first.key.place.line
                    ),
                );
                continue;
            }
            if !known.contains(&key.name.as_str()) {
                let help = match meant(&key.name, known.iter().copied()) {
                    Some(meant) => format!("did you mean `{meant}`?"),
                    None => format!("it can have {}", choice(known)),
                };
                faults.warning(
                    key.place,
                    format!("{what} has no field `{}`; it is ignored", key.name),
                    help,
                );
            }
            found.push(Field { key, node });
        }
        Self { fields: found }
    }

    /// All of them, in the order of the file.
    pub(crate) fn iter(&self) -> impl Iterator<Item = Field<'n>> {
        self.fields.iter().copied()
    }

    /// A field, if it is there.
    pub(crate) fn get(&self, name: &str) -> Option<Field<'n>> {
        self.iter().find(|field| field.key.name == name)
    }

    /// A text, without the spaces around it, if it is there and not empty.
    pub(crate) fn text(&self, name: &str, faults: &mut Faults<'_>) -> Option<Placed<&'n str>> {
        let field = self.get(name)?;
        match &field.node.value {
            Value::Text(text) => (!text.trim().is_empty()).then(|| Placed {
                value: text.trim(),
                place: field.spot(),
            }),
            Value::Null => None,
            Value::Bool(_) | Value::Number(_) => {
                let source = faults.source(field.node.place);
                let help = format!("put it into quotes: `{name}: \"{source}\"`");
                wrong(&field, "a text", help, faults)
            }
            _ => wrong(
                &field,
                "a text",
                format!("such as `{name}: some words`"),
                faults,
            ),
        }
    }

    /// `true` or `false`, if it is there.
    pub(crate) fn bool(&self, name: &str, faults: &mut Faults<'_>) -> Option<bool> {
        let field = self.get(name)?;
        match &field.node.value {
            Value::Bool(value) => Some(*value),
            _ => wrong(
                &field,
                "`true` or `false`",
                format!("write `{name}: true` or `{name}: false`, without quotes"),
                faults,
            ),
        }
    }

    /// A number between two bounds, if it is there.
    pub(crate) fn number(
        &self,
        name: &str,
        bounds: (f64, f64),
        is_whole: bool,
        faults: &mut Faults<'_>,
    ) -> Option<f64> {
        let field = self.get(name)?;
        let (from, to) = bounds;
        let fits = |n: &f64| (from..=to).contains(n) && (!is_whole || n.fract() == 0.0);
        let number = match &field.node.value {
            Value::Null => return None,
            Value::Number(number) => number.as_f64().filter(fits),
            _ => None,
        };
        if number.is_none() {
            let kind = if is_whole {
                "a whole number"
            } else {
                "a number"
            };
            faults.error(
                field.spot(),
                format!("`{name}` takes {kind} from {from} to {to}"),
                format!(
                    "such as `{name}: {}`",
                    if is_whole { to.min(10.0) } else { to / 2.0 }
                ),
            );
        }
        number
    }

    /// One of some words, if it is there.
    pub(crate) fn word<T: Copy>(
        &self,
        name: &str,
        words: &[(&str, T)],
        faults: &mut Faults<'_>,
    ) -> Option<T> {
        let field = self.get(name)?;
        let known: Vec<&str> = words.iter().map(|(word, _)| *word).collect();
        let help = format!("it takes {}", choice(&known));
        let text = match &field.node.value {
            Value::Text(text) => text.trim(),
            Value::Null => return None,
            _ => return wrong(&field, "a word", help, faults),
        };
        let found = words.iter().find(|(word, _)| *word == text);
        if found.is_none() {
            let help = match meant(text, known.iter().copied()) {
                Some(meant) => format!("did you mean `{meant}`? {help}"),
                None => help,
            };
            faults.error(field.spot(), format!("`{name}` can't be `{text}`"), help);
        }
        found.map(|(_, value)| *value)
    }
}

fn wrong<T>(
    field: &Field<'_>,
    takes: &str,
    help: impl Into<String>,
    faults: &mut Faults<'_>,
) -> Option<T> {
    faults.error(
        field.spot(),
        format!(
            "`{}` takes {takes}; this is {}",
            field.key.name,
            field.node.value.kind()
        ),
        help,
    );
    None
}

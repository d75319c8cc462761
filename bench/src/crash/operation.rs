//! Name of a publish, contained in its message.

use std::{fmt, str::FromStr};

/// The n-th publish of a context.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Operation {
    pub(crate) context: usize,
    /// Number, from 1.
    pub(crate) number: u64,
}

impl Operation {
    /// The id of its context.
    pub(crate) fn context_id(self) -> String {
        format!("context-{}", self.context)
    }
}

impl fmt::Display for Operation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "operation-{}-{}", self.context, self.number)
    }
}

/// Error: a text does not name an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct InvalidOperation;

impl FromStr for Operation {
    type Err = InvalidOperation;

    fn from_str(text: &str) -> Result<Self, InvalidOperation> {
        let parse = || {
            let (context, number) = text.strip_prefix("operation-")?.split_once('-')?;
            Some(Self {
                context: context.parse().ok()?,
                number: number.parse().ok()?,
            })
        };
        parse().ok_or(InvalidOperation)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_read_back() {
        let operation = Operation {
            context: 12,
            number: 345,
        };
        assert_eq!(operation.to_string().parse(), Ok(operation));
        assert_eq!("hello".parse::<Operation>(), Err(InvalidOperation));
    }
}

//! Wrong usage: a mistake in what a command was given.

use std::{error::Error, fmt, path::Path};

/// The exit code of wrong usage, which is also that of a flag that there is not.
pub const CODE: u8 = 2;

/// A mistake in what a command was given, such as a brief with an unknown field. Nothing was begun.
#[derive(Debug)]
pub struct WrongUsage(pub String);

impl fmt::Display for WrongUsage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Error for WrongUsage {}

/// The exit code of an error.
pub fn code_of(error: &anyhow::Error) -> u8 {
    match error.is::<WrongUsage>() {
        true => CODE,
        false => 1,
    }
}

/// The exit code where these files or folders have faults: that of wrong usage if one of them is not there.
pub fn code_of_faults<'a>(paths: impl IntoIterator<Item = &'a Path>) -> u8 {
    // A link that leads nowhere is there.
    let is_missing = |path: &Path| !path.exists() && !path.is_symlink();
    match paths.into_iter().any(is_missing) {
        true => CODE,
        false => 1,
    }
}

#[cfg(test)]
mod tests {
    use anyhow::{Context, anyhow};

    use super::*;

    #[test]
    fn wrong_usage_is_not_a_failure() {
        let wrong = || anyhow::Error::new(WrongUsage("b.yaml:1:1: no".to_owned()));
        assert_eq!(code_of(&wrong()), 2);
        let inside = Err::<(), _>(wrong()).context("cannot begin");
        assert_eq!(code_of(&inside.expect_err("it is wrong")), 2);
        assert_eq!(code_of(&anyhow!("the hub is away")), 1);
    }
}

//! Names of agents.

use agenthub_sdk::proto::slug::{is_route_word, slug};

/// The longest name, in bytes.
const MAX_NAME: usize = 128;

/// The name of the one who leads the hub.
const CORTEX: &str = "cortex";

/// The reason why no agent can have a name, and what to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Unusable {
    /// Reason.
    pub(crate) why: String,
    /// The advice.
    pub(crate) help: &'static str,
}

/// Checks whether an agent can have this name.
///
/// # Errors
///
/// The reason why not.
pub(crate) fn usable(name: &str) -> Result<(), Unusable> {
    let shown: String = name.chars().filter(|c| !c.is_control()).take(40).collect();
    let because = |why: String, help| Err(Unusable { why, help });
    let slug = slug(name);
    if name.trim().is_empty() {
        because(
            "the name is empty".to_owned(),
            "give the agent a name, such as `researcher`",
        )
    } else if name.len() > MAX_NAME {
        because(
            format!("the name has {} bytes; at most {MAX_NAME}", name.len()),
            "shorten it; what the agent is for belongs into `description`",
        )
    } else if name.chars().any(char::is_control) {
        because(
            format!("the name `{shown}` holds a line break or another control character"),
            "write it on one line, in plain text",
        )
    } else if !name.chars().any(char::is_alphanumeric) {
        because(
            format!("the name `{shown}` holds no letter and no digit"),
            "give the agent a name, such as `researcher`",
        )
    } else if name.contains('@') {
        because(
            format!("the name `{shown}` holds an `@`, which parts a name from a version"),
            "leave the `@` out; the version belongs into `version`",
        )
    } else if name.contains(['/', '\\']) {
        because(
            format!("the name `{shown}` holds a `/` or a `\\`, which part folders"),
            "choose a name that a file can have, such as `researcher`",
        )
    } else if slug == CORTEX {
        because(
            format!("the name `{shown}` is taken: Cortex leads every hub"),
            "choose another name",
        )
    } else if is_route_word(&slug) {
        because(
            format!("the name `{shown}` is taken: addresses of the hub begin with `{slug}`"),
            "choose another name",
        )
    } else {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// spec: SOP-2.1
    #[test]
    fn names_are_what_the_hub_takes() {
        for name in ["writer", "Article Writer", "日本語", "a", &"x".repeat(128)] {
            assert_eq!(usable(name), Ok(()), "{name}");
        }
        let why = |name: &str| usable(name).expect_err(name).why;
        let refused = [
            "",
            "  ",
            "!!!",
            "a\nb",
            "agents",
            "Health",
            "v1",
            "Cortex",
            "writer@2",
            "..",
            "../../etc/passwd",
            r"a\b",
        ]
        .map(why);
        insta::assert_snapshot!(refused.join("\n"));
        assert!(why(&"x".repeat(129)).contains("129 bytes"));
    }
}

//! YAML 1.2 with the place of everything in it.
//!
//! [`tree`] keeps all that a document says, so that all that is wrong with it can be told at once; [`read`] makes a type of it, and says
//! where that fails.

mod node;
mod unread;

use serde::{Deserialize, de::DeserializeOwned};
use serde_saphyr::{
    Options, options::DuplicateKeyPolicy, options::NonFiniteFloatPolicy,
    with_deserializer_from_str_with_options,
};

pub use self::{
    node::{Key, Node, Value},
    unread::{Kind, Syntax, Unread},
};

/// Depth of lists and mappings in each other, at most.
const MAX_DEPTH: usize = 64;

/// Their depth in a tree, at most, which takes much more of the stack.
const MAX_TREE_DEPTH: usize = 24;

/// Values of a tree, at most.
const MAX_NODES: usize = 10_000;

/// Part of a document that may come from its own repetitions (`*name`).
const MAX_REPEATED: usize = 10_000;

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
        .map_err(|error: serde_saphyr::Error| Unread::new(&error, String::new()))
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
    read.map_err(|error: serde_saphyr::Error| Unread::new(&error, path))
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

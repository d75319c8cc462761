//! Parts the front matter of a file from its body.

use super::faults::Faults;
use crate::Place;

/// The line that the front matter stands between.
pub(crate) const FENCE: &str = "---";

/// Beginning of the front matter: what is missing in it is told there.
pub(crate) const BEGIN: Place = Place {
    line: 1,
    column: 1,
    length: 3,
};

/// A file in its two parts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Parts<'t> {
    /// The front matter with the line above it, so that its lines are those of the file. `None` if the file has none.
    pub(crate) front: Option<&'t str>,
    /// The text below it.
    pub(crate) body: &'t str,
    /// The line that the body begins on.
    pub(crate) body_line: u32,
}

/// Parts a text. What begins like front matter but is none is a fault.
///
/// # Errors
///
/// The front matter does not end.
pub(crate) fn parts<'t>(text: &'t str, faults: &mut Faults<'_>) -> Result<Parts<'t>, ()> {
    let none = Parts {
        front: None,
        body: text,
        body_line: 1,
    };
    let first = text.lines().next().unwrap_or_default();
    if first.trim_end() != FENCE {
        return misplaced(text, faults).map(|()| none);
    }
    let mut end = first.len() + 1;
    for (line, number) in text.split_inclusive('\n').skip(1).zip(3..) {
        if line.trim_end() == FENCE {
            return Ok(Parts {
                front: Some(&text[..end]),
                body: &text[end + line.len()..],
                body_line: number,
            });
        }
        end += line.len();
    }
    faults.error(
        BEGIN,
        "the front matter that begins here does not end",
        "write `---` on a line of its own below the last field",
    );
    Err(())
}

/// A first line that was meant to be the beginning.
fn misplaced(text: &str, faults: &mut Faults<'_>) -> Result<(), ()> {
    let Some((line, number)) = text
        .lines()
        .zip(1..)
        .find(|(line, _)| !line.trim().is_empty())
    else {
        return Ok(());
    };
    let begin = line.trim_start();
    let indent = u32::try_from(line.chars().count() - begin.chars().count()).unwrap_or(0);
    let is_closed = || {
        text.lines()
            .skip(number as usize)
            .any(|l| l.trim() == FENCE)
    };
    if begin.trim_end() != FENCE || !is_closed() {
        return Ok(());
    }
    let place = Place {
        line: number,
        column: indent + 1,
        length: 3,
    };
    faults.error(
        place,
        "the front matter does not begin at the very beginning of the file",
        "`---` has to be the first line, without spaces or empty lines before it",
    );
    Err(())
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    fn of(text: &str) -> Result<Parts<'_>, String> {
        let mut faults = Faults::of(Path::new("a.md"), text);
        parts(text, &mut faults).map_err(|()| {
            let found = faults.warnings().expect_err("it is an error");
            format!("{}: {}", found[0].at(), found[0].message)
        })
    }

    /// spec: SOP-1.1
    #[test]
    fn a_file_is_front_matter_and_body() {
        let parts = of("---\nname: x\n---\n\nDo it.\n---\nmore\n").expect("it ends");
        assert_eq!(parts.front, Some("---\nname: x\n"));
        assert_eq!(parts.body, "\nDo it.\n---\nmore\n");
        assert_eq!(parts.body_line, 4);
        let empty = of("---\n--- \n").expect("it ends");
        assert_eq!((empty.front, empty.body), (Some("---\n"), ""));
        let whole = of("# Title\n\n---\n\nmore\n").expect("it has none");
        assert_eq!((whole.front, whole.body_line), (None, 1));
        for none in ["", "\n\n", "---- \nx\n", "--- x\n"] {
            assert_eq!(of(none).expect(none).front, None);
        }
    }

    /// spec: SOP-2.6
    #[test]
    fn front_matter_that_does_not_end_or_begin_is_told_with_its_place() {
        for (text, error) in [
            ("---\nname: x\n", "a.md:1:1: the front matter that begins"),
            ("---", "a.md:1:1: the front matter that begins"),
            ("\n\n---\nname: x\n---\n", "a.md:3:1: the front matter does"),
            ("  ---\nname: x\n---\n", "a.md:1:3: the front matter does"),
        ] {
            let told = of(text).expect_err(text);
            assert!(told.starts_with(error), "{told}");
        }
    }
}

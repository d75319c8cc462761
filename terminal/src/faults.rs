//! Faults of files, for people.

use std::{
    env,
    io::{self, IsTerminal},
    path::PathBuf,
};

use agenthub_documents::Fault;

use crate::output::{self, plain};

/// Shows what is wrong with a file on stderr: the line, the place in it, and what to do.
pub fn show(fault: &Fault) {
    let is_terminal = io::stderr().is_terminal();
    let is_coloured = is_terminal && env::var_os("NO_COLOR").is_none();
    output::styled_aside(shown(fault, is_terminal, is_coloured).trim_end());
}

/// The fault as it is printed: on a terminal its only control characters are the colours of this program.
fn shown(fault: &Fault, is_terminal: bool, is_coloured: bool) -> String {
    match is_terminal {
        true => harmless(fault).rendered(is_coloured),
        false => fault.rendered(is_coloured),
    }
}

/// The fault with a mark in place of each character that could do more to a terminal than be read, so that its place stays where it is.
fn harmless(fault: &Fault) -> Fault {
    Fault {
        path: PathBuf::from(marked(&fault.path.to_string_lossy())),
        message: marked(&fault.message),
        help: fault.help.as_deref().map(marked),
        text: marked(&fault.text).into(),
        ..fault.clone()
    }
}

fn marked(text: &str) -> String {
    let text = text.replace("\r\n", "\n");
    let mark = |c: char| match plain(c.encode_utf8(&mut [0; 4])).is_empty() {
        true => '\u{fffd}',
        false => c,
    };
    text.chars().map(mark).collect()
}

#[cfg(test)]
mod tests {
    use std::{path::Path, sync::Arc};

    use agenthub_documents::Place;

    use super::*;

    #[test]
    fn a_fault_has_colours_of_its_own_and_none_of_its_file() {
        let evil = "\u{1b}[2J\u{202e}";
        let text: Arc<str> = Arc::from(format!("a: {evil}b\r\nc: d\r\n"));
        let place = Place {
            line: 1,
            column: 8,
            length: 1,
        };
        let path = format!("f{evil}.yaml");
        let fault = Fault::error(Path::new(&path), format!("no {evil}"))
            .placed(place, &text)
            .helped(format!("leave {evil} out"));
        let coloured = shown(&fault, true, true);
        assert!(coloured.contains("\u{1b}[31m"), "{coloured:?}");
        let uncoloured = shown(&fault, true, false);
        for text in [&coloured, &uncoloured] {
            assert!(!text.contains("\u{1b}[2J"), "{text:?}");
            assert!(!text.contains(['\u{202e}', '\r']), "{text:?}");
        }
        assert!(!uncoloured.contains('\u{1b}'), "{uncoloured:?}");
        assert!(
            uncoloured.contains("no \u{fffd}[2J\u{fffd}"),
            "{uncoloured}"
        );
        // A program that reads it gets it as it is.
        assert!(shown(&fault, false, false).contains(evil));
    }
}

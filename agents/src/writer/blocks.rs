//! Blocks of a text: lines that belong together as they stand, such as code.

/// A stretch of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stretch<'a> {
    /// Sentences; where its lines break says nothing.
    Prose(&'a str),
    /// Lines that keep their breaks and their indentation.
    Block(&'a str),
}

/// The stretches of a text, in order. Blocks are lines between fences (three backticks or tildes), with these, and two or more
/// lines in a row that are indented by a tab or four spaces.
pub(super) fn stretches(text: &str) -> Vec<Stretch<'_>> {
    let mut found = Vec::new();
    let mut begin = 0;
    let mut lines = offsets(text).peekable();
    while let Some((at, line)) = lines.next() {
        let mut end = at + line.len();
        let mut count = 1;
        match fence(line) {
            Some(fence) => {
                // A fence that nothing closes goes to the end.
                for (at, line) in lines.by_ref() {
                    end = at + line.len();
                    count += 1;
                    if line.trim() == fence {
                        break;
                    }
                }
            }
            None if is_indented(line) => {
                while let Some((at, line)) = lines.next_if(|(_, line)| is_indented(line)) {
                    end = at + line.len();
                    count += 1;
                }
            }
            None => continue,
        }
        if count == 1 {
            continue;
        }
        found.push(Stretch::Prose(&text[begin..at]));
        found.push(Stretch::Block(text[at..end].trim_end()));
        begin = end;
    }
    found.push(Stretch::Prose(&text[begin..]));
    found.retain(|stretch| !matches!(stretch, Stretch::Prose(text) if text.trim().is_empty()));
    found
}

/// The text without its blocks.
pub(super) fn prose(text: &str) -> String {
    let prose = stretches(text)
        .into_iter()
        .filter_map(|stretch| match stretch {
            Stretch::Prose(text) => Some(text),
            Stretch::Block(_) => None,
        });
    prose.collect::<Vec<_>>().join("\n")
}

/// The lines with where each begins.
fn offsets(text: &str) -> impl Iterator<Item = (usize, &str)> {
    text.split_inclusive('\n').scan(0, |at, line| {
        let begin = *at;
        *at += line.len();
        Some((begin, line))
    })
}

/// The fence that a line opens.
fn fence(line: &str) -> Option<&'static str> {
    let line = line.trim_start();
    ["```", "~~~"]
        .into_iter()
        .find(|fence| line.starts_with(fence))
}

fn is_indented(line: &str) -> bool {
    line.starts_with(['\t']) || line.starts_with("    ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_is_a_block_and_the_rest_is_prose() {
        let text = "Run this:\n```sh\necho a\n  echo b\n```\nThen look. And:\n\n    let x = 1;\n    x\nDone.\n    alone\n";
        assert_eq!(
            stretches(text),
            [
                Stretch::Prose("Run this:\n"),
                Stretch::Block("```sh\necho a\n  echo b\n```"),
                Stretch::Prose("Then look. And:\n\n"),
                Stretch::Block("    let x = 1;\n    x"),
                Stretch::Prose("Done.\n    alone\n"),
            ]
        );
        assert_eq!(prose("a\n```\nb"), "a\n");
        assert_eq!(stretches(" \n"), []);
        assert_eq!(stretches("```"), [Stretch::Prose("```")]);
    }
}

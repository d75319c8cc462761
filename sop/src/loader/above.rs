//! Headings and lines that a block stands under, which may say when it holds.

use super::markdown::Block;

/// The headings above a block, the nearest first, but for the title of the document, and the lines that lead to it: those that end in a colon,
/// and the items of lists that it stands in.
pub(super) fn above(blocks: &[Block], index: usize) -> Vec<String> {
    let before = &blocks[..index];
    let title = blocks.iter().position(|block| block.heading.is_some());
    let title = title.filter(|at| blocks[*at].heading == Some(1));
    let mut found = Vec::new();
    let mut depth = blocks[index].depth;
    let own = before
        .iter()
        .rev()
        .take_while(|block| block.heading.is_none());
    for (back, block) in own.enumerate() {
        let leads = block.text.trim_end().ends_with(':');
        let is_outer = block.depth < depth;
        if leads && (is_outer || (back == 0 && block.depth == depth)) || is_outer && block.depth > 0
        {
            found.push(last_sentence(&block.text).to_owned());
        }
        depth = depth.min(block.depth);
    }
    let mut level = u8::MAX;
    for (at, block) in before.iter().enumerate().rev() {
        if let Some(own) = block.heading.filter(|own| *own < level) {
            level = own;
            if title != Some(at) {
                found.push(block.text.clone());
            }
        }
    }
    found
}

fn last_sentence(text: &str) -> &str {
    let text = text.trim();
    text.rfind(". ").map_or(text, |at| text[at + 1..].trim())
}

#[cfg(test)]
mod tests {
    use super::super::rules::rules;

    /// spec: SOP-8.6
    #[test]
    fn a_rule_knows_all_headings_and_lines_that_it_stands_under() {
        for (body, expected) in [
            ("# Editor\n\nYou MUST ask.", &[][..]),
            ("# Editor\n\n## Rules\n\n- You MUST ask.", &["Rules"]),
            (
                "# Editor\n\n## When it rains\n\n### Further\n\nYou MUST ask.",
                &["Further", "When it rains"],
            ),
            (
                "## Rules\n\nBe brief. When it rains:\n\n- Go in.\n- You MUST ask.",
                &["When it rains:", "Rules"],
            ),
            (
                "## Rules\n\nOn Sundays:\n\nYou MUST ask.",
                &["On Sundays:", "Rules"],
            ),
            (
                "## Rules\n\nYou write.\n\n- If it is Sunday\n  - You MUST ask.",
                &["If it is Sunday", "Rules"],
            ),
            (
                "## Rules\n\nIf it rains:\n\n- Go in.\n\nYou write notes.\n\n- You MUST ask.",
                &["Rules"],
            ),
            (
                "## On Sundays\n\nRest.\n\n## Rules\n\nYou MUST ask.",
                &["Rules"],
            ),
        ] {
            let rules = rules(body, 1);
            assert_eq!(rules.len(), 1, "{body}");
            assert_eq!(rules[0].above, expected, "{body}");
        }
    }
}

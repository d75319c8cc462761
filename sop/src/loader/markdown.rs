//! The text of a Markdown document, block by block, with its place.

use pulldown_cmark::{Event, HeadingLevel, Options, Parser, Tag, TagEnd};

/// A paragraph, a heading, a cell of a table or the words of a list item. Code blocks and HTML are none.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Block {
    /// Its words on one line, without Markdown.
    pub(crate) text: String,
    /// Places in the document at which parts of the text begin: byte of the text, byte of the document.
    origins: Vec<(usize, usize)>,
    /// The level of a heading.
    pub(crate) heading: Option<u8>,
    /// Number of lists that it stands in.
    pub(crate) depth: usize,
    /// True if it begins a list item.
    pub(crate) is_item: bool,
    /// Length of the bold or code at the beginning of the text, in bytes.
    pub(crate) lead: usize,
    /// The parts of the text that are code.
    code: Vec<std::ops::Range<usize>>,
}

impl Block {
    /// The byte of the document that a byte of the text comes from.
    pub(crate) fn origin(&self, at: usize) -> usize {
        let index = self.origins.partition_point(|(text, _)| *text <= at);
        let (text, document) = index
            .checked_sub(1)
            .map_or((0, 0), |last| self.origins[last]);
        document + (at - text)
    }

    /// True if a byte of the text is code.
    pub(crate) fn is_code(&self, at: usize) -> bool {
        let index = self.code.partition_point(|range| range.end <= at);
        self.code
            .get(index)
            .is_some_and(|range| range.contains(&at))
    }

    /// The parts of the text that are code, each with the byte that it begins at.
    pub(crate) fn codes(&self) -> impl Iterator<Item = (usize, &str)> {
        let codes = self.code.iter().filter(|range| !range.is_empty());
        codes.filter_map(|range| Some((range.start, self.text.get(range.clone())?)))
    }

    fn push(&mut self, text: &str, origin: usize) {
        // Line breaks inside code become spaces.
        for part in text.split_inclusive(char::is_whitespace) {
            let offset = origin + (part.as_ptr() as usize - text.as_ptr() as usize);
            let word = part.trim_end();
            if !word.is_empty() {
                self.origins.push((self.text.len(), offset));
                self.text.push_str(word);
            }
            if word.len() < part.len() {
                self.space();
            }
        }
    }

    fn space(&mut self) {
        if !self.text.is_empty() && !self.text.ends_with(' ') {
            self.text.push(' ');
        }
    }
}

/// All blocks, in the order of the document.
pub(crate) fn blocks(document: &str) -> Vec<Block> {
    let mut reader = Reader::default();
    for (event, range) in Parser::new_ext(document, Options::ENABLE_TABLES).into_offset_iter() {
        reader.read(event, range.start);
    }
    reader.end();
    reader.blocks
}

#[derive(Default)]
struct Reader {
    blocks: Vec<Block>,
    block: Block,
    depth: usize,
    is_item: bool,
    is_code_block: bool,
    /// True if a bold part is open that the block began with.
    leading: bool,
}

impl Reader {
    fn read(&mut self, event: Event<'_>, at: usize) {
        match event {
            Event::Start(tag) => self.start(&tag),
            Event::End(tag) => self.leave(tag),
            Event::Text(text) if !self.is_code_block => self.block.push(&text, at),
            Event::Code(code) => {
                let from = self.block.text.len();
                self.block.push(&code, at + 1);
                let to = self.block.text.len();
                self.block.code.push(from..to);
                if from == 0 {
                    self.block.lead = to;
                }
            }
            Event::SoftBreak | Event::HardBreak => self.block.space(),
            _ => {}
        }
    }

    fn start(&mut self, tag: &Tag<'_>) {
        match tag {
            Tag::Paragraph | Tag::TableCell => self.end(),
            Tag::Heading { level, .. } => {
                self.end();
                self.block.heading = Some(number(*level));
            }
            Tag::List(_) => {
                self.end();
                self.depth += 1;
            }
            Tag::Item => {
                self.end();
                self.is_item = true;
            }
            Tag::CodeBlock(_) => {
                self.end();
                self.is_code_block = true;
            }
            Tag::Strong => self.leading = self.block.text.is_empty(),
            _ => {}
        }
    }

    fn leave(&mut self, tag: TagEnd) {
        match tag {
            TagEnd::Paragraph | TagEnd::Heading(_) | TagEnd::TableCell => self.end(),
            TagEnd::Item => {
                self.end();
                self.is_item = false;
            }
            TagEnd::List(_) => {
                self.end();
                self.depth -= 1;
            }
            TagEnd::CodeBlock => self.is_code_block = false,
            TagEnd::Strong if self.leading => {
                self.block.lead = self.block.text.len();
                self.leading = false;
            }
            _ => {}
        }
    }

    /// The block ends, if it holds anything.
    fn end(&mut self) {
        let mut block = std::mem::take(&mut self.block);
        block.text.truncate(block.text.trim_end().len());
        if !block.text.is_empty() {
            block.depth = self.depth;
            block.is_item = std::mem::take(&mut self.is_item);
            self.blocks.push(block);
        }
    }
}

fn number(level: HeadingLevel) -> u8 {
    match level {
        HeadingLevel::H1 => 1,
        HeadingLevel::H2 => 2,
        HeadingLevel::H3 => 3,
        HeadingLevel::H4 => 4,
        HeadingLevel::H5 => 5,
        HeadingLevel::H6 => 6,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_document_is_blocks_of_plain_words() {
        let document = "# A *title*\n\nOne\ntwo `co de` &amp; [three](x).\n\n- **name** (required): words\n  - nested\n\n    again\n- `code`\n\n```\nnot this\n```\n\n| a | b |\n|---|---|\n| c | d |\n\n<!-- nor this -->\nend <b>bold</b>\n";
        let blocks = blocks(document);
        let told: Vec<String> = blocks
            .iter()
            .map(|b| {
                let item = if b.is_item { "item" } else { "" };
                format!(
                    "{:?} {} {item} [{}]{}",
                    b.heading,
                    b.depth,
                    &b.text[..b.lead],
                    &b.text[b.lead..]
                )
            })
            .collect();
        insta::assert_snapshot!(told.join("\n"));
        for block in &blocks {
            for word in ["title", "two", "de", "three", "name", "again", "bold"] {
                if let Some(at) = block.text.find(word) {
                    assert!(document[block.origin(at)..].starts_with(word), "{word}");
                }
            }
        }
        let two = &blocks[1];
        assert!(two.is_code(two.text.find("de").expect("it is there")));
        assert!(!two.is_code(two.text.find("three").expect("it is there")));
    }
}

//! Links, hashtags and mentions, and code, in a text.

use std::{ops::Range, sync::LazyLock};

use regex::Regex;
use serde_json::json;

use super::{
    count::Count,
    folded::{excerpt, line},
};

/// A link: an address with a scheme, `www.`, `mailto:` or `tel:`; the target of a Markdown link; an address that begins with `//`; a domain
/// under a common top level; a domain under any other, with a path.
const LINK: &str = concat!(
    r"(?i)[a-z][a-z0-9+.\-]*://\S+|\b(?:www\.|mailto:|tel:)\S+|\bhref\s*=\s*\S+|\]\([^)\s]+",
    r#"|(?:^|[\s"'(<])(//\w[\w.\-]*\.\w\S*)"#,
    r"|(?:^|[^\w.@＠/\-])((?:[\p{L}\d][\p{L}\d\-]*\.)+",
    r"(?:(?:com|org|net|edu|gov|int|info|biz|app|dev|io|ai|co|me|tv|eu|uk|us|de|fr|es|it|nl|be|at|ch|dk|se|no|fi|pl|pt|cz|ie|ca|au|nz|jp|",
    r"cn|in|br|ru|shop|store|blog|online|site|xyz|club|link|page|cloud|tech|news|example|test)\b(?:[:/?#]\S*)?|[a-z]{2,24}/\S*))"
);

/// A domain under any other top level without a path, which may be two sentences without a space between them as well, or a file.
const MAY_BE_A_LINK: &str =
    r"(?:^|[^\w.@＠/\-])((?:[\p{L}\d][\p{L}\d\-]*\.)*[\p{L}\d\-]*\p{L}[\p{L}\d\-]*\.\p{L}{2,24})\b";

const HASHTAG: &str = r"(?:^|[^\w&/#＃])([#＃]\w*[\p{L}\p{M}_]\w*)";

/// A number, or a hashtag without a space before it.
const MAY_BE_A_HASHTAG: &str = r"(?:^|[^\w&/#＃])([#＃]\d+)\b|[\p{L}\d]([#＃][\p{L}_]\w+)";

const MENTION: &str = r"(?:^|[^\w.@＠/])([@＠]\w[\w.\-]*)";

/// A tag of HTML.
const TAG: &str = r"</?[a-zA-Z][a-zA-Z0-9]*(?:\s[^<>]{0,500})?/?>";

/// Code between backticks.
const CODE: &str = r"`[^`\n]+`";

/// A mark in a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Mark {
    pub(crate) place: Range<usize>,
    /// A mark to every reader.
    is_sure: bool,
}

/// The marks of a text.
#[derive(Clone, Debug, Default)]
pub(crate) struct Marks {
    pub(crate) links: Vec<Mark>,
    pub(crate) hashtags: Vec<Mark>,
    pub(crate) mentions: Vec<Mark>,
    /// Tags of HTML.
    pub(crate) tags: usize,
    /// Blocks of code, and code inside of lines.
    pub(crate) code: Vec<Range<usize>>,
    /// Blocks of code alone.
    pub(crate) blocks: Vec<Range<usize>>,
    /// The text with spaces for all marks that are sure, and for tags. Places are the same.
    pub(crate) prose: String,
}

impl Marks {
    pub(crate) fn new(text: &str) -> Self {
        let mut marks = Self {
            prose: text.to_owned(),
            blocks: blocks(text),
            ..Self::default()
        };
        let inline = matches(&CODES, text);
        let inline = inline
            .into_iter()
            .filter(|place| !is_in(&marks.blocks, place.start));
        let mut code: Vec<Range<usize>> = marks.blocks.iter().cloned().chain(inline).collect();
        code.sort_by_key(|place| place.start);
        marks.code = code;
        let mut anchors = Vec::new();
        for place in matches(&TAGS, text) {
            if text[place.clone()].to_ascii_lowercase().contains("href") {
                anchors.push(place.end);
                let is_sure = !is_in(&marks.code, place.start);
                marks.links.push(Mark {
                    place: place.clone(),
                    is_sure,
                });
            }
            marks.tags += 1;
            marks.blank(place);
        }
        for place in marks.found(&LINKS) {
            let is_shown_by_a_tag = anchors.contains(&place.start);
            let is_sure = !is_in(&marks.code, place.start)
                && !is_shown_by_a_tag
                && is_link(text, place.clone());
            let is_blank = is_sure || is_shown_by_a_tag;
            marks.links.push(Mark {
                place: place.clone(),
                is_sure,
            });
            if is_blank {
                marks.blank(place);
            }
        }
        marks.links.sort_by_key(|mark| mark.place.start);
        let known = places(&marks.links);
        for place in marks.found(&MAYBE_LINKS) {
            let is_address = text[place.end..].starts_with('@');
            if !is_in(&known, place.start) && !is_address {
                marks.links.push(Mark {
                    place,
                    is_sure: false,
                });
            }
        }
        marks.links.sort_by_key(|mark| mark.place.start);
        marks.hashtags = marks.taken(&HASHTAGS, &|tag| !is_color(tag));
        let more = marks.found(&MAYBE_HASHTAGS).into_iter();
        marks.hashtags.extend(more.map(|place| Mark {
            place,
            is_sure: false,
        }));
        let is_name = |name: &str| {
            let name = name.to_lowercase();
            let rest = name.trim_start_matches(|c: char| !c.is_alphanumeric());
            let rest = rest.trim_start_matches(|c: char| c.is_numeric());
            !matches!(rest, "" | "am" | "pm" | "h" | "uhr")
        };
        marks.mentions = marks.taken(&MENTIONS, &is_name);
        marks
    }

    /// The marks of a pattern; those that are sure become spaces.
    fn taken(&mut self, pattern: &Regex, is_one: &dyn Fn(&str) -> bool) -> Vec<Mark> {
        let found = self.found(pattern).into_iter();
        let read = found.map(|place| {
            let goes_on = self.prose[place.end..].starts_with('/');
            let is_sure =
                is_one(&self.prose[place.clone()]) && !goes_on && !is_in(&self.code, place.start);
            Mark { place, is_sure }
        });
        let read: Vec<Mark> = read.collect();
        for mark in read.iter().filter(|mark| mark.is_sure) {
            self.blank(mark.place.clone());
        }
        read
    }

    /// Places of a pattern in what is left of the prose, up to its last letter, digit, slash or underscore.
    fn found(&self, pattern: &Regex) -> Vec<Range<usize>> {
        let found = pattern.captures_iter(&self.prose).filter_map(|found| {
            let mark = found.iter().skip(1).flatten().next().or(found.get(0))?;
            let is_inside = |c: char| c.is_alphanumeric() || c == '/' || c == '_';
            let word = mark.as_str();
            let length = word.char_indices().rfind(|(_, c)| is_inside(*c));
            let length = length.map_or(word.len(), |(at, c)| at + c.len_utf8());
            Some(mark.start()..mark.start() + length)
        });
        found.collect()
    }

    fn blank(&mut self, place: Range<usize>) {
        let spaces = " ".repeat(place.len());
        self.prose.replace_range(place, &spaces);
    }
}

/// True if a place is in one of these marks, which are in order.
pub(crate) fn is_marked(marks: &[Mark], at: usize) -> bool {
    let after = marks.partition_point(|mark| mark.place.start <= at);
    let before = marks[..after].last();
    before.is_some_and(|mark| mark.place.contains(&at))
}

/// Places of marks.
pub(crate) fn places(marks: &[Mark]) -> Vec<Range<usize>> {
    marks.iter().map(|mark| mark.place.clone()).collect()
}

/// Number of marks.
pub(crate) fn count(raw: &str, marks: &[Mark], singular: &str) -> Count {
    let sure = marks.iter().filter(|mark| mark.is_sure).count();
    Count::between(sure, marks.len(), || {
        let doubtful = marks.iter().find(|mark| !mark.is_sure);
        let place = doubtful.map_or(0..0, |mark| mark.place.clone());
        let number = line(raw, place.start);
        let there = json!(excerpt(&raw[place]));
        format!("{there}, line {number}, may be a {singular} or not")
    })
}

/// True if a place is in one of these, which are in order and do not overlap.
pub(crate) fn is_in(places: &[Range<usize>], at: usize) -> bool {
    let after = places.partition_point(|place| place.start <= at);
    places[..after]
        .last()
        .is_some_and(|place| place.contains(&at))
}

/// True if what looks like a link is one, and no image and no end of a sentence without a space after it.
fn is_link(text: &str, place: Range<usize>) -> bool {
    let link = &text[place.clone()];
    if link.starts_with("](") {
        let opening = text[..place.start].rfind('[').unwrap_or_default();
        return !text[..opening].ends_with('!');
    }
    let is_bare = !link.contains(['/', ':']) && !link.to_ascii_lowercase().starts_with("www.");
    match link.rsplit_once('.') {
        Some((before, top)) if is_bare => {
            let is_capital = top.starts_with(char::is_uppercase);
            !(is_capital && before.ends_with(char::is_lowercase))
        }
        _ => true,
    }
}

/// True if a hashtag may be a colour as well, or a number in a program: `#a1b2c3`.
fn is_color(tag: &str) -> bool {
    let digits = tag.trim_start_matches(['#', '＃']);
    let is_hex = digits.chars().all(|c| c.is_ascii_hexdigit());
    is_hex && (digits.contains(|c: char| c.is_ascii_digit()) || matches!(digits.len(), 3 | 6 | 8))
}

/// Blocks of code between lines of three backticks or tildes.
fn blocks(text: &str) -> Vec<Range<usize>> {
    let mut blocks: Vec<Range<usize>> = Vec::new();
    let mut open = None;
    let mut start = 0;
    for line in text.split_inclusive('\n') {
        let end = start + line.len();
        if line.trim_start().starts_with("```") || line.trim_start().starts_with("~~~") {
            match open.take() {
                Some(begin) => blocks.push(begin..end),
                None => open = Some(start),
            }
        }
        start = end;
    }
    blocks.extend(open.map(|begin| begin..text.len()));
    blocks
}

fn matches(pattern: &Regex, text: &str) -> Vec<Range<usize>> {
    pattern.find_iter(text).map(|found| found.range()).collect()
}

static LINKS: LazyLock<Regex> = LazyLock::new(|| regex(LINK));
static MAYBE_LINKS: LazyLock<Regex> = LazyLock::new(|| regex(MAY_BE_A_LINK));
static HASHTAGS: LazyLock<Regex> = LazyLock::new(|| regex(HASHTAG));
static MAYBE_HASHTAGS: LazyLock<Regex> = LazyLock::new(|| regex(MAY_BE_A_HASHTAG));
static MENTIONS: LazyLock<Regex> = LazyLock::new(|| regex(MENTION));
static TAGS: LazyLock<Regex> = LazyLock::new(|| regex(TAG));
static CODES: LazyLock<Regex> = LazyLock::new(|| regex(CODE));

fn regex(pattern: &str) -> Regex {
    Regex::new(pattern).expect("the pattern is a constant that a test compiles")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counted(text: &str) -> [(u64, u64); 3] {
        let marks = Marks::new(text);
        [&marks.links, &marks.hashtags, &marks.mentions].map(|found| {
            let count = count(text, found, "mark");
            (count.low, count.high)
        })
    }

    #[test]
    fn links_of_every_form_are_counted() {
        for (text, low, high) in [
            ("See seedlibrary.example/open for what we have.", 1, 1),
            ("Visit havncycles.example/ride or example.com.", 2, 2),
            ("See [here](/x).", 1, 1),
            ("[https://a.example](https://a.example)", 1, 1),
            ("Get ftp://x.y, mailto:a@b.c", 2, 2),
            ("<a href=\"//x.y\">Here</a>", 1, 1),
            ("<a href=\"https://x.y\">https://x.y</a>", 1, 2),
            ("Go to //x.example/y", 1, 1),
            (
                "Mail a@b.example at 3.50 a day, e.g. at 8 p.m. on 3.Mai",
                0,
                0,
            ),
            ("We open baeckerei.berlin soon", 0, 1),
            ("Come on a day.Next is with Node.js", 0, 2),
            ("Come in.No dogs", 0, 1),
            ("![A loaf](loaf.png)", 0, 1),
            ("Run `curl https://a.example`", 0, 1),
        ] {
            assert_eq!(counted(text)[0], (low, high), "{text}");
        }
    }

    #[test]
    fn hashtags_and_mentions_are_counted() {
        for (text, hashtags, mentions) in [
            ("#one #two #três @a @b", (3, 3), (2, 2)),
            ("We are #1", (0, 1), (0, 0)),
            ("C# and F# at 5 @ home", (0, 0), (0, 0)),
            ("the color #a1b2c3", (0, 1), (0, 0)),
            ("fresh#bread", (0, 1), (0, 0)),
            ("#2027goals", (1, 1), (0, 0)),
            ("R&#39;D, mail a@b.example", (0, 0), (0, 0)),
            ("Open @8am by @ann_b.", (0, 0), (1, 2)),
            ("Use `@Override` and @angular/core", (0, 0), (0, 2)),
            ("# Bread\n## Cakes", (0, 0), (0, 0)),
        ] {
            let [_, found, named] = counted(text);
            assert_eq!((found, named), (hashtags, mentions), "{text}");
        }
    }

    #[test]
    fn the_prose_has_spaces_for_marks_and_tags() {
        let text = "<b>Bread</b> by @ann: https://a.example/x?y=1. #joy day.Next";
        let prose = Marks::new(text).prose;
        assert_eq!(prose.len(), text.len());
        let words: Vec<&str> = prose.split_whitespace().collect();
        assert_eq!(words, ["Bread", "by", ":", ".", "day.Next"]);
    }

    #[test]
    fn a_doubtful_mark_is_quoted() {
        let marks = Marks::new("Yes.\nWe are #1");
        let count = count("Yes.\nWe are #1", &marks.hashtags, "hashtag");
        let told = count.told(crate::text::measured::Measured::Hashtags);
        assert_eq!(
            told,
            "0 to 1 hashtags (\"#1\", line 2, may be a hashtag or not)"
        );
    }
}

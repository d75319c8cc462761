//! A draft in parts, and the changes that can be made to it.

use super::material::{Part, capital};

/// Places where a sentence can be parted.
const JOINTS: [&str; 6] = ["; ", " – ", " — ", ": ", ", ", " - "];

/// The shortest piece that a sentence is parted into, in words.
const SHORTEST: usize = 3;

/// A sentence of a draft.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Unit {
    pub(super) part: Part,
    text: String,
    /// Is in the draft.
    pub(super) is_on: bool,
    /// Stays in the draft, as it is.
    pub(super) is_kept: bool,
    /// Is parted at its joints.
    pub(super) is_parted: bool,
    /// Ends with an exclamation mark instead of a full stop, or the other way round.
    pub(super) is_turned: bool,
}

/// A draft in parts.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Layout {
    pub(super) units: Vec<Unit>,
    /// Hashtags at the end, of those that there are.
    pub(super) hashtags: usize,
    pub(super) all_hashtags: Vec<String>,
    /// Emoji at the ends of lines, of those that there are.
    pub(super) emoji: usize,
    pub(super) all_emoji: Vec<String>,
    /// All in one line.
    pub(super) is_one_line: bool,
}

impl Unit {
    pub(super) fn new(part: Part, text: impl Into<String>) -> Self {
        Self {
            part,
            text: text.into(),
            is_on: true,
            is_kept: false,
            is_parted: false,
            is_turned: false,
        }
    }

    /// A piece that stays in the draft as it is.
    pub(super) fn kept(part: Part, text: impl Into<String>) -> Self {
        Self {
            is_kept: true,
            ..Self::new(part, text)
        }
    }

    /// The sentence as it was given.
    pub(super) fn original(&self) -> &str {
        &self.text
    }

    /// True if it is lines that stay as they are.
    fn is_block(&self) -> bool {
        self.text.contains('\n')
    }

    /// Leaves out the end of the sentence, so that this many characters are left at most.
    pub(super) fn cut(&mut self, characters: usize) {
        if self.is_block() {
            self.is_on = false;
            return;
        }
        let mut kept = String::new();
        for word in self.text.split_whitespace() {
            let length = kept.chars().count() + word.chars().count() + 2;
            if length > characters {
                break;
            }
            if !kept.is_empty() {
                kept.push(' ');
            }
            kept.push_str(word);
        }
        let kept = kept.trim_end_matches(|c: char| !c.is_alphanumeric());
        self.is_on = !kept.is_empty();
        self.text = format!("{kept}…");
    }

    /// True if it can be parted, and whether its end can be turned.
    pub(super) fn can_part(&self) -> bool {
        !self.is_kept && !self.is_block() && parted(&self.text) != self.text
    }

    pub(super) fn can_turn(&self) -> bool {
        !self.is_kept && !self.is_block() && self.text.ends_with(['.', '!'])
    }

    fn written(&self) -> String {
        let text = match self.is_parted {
            true => parted(&self.text),
            false => self.text.clone(),
        };
        match (
            self.is_turned,
            text.strip_suffix('.'),
            text.strip_suffix('!'),
        ) {
            (true, Some(start), _) => format!("{start}!"),
            (true, _, Some(start)) => format!("{}.", start.trim_end_matches('!')),
            _ => text,
        }
    }
}

/// The sentence in shorter ones, where it has joints.
fn parted(sentence: &str) -> String {
    let mut whole = String::new();
    let mut rest = sentence;
    while let Some((at, joint)) = next_joint(rest) {
        let (start, end) = (&rest[..at], &rest[at + joint.len()..]);
        if !whole.is_empty() {
            whole.push(' ');
        }
        whole.push_str(&capital(start.trim()));
        whole.push('.');
        rest = end;
    }
    if !whole.is_empty() {
        whole.push(' ');
        return whole + &capital(rest.trim());
    }
    sentence.to_owned()
}

/// The first joint with enough words on both sides.
fn next_joint(text: &str) -> Option<(usize, &'static str)> {
    let words = |text: &str| text.split_whitespace().count();
    let all = JOINTS.iter().flat_map(|joint| {
        let places = text.match_indices(joint);
        places.map(move |(at, _)| (at, *joint))
    });
    let fits = |(at, joint): &(usize, &str)| {
        words(&text[..*at]) >= SHORTEST && words(&text[at + joint.len()..]) >= SHORTEST
    };
    all.filter(fits).min_by_key(|(at, _)| *at)
}

impl Layout {
    /// The text of the draft.
    pub(super) fn text(&self) -> String {
        let mut lines: Vec<String> = [Part::Opening, Part::Body, Part::Closing]
            .into_iter()
            .map(|part| self.part(part))
            .filter(|line| !line.is_empty())
            .collect();
        let places = lines.len().max(1);
        for (n, emoji) in self.all_emoji.iter().cycle().take(self.emoji).enumerate() {
            if let Some(line) = lines.get_mut(n % places) {
                line.push(if line.ends_with("```") { '\n' } else { ' ' });
                line.push_str(emoji);
            }
        }
        let tags = self.all_hashtags.iter().take(self.hashtags);
        let tags: Vec<&str> = tags.map(String::as_str).collect();
        if !tags.is_empty() {
            lines.push(tags.join(" "));
        }
        lines.join(match self.is_one_line {
            true => " ",
            false => "\n\n",
        })
    }

    fn part(&self, part: Part) -> String {
        let mut line = String::new();
        let mut is_behind_block = false;
        for unit in self
            .units
            .iter()
            .filter(|unit| unit.is_on && unit.part == part)
        {
            if !line.is_empty() {
                line.push_str(match is_behind_block || unit.is_block() {
                    true => "\n\n",
                    false => " ",
                });
            }
            line.push_str(&unit.written());
            is_behind_block = unit.is_block();
        }
        line
    }

    /// The layouts that are one change away.
    pub(super) fn changes(&self) -> Vec<Self> {
        let mut changes = Vec::new();
        let mut change = |make: &dyn Fn(&mut Self)| {
            let mut changed = self.clone();
            make(&mut changed);
            changes.push(changed);
        };
        for (n, unit) in self.units.iter().enumerate() {
            if !unit.is_kept {
                change(&|layout| layout.units[n].is_on ^= true);
            }
            if !unit.is_on {
                continue;
            }
            if unit.can_part() {
                change(&|layout| layout.units[n].is_parted ^= true);
            }
            if unit.can_turn() {
                change(&|layout| layout.units[n].is_turned ^= true);
            }
        }
        if self.hashtags < self.all_hashtags.len() {
            change(&|layout| layout.hashtags += 1);
        }
        if self.hashtags > 0 {
            change(&|layout| layout.hashtags -= 1);
        }
        if self.emoji < self.all_emoji.len() * 4 {
            change(&|layout| layout.emoji += 1);
        }
        if self.emoji > 0 {
            change(&|layout| layout.emoji -= 1);
        }
        if !self.units.iter().any(Unit::is_block) {
            change(&|layout| layout.is_one_line ^= true);
        }
        changes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn layout() -> Layout {
        Layout {
            units: vec![
                Unit::new(Part::Opening, "News."),
                Unit::new(
                    Part::Body,
                    "We repair bikes in the yard, we lend you one meanwhile.",
                ),
                Unit::new(Part::Body, "It is free."),
                Unit::kept(Part::Closing, "Come, see and ride."),
            ],
            all_hashtags: vec!["#Bikes".into()],
            all_emoji: vec!["*".into()],
            ..Layout::default()
        }
    }

    #[test]
    fn a_draft_has_its_parts_on_lines_of_their_own() {
        let mut layout = layout();
        layout.hashtags = 1;
        layout.emoji = 2;
        assert_eq!(
            layout.text(),
            "News. *\n\nWe repair bikes in the yard, we lend you one meanwhile. It is free. *\n\nCome, see and ride.\n\n#Bikes"
        );
        layout.is_one_line = true;
        assert!(!layout.text().contains('\n'));
    }

    #[test]
    fn sentences_are_parted_and_turned() {
        let mut layout = layout();
        layout.units[1].is_parted = true;
        layout.units[2].is_turned = true;
        assert!(
            layout
                .text()
                .contains("We repair bikes in the yard. We lend you one meanwhile. It is free!")
        );
    }

    #[test]
    fn what_is_kept_is_never_changed() {
        for change in layout().changes() {
            assert!(
                change.text().contains("Come, see and ride."),
                "{}",
                change.text()
            );
        }
    }

    #[test]
    fn a_cut_ends_with_a_whole_word() {
        let mut unit = Unit::new(Part::Body, "We repair bikes, daily.");
        unit.cut(18);
        assert_eq!(unit.original(), "We repair bikes…");
        unit.cut(3);
        assert!(!unit.is_on);
    }
}

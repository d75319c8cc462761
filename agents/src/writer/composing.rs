//! A draft without a model: of the sentences of the brief those, and so, that what is wanted and can be measured is met best. Nothing is
//! said that the brief does not say.

use serde_json::json;

use super::{
    layout::{Layout, Unit},
    material::{Material, Part, ended, whole},
    wishes::Wishes,
};
use crate::{
    qa::Measuring,
    text::{measured::Measured, sentences},
};

/// The changes that are made at most.
const MAX_CHANGES: usize = 60;

/// Limits of a draft where nothing else is said: ordinary prose.
const LIX: f64 = 50.0;
const SENTENCE_WORDS: u64 = 30;

/// Weights of what was asked for, of what holds by default, and of the distance from the knobs.
const WANTED: f64 = 40.0;
const USUAL: f64 = 4.0;
const KNOBS: f64 = 12.0;

/// Cost of saying nothing: more than all else.
const NOTHING: f64 = 1e6;

/// Emoji where the brief has none.
const EMOJI: [&str; 3] = ["✨", "👉", "✅"];

/// A draft.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Composed {
    pub(super) text: String,
    /// Wishes that could not be met.
    pub(super) notes: Vec<String>,
}

/// Writes a draft from the brief or, if there is one, from the draft before it; what that has left out of the brief may come back.
pub(super) fn compose(material: &Material, previous: Option<&str>, wishes: &Wishes) -> Composed {
    let mut notes: Vec<String> = Vec::new();
    let mut layout = begun(material, previous, wishes);
    exclude(&mut layout, wishes, &mut notes);
    include(&mut layout, wishes);
    let mut best = cost(&layout, &layout, wishes);
    let first = layout.clone();
    for _ in 0..MAX_CHANGES {
        let changes = layout.changes().into_iter();
        let costed = changes.map(|change| (cost(&change, &first, wishes), change));
        match costed.min_by(|a, b| a.0.total_cmp(&b.0)) {
            Some((less, change)) if less < best - 1e-9 => (best, layout) = (less, change),
            _ => break,
        }
    }
    shorten(&mut layout, wishes);
    notes.extend(left_out(&layout, &first));
    let text = layout.text();
    notes.extend(unmet(&text, wishes));
    notes.extend(
        wishes
            .open
            .iter()
            .map(|note| format!("not acted on without a language model: {note}")),
    );
    Composed { text, notes }
}

/// Everything that there is to say. With a draft before, what that said is in, and the rest of the brief is at hand.
fn begun(material: &Material, previous: Option<&str>, wishes: &Wishes) -> Layout {
    let mut units: Vec<Unit> = Vec::new();
    let before = previous.map(Measuring::new);
    for (part, text) in &material.sentences {
        let mut unit = Unit::new(*part, text.clone());
        unit.is_on = before
            .as_ref()
            .is_none_or(|before| before.includes(bare(text)));
        units.push(unit);
    }
    let known = Measuring::new(&texts_of(&units).join("\n"));
    for sentence in sentences::of(previous.unwrap_or_default()) {
        let words = sentence.split_whitespace();
        let prose: Vec<&str> = words.filter(|word| !word.starts_with('#')).collect();
        let sentence = prose.join(" ");
        let is_known = sentence
            .split("; ")
            .all(|piece| known.includes(bare(piece)));
        if sentence.chars().any(char::is_alphanumeric) && !is_known {
            units.push(Unit::new(Part::Body, whole(&sentence)));
        }
    }
    let emoji = match material.emoji.is_empty() {
        true => EMOJI.map(str::to_owned).to_vec(),
        false => material.emoji.clone(),
    };
    Layout {
        units,
        hashtags: material.hashtags.len(),
        all_hashtags: material.all_hashtags(wishes.wants_hashtags()),
        all_emoji: emoji,
        ..Layout::default()
    }
}

fn texts_of(units: &[Unit]) -> Vec<&str> {
    units.iter().map(Unit::original).collect()
}

/// A sentence without its end.
fn bare(sentence: &str) -> &str {
    sentence.trim_end_matches(|c: char| !c.is_alphanumeric())
}

/// Leaves out the sentences that say what may not be said.
fn exclude(layout: &mut Layout, wishes: &Wishes, notes: &mut Vec<String>) {
    let is_free = |text: &str| {
        let measuring = Measuring::new(text);
        let says = |phrase: &String| measuring.says(phrase, &wishes.language);
        !wishes.exclude.iter().any(says)
    };
    let before = layout.units.len();
    layout.units.retain(|unit| is_free(unit.original()));
    layout
        .all_hashtags
        .retain(|tag| is_free(&tag.replace('#', "")));
    layout.hashtags = layout.hashtags.min(layout.all_hashtags.len());
    let left_out = before - layout.units.len();
    if left_out > 0 {
        let sentences = if left_out == 1 {
            "sentence"
        } else {
            "sentences"
        };
        notes.push(format!(
            "{left_out} {sentences} left out: something is said there that may not be said"
        ));
    }
}

/// Puts in what has to be there word for word.
fn include(layout: &mut Layout, wishes: &Wishes) {
    let first_of_each = |texts: &Vec<String>, layout: &Layout| {
        let measuring = Measuring::new(&layout.text());
        let has_one = texts.iter().any(|text| measuring.includes(text));
        texts.first().filter(|_| !has_one).cloned()
    };
    let mut wanted = wishes.include.clone();
    wanted.extend(
        wishes
            .include_one_of
            .iter()
            .filter_map(|texts| first_of_each(texts, layout)),
    );
    for text in wanted {
        let has = |unit: &Unit| Measuring::new(unit.original()).includes(&text);
        if let Some(unit) = layout.units.iter_mut().find(|unit| has(unit)) {
            unit.is_on = true;
            unit.is_kept = true;
        } else if let Some(place) = layout.all_hashtags.iter().position(|tag| *tag == text) {
            layout.all_hashtags.remove(place);
            layout.units.push(Unit::kept(Part::Closing, text));
        } else {
            // Words get the end of a sentence where they have none, which leaves them findable.
            let at = layout
                .units
                .iter()
                .position(|unit| unit.part == Part::Closing);
            let at = at.unwrap_or(layout.units.len());
            layout
                .units
                .insert(at, Unit::kept(Part::Closing, ended(&text)));
        }
    }
}

/// Distance of a draft from what is wanted, and from saying all that `first` says.
fn cost(layout: &Layout, first: &Layout, wishes: &Wishes) -> f64 {
    let measuring = Measuring::new(&layout.text());
    let mut cost = 0.0;
    for &(what, most) in &wishes.at_most {
        cost += over(measuring.count(what).high as f64, most as f64) * WANTED;
    }
    for &(what, least) in &wishes.at_least {
        cost += over(least as f64, measuring.count(what).low as f64) * WANTED;
    }
    // What holds by default counts less than what was asked for.
    let (lix, weight) = wishes.lix.map_or((LIX, USUAL), |lix| (lix, WANTED));
    cost += over(measuring.lix().unwrap_or(0.0), lix) * weight;
    let (words, weight) = wishes
        .sentence_words
        .map_or((SENTENCE_WORDS, USUAL), |words| (words, WANTED));
    cost += over(measuring.longest_sentence() as f64, words as f64) * weight;
    let weight = match wishes.is_off {
        true => WANTED,
        false => KNOBS,
    };
    for setting in measuring.settings(&wishes.knobs) {
        cost += weight * (setting.wanted - setting.measured).powi(2);
    }
    cost + changed(layout, first)
}

/// Cost of the changes themselves.
fn changed(layout: &Layout, first: &Layout) -> f64 {
    let units = layout.units.iter().zip(&first.units).enumerate();
    let units = units.map(|(n, (unit, first))| {
        let said = match (first.is_on, unit.is_on, unit.part) {
            (true, false, Part::Opening) => 0.6,
            (true, false, Part::Closing) => 0.5,
            // What comes later is left out first.
            (true, false, Part::Body) => 0.3 / (1.0 + n as f64 * 0.2),
            (false, true, _) => 0.03,
            _ => 0.0,
        };
        let marks = [(unit.is_parted, 0.02), (unit.is_turned, 0.015)];
        let marks: f64 = marks
            .iter()
            .filter(|(is, _)| *is)
            .map(|(_, cost)| cost)
            .sum();
        said + marks
    });
    let nothing = if layout.units.iter().any(|unit| unit.is_on) {
        0.0
    } else {
        NOTHING
    };
    let tags = layout.hashtags.abs_diff(first.hashtags) as f64 * 0.02;
    let line = if layout.is_one_line { 0.05 } else { 0.0 };
    units.sum::<f64>() + nothing + tags + layout.emoji as f64 * 0.03 + line
}

/// By how much of it a number is over another, and one more for being so.
fn over(number: f64, most: f64) -> f64 {
    match number > most {
        true => 0.2 + (number - most) / most.max(1.0),
        false => 0.0,
    }
}

/// Cuts the last sentences that may be cut, where the draft is too long still.
fn shorten(layout: &mut Layout, wishes: &Wishes) {
    let characters = wishes
        .at_most
        .iter()
        .filter(|(what, _)| *what == Measured::Characters);
    let Some(most) = characters.map(|(_, most)| *most).min() else {
        return;
    };
    for n in (0..layout.units.len()).rev() {
        let length = Measuring::new(&layout.text()).count(Measured::Characters);
        let excess = usize::try_from(length.high.saturating_sub(most)).unwrap_or(usize::MAX);
        if excess == 0 {
            return;
        }
        let unit = &mut layout.units[n];
        if unit.is_on && !unit.is_kept {
            let left = unit.original().chars().count().saturating_sub(excess);
            unit.is_parted = false;
            unit.cut(left);
        }
    }
}

/// The sentences of the brief, and of the draft before, that are not in a draft, or not whole.
fn left_out(layout: &Layout, first: &Layout) -> Option<String> {
    let units = layout.units.iter().zip(&first.units);
    let lost = units.filter(|(unit, first)| !unit.is_on || unit.original() != first.original());
    let lost: Vec<String> = lost
        .map(|(_, first)| json!(first.original()).to_string())
        .collect();
    (!lost.is_empty()).then(|| format!("left out: {}", lost.join(", ")))
}

/// Measurable wishes that a draft does not meet.
fn unmet(text: &str, wishes: &Wishes) -> Vec<String> {
    let measuring = Measuring::new(text);
    let mut unmet = Vec::new();
    for (what, most) in &wishes.at_most {
        let count = measuring.count(*what);
        if count.high > *most {
            let told = count.told(*what);
            unmet.push(format!("{told}, although at most {most} are wanted"));
        }
    }
    for (what, least) in &wishes.at_least {
        let count = measuring.count(*what);
        if count.low < *least {
            let told = count.told(*what);
            unmet.push(format!(
                "{told}, although at least {least} are wanted: the brief gives no more"
            ));
        }
    }
    if let Some((lix, most)) = measuring
        .lix()
        .zip(wishes.lix)
        .filter(|(lix, most)| lix > most)
    {
        unmet.push(format!(
            "LIX {lix:.0}, although at most {most} is wanted: the brief's own words are hard"
        ));
    }
    if let Some(why) = measuring.language_fault(&wishes.language) {
        let wanted = json!(wishes.language);
        unmet.push(format!(
            "nothing is translated without a language model, and {wanted} is wanted: {why}"
        ));
    }
    unmet
}

#[cfg(test)]
#[path = "composing_tests.rs"]
mod tests;

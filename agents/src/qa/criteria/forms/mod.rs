//! The forms of criteria in words that code understands: [`amounts`] and [`quoted`] texts, and several of them joined by *and*. Whatever is
//! not exactly of one of them is left to a model, so that nothing is half understood: `at most 5 words per sentence` is of none.
//!
//! Before a form may stand what it is about, `The text must`, and nothing else.

mod amounts;
mod quoted;

use regex::Regex;

use super::test::Test;

/// Longer criteria are words for a model.
const LONGEST: usize = 500;

const SUBJECT: &str = "(?:(?:(?:the|this|your) (?:whole |entire |full |final )?(?:text|draft|post|copy|message|answer|reply|response|output)|it) )?";
const DUTY: &str = "(?:must |should |has to |have to |needs to |shall |will |please )?";

/// A duty, and a verb that goes with a number.
const OPENING: &str = "(?:must |should |has to |have to |needs to |shall |will |please )?(?:(?:be|is|has|have|contains?|includes?|uses?|keeps? to|keeps? it|stays? at|stays?|length|length:|length is|length must be) )?";

/// A duty not to.
const NEGATED: &str = "(?:(?:must|should|may|does|do|can|shall|is|has to) not |cannot |can't |doesn't |don't |mustn't |shouldn't |isn't |never )";

/// Text between two forms that both have to hold.
const JOINTS: [&str; 6] = ["; ", ", and ", ", but ", " and ", " but ", ", "];

/// The tests that a text asks for, all of which have to hold.
pub(super) fn read(text: &str) -> Option<Vec<Test>> {
    if text.len() > LONGEST {
        return None;
    }
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let text = text.strip_suffix(['.', '!']).unwrap_or(&text);
    // Beside another form a bare number could be bounded by that one: `at most 5 sentences and 50 words`.
    one(text)
        .or_else(|| joined(text))
        .or_else(|| amounts::read_bare(text))
}

fn one(text: &str) -> Option<Vec<Test>> {
    quoted::read(text).or_else(|| amounts::read(text))
}

/// Several forms, joined outside of quotation marks.
fn joined(text: &str) -> Option<Vec<Test>> {
    let joints = JOINTS.iter().flat_map(|joint| {
        let places = text.match_indices(joint);
        places.map(|(at, joint)| (at, at + joint.len()))
    });
    let mut joints: Vec<(usize, usize)> = joints.collect();
    joints.sort_by_key(|&(end, begin)| (end, std::cmp::Reverse(begin)));
    let is_free = |end: usize| {
        let marks = text[..end].matches(['"', '“', '”', '„', '«', '»']);
        marks.count().is_multiple_of(2)
    };
    let mut parts = joints.into_iter().filter(|&(end, _)| is_free(end));
    let (first, begin) = parts.find_map(|(end, begin)| Some((one(&text[..end])?, begin)))?;
    let others = one(&text[begin..]).or_else(|| joined(&text[begin..]))?;
    Some(first.into_iter().chain(others).collect())
}

/// The pattern of a whole criterion.
fn anchored(pattern: &str) -> Regex {
    Regex::new(&format!("(?i)^{SUBJECT}{pattern}$"))
        .expect("the forms are constants that a test compiles")
}

#[cfg(test)]
mod tests;

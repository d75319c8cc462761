//! A transcript, cut to what a model is shown.

use serde_json::{Value, json};

use super::Transcript;

/// Characters of all passages together.
const LONGEST: usize = 60_000;

/// Passages.
const MOST: usize = 400;

/// Characters that a passage keeps, however many there are.
const LEAST: usize = 100;

/// The passages for a model. Long ones lose their middle, and many of them lose those in the middle; marks say how much is missing.
pub(super) fn shortened(transcript: &Transcript) -> Vec<Value> {
    let all = &transcript.passages;
    let half = MOST / 2;
    let (head, tail) = match all.len() > MOST {
        true => (&all[..half], &all[all.len() - half..]),
        false => (&all[..], &all[..0]),
    };
    let lengths = head.iter().chain(tail).map(|p| p.text.chars().count());
    let most = level(lengths.collect(), LONGEST).max(LEAST);
    let shown = |passage: &super::Passage| {
        json!({
            "passage": passage.number,
            "what": passage.what,
            "title": passage.title,
            "text": cut(&passage.text, most),
        })
    };
    let mut out: Vec<Value> = head.iter().map(shown).collect();
    let missing = all.len() - head.len() - tail.len();
    if missing > 0 {
        out.push(json!({ "left_out": format!("{missing} passages are left out here") }));
    }
    out.extend(tail.iter().map(shown));
    out
}

/// The length to which the longest are cut so that together they have at most `sum`.
fn level(mut lengths: Vec<usize>, sum: usize) -> usize {
    lengths.sort_unstable();
    let mut left = sum;
    for (at, length) in lengths.iter().enumerate() {
        let each = left / (lengths.len() - at);
        if *length > each {
            return each;
        }
        left -= length;
    }
    usize::MAX
}

/// The text without its middle, so that about `most` characters are left.
fn cut(text: &str, most: usize) -> String {
    let count = text.chars().count();
    if count <= most {
        return text.to_owned();
    }
    let (head, tail) = (most - most / 3, most / 3);
    let place = |at: usize| text.char_indices().nth(at).map_or(text.len(), |(i, _)| i);
    let (end, begin) = (place(head), place(count - tail));
    let missing = count - head - tail;
    format!(
        "{}\n[… {missing} characters are left out here …]\n{}",
        &text[..end],
        &text[begin..]
    )
}

#[cfg(test)]
mod tests {
    use super::{
        super::{Passage, PassageKind},
        *,
    };

    fn transcript(texts: impl Iterator<Item = String>) -> Transcript {
        let passages = (1..).zip(texts).map(|(number, text)| Passage {
            number,
            what: PassageKind::Result,
            title: "x".into(),
            text,
        });
        Transcript {
            passages: passages.collect(),
            ..Transcript::default()
        }
    }

    #[test]
    fn short_ones_stay_and_long_ones_lose_their_middle() {
        let texts = [
            "short".to_owned(),
            format!("begin{}end", "é".repeat(LONGEST)),
        ];
        let shown = shortened(&transcript(texts.into_iter()));
        assert_eq!(shown[0]["text"], "short");
        let long = shown[1]["text"].as_str().expect("a text");
        assert!(long.starts_with("beginé") && long.ends_with("éend"));
        assert!(
            long.contains("[… 13 characters are left out here …]"),
            "{}",
            &long[39_990..40_100]
        );
    }

    #[test]
    fn many_lose_those_in_the_middle() {
        let shown = shortened(&transcript((0..1_000).map(|n| n.to_string())));
        assert_eq!(shown.len(), MOST + 1);
        assert_eq!(shown[200]["left_out"], "600 passages are left out here");
        assert_eq!(shown[201]["passage"], 801);
        let shown = shortened(&transcript((0..MOST).map(|n| n.to_string())));
        assert!(shown.iter().all(|passage| passage["left_out"].is_null()));
    }

    #[test]
    fn the_sum_is_kept_to() {
        assert_eq!(level(vec![1, 2, 3], 6), usize::MAX);
        assert_eq!(level(vec![10, 1, 10], 11), 5);
        assert_eq!(level(Vec::new(), 5), usize::MAX);
    }
}

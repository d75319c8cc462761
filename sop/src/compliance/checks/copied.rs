//! Parts of an answer that only repeat the request.

use unicode_segmentation::UnicodeSegmentation;

use super::super::{PassageKind, Transcript};

/// The answer without the lines and sentences that stand in the request word for word.
pub(super) fn beyond_request(answer: &str, transcript: &Transcript) -> String {
    let requests = transcript.passages.iter();
    let requests = requests.filter(|passage| passage.what == PassageKind::Request);
    let requests: Vec<String> = requests.map(|passage| plain(&passage.text)).collect();
    let is_said = |part: &str| {
        let part = plain(part);
        !part.is_empty() && requests.iter().any(|request| request.contains(&part))
    };
    let of_line = |line: &str| match is_said(line) {
        true => String::new(),
        false => line
            .split_sentence_bounds()
            .filter(|sentence| !is_said(sentence))
            .collect(),
    };
    let lines: Vec<String> = answer.lines().map(of_line).collect();
    lines.join("\n")
}

/// A text in small letters with single spaces.
fn plain(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    words.join(" ").to_lowercase()
}

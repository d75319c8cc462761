//! The sentences of a text.

use unicode_segmentation::UnicodeSegmentation;

/// Abbreviations that a name or a number follows, so that their full stop ends no sentence.
const ABBREVIATIONS: [&str; 14] = [
    "Capt.", "Dr.", "Fig.", "Gen.", "Gov.", "Hon.", "Mr.", "Mrs.", "Ms.", "No.", "Prof.", "Rev.",
    "St.", "vs.",
];

/// The sentences, by Unicode's rules (UAX #29) and the commonest abbreviations, without the space around them. A line break ends one.
pub(crate) fn of(text: &str) -> Vec<&str> {
    text.lines()
        .flat_map(in_line)
        .map(str::trim)
        .filter(|sentence| sentence.chars().any(char::is_alphanumeric))
        .collect()
}

fn in_line(line: &str) -> impl Iterator<Item = &str> {
    let mut begin = 0;
    let ends = line
        .split_sentence_bound_indices()
        .map(|(at, piece)| at + piece.len());
    ends.filter_map(move |end| {
        let so_far = &line[begin..end];
        let last = so_far.split_whitespace().next_back().unwrap_or_default();
        let is_open = end < line.len() && ABBREVIATIONS.contains(&last);
        (!is_open).then(|| {
            begin = end;
            so_far
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sentences_end_at_their_marks_and_at_line_breaks() {
        let text = "It costs 3.50 a day. Really?\n- Yes! …\nno end";
        assert_eq!(
            of(text),
            ["It costs 3.50 a day.", "Really?", "- Yes!", "no end"]
        );
        assert_eq!(of(" \n "), [""; 0]);
        assert_eq!(
            of(
                "Meet Dr. Ada at 8 p.m. or later. Mr. and Mrs. Moss will be there. I know her, Ms.\nYes"
            ),
            [
                "Meet Dr. Ada at 8 p.m. or later.",
                "Mr. and Mrs. Moss will be there.",
                "I know her, Ms.",
                "Yes"
            ]
        );
    }
}

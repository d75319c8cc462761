//! The sentences of a text, and how sure it is where they end.
//!
//! No rule tells for sure where a sentence ends: `in the U.S. Embassies are` has one or two, a heading is one or none, and a line may break
//! inside of one. So each [`End`] says whether every reasonable reader sees it.

mod abbreviations;
mod ends;
mod lines;

pub(crate) use ends::{End, ends};

/// The sentences that are sure, without the space around them. A line break ends one.
pub(crate) fn of(text: &str) -> Vec<&str> {
    let in_line = |line| {
        let mut begin = 0;
        let sure = ends(line).into_iter().filter(|end| end.is_sure);
        let pieces = sure.map(move |end| {
            let piece: &str = &line[begin..end.at];
            begin = end.at;
            piece
        });
        pieces.collect::<Vec<_>>()
    };
    text.lines()
        .flat_map(in_line)
        .map(str::trim)
        .filter(|sentence| sentence.chars().any(char::is_alphanumeric))
        .collect()
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

    #[test]
    fn what_may_be_inside_of_a_sentence_is_not_torn_apart() {
        for whole in [
            "She works at the U.S. Embassy.",
            "“Come!” said Ann to us.",
            "Wir öffnen am 3. Mai um 8 Uhr.",
        ] {
            assert_eq!(of(whole), [whole]);
        }
    }
}

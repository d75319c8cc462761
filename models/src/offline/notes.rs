//! Lines of answers by which the stand-in tells what it is, and what nobody looked at.

/// Beginnings of such lines, which stand in parentheses.
const BEGINNINGS: [&str; 8] = [
    "(Put together by the offline stand-in",
    "(The offline stand-in",
    "(No language model read",
    "(Matched by words:",
    "(Nobody did:",
    "(Nothing in the request is among the words",
    "(Nobody looked at the data",
    "(The data that came along",
];

/// The answer without the lines by which a stand-in for a model tells what it is.
pub fn without_notes(answer: &str) -> String {
    let is_note = |line: &&str| {
        let line = line.trim();
        line.ends_with(')') && BEGINNINGS.iter().any(|begins| line.starts_with(begins))
    };
    let kept: Vec<&str> = answer.lines().filter(|line| !is_note(line)).collect();
    kept.join("\n").trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use super::super::{
        UNREAD, fitting::UNCLEAR, layout::MARK, outright::UNCHECKED, procedure::FOLLOWED,
    };
    use super::*;

    #[test]
    fn what_a_stand_in_says_of_itself_is_no_part_of_its_answer() {
        for note in [
            UNREAD,
            UNCLEAR,
            MARK,
            UNCHECKED,
            FOLLOWED,
            "(Nobody did: \"Send it.\".)",
        ] {
            let answer = format!("# Rain\n\nIt is wet (mostly).\n\n{note}");
            assert_eq!(
                without_notes(&answer),
                "# Rain\n\nIt is wet (mostly).",
                "{note}"
            );
        }
        assert_eq!(without_notes("(An aside.)"), "(An aside.)");
    }
}

//! Items of lists: lines that begin with a mark or a number.

use super::count::Count;

/// The marks of a list without numbers.
const MARKS: [char; 4] = ['-', '*', '+', '•'];

/// Items of a list within another count for some, and so do the lines of a text in which no line has a mark.
pub(super) fn count(raw: &str) -> Count {
    let filled: Vec<&str> = raw.lines().filter(|line| !line.trim().is_empty()).collect();
    let indents = filled
        .iter()
        .filter(|line| is_item(line))
        .map(|l| indent(l));
    let indents: Vec<usize> = indents.collect();
    let Some(least) = indents.iter().min() else {
        let lines = filled.len();
        let high = if lines > 1 { lines } else { 0 };
        return Count::between(0, high, || {
            "lines without a mark are items or not".to_owned()
        });
    };
    let outer = indents.iter().filter(|indent| *indent == least).count();
    Count::between(outer, indents.len(), || {
        "items of a list within another count or not".to_owned()
    })
}

fn indent(line: &str) -> usize {
    line.len() - line.trim_start().len()
}

fn is_item(line: &str) -> bool {
    let line = line.trim_start();
    let behind = match line.strip_prefix(MARKS) {
        Some(behind) => behind,
        None => {
            let digits = line.bytes().take_while(u8::is_ascii_digit).count();
            let behind = line[digits..].strip_prefix(['.', ')']);
            behind
                .filter(|_| (1..4).contains(&digits))
                .unwrap_or_default()
        }
    };
    behind.starts_with(char::is_whitespace) && !behind.trim().is_empty()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn items_have_a_mark_or_a_number() {
        for (raw, low, high) in [
            ("Bring:\n- bread\n* salt\n• milk", 3, 3),
            ("1. First\n2) Second\n\n10. Tenth", 3, 3),
            ("- outer\n  - inner\n- outer", 2, 3),
            ("bread\nsalt", 0, 2),
            ("One sentence - no list.", 0, 0),
            ("-5 degrees\n1.5 litres\n- \n", 0, 3),
            ("", 0, 0),
        ] {
            let count = count(raw);
            assert_eq!((count.low, count.high), (low, high), "{raw}");
        }
    }
}

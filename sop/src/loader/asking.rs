//! Words in front of a name that have it asked.

/// True if what stands around a name has it asked. Words that mean other things as well count only where a sentence or a part of one
/// begins with them.
pub(super) fn asks(before: &str, after: &str) -> bool {
    let before = before.trim_end().to_lowercase();
    let before = before.strip_suffix(" the").unwrap_or(&before);
    let sentence = before.rsplit(['.', '!', '?']).next().unwrap_or_default();
    let start = before
        .char_indices()
        .rfind(|(_, c)| !c.is_alphabetic())
        .map_or(0, |(at, c)| at + c.len_utf8());
    let (ahead, word) = before.split_at(start);
    match word {
        "ask" | "asking" | "consult" | "consulting" => true,
        // "If somebody asks `x`" has their words.
        "asks" | "consults" => !words(sentence)
            .any(|word| matches!(word, "if" | "when" | "who" | "whoever" | "unless")),
        "call" | "contact" => begins(ahead),
        "use" => begins(ahead) && is_purpose(following(after)),
        // "Ask `x` before `y`" is about the order of two.
        "before" | "after" => words(sentence).any(|word| ORDERS.contains(&word)),
        "tell" => begins(ahead) && following(after) != "from",
        "have" | "let" => begins(ahead) && is_deed(following(after)),
        _ => false,
    }
}

/// Words by which a sentence has somebody asked.
const ORDERS: [&str; 9] = [
    "ask", "asks", "asking", "consult", "consults", "call", "contact", "have", "let",
];

fn words(sentence: &str) -> impl Iterator<Item = &str> {
    let words = sentence.split(|c: char| !c.is_alphabetic());
    words.filter(|word| !word.is_empty())
}

/// True if behind a name that is used stands what for, or how often.
fn is_purpose(word: &str) -> bool {
    matches!(
        word,
        "to" | "for" | "first" | "once" | "twice" | "when" | "before" | "after"
    )
}

/// True if a name behind one that is asked is asked as well.
pub(super) fn is_another(between: &str) -> bool {
    let between = between.trim();
    let between = between.strip_suffix(" the").unwrap_or(between);
    matches!(between, "," | "and" | "or" | ", and" | ", or")
}

/// True if an order begins behind these words.
fn begins(ahead: &str) -> bool {
    let ahead = ahead.trim_end();
    let orders = ["you must", "you must not", "you should", "you should not"];
    let parts = [", and", ", then", "and then"];
    ahead.is_empty()
        || ahead.ends_with(['.', '!', '?', ':', ';', ','])
        || orders.iter().chain(&parts).any(|end| ahead.ends_with(end))
}

/// The word right behind a name.
fn following(after: &str) -> &str {
    let after = after.strip_prefix(' ').unwrap_or_default();
    after
        .split(|c: char| !c.is_alphabetic())
        .next()
        .unwrap_or_default()
}

/// True if a word can be what somebody does.
fn is_deed(word: &str) -> bool {
    const OTHERS: [&str; 20] = [
        "and", "as", "at", "be", "by", "denote", "equal", "for", "from", "hold", "if", "in", "of",
        "on", "or", "set", "stand", "than", "to", "with",
    ];
    word.chars().next().is_some_and(char::is_lowercase) && !OTHERS.contains(&word)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_words_that_ask_are_in_front_of_somebody() {
        for (before, after) in [
            ("Ask ", " for notes."),
            ("You MUST ask ", "."),
            ("You MUST NOT ask the ", " more than once."),
            ("If it says so, ask ", ""),
            ("The leader asks ", "."),
            ("Have ", " write the article."),
            ("You MUST have ", " check it."),
            ("Let ", " sum it up"),
            ("It is long, then tell ", " what it is"),
            ("Call ", "."),
            ("You MUST NOT call ", "."),
            ("Consult ", " on the facts."),
            ("The leader consults ", "."),
            ("You SHOULD contact ", "."),
            ("Use ", " to find sources."),
            ("It is long, then use ", " for a summary"),
            ("You MUST ask `x` before ", "."),
            ("Ask `x` after ", ", and not earlier"),
        ] {
            assert!(asks(before, after), "{before}…{after}");
        }
        for (before, after) in [
            ("", " leads"),
            ("with ", "."),
            ("If the user asks ", ", answer."),
            ("The rows have ", " in them"),
            ("The answer MUST have ", " first."),
            ("Have ", " in each row"),
            ("Let ", " be the number"),
            ("Tell ", " from the other."),
            ("What they call ", " is this"),
            ("A task ", ""),
            ("Use ", " as the language"),
            ("The use ", " is made of"),
            ("If anybody consults ", ", answer."),
            ("The contact ", " is in the list"),
            ("The date stands before ", "."),
            ("Ask `x`. The date stands after ", "."),
        ] {
            assert!(!asks(before, after), "{before}…{after}");
        }
        assert!(is_another(" and ") && is_another(", ") && is_another(" or the "));
        assert!(!is_another(" for "));
    }
}

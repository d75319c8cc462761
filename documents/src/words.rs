//! Words for people who misspelt something.

/// Letters of a word that is looked for among others, at most: comparing takes more than in proportion to them.
const LONGEST: usize = 100;

/// The known word that somebody may have meant. A word of more than 100 letters is nobody's slip.
pub fn meant<'w>(word: &str, known: impl IntoIterator<Item = &'w str>) -> Option<&'w str> {
    let plain = |word: &str| word.to_lowercase().replace(['_', ' '], "-");
    if word.len() > LONGEST {
        return None;
    }
    let word = plain(word);
    known
        .into_iter()
        .map(|known| (likeness(&word, &plain(known)), known))
        .filter(|(likeness, _)| *likeness >= LIKE)
        .min_by(|a, b| {
            let slips = |known: &str| strsim::osa_distance(&word, &plain(known));
            slips(a.1).cmp(&slips(b.1)).then(b.0.total_cmp(&a.0))
        })
        .map(|(_, known)| known)
}

/// Likeness of words of which one may be meant by the other.
const LIKE: f64 = 0.8;

/// Likeness of two words, from 0 to 1. Short words are alike with one slip: a letter too many, too few, wrong, or two that changed places.
fn likeness(word: &str, known: &str) -> f64 {
    let longest = word.chars().count().max(known.chars().count());
    let is_same_length = word.chars().count() == known.chars().count();
    let has_same_letters = is_same_length && word.chars().all(|c| known.contains(c));
    let is_slip = strsim::osa_distance(word, known) == 1 && (longest > 2 || has_same_letters);
    let slip = if is_slip { LIKE } else { 0.0 };
    strsim::jaro_winkler(word, known).max(slip)
}

/// `a, b or c`, each in backticks.
pub fn choice(words: &[&str]) -> String {
    let quoted: Vec<String> = words.iter().map(|word| format!("`{word}`")).collect();
    match quoted.split_last() {
        Some((last, [])) => last.clone(),
        Some((last, rest)) => format!("{} or {last}", rest.join(", ")),
        None => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_misspelt_word_is_found_among_the_known_ones() {
        let known = ["depends_on", "on_failure"];
        assert_eq!(meant("dependsOn", known), Some("depends_on"));
        assert_eq!(meant("x", known), None);
        let long = ["propertyNames", "properties"];
        assert_eq!(meant("propertys", long), Some("properties"));
        let short = ["if", "big", "a"];
        assert_eq!(meant("fi", short), Some("if"));
        assert_eq!(meant("bg", short), Some("big"));
        assert_eq!(meant("c", short), None);
        assert_eq!(meant(&"a".repeat(LONGEST + 1), short), None);
        assert_eq!(choice(&known), "`depends_on` or `on_failure`");
    }
}

//! Words for people who misspelt something.

/// The known word that somebody may have meant.
pub fn meant<'w>(word: &str, known: impl IntoIterator<Item = &'w str>) -> Option<&'w str> {
    let plain = |word: &str| word.to_lowercase().replace(['_', ' '], "-");
    let word = plain(word);
    known
        .into_iter()
        .map(|known| (strsim::jaro_winkler(&word, &plain(known)), known))
        .filter(|(likeness, _)| *likeness >= 0.8)
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .map(|(_, known)| known)
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
        assert_eq!(choice(&known), "`depends_on` or `on_failure`");
    }
}

//! Ids of runs and tasks, completed from what a person typed.

use anyhow::bail;

/// Stands for the one that changed last.
pub const LATEST: &str = "latest";

/// The ids that are shown where several are meant.
const SHOWN: usize = 5;

/// The id that is meant: that very one, or the only one that begins so. `None` where nothing does.
///
/// # Errors
///
/// Several begin so.
pub fn meant<'a>(
    given: &str,
    known: impl IntoIterator<Item = &'a str>,
) -> anyhow::Result<Option<String>> {
    let mut found: Vec<&str> = Vec::new();
    for id in known.into_iter().filter(|id| id.starts_with(given)) {
        if id == given {
            return Ok(Some(id.to_owned()));
        }
        if !found.contains(&id) {
            found.push(id);
        }
    }
    match found.as_slice() {
        [] => Ok(None),
        [one] => Ok(Some((*one).to_owned())),
        several => {
            let shown: Vec<&str> = several.iter().take(SHOWN).copied().collect();
            let more = match several.len() - shown.len() {
                0 => String::new(),
                more => format!(" and {more} more"),
            };
            bail!(
                "{} ids begin with `{given}`: {}{more}",
                several.len(),
                shown.join(", ")
            )
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_known_by_its_beginning() {
        let known = ["abc-1", "abc-2", "abd", "abc"];
        let found = |given: &str| meant(given, known).map_err(|error| error.to_string());
        assert_eq!(found("abd"), Ok(Some("abd".to_owned())));
        assert_eq!(found("abc-1"), Ok(Some("abc-1".to_owned())));
        assert_eq!(found("abc"), Ok(Some("abc".to_owned())), "the very one");
        assert_eq!(found("x"), Ok(None));
        assert_eq!(
            found("ab"),
            Err("4 ids begin with `ab`: abc-1, abc-2, abd, abc".to_owned())
        );
    }
}

//! The token with which this process calls hubs.

use std::{fs, path::Path};

use agenthub_proto::bearer::Bearer;
use agenthub_terminal::usage::WrongUsage;

/// The token in a file.
///
/// # Errors
///
/// It cannot be read, or holds none.
pub(crate) fn of_file(file: &Path) -> anyhow::Result<Bearer> {
    let wrong = |why: String| WrongUsage(format!("--token-file {}: {why}", file.display()));
    let text = fs::read_to_string(file).map_err(|error| wrong(error.to_string()))?;
    let bearer = Bearer::new(&text).map_err(|error| wrong(error.to_string()))?;
    Ok(bearer)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_holds_one_token_and_faults_do_not_show_it() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("token");
        let missing = of_file(&file).expect_err("it is not there");
        assert!(missing.is::<WrongUsage>(), "{missing}");
        fs::write(&file, "ah_secret\n").expect("written");
        assert!(of_file(&file).is_ok());
        fs::write(&file, "ah_secret and more").expect("written");
        let wrong = of_file(&file).expect_err("no token").to_string();
        assert!(
            wrong.contains("--token-file") && !wrong.contains("secret"),
            "{wrong}"
        );
    }
}

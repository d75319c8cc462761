//! The request, from the words of the command line.

use std::{
    io::{self, Read},
    path::Path,
};

use agenthub_terminal::calls;
use anyhow::{Context, bail};

use super::super::args::Ask;
use crate::discover;

/// The longest request, in bytes.
const MAX_REQUEST: u64 = 512 * 1024;

/// The request: the words, or what standard input says.
pub(super) fn request(args: &Ask) -> anyhow::Result<String> {
    if let Some(why) = unclear(&args.words, |word| is_team(Path::new(word))) {
        bail!("{why}");
    }
    let text = match args.request() {
        "-" => {
            let mut text = String::new();
            let read = io::stdin()
                .lock()
                .take(MAX_REQUEST + 1)
                .read_to_string(&mut text);
            read.context("the request cannot be read from standard input")?;
            text
        }
        words => words.to_owned(),
    };
    if text.len() as u64 > MAX_REQUEST {
        bail!("the request is longer than {} KiB", MAX_REQUEST / 1024);
    }
    match text.trim() {
        "" => bail!("the request is empty: say what is wanted"),
        text => Ok(text.to_owned()),
    }
}

/// True if it is a folder with SOPs, right or wrong.
fn is_team(path: &Path) -> bool {
    let found = path.is_dir().then(|| discover(path).ok()).flatten();
    found.is_some_and(|found| !found.agents.is_empty() || !found.orchestrators.is_empty())
}

/// The reason why these words are not a folder and a request.
fn unclear(words: &[String], is_team: impl Fn(&str) -> bool) -> Option<String> {
    let program = calls::program();
    match words {
        [only] if is_team(only) => Some(format!(
            "the request is missing, as {only} is the folder of a team: {program} sop ask {only} \"what is wanted\""
        )),
        [first, rest @ ..] if rest.len() > 1 => {
            let call = match is_team(first) {
                true => format!("{first} \"{}\"", rest.join(" ")),
                false => format!("\"{}\"", words.join(" ")),
            };
            Some(format!(
                "the request is to be one argument, so put it into quotes: {program} sop ask {call}"
            ))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_that_are_no_folder_and_request_are_refused_with_the_call_that_was_meant() {
        let said = |words: &[&str]| {
            let words: Vec<String> = words.iter().map(|&word| word.to_owned()).collect();
            unclear(&words, |word| word == "team")
        };
        for (words, part) in [
            (&["team"][..], "sop ask team \"what is wanted\""),
            (
                &["team", "Make", "some", "cats"],
                "sop ask team \"Make some cats\"",
            ),
            (&["Make", "some", "cats"], "sop ask \"Make some cats\""),
        ] {
            let why = said(words).expect("it is unclear");
            assert!(why.ends_with(part), "{why}");
        }
        assert_eq!(said(&["team", "cats"]), None);
        assert_eq!(said(&["cats"]), None);
        assert_eq!(said(&["gone", "cats"]), None);
    }
}

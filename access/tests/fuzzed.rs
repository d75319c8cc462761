//! The corpus of the fuzz targets, and what of it has to be taken or refused. `fuzz/` says how to look for more.

#[path = "../../fuzz/checks.rs"]
mod checks;

use std::{fs, path::Path};

/// A check of some bytes, which panics where it does not hold.
type Check = fn(&[u8]);

/// A fuzz target, and the fewest files that its corpus has.
const TARGETS: [(&str, Check, usize); 6] = [
    ("presented", checks::presented, 18),
    ("claims", checks::claims, 31),
    ("keys", checks::keys, 15),
    ("cookies", checks::cookies, 11),
    ("certificates", checks::certificates, 8),
    ("names", checks::names, 17),
];

/// Issue 25: tokens through a fuzzer. What it has found, and what attackers are known to try, holds on each change.
#[test]
fn the_corpus_of_the_fuzzer_finds_no_fault() {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fuzz/corpus");
    for (target, check, fewest) in TARGETS {
        let mut files = 0;
        for entry in fs::read_dir(corpus.join(target)).expect("a corpus") {
            let path = entry.expect("a file").path();
            let data = fs::read(&path).expect("a file");
            // A panic names the file.
            println!("{}", path.display());
            check(&data);
            files += 1;
        }
        assert!(files >= fewest, "{target} has {files} files");
    }
}

/// The harness lets in whom it has to: otherwise its checks of those who are let in would show nothing.
#[test]
fn the_harness_lets_in_whom_the_issuer_names() {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fuzz/corpus");
    let read = |file: &str| fs::read(corpus.join(file)).expect("a file");
    for file in ["right", "no-kid", "groups", "audiences", "float", "nbf"] {
        let path = format!("claims/{file}");
        assert!(checks::is_let_in(&read(&path)), "{path}");
    }
    for file in [
        "expired",
        "other-audience",
        "not-yet",
        "issuers",
        "slash",
        "subject",
        "crit",
        "alg-none",
        "hs",
        "zip",
        "enc",
        "no-subject",
        "negative",
        "text-exp",
    ] {
        let path = format!("claims/{file}");
        assert!(!checks::is_let_in(&read(&path)), "{path}");
    }
    for (file, is_right) in [
        ("right", true),
        ("lowercase", true),
        ("bare", false),
        ("none", false),
        ("unsigned", false),
        ("confused", false),
        ("confused-rsa", false),
        ("rsa", false),
        ("crit", false),
        ("padded", false),
        ("hub-token", false),
    ] {
        let text = String::from_utf8(read(&format!("presented/{file}"))).expect("text");
        assert_eq!(checks::is_taken(&text), is_right, "{file}");
    }
}

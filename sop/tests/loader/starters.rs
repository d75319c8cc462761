//! What `sop new` writes.

use std::path::Path;

use agenthub_sop::{Kind, parse, starter};

use crate::common::told;

#[test]
fn a_starter_has_no_faults_whatever_the_name() {
    for name in [
        "summarizer",
        "Text Shortener",
        "it's: #1",
        "2026",
        "true",
        "日本語",
        "-x",
        "null",
        "~a",
    ] {
        for kind in [Kind::Agent, Kind::Orchestrator] {
            let text = starter(name, kind).expect(name);
            let path = format!("{name}.md");
            let loaded = parse(Path::new(&path), &text, Vec::new());
            let loaded = loaded.unwrap_or_else(|faults| panic!("{name}: {}", told(&faults)));
            assert_eq!(told(&loaded.warnings), "", "{name}");
            assert_eq!(loaded.definition.name, name);
            assert_eq!(loaded.definition.kind, kind);
            assert!(loaded.definition.rules.len() >= 3);
        }
    }
}

#[test]
fn a_name_that_no_agent_can_have_is_refused() {
    for name in ["", "health", "a\nb", "cortex"] {
        let error = starter(name, Kind::Agent).expect_err(name);
        assert!(error.contains("; "), "it says what to do: {error}");
    }
}

#[test]
fn a_starter_is_about_what_its_name_says() {
    for name in ["harbour-poet", "tax_advisor"] {
        let text = starter(name, Kind::Agent).expect("the name is fine");
        let loaded = parse(Path::new(&format!("{name}.md")), &text, Vec::new());
        let Ok(loaded) = loaded else {
            panic!("{text}");
        };
        let words = name.replace(['-', '_'], " ");
        assert!(loaded.definition.description.contains(&words), "{text}");
        assert!(text.contains(&format!("this team's {words}")), "{text}");
        assert!(!text.to_lowercase().contains("summar"), "{text}");
    }
}

#[test]
fn a_starter_says_what_goes_where() {
    insta::assert_snapshot!(starter("summarizer", Kind::Agent).expect("the name is fine"));
}

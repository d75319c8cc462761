//! Files that nobody would write.

use std::path::Path;

use agenthub_sop::{Kind, parse, rules, starter};
use proptest::prelude::*;

/// Pieces that files are made of, and what could break them.
fn piece() -> impl Strategy<Value = String> {
    prop_oneof![
        prop::sample::select(vec![
            "---\n",
            "name: a\n",
            "description: x\n",
            "type: ",
            "agent\n",
            "orchestrator\n",
            "inputs:\n",
            "  a:\n",
            "  b: {type: enum, values: [x, y], default: x}\n",
            "    type: string\n",
            "    default: 5\n",
            "  c: {type: list, default: [a]}\n",
            "  d: {type: number, required: false, description: d, default: 1e5}\n",
            "tools: [a, 'b']\n",
            "[",
            "]",
            "{",
            "}",
            "*a ",
            "&a ",
            "!!int ",
            "? ",
            ": ",
            "- ",
            "|\n",
            ">\n",
            "'",
            "\"",
            "\\",
            "\t",
            "\r\n",
            "\u{feff}",
            "# Title\n",
            "## Overview\n\n",
            "## Parameters\n\n",
            "- **p** (optional, default: \"",
            "\"): d\n",
            "- **q** (",
            "You MUST NOT ",
            "MAY",
            "```\n",
            "\0",
            "<<: *a\n",
            "error_mode: continue\n",
            "turns: 3\n",
            "|a|b|\n|-|-|\n",
            "> ",
            "[^1]: ",
            "é\u{301}",
            "\u{2028}",
        ])
        .prop_map(str::to_owned),
        "\\PC{0,8}",
        "[ -~\\n]{0,12}",
    ]
}

/// What is large is read in good time, and told in good measure.
#[test]
fn a_file_with_very_many_faults_tells_the_first_of_them() {
    let keys: String = (0..3000).map(|n| format!("k{n}: x\n")).collect();
    let text = format!("---\nname: a\ndescription: x\n{keys}---\nDo it.\n");
    let loaded = parse(Path::new("a.md"), &text, Vec::new()).expect("it has warnings only");
    assert_eq!(loaded.warnings.len(), 101);
    assert_eq!(
        loaded.warnings[100].message,
        "2900 more faults are in this file"
    );
    let wrong = parse(
        Path::new("a.md"),
        &text.replace("---\nDo", "type: x\n---\nDo"),
        Vec::new(),
    );
    let wrong = wrong.expect_err("the last line is wrong");
    assert!(wrong.iter().any(agenthub_sop::Fault::is_error));
    let keys: String = (0..20_000).map(|n| format!("k{n}: x\n")).collect();
    let text = format!("---\nname: a\ndescription: x\n{keys}---\nDo it.\n");
    let wrong = parse(Path::new("a.md"), &text, Vec::new()).expect_err("it is too much");
    assert_eq!(
        wrong[0].message,
        "this is more, or deeper, than the front matter can hold"
    );
}

#[test]
fn a_body_with_very_many_rules_is_read() {
    let body = "You MUST `x`. ".repeat(18_000);
    let rules = rules(&body, 1);
    assert_eq!(rules.len(), 18_000);
    assert_eq!(rules[17_999].line, 1);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, ..ProptestConfig::default() })]

    #[test]
    fn no_text_makes_it_panic_and_whatever_is_read_has_a_schema(
        pieces in prop::collection::vec(piece(), 0..24),
        framed in any::<bool>(),
    ) {
        let text = match framed {
            true => format!("---\nname: a\ndescription: x\n{}\n---\nYou MUST do it.\n", pieces.concat()),
            false => pieces.concat(),
        };
        for path in ["a.md", "a.sop.md", "a/SKILL.md"] {
            match parse(Path::new(path), &text, Vec::new()) {
                Ok(loaded) => {
                    let schema = &loaded.definition.schema;
                    let compiled = jsonschema::draft202012::new(schema);
                    prop_assert!(compiled.is_ok(), "{schema}");
                    for (name, property) in schema["properties"].as_object().expect("it is one") {
                        if let Some(default) = property.get("default") {
                            let fits = jsonschema::draft202012::new(property).expect("it is a schema");
                            prop_assert!(fits.is_valid(default), "{name}: {property}");
                        }
                    }
                    for fault in &loaded.warnings {
                        prop_assert!(!fault.is_error());
                        prop_assert!(!fault.rendered(false).is_empty());
                    }
                }
                Err(faults) => {
                    prop_assert!(faults.iter().any(agenthub_sop::Fault::is_error));
                    for fault in faults {
                        prop_assert!(!fault.rendered(false).is_empty());
                        prop_assert!(!fault.message.contains('\n'), "{}", fault.message);
                        prop_assert!(fault.help.is_some(), "{}", fault.message);
                    }
                }
            }
        }
    }

    #[test]
    fn rules_stand_in_the_lines_that_they_name(pieces in prop::collection::vec(piece(), 0..24)) {
        let body = pieces.concat().replace("\r\n", "\n").replace('\r', "\n");
        let lines = u32::try_from(body.matches('\n').count()).expect("it is short");
        let mut last = 10;
        for (rule, number) in rules(&body, 10).iter().zip(1..) {
            prop_assert_eq!(&rule.id, &format!("R{number}"));
            prop_assert!((last..=10 + lines).contains(&rule.line));
            prop_assert!(!rule.text.contains('\n'));
            last = rule.line;
        }
    }

    #[test]
    fn a_starter_takes_every_name_that_agents_can_have(name in "\\PC{1,40}") {
        if let Ok(text) = starter(&name, Kind::Agent) {
            let loaded = parse(Path::new("x.md"), &text, Vec::new());
            prop_assert_eq!(loaded.expect("it is right").definition.name, name.trim());
        }
    }
}

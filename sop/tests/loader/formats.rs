//! The three formats.

use std::path::{Path, PathBuf};

use agenthub_sop::{Definition, ErrorMode, Format, Kind, Level, load, parse};
use serde_json::json;

use crate::common::{definition, folder, told};

/// spec: SOP-1.1, SOP-1.4, SOP-2.5
#[test]
fn an_sop_says_who_the_agent_is_and_how_it_works() {
    let text = "---\nname: a\ndescription: >\n  Finds facts\n  and sources.\nversion: 1.10\ntools: [search, files.read]\n\
        inputs:\n  topic: {type: string}\nmodel: openai/gpt-5\ntemperature: 0.2\nturns: 7\nerror_mode: continue\n---\n\n\
        # Research\n\nYou MUST name your sources.\n";
    let read = definition(text);
    let tools: Vec<(&str, u32, u32, u32)> = read
        .tools
        .iter()
        .map(|t| {
            (
                t.name.as_str(),
                t.place.line,
                t.place.column,
                t.place.length,
            )
        })
        .collect();
    assert_eq!(tools, [("search", 7, 9, 6), ("files.read", 7, 17, 10)]);
    assert_eq!(read.rules.len(), 1);
    let rule = &read.rules[0];
    assert_eq!((rule.line, rule.level), (18, Level::Must));
    assert_eq!(
        (rule.section.as_str(), rule.id.as_str()),
        ("Research", "R1")
    );
    assert_eq!(
        Definition {
            tools: Vec::new(),
            rules: Vec::new(),
            digest: String::new(),
            ..read.clone()
        },
        Definition {
            name: "a".to_owned(),
            description: "Finds facts and sources.".to_owned(),
            version: Some("1.10".to_owned()),
            kind: Kind::Agent,
            tools: Vec::new(),
            schema: json!({"type": "object", "properties": {"topic": {"type": "string"}}, "required": ["topic"], "additionalProperties": false}),
            body: "# Research\n\nYou MUST name your sources.".to_owned(),
            rules: Vec::new(),
            path: PathBuf::from("a.md"),
            format: Format::Sop,
            model: Some("openai/gpt-5".to_owned()),
            temperature: Some(0.2),
            turns: Some(7),
            error_mode: Some(ErrorMode::Continue),
            files: Vec::new(),
            digest: String::new(),
        }
    );
    assert_eq!(read.digest.len(), 64);
    let leads = definition("---\nname: a\ndescription: x\ntype: orchestrator\n---\nDo it.\n");
    assert_eq!(leads.kind, Kind::Orchestrator);
}

/// A file in the public Agent SOP format, as its authors write them.
const AGENT_SOP: &str = r#"# Release Notes

## Overview

This SOP writes the notes of a release
from the changes since the last one. Use it *before* a release.

## Parameters

- **repo_root** (required): The folder of the repository
- **since** (optional): The tag (or commit) to begin with
- **notes_dir** (optional, default: ".notes/{version} (draft)"): Where the notes are put
- **root** (optional, default: current working directory): Where to work
- **mode** (optional, default: "auto"): How to work:
  - "interactive": asks before each step
  - "auto": asks nothing
- `Audience Name` (required): Who reads them
- **task** (required): What is to be done

**Constraints for parameter acquisition:**
- You MUST ask for all required parameters upfront
- You MAY infer the version

## Steps

### 1. Collect

Collect the changes.

**Constraints:**
- You MUST NOT guess what a change does because readers rely on it
- You SHOULD group the changes:
  - features
  - fixes

## Examples

```
You MUST NOT read this
```
"#;

#[test]
fn the_public_agent_sop_format_is_read() {
    let loaded = parse(Path::new("x/release-notes.sop.md"), AGENT_SOP, Vec::new());
    let loaded = loaded.expect("it is right");
    let definition = loaded.definition;
    assert_eq!(definition.name, "release-notes");
    assert_eq!(definition.format, Format::AgentSop);
    assert_eq!(
        definition.description,
        "This SOP writes the notes of a release from the changes since the last one. Use it before a release."
    );
    assert_eq!(definition.body, AGENT_SOP.trim());
    insta::assert_json_snapshot!("agent_sop_schema", definition.schema);
    insta::assert_json_snapshot!("agent_sop_rules", definition.rules);
    insta::assert_snapshot!("agent_sop_warnings", told(&loaded.warnings));
}

#[test]
fn an_agent_sop_can_have_front_matter_besides() {
    let text = format!("---\ntype: orchestrator\nname: other\ninputs:\n---\n{AGENT_SOP}");
    let loaded = parse(Path::new("release-notes.sop.md"), &text, Vec::new()).expect("it is right");
    assert_eq!(loaded.definition.kind, Kind::Orchestrator);
    assert_eq!(loaded.definition.name, "other");
    assert_eq!(loaded.definition.schema["properties"], json!({}));
    assert!(told(&loaded.warnings).contains(":3:7: the name is `other`"));
}

#[test]
fn what_an_agent_sop_lacks_is_told() {
    let text = "Some words\n\n## Parameters\n\n- topic: what it is about\n- **a-b c!**: x\n- **x**: one\n- **x**: two\n";
    let found = parse(Path::new("health.sop.md"), text, Vec::new()).expect_err("it lacks much");
    let rendered: Vec<String> = found.iter().map(|fault| fault.rendered(false)).collect();
    insta::assert_snapshot!(rendered.join(""));
}

/// A skill as its authors write them.
const SKILL: &str = "---\nname: pdf-forms\ndescription: |-\n  Fills in forms. Use it when: a PDF has fields.\nlicense: Complete terms in LICENSE.txt\n\
    compatibility: Requires Python\nmetadata:\n  author: someone\n  version: 1.0\nallowed-tools: Bash(git:*) Read\n---\n\n# Forms\n\n\
    Run scripts/fill.py. See [the fields](references/FIELDS.md).\n";

#[test]
fn a_skill_is_read_with_the_files_of_its_folder() {
    let folder = folder(&[
        ("pdf-forms/SKILL.md", SKILL),
        ("pdf-forms/LICENSE.txt", "x"),
        ("pdf-forms/scripts/fill.py", "x"),
        ("pdf-forms/references/FIELDS.md", "x"),
        ("pdf-forms/.git/config", "x"),
        ("pdf-forms/scripts/__pycache__/fill.pyc", "x"),
        ("secret.txt", "x"),
    ]);
    #[cfg(unix)]
    {
        let skill = folder.path().join("pdf-forms");
        let link = |to: &str, name: &str| {
            std::os::unix::fs::symlink(to, skill.join(name)).expect("it can be linked");
        };
        link("../secret.txt", "out.txt");
        link("..", "up");
        link(".", "loop");
        link("LICENSE.txt", "inside.txt");
    }
    let loaded = load(&folder.path().join("pdf-forms/SKILL.md")).expect("it is right");
    let definition = loaded.definition;
    assert_eq!(
        (definition.name.as_str(), definition.format),
        ("pdf-forms", Format::Skill)
    );
    assert_eq!(definition.version.as_deref(), Some("1.0"));
    assert_eq!(definition.tools, []);
    let files = definition
        .files
        .iter()
        .map(|f| f.to_string_lossy().into_owned());
    let files: Vec<String> = files.filter(|name| name != "inside.txt").collect();
    assert_eq!(
        files,
        ["LICENSE.txt", "references/FIELDS.md", "scripts/fill.py"]
    );
    let warnings: Vec<&str> = loaded.warnings.iter().map(|w| w.message.as_str()).collect();
    assert_eq!(
        warnings,
        ["`allowed-tools` is not used here: they are tools of another program"]
    );
}

/// Skills that other programs read are read here too.
#[test]
fn a_skill_that_is_not_quite_right_is_read_with_warnings() {
    let text =
        "---\nname: other\ndescription: Use it when: a form's there\nuser-invocable: true\n---\n";
    let loaded = parse(Path::new("forms/SKILL.md"), text, Vec::new()).expect("it can be used");
    assert_eq!(loaded.definition.description, "Use it when: a form's there");
    insta::assert_snapshot!(told(&loaded.warnings));
    let lacks = parse(
        Path::new("forms/SKILL.md"),
        "---\nname: forms\n---\nx\n",
        Vec::new(),
    );
    let lacks = told(&lacks.expect_err("it has no description"));
    assert!(lacks.contains("`description` is missing"), "{lacks}");
}

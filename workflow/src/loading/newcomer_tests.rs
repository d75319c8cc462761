//! Mistakes of a newcomer, one for each file, and what is told.

use std::fs;

use super::{
    load,
    tests::{faults, loaded, offers, right},
    warnings,
};

const REVIEW: &str = include_str!("../../../examples/workflows/review.yaml");

#[test]
fn each_mistake_is_told() {
    right(REVIEW);
    let mistakes: &[(&str, &str)] = &[
        ("${workflow.input.languages}", "${workflow.input.langauges}"),
        (
            "for_each: ${workflow.input.languages}",
            "for_each: workflow.input.languages",
        ),
        (
            "for_each: ${workflow.input.languages}",
            "for_each: ${workflow.input.topic}",
        ),
        (
            "agent: agent_echo\n    text: Write",
            "agent: agent-echo\n    text: Write",
        ),
        ("then: approved", "then: aproved"),
        (
            "if: draft.output.text | length > 20",
            "if: ${draft.output.text} | length > 20",
        ),
        (
            "if: draft.output.text | length > 20",
            "if: draft.output.text longer than 20",
        ),
        (
            "if: draft.output.text | length > 20",
            "if: draft.output.text.length > 20",
        ),
        (
            "if: draft.output.text | length > 20",
            "if: drafts.output.text | length > 20",
        ),
        ("    then: approved\n    else: translate\n", ""),
        ("${loop.item}", "${loop.itme}"),
        ("${loop.item}", "${item}"),
        ("depends_on: [approved]", "depends_on: approved"),
        ("depends_on: [approved]", "dependsOn: [approved]"),
        ("  approved:\n    approve", "  Approved Text:\n    approve"),
        (
            "    text: Write about",
            "    depends_on: [translate]\n    text: Write about",
        ),
        (
            "text: Write about ${workflow.input.topic}",
            "text: \"Write about ${workflow.input.topic}",
        ),
        (
            "text: Write about ${workflow.input.topic}",
            "text: Write about ${workflow.input.topic",
        ),
        (
            "text: Write about ${workflow.input.topic}",
            "text: {{ workflow.input.topic }}",
        ),
        (
            "text: Write about ${workflow.input.topic}",
            "text: Write about '{{ workflow.input.topic }}'",
        ),
        (
            "text: Write about ${workflow.input.topic}",
            "text: Write about: ${workflow.input.topic}",
        ),
        (
            "text: Write about ${workflow.input.topic}",
            "timeout: 5 minutes\n    text: x",
        ),
        (
            "text: Write about ${workflow.input.topic}",
            "retry: 3\n    text: x",
        ),
        (
            "text: Write about ${workflow.input.topic}",
            "input: ${workflow.input}",
        ),
        ("${draft.output.text}\" }", "${draft.text}\" }"),
        ("${draft.output.text}\" }", "${draft.output}\" }"),
        ("    approve: Is this right?", "    approve:"),
        ("    approve: Is this right?", "   approve: Is this right?"),
        ("steps:\n", "step:\n"),
        ("steps:\n", ""),
        (
            "  texts: ${translate.output.iterations}",
            "  texts: ${translate.output.iteration}",
        ),
        (
            "  texts: ${translate.output.iterations}",
            "  texts: ${translate.output[0].text}",
        ),
        ("required: [topic, languages]", "required: [topic]"),
        ("type: object\n", "topic: string\n"),
        ("output:\n", "outputs:\n"),
    ];
    let told = mistakes.iter().map(|(right, wrong)| {
        assert!(REVIEW.contains(right), "{right}");
        let file = REVIEW.replacen(right, wrong, 1);
        format!("{wrong}\n{}\n", faults_or_fine(&file))
    });
    insta::assert_snapshot!(told.collect::<Vec<_>>().join("\n"));
}

/// Files that are right, though they look as if they were not, have no faults.
fn faults_or_fine(text: &str) -> String {
    match loaded(text, Some(&offers())) {
        Ok(_) => "nothing is wrong".to_owned(),
        Err(_) => faults(text),
    }
}

/// spec: EXE-1.3
#[test]
fn an_input_that_steps_read_and_that_may_not_be_given_is_a_warning_with_its_place() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("story.yaml");
    let warned = |input: &str, text: &str| {
        let file = format!(
            "{input}steps:\n  a:\n    agent: agent_echo\n    text: \"{text}\"\n  b: {{ agent: agent_echo, text: \"{text}\" }}\n"
        );
        fs::write(&path, file).expect("the folder is there");
        let workflow = load(&path, None).expect("it can be carried out");
        let warnings = warnings(&path, &workflow).into_iter();
        warnings
            .map(|fault| {
                let at = fault.at();
                let at = at.rsplit('/').next().unwrap_or_default();
                assert!(!fault.is_error(), "{fault}");
                format!("{at} {}", fault.message)
            })
            .collect::<Vec<_>>()
    };
    let unnamed = "may not be given: the workflow's `input` does not name it";
    for (input, text, expected) in [
        (
            "",
            "on ${workflow.input.topic}",
            format!("story.yaml:4:17 `topic` {unnamed}"),
        ),
        (
            "input: { required: [who], properties: { who: { type: object, properties: { town: {} } } } }\n",
            "${workflow.input.who.town}",
            "story.yaml:5:14 `who.town` may not be given".to_owned(),
        ),
        (
            "input: { additionalProperties: true }\n",
            "${workflow.input.count + 1}",
            format!("story.yaml:5:14 `count` {unnamed}"),
        ),
    ] {
        assert_eq!(warned(input, text), [expected], "{text}");
    }
    for (input, text) in [
        ("", "${workflow.input}"),
        ("", "${workflow.input.topic | default(1)}"),
        ("input: { required: [topic] }\n", "${workflow.input.topic}"),
        (
            "input: { properties: { topic: { default: tea } } }\n",
            "${workflow.input.topic}",
        ),
    ] {
        assert_eq!(warned(input, text), [""; 0], "{text}");
    }
}

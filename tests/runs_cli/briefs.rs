//! Briefs with a mistake, and what `agenthub run` says of those without.

use std::fs;

use crate::harness::{Finished, System};

/// A brief about a reading club with these lines as its payload.
fn club(payload: &str) -> String {
    let payload = payload.replace('\n', "\n  ");
    format!(
        "objective: Announce the reading club\npayload:\n  clientBrief: The reading club meets every Tuesday at 17:00. Children read one book a week.\n  {payload}\n"
    )
}

/// A chat with this agent, with these lines as its payload.
fn chat(agent: &str, payload: &str) -> String {
    let payload = payload.replace('\n', "\n  ");
    format!("objective: Is it good?\nmode: chat\nagent: {agent}\npayload:\n  {payload}\n")
}

fn run(system: &System, brief: &str) -> Finished {
    fs::write(system.folder().join("club.yaml"), brief).expect("the folder is there");
    system.run(&["run", "club.yaml"], "")
}

/// spec: ORC-2.3
#[test]
fn a_mistake_of_a_brief_is_told_with_its_place_before_anything_starts() {
    let (system, _up) = System::up();
    for (brief, told) in [
        (
            club("knobs: {warmth: {value: 0.5, measure: {kind: warmness}}}"),
            "club.yaml:4:48: `payload.knobs.warmth.measure.kind` is \"warmness\"; it takes one of sentence_length, ",
        ),
        (
            club("knobs: {brevity: 17}"),
            "club.yaml:4:20: `payload.knobs.brevity` is 17; it is at most 1",
        ),
        (
            club("knobs: {brevity: {value: 3, min: 5, max: 1}}"),
            "club.yaml:4:20: `payload.knobs.brevity` has `min` 5 above `value` 3",
        ),
        (
            club("schedule: {start: 2027-06-10, end: 2027-06-01}"),
            "club.yaml:4:13: `payload.schedule` has `start` 2027-06-10 after `end` 2027-06-01",
        ),
        (
            club("schedule: {posts: -2}"),
            "club.yaml:4:21: `payload.schedule.posts` is -2; it is at least 1",
        ),
        (
            club("readability: {maxLIX: 40}"),
            "club.yaml:4:25: `payload.readability.maxLIX` is no field of it: it takes `maxLix`",
        ),
        (
            club("mustInlcude: [Tuesday]"),
            "`payload.mustInlcude` is taken by no agent that is known; did you mean `mustInclude`?",
        ),
        (
            club("mustInclude:\n  - Tuesday\n  - 17"),
            "club.yaml:6:7: `payload.mustInclude[1]` is 17; it takes a text: put it into quotation marks",
        ),
        (
            club("priorPerformance: [twelve likes]"),
            "`payload.priorPerformance[0]` is \"twelve likes\"; it takes an object",
        ),
        (
            club("maxKnobDistance: tiny"),
            "`payload.maxKnobDistance` is \"tiny\"",
        ),
        (
            club("acceptanceCriteria:\n  - check: {kind: not_matches, value: ''}"),
            "`payload.acceptanceCriteria[0].check.value` is \"\"",
        ),
        (
            chat("qa", "draft: Come.\nmustInlcude: [Tuesday]"),
            "club.yaml:6:16: `payload.mustInlcude` is taken by no agent that is known; did you mean `mustInclude`?",
        ),
    ] {
        let done = run(&system, &brief);
        assert_eq!(done.code, Some(2), "{brief}: {done:?}");
        assert!(done.stderr.contains(told), "{told}: {done:?}");
        assert_eq!(done.stdout, "", "{brief}");
    }
    assert_eq!(system.json(&["runs", "list", "--all", "--json"]).len(), 0);
}

/// spec: ORC-2.3, ORC-2.1
#[test]
fn a_talk_with_an_agent_says_what_of_the_brief_came_to_nothing() {
    let (system, _up) = System::up();
    for (brief, told) in [
        (
            chat("agent_echo", "foo: 1\ndraft: Come."),
            "because  agent_echo: nobody knows of payload.draft, payload.foo that it was taken by agent_echo, whose card says of no data",
        ),
        (
            chat("writer", "writerBrief: We meet on Tuesday.\nmaxWords: 5"),
            "because  writer: nobody knows of payload.maxWords that it was taken by writer",
        ),
        (
            chat("qa", "draft: We meet.\nmustInclude: [Tuesday]"),
            "because  qa: the rule `Includes \"Tuesday\"` is not kept",
        ),
    ] {
        let done = run(&system, &brief);
        assert_eq!(done.code, Some(3), "{brief}: {done:?}");
        assert!(done.stderr.contains(told), "{told}: {done:?}");
        assert!(!done.stdout.is_empty(), "{brief}: {done:?}");
    }
    // The rule is kept, and nobody read the question.
    let kept = run(
        &system,
        &chat("qa", "draft: We meet on Tuesday.\nmustInclude: [Tuesday]"),
    );
    assert_eq!(kept.code, Some(3), "{kept:?}");
    assert!(!kept.stderr.contains("is not kept"), "{kept:?}");
}

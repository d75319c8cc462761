//! Runs in which nothing was done, or of whose answer a part may be quoted.

use agenthub_sdk::runs::RunOutcome;
use serde_json::json;

use super::*;

/// The story of an answer of which so much is undone.
fn lacking(undone: &'static str, answer: &'static str) -> impl Fn(Story) -> Story {
    move |story| {
        let data = json!({"partial": true, "undone": undone, "results": []});
        story.ends(RunOutcome::with_data(answer, data))
    }
}

/// spec: SOP-8.6, SOP-8.7
#[test]
fn no_rule_is_kept_or_broken_by_a_run_in_which_nothing_was_done() {
    let refusal = "I found no tool. You said: Write about bees.";
    for rule in [
        "The answer MUST contain \"bees\".",
        "The answer MUST contain \"wasps\".",
        "The answer MUST NOT contain \"wasps\".",
        "The answer MUST be at most 100 words.",
        "The answer MUST be at most 2 words.",
        "You MUST ask the critic.",
        "You MUST NOT ask the critic.",
        "You MUST NOT call any tools.",
        "You MUST ask the critic at most 2 times.",
        "You MUST include \"bees\" in every task.",
    ] {
        // An answer that is a part, and for which nobody was asked, may only greet.
        for (undone, why) in [
            ("all", "nothing of the request was done"),
            ("part", "nothing was called for it"),
        ] {
            let (verdict, evidence) = found(rule, &lacking(undone, refusal)).expect(rule);
            assert_eq!(verdict, NotChecked, "{rule}: {evidence}");
            assert!(evidence.contains(why), "{rule}: {evidence}");
        }
    }
}

/// spec: SOP-8.6
#[test]
fn a_call_that_gave_something_was_made_whatever_became_of_the_run() {
    let asked = |story: Story| story.calls(&[("critic", "Look into bees")]);
    let nothing = |story: Story| lacking("all", "I heard nothing.")(asked(story));
    let failed = |story: Story| asked(story).fails("it is gone");
    let unanswered = |story: Story| story.fails_of("critic", "Look").fails("it is gone");
    let in_vain = |story: Story| {
        let story = story.does_nothing_of("critic", "Look");
        lacking("all", "I heard nothing.")(story)
    };
    for (rule, verdict, of_unanswered) in [
        ("You MUST ask the critic.", Kept, NotChecked),
        ("You MUST NOT ask the critic.", Broken, Broken),
        ("You MUST ask the critic once.", Kept, NotChecked),
        ("You MUST ask the researcher.", NotChecked, NotChecked),
    ] {
        assert_eq!(self::verdict(rule, &nothing), Some(verdict), "{rule}");
        assert_eq!(self::verdict(rule, &failed), Some(verdict), "{rule}");
        for story in [&unanswered as &dyn Fn(Story) -> Story, &in_vain] {
            assert_eq!(self::verdict(rule, story), Some(of_unanswered), "{rule}");
        }
    }
}

/// spec: SOP-8.6
#[test]
fn a_text_that_the_request_has_is_no_evidence_in_an_answer_that_is_a_part() {
    let part = |answer: &'static str| {
        move |story: Story| lacking("part", answer)(story.calls(&[("critic", "Look")]))
    };
    for (rule, expected) in [
        ("The answer MUST contain \"bees\".", NotChecked),
        ("You MUST mention \"bees\" in the answer.", NotChecked),
        ("The answer MUST contain \"hum\".", Kept),
        ("The answer MUST contain \"wasps\".", Broken),
        ("The answer MUST NOT contain \"wasps\".", Kept),
        ("The answer MUST be at most 5 words.", Kept),
    ] {
        let (verdict, evidence) = found(rule, &part("Write about bees: they hum.")).expect(rule);
        assert_eq!(verdict, expected, "{rule}: {evidence}");
    }
    let whole = answering("Bees hum.");
    let rule = "The answer MUST contain \"bees\".";
    assert_eq!(verdict(rule, &whole), Some(Kept));
}

/// spec: SOP-8.6
#[test]
fn what_a_stand_in_says_of_itself_is_no_evidence() {
    let note = "Wet.\n\n(Put together by the offline stand-in from what it was given. No language model wrote this.)";
    let part = move |story: Story| lacking("part", note)(story.calls(&[("critic", "Look")]));
    for rule in [
        "The answer MUST contain \"language model\".",
        "The answer MUST be at least 5 words.",
    ] {
        assert_eq!(verdict(rule, &part), Some(Broken), "{rule}");
    }
}

/// spec: SOP-8.6
#[test]
fn what_an_answer_that_is_a_part_repeats_of_the_request_is_no_evidence() {
    const MATERIAL: &str = "Make notes of this:\n\n## Rain\n\nIt is wet. See https://rain.example for more.\n\n| a |\n|---|\n| b |\n";
    let noted = |answer: &'static str| {
        move |mut story: Story| {
            story.asks(MATERIAL);
            lacking("part", answer)(story.calls(&[("critic", "Look")]))
        }
    };
    let copied =
        "# Notes\n\nIt is wet. See https://rain.example for more.\n\n| a |\n|---|\n| b |\n";
    for (rule, of_copied) in [
        ("The answer MUST have a table.", NotChecked),
        ("The answer MUST contain at least 1 link.", NotChecked),
        ("The answer MUST be at least 5 words.", NotChecked),
        ("The answer MUST have a heading.", Kept),
        ("The answer MUST be at most 20 words.", Kept),
        ("The answer MUST NOT contain emoji.", Kept),
    ] {
        assert_eq!(verdict(rule, &noted(copied)), Some(of_copied), "{rule}");
    }
    let own = noted("It rains, and that makes wet whoever is out in it.");
    assert_eq!(
        verdict("The answer MUST be at least 5 words.", &own),
        Some(Kept)
    );
}

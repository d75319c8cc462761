mod forms;
mod nothing_done;
mod readings;

use proptest::prelude::*;

use super::{
    super::{
        Verdict::{self, Broken, Kept, NotApplicable, NotChecked},
        story::{Story, rules},
    },
    *,
};
use crate::Level;

/// What code says of one rule; `None` where a model has to.
fn found(rule: &str, story: &dyn Fn(Story) -> Story) -> Option<(Verdict, String)> {
    let story = story(Story::new(&[rule]));
    match check(&rules(&[rule])[0], &story.procedure(), &story.transcript()) {
        Checked::Decided(found) => Some((found.verdict, found.evidence)),
        Checked::Left(_) => None,
    }
}

fn verdict(rule: &str, story: &dyn Fn(Story) -> Story) -> Option<Verdict> {
    found(rule, story).map(|(verdict, _)| verdict)
}

/// The story of these calls, one after the other; `+` joins those at the same time.
fn calling(calls: &'static str) -> impl Fn(Story) -> Story {
    move |story| {
        let turns = calls.split_whitespace().fold(story, |story, turn| {
            let together: Vec<(&str, &str)> = turn
                .split('+')
                .map(|name| (name, "Look into bees"))
                .collect();
            story.calls(&together)
        });
        turns.answers("Bees are fine.")
    }
}

fn answering(answer: &'static str) -> impl Fn(Story) -> Story {
    move |story| story.answers(answer)
}

#[test]
fn everything_else_is_left_to_a_model() {
    for rule in [
        "You MUST be kind.",
        "If the user asks for it, you MUST ask the researcher.",
        "You MUST ask the researcher if facts are needed.",
        "You MUST ask the user first.",
        "You MUST ask the user's researcher.",
        "You MUST ask the researcher, or answer yourself.",
        "You MUST NOT ask the critic and the researcher.",
        "You MUST use search terms.",
        "You MUST cite a source for each claim.",
        "You MUST cite its sources.",
        "The answer MUST be short.",
        "The answer MUST be about 200 words.",
        "The draft MUST be at most 3 words.",
        "Each paragraph MUST be at most 3 words.",
        "The answer MUST contain \"a\" where it helps.",
        "You MUST have a section on sources.",
        "You MUST include the topic.",
        "You MUST answer in the language of the user.",
        "You MUST give a table of contents.",
        "You MUST ask the researcher at most a few times.",
    ] {
        assert_eq!(found(rule, &calling("researcher critic")), None, "{rule}");
        assert_eq!(found(rule, &calling("")), None, "{rule}");
    }
    let undecided =
        |rule, story: &dyn Fn(Story) -> Story| assert_eq!(found(rule, story), None, "{rule}");
    undecided(
        "You MUST ask the researcher first.",
        &calling("researcher+critic"),
    );
    undecided(
        "You MUST ask the researcher first.",
        &calling("web_search researcher"),
    );
    undecided(
        "You MUST ask the researcher before the critic.",
        &calling("web_search"),
    );
    undecided(
        "The answer MUST be a numbered list.",
        &answering("So:\n\n1. one"),
    );
    undecided("The answer MUST be JSON.", &answering("```json\n{}\n```"));
}

/// spec: SOP-8.6
#[test]
fn an_order_of_which_one_party_was_never_called_is_not_checked() {
    for rule in [
        "You MUST ask the researcher before the critic.",
        "You MUST ask the researcher before asking the critic.",
    ] {
        let (verdict, evidence) = found(rule, &calling("researcher")).expect(rule);
        assert_eq!(verdict, NotChecked, "{rule}: {evidence}");
        assert_eq!(
            evidence,
            "researcher was called once, critic never: there is no order to see"
        );
        assert_eq!(verdict_of_late(rule), Broken, "{rule}");
    }
}

fn verdict_of_late(rule: &str) -> Verdict {
    verdict(rule, &calling("critic")).expect("what comes first is missing")
}

#[test]
fn a_purpose_is_not_understood_but_a_call_that_is_missing_is() {
    let rule = "You MUST ask the researcher for at least three sources.";
    assert_eq!(verdict(rule, &calling("critic")), Some(Broken));
    assert_eq!(verdict(rule, &calling("researcher")), None);
    let rule = "You MUST ask the researcher to look things up when in doubt.";
    assert_eq!(verdict(rule, &calling("critic")), None);
    let rule = "You MUST NOT ask the researcher for money.";
    assert_eq!(verdict(rule, &calling("critic")), None);
}

#[test]
fn a_condition_above_a_rule_leaves_it_to_a_model() {
    let mut rule = rules(&["You MUST ask the critic."]).remove(0);
    rule.section = "If the user wants a review".into();
    let story = calling("")(Story::new(&[]));
    let checked = |rule: &Rule| check(rule, &story.procedure(), &story.transcript());
    assert_eq!(checked(&rule), Checked::Left(None));
    rule.section = "Rules".into();
    assert!(matches!(checked(&rule), Checked::Decided(_)));
    rule.above = vec!["Rules".into(), "On Sundays".into()];
    assert_eq!(checked(&rule), Checked::Left(None), "however deep");
}

#[test]
fn the_evidence_says_what_was_counted_or_called() {
    for (rule, calls, evidence) in [
        (
            "You MUST ask the researcher.",
            "critic web_search critic",
            "researcher was never called; called: critic (2 times), web_search",
        ),
        (
            "You MUST ask the researcher.",
            "",
            "researcher was never called; nothing was called",
        ),
        (
            "You MUST ask the critic.",
            "critic critic critic",
            "critic was called 3 times",
        ),
        (
            "You MUST ask the researcher before the critic.",
            "researcher+critic",
            "first called: researcher in call 1, critic in call 2, at the same time",
        ),
        (
            "The answer MUST be at most 2 words.",
            "",
            "the answer: 3 words, at most 2 allowed",
        ),
        (
            "The answer MUST contain \"wasp\".",
            "",
            "the answer: \"wasp\" is not in it",
        ),
        (
            "The answer MUST NOT contain \"bees\".",
            "",
            "the answer: line 1: \"Bees\"",
        ),
        (
            "You MUST have a section \"Sources\".",
            "",
            "the answer: there are no headings",
        ),
    ] {
        let (_, found) = found(rule, &calling(calls)).expect(rule);
        assert_eq!(found, evidence, "{rule}");
    }
    let rule = "You MUST ask the critic.";
    let refused = |story: Story| story.refused("critic").answers("x");
    let (verdict, evidence) = found(rule, &refused).expect("it is clear");
    assert_eq!(verdict, Broken);
    assert_eq!(
        evidence,
        "critic was never called (it was tried, but did not go out); nothing was called"
    );
}

#[test]
fn a_call_is_quoted() {
    let story = calling("critic")(Story::new(&[]));
    let rule = &rules(&["You MUST ask the critic."])[0];
    let Checked::Decided(found) = check(rule, &story.procedure(), &story.transcript()) else {
        panic!("it is clear");
    };
    assert_eq!(found.quotation.as_deref(), Some("Look into bees"));
    assert_eq!(found.source.as_deref(), Some("call 1 to critic"));
}

#[test]
fn nothing_is_held_against_a_run_before_it_is_over() {
    let working = |calls: &'static str| {
        move |story: Story| {
            calls
                .split_whitespace()
                .fold(story, |story, name| story.calls(&[(name, "x")]))
        }
    };
    for (rule, calls, verdict) in [
        ("You MUST ask the critic.", "", NotChecked),
        ("You MUST ask the critic.", "critic", Kept),
        ("You MUST NOT ask the critic.", "", NotChecked),
        ("You MUST NOT ask the critic.", "critic", Broken),
        ("You MUST ask the critic once.", "critic", NotChecked),
        ("You MUST ask the critic once.", "critic critic", Broken),
        ("You MUST ask the critic first.", "critic", Kept),
        ("You MUST ask the critic first.", "researcher", NotChecked),
        (
            "You MUST ask the critic first.",
            "researcher critic",
            Broken,
        ),
        (
            "You MUST ask the critic before the researcher.",
            "researcher",
            Broken,
        ),
        (
            "You MUST ask the critic after the researcher.",
            "researcher",
            NotChecked,
        ),
        ("The answer MUST be JSON.", "", NotChecked),
    ] {
        assert_eq!(
            self::verdict(rule, &working(calls)),
            Some(verdict),
            "{rule} {calls:?}"
        );
    }
    let failed = |story: Story| story.fails("it is gone");
    for (rule, verdict, part) in [
        (
            "The answer MUST be JSON.",
            NotChecked,
            "the run failed, so there is no answer",
        ),
        (
            "You MUST include \"bees\" in every task.",
            NotChecked,
            "the run failed: nothing was handed on",
        ),
        (
            "You MUST ask the critic.",
            NotChecked,
            "the run failed before that could be",
        ),
        (
            "You MUST NOT ask the critic.",
            NotChecked,
            "nothing was called; the run failed",
        ),
    ] {
        let (found, evidence) = found(rule, &failed).expect(rule);
        assert_eq!(found, verdict, "{rule}");
        assert!(evidence.contains(part), "{evidence}");
    }
}

/// Words that forms are made of.
fn sentence() -> impl Strategy<Value = String> {
    let words = prop::sample::select(vec![
        "You",
        "MUST",
        "NOT",
        "SHOULD",
        "The",
        "answer",
        "ask",
        "call",
        "the",
        "critic",
        "first",
        "before",
        "after",
        "researcher",
        "and",
        "or",
        "either",
        "at",
        "most",
        "least",
        "once",
        "twice",
        "3",
        "999999999999",
        "times",
        "\"",
        "“",
        "”",
        "\"a\"",
        "contain",
        "be",
        "have",
        "a",
        "section",
        "JSON",
        "list",
        "numbered",
        "words",
        "links",
        "in",
        "to",
        "every",
        "task",
        "pass",
        "include",
        ",",
        ".",
        "é",
        "`",
        "either ",
        "any",
        "tools",
        "no",
        "for",
        "end",
        "with",
    ]);
    prop::collection::vec(words, 0..14).prop_map(|words| words.join(" "))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn no_rule_makes_it_panic(any: String, formed in sentence(), section in ".{0,20}", answer: String) {
        let stories = [
            Story::new(&[]),
            Story::new(&[]).fails("x"),
            Story::new(&[]).calls(&[("critic", "x"), ("researcher", &any)]).answers(&answer),
        ];
        let stories = stories.map(|story| (story.procedure(), story.transcript()));
        let sentences = [
            format!("You MUST {formed}."),
            format!("The answer MUST NOT {formed}"),
            format!("You MUST ask {any}"),
            any,
            formed,
        ];
        for text in sentences {
            for level in [Level::Must, Level::MustNot] {
                let (id, section, text) = ("R1".to_owned(), section.clone(), text.clone());
                let rule = Rule { id, level, text, section, above: Vec::new(), line: 1 };
                for (procedure, transcript) in &stories {
                    check(&rule, procedure, transcript);
                }
            }
        }
    }
}

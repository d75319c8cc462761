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
fn rules_about_calls_are_kept_or_broken() {
    for (rule, kept, broken) in [
        ("You MUST ask the researcher.", "researcher", "critic"),
        (
            "The editor MUST consult `researcher`",
            "critic researcher",
            "",
        ),
        (
            "You SHOULD delegate to the researcher agent.",
            "researcher",
            "",
        ),
        ("You MUST use web_search.", "web_search", "researcher"),
        (
            "You MUST ask the researcher and the critic.",
            "researcher critic",
            "researcher",
        ),
        (
            "You MUST ask either the researcher or the critic.",
            "critic",
            "web_search",
        ),
        (
            "You MUST ask the researcher first.",
            "researcher critic",
            "critic researcher",
        ),
        (
            "You MUST first ask the researcher.",
            "researcher critic",
            "critic",
        ),
        (
            "You MUST start by asking the researcher.",
            "researcher",
            "critic researcher",
        ),
        (
            "You MUST ask the researcher before the critic.",
            "researcher critic",
            "critic researcher",
        ),
        (
            "You MUST ask the researcher before asking the critic.",
            "researcher critic",
            "researcher+critic",
        ),
        (
            "You MUST ask the researcher before the critic.",
            "researcher",
            "critic",
        ),
        (
            "You MUST ask the critic before you answer.",
            "critic",
            "researcher",
        ),
        (
            "You MUST ask the critic after the researcher.",
            "researcher critic",
            "critic researcher",
        ),
        ("You MUST ask the critic once.", "critic", "critic critic"),
        (
            "You MUST call critic exactly twice.",
            "critic critic",
            "critic",
        ),
        (
            "You MUST call critic at least two times.",
            "critic critic critic",
            "critic",
        ),
        ("You MUST call critic at most 1 time.", "", "critic critic"),
        ("You MUST NOT call the critic.", "researcher", "critic"),
        ("You MUST never call the critic.", "researcher", "critic"),
        (
            "You SHOULD NOT ask the critic or the researcher.",
            "web_search",
            "researcher",
        ),
        (
            "You MUST NOT ask the critic more than once.",
            "critic",
            "critic critic",
        ),
        (
            "You MUST NOT ask the critic before the researcher.",
            "researcher critic",
            "critic researcher",
        ),
        ("You MUST NOT call any tools.", "", "web_search"),
        ("You MUST NOT ask other agents.", "web_search", "critic"),
    ] {
        assert_eq!(verdict(rule, &calling(kept)), Some(Kept), "{rule} {kept:?}");
        assert_eq!(
            verdict(rule, &calling(broken)),
            Some(Broken),
            "{rule} {broken:?}"
        );
    }
}

#[test]
fn what_goes_with_a_call_is_looked_at() {
    let told = |task: &'static str| {
        move |story: Story| {
            let story = story.calls(&[("critic", task)]);
            story.answers("Fine.")
        }
    };
    for (rule, kept, broken) in [
        (
            "You MUST include \"bees\" in every task.",
            "All  about BEES",
            "All about wasps",
        ),
        (
            "You MUST mention \"wild  bees\" in the task for the critic.",
            "wild bees",
            "wild dogs",
        ),
        (
            "You MUST NOT put \"secret\" in the task.",
            "bees",
            "the SECRET one",
        ),
        (
            "You MUST pass the request verbatim to the critic.",
            "He said: write about  bees.",
            "bees",
        ),
    ] {
        assert_eq!(verdict(rule, &told(kept)), Some(Kept), "{rule}");
        assert_eq!(verdict(rule, &told(broken)), Some(Broken), "{rule}");
    }
    // The researcher's topic is bees.
    let rule = "You MUST include \"bees\" in the task for the researcher.";
    let task =
        |task: &'static str| move |story: Story| story.calls(&[("researcher", task)]).answers("x");
    assert_eq!(verdict(rule, &task("Bees")), Some(Kept));
    assert_eq!(verdict(rule, &task("Look")), None);
    let rule = "You MUST pass \"bees\" on to the researcher.";
    assert_eq!(verdict(rule, &task("Look")), Some(Kept));
    let rule = "You MUST pass the topic to the researcher.";
    assert_eq!(verdict(rule, &calling("critic")), Some(NotApplicable));
    let without = |story: Story| {
        let mut story = story.calls(&[("researcher", "x")]);
        for event in &mut story.events {
            if let agenthub_sdk::runs::RunEvent::StepBegun {
                what: agenthub_sdk::runs::Begun::Delegated(sent),
                ..
            } = event
            {
                sent.handoff.payload = None;
            }
        }
        story.answers("x")
    };
    assert_eq!(verdict(rule, &without), Some(Broken));
}

#[test]
fn rules_about_the_answer_are_kept_or_broken() {
    for (rule, kept, broken) in [
        (
            "The answer MUST contain \"Sources\".",
            "Sources: none",
            "none",
        ),
        (
            "Your report MUST NOT mention \"cheap\".",
            "dear",
            "so cheap",
        ),
        (
            "You MUST NOT use the words \"cheap\" or \"free\" in the answer.",
            "dear",
            "Free!",
        ),
        (
            "You MUST include \"Sources\" in your answer.",
            "sources",
            "none",
        ),
        ("The summary MUST contain any of \"a\", \"b\".", "b", "c"),
        (
            "The response MUST start with \"Dear\".",
            "Dear all",
            "Hello",
        ),
        ("You MUST end your answer with “Yours”.", "So, yours", "Bye"),
        (
            "You MUST NOT begin your answer with \"As an\".",
            "Bees",
            "As an editor",
        ),
        (
            "The answer MUST be at most 3 words.",
            "one two three",
            "one two three four",
        ),
        (
            "The answer MUST be at most three words long.",
            "one two three",
            "one two three four",
        ),
        (
            "You MUST keep the answer under 4 words.",
            "one two three",
            "one two three four",
        ),
        (
            "You SHOULD limit your answer to 3 words.",
            "one two three",
            "one two three four",
        ),
        (
            "The answer MUST NOT exceed three words.",
            "one two three",
            "one two three four",
        ),
        (
            "The answer MUST be 3 words or less.",
            "one two three",
            "one two three four",
        ),
        (
            "Your answer MUST be longer than two words.",
            "one two three",
            "one two",
        ),
        (
            "Your answer MUST be between 2 and 3 words.",
            "one two",
            "one",
        ),
        (
            "You MUST answer in one sentence.",
            "Bees hum.",
            "Bees hum. They do.",
        ),
        ("You MUST NOT use emoji.", "Bees", "Bees 🐝"),
        (
            "The answer MUST have no links.",
            "Bees",
            "https://bees.example",
        ),
        (
            "You MUST use at most 2 exclamation marks in the answer.",
            "Bees!!",
            "Bees!!!",
        ),
    ] {
        assert_eq!(verdict(rule, &answering(kept)), Some(Kept), "{rule}");
        assert_eq!(verdict(rule, &answering(broken)), Some(Broken), "{rule}");
    }
}

#[test]
fn rules_about_the_form_are_kept_or_broken() {
    const LIST: &str = "1. one\n2. two";
    const BULLETS: &str = "- one\n- two";
    for (rule, kept, broken) in [
        ("The answer MUST be JSON.", "[1]", "Here: [1]"),
        ("The answer MUST be valid JSON", "{}", "{"),
        ("You MUST answer with a JSON object.", "{}", "[]"),
        ("You MUST return a JSON array.", "[]", "{}"),
        ("The answer MUST be a numbered list.", LIST, BULLETS),
        ("You MUST answer as a bulleted list.", BULLETS, "one, two"),
        (
            "The report MUST have a section \"Sources\".",
            "# Bees\n\n## sources\n\nx",
            "Sources: x",
        ),
        (
            "You MUST include a section called Sources.",
            "Sources\n---\nx",
            "# Bees",
        ),
        (
            "You MUST add a \"Sources\" heading to your report.",
            "## Sources",
            "# Source",
        ),
        (
            "You MUST end with a section \"Sources\".",
            "# A\n# Sources",
            "# Sources\n# A",
        ),
        (
            "You MUST cite at least one URL.",
            "See https://a.example",
            "See a book",
        ),
        (
            "The answer MUST contain at least two links.",
            "[a](https://a.example) and [b](https://b.example)",
            "https://a.example",
        ),
        ("You SHOULD include a table.", "|a|b|\n|-|-|\n|1|2|", "a, b"),
        (
            "You MUST include a code block in the answer.",
            "```\nx\n```",
            "`x`",
        ),
        (
            "The answer MUST contain a numbered list.",
            "So:\n\n1. one",
            BULLETS,
        ),
        (
            "The answer MUST NOT contain any links.",
            "a book",
            "www.a.example",
        ),
        ("The answer MUST NOT be JSON.", "words", "{}"),
    ] {
        assert_eq!(verdict(rule, &answering(kept)), Some(Kept), "{rule}");
        assert_eq!(verdict(rule, &answering(broken)), Some(Broken), "{rule}");
    }
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
    let checked = check(&rule, &story.procedure(), &story.transcript());
    assert_eq!(checked, Checked::Left(None));
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
            NotApplicable,
            "the run failed, so there is no answer",
        ),
        (
            "You MUST ask the critic.",
            NotChecked,
            "the run failed before that could be",
        ),
        ("You MUST NOT ask the critic.", Kept, "never called"),
    ] {
        let (found, evidence) = found(rule, &failed).expect(rule);
        assert_eq!(found, verdict, "{rule}");
        assert!(evidence.contains(part), "{evidence}");
    }
}

#[test]
fn a_number_can_be_an_input_of_the_run() {
    let with = |inputs: serde_json::Value, answer: &'static str| {
        move |mut story: Story| {
            story.input(inputs.clone());
            story.answers(answer)
        }
    };
    let rule = "The answer MUST NOT be longer than max_words words.";
    let three = || serde_json::json!({ "max_words": 3.0, "words": 9 });
    assert_eq!(verdict(rule, &with(three(), "one two three")), Some(Kept));
    assert_eq!(
        verdict(rule, &with(three(), "one two three four")),
        Some(Broken)
    );
    for none in [
        serde_json::json!({}),
        serde_json::json!({ "max_words": "3" }),
        serde_json::json!({ "max_words": 3.5 }),
    ] {
        assert_eq!(verdict(rule, &with(none, "one")), None);
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
                let rule = Rule { id, level, text, section, line: 1 };
                for (procedure, transcript) in &stories {
                    check(&rule, procedure, transcript);
                }
            }
        }
    }
}

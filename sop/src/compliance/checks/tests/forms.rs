//! Each form, with a run that keeps it and one that breaks it.

use super::*;

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
    // A part of another word may be meant or not.
    for (wanted, task) in [
        ("swim", "All about swimming"),
        ("art", "Starting now"),
        ("lan", "The lane"),
    ] {
        let wanted = format!("You MUST include \"{wanted}\" in every task.");
        assert_eq!(verdict(&wanted, &told(task)), None, "{wanted} {task}");
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
                what: agenthub_sdk::runs::StepRequest::Delegated(sent),
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
            "You MUST never mention \"brake\".",
            "wheels",
            "Brakes are checked.",
        ),
        (
            "You MUST NOT mention \"cheap\", \"free\".",
            "dear",
            "it is so cheap",
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

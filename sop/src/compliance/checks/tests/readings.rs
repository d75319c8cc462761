//! Rules that can be read in more than one way, and names that only the procedure knows.

use serde_json::json;

use super::*;

/// A bare number may be a least one or an exact one.
#[test]
fn a_bare_number_is_decided_where_both_readings_agree() {
    for (rule, none, as_many, more) in [
        (
            "The answer MUST have one heading.",
            "Bees.",
            "# Bees",
            "# Bees\n\n# Wasps",
        ),
        (
            "The answer MUST have two headings.",
            "# Bees",
            "# Bees\n\n# Wasps",
            "# Bees\n\n# Wasps\n\n# Ants",
        ),
        (
            "The answer MUST have one table.",
            "Bees.",
            "|a|\n|-|\n|b|\n",
            "|a|\n|-|\n|b|\n\nAnd\n\n|a|\n|-|\n|b|\n",
        ),
        (
            "The answer MUST have one link.",
            "Bees.",
            "See https://a.example/x.",
            "See https://a.example/x and https://b.example/y.",
        ),
    ] {
        assert_eq!(verdict(rule, &answering(none)), Some(Broken), "{rule}");
        assert_eq!(verdict(rule, &answering(as_many)), Some(Kept), "{rule}");
        assert_eq!(verdict(rule, &answering(more)), None, "{rule}");
        let least = rule.replace("have ", "have at least ");
        assert_eq!(verdict(&least, &answering(more)), Some(Kept), "{least}");
    }
    let any = "The answer MUST have a heading.";
    let two = answering("# Bees\n\n# Wasps");
    assert_eq!(verdict(any, &two), Some(Kept));
}

#[test]
fn a_word_with_a_hyphen_or_without_is_not_for_code_to_tell_apart() {
    let contains = "The answer MUST mention \"email\".";
    let other = "The answer MUST mention \"e-mail\".";
    let forbidden = "The answer MUST NOT mention \"e-mail\".";
    let task = "You MUST include \"e-mail\" in every task.";
    let asked =
        |task: &'static str| move |story: Story| story.calls(&[("critic", task)]).answers("x");
    assert_eq!(verdict(contains, &answering("Send an email.")), Some(Kept));
    assert_eq!(verdict(contains, &answering("Send an e-mail.")), None);
    assert_eq!(
        verdict(contains, &answering("Send a letter.")),
        Some(Broken)
    );
    assert_eq!(verdict(other, &answering("Send an email.")), None);
    assert_eq!(verdict(forbidden, &answering("Send an email.")), None);
    assert_eq!(verdict(forbidden, &answering("Send it.")), Some(Kept));
    assert_eq!(verdict(task, &asked("by e-mail")), Some(Kept));
    assert_eq!(verdict(task, &asked("by email")), None);
    assert_eq!(verdict(task, &asked("by post")), Some(Broken));
}

/// What code finds of a rule of an editor whose team has a `fact-checker` that never was there, and whose file calls the critic `reviewer`.
fn found_of_team(rule: &str, called: &'static str) -> Option<(Verdict, String)> {
    let about = json!({ "sop": {
        "name": "editor", "rules": rules(&[rule]),
        "agents": ["critic", "fact-checker"], "aliases": {"reviewer": "critic"},
    } });
    let story = calling(called)(Story::about(about));
    let procedure = story.procedure();
    let transcript = story.transcript().with_names(&procedure);
    match check(&rules(&[rule])[0], &procedure, &transcript) {
        Checked::Decided(found) => Some((found.verdict, found.evidence)),
        Checked::Left(_) => None,
    }
}

#[test]
fn an_agent_that_could_not_start_was_not_asked() {
    let (verdict, evidence) =
        found_of_team("You MUST ask the fact checker.", "critic").expect("it is known");
    assert_eq!(verdict, Broken);
    assert_eq!(
        evidence,
        "fact-checker was never called (fact-checker was not there); called: critic"
    );
    let kept = found_of_team("You MUST NOT ask the fact-checker.", "critic");
    assert_eq!(kept.map(|(verdict, _)| verdict), Some(Kept));
    assert_eq!(
        found_of_team("You MUST ask the proofreader.", "critic"),
        None
    );
}

#[test]
fn an_agent_goes_by_the_names_that_the_file_has_for_it() {
    let of = |called| found_of_team("You MUST ask the reviewer.", called).map(|(v, _)| v);
    assert_eq!(of("critic"), Some(Kept));
    assert_eq!(of("researcher"), Some(Broken));
}

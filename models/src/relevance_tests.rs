use super::*;

fn echo(id: &str) -> Card<'_> {
    Card {
        id,
        name: "",
        description: "A simple echo agent that repeats back messages for testing purposes",
        skills: vec![Skill {
            id: "echo",
            name: "Echo Messages",
            description: "Echoes back any text message with an 'Echo: ' prefix",
            tags: vec!["testing", "echo", "debug"],
            examples: vec![
                "Echo this message",
                "Repeat what I say",
                "Test echo functionality",
            ],
        }],
    }
}

fn skill<'a>(
    id: &'a str,
    description: &'a str,
    tags: &[&'a str],
    examples: &[&'a str],
) -> Skill<'a> {
    Skill {
        id,
        name: "",
        description,
        tags: tags.to_vec(),
        examples: examples.to_vec(),
    }
}

fn team() -> Vec<Card<'static>> {
    vec![
        echo("agent_echo2"),
        echo("agent_echo"),
        Card {
            id: "writer",
            name: "",
            description: "Writes blog posts and product texts",
            skills: vec![
                skill(
                    "draft",
                    "Drafts a text from an outline",
                    &["writing", "blog"],
                    &["Draft a post on tea"],
                ),
                skill(
                    "proofread",
                    "Corrects spelling",
                    &["editing"],
                    &["Fix the typos in this text"],
                ),
            ],
        },
        Card {
            id: "Linguist 7",
            name: "",
            description: "Speaks many languages",
            skills: vec![skill(
                "translate",
                "Translates texts",
                &["translation"],
                &["Translate this to French"],
            )],
        },
    ]
}

fn best(request: &str) -> Option<&'static str> {
    let cards = team();
    let ranked = rank(request, &cards);
    ranked
        .first()
        .filter(|(_, score)| *score >= LIKELY)
        .map(|&(index, _)| cards[index].id)
}

#[test]
fn stop_words_are_sorted_for_the_search() {
    assert!(STOP_WORDS.is_sorted());
}

#[test]
fn requests_reach_the_agent_whose_words_they_use() {
    for (request, expected) in [
        ("echo hello there", Some("agent_echo")),
        ("Please REPEAT after me: I am here", Some("agent_echo")),
        ("run a test of the plumbing", Some("agent_echo")),
        ("draft me something about coffee", Some("writer")),
        ("there are typos in my letter", Some("writer")),
        ("is there a translator around?", Some("Linguist 7")),
        ("I need this translated", Some("Linguist 7")),
        ("I need translations", Some("Linguist 7")),
        ("how tall is the Eiffel tower?", None),
        ("", None),
        ("the of and", None),
        ("日本語で話して", None),
    ] {
        assert_eq!(best(request), expected, "{request:?}");
    }
}

#[test]
fn an_agent_that_is_named_comes_first() {
    for (request, expected) in [
        ("ask agent_echo2 to translate this", Some("agent_echo2")),
        ("ask echo2 to translate this", Some("agent_echo2")),
        ("Agent_Echo2: repeat", Some("agent_echo2")),
        ("@writer echo this", Some("writer")),
        ("ask the writer to echo this", Some("writer")),
        ("as a writer I want an echo", Some("agent_echo")),
        ("let linguist-7 echo it", Some("Linguist 7")),
        ("let Linguist 7 echo it", Some("Linguist 7")),
    ] {
        assert_eq!(best(request), expected, "{request:?}");
    }
}

#[test]
fn several_names_are_found_in_the_order_of_the_request() {
    let cards = team();
    for (request, expected) in [
        (
            "ask agent_echo2 and agent_echo to say hi",
            vec!["agent_echo2", "agent_echo"],
        ),
        (
            "ask echo and echo2 to say hi",
            vec!["agent_echo", "agent_echo2"],
        ),
        (
            "use writer, echo and Linguist 7",
            vec!["writer", "agent_echo", "Linguist 7"],
        ),
        ("ask agent_echo, then agent_echo again", vec!["agent_echo"]),
        ("echo and writer", vec![]),
        ("my_agent_echo_thing", vec![]),
    ] {
        let ids: Vec<&str> = named(request, &cards)
            .into_iter()
            .map(|index| cards[index].id)
            .collect();
        assert_eq!(ids, expected, "{request:?}");
    }
}

#[test]
fn the_full_id_wins_over_a_shortened_one() {
    let cards = [echo("agent_echo"), echo("echo")];
    assert_eq!(named("ask echo", &cards), [1]);
    assert_eq!(named("ask agent_echo", &cards), [0]);
}

#[test]
fn equal_scores_are_ordered_by_id_and_every_card_is_ranked() {
    let cards = team();
    let ids: Vec<&str> = rank("echo", &cards)
        .into_iter()
        .map(|(index, _)| cards[index].id)
        .collect();
    assert_eq!(ids, ["agent_echo", "agent_echo2", "Linguist 7", "writer"]);
}

#[test]
fn the_skill_is_the_one_whose_words_match() {
    let writer = &team()[2];
    for (request, expected) in [
        ("draft a blog post", Some("draft")),
        ("correct the spelling of this", Some("proofread")),
        ("nothing of all this", Some("draft")),
    ] {
        let skill = best_skill(request, writer).map(|index| writer.skills[index].id);
        assert_eq!(skill, expected, "{request:?}");
    }
    assert_eq!(best_skill("anything", &Card::default()), None);
}

#[test]
fn forms_of_a_word_have_one_stem() {
    for forms in [
        "translate translates translated translating translation translations translator",
        "plan plans planned planning",
        "query queries",
        "test tests testing tested",
        "summarize summarizes summarized summarization",
        "echo echoes echoing",
    ] {
        assert_eq!(stems(forms).len(), 1, "{forms:?} became {:?}", stems(forms));
    }
}

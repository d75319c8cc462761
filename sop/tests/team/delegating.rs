//! To whom an orchestrator hands what, and what each of them knows: its model decides, so here it is one that does as it is told.

use std::time::Duration;

use agenthub_sdk::{
    Outcome,
    model::{Completion, ModelError, PromptRole, Request, Scripted, ToolCall},
    proto::a2a::TaskState,
};
use serde_json::{Value, json};

use crate::world::{World, lead, offered, results, says, sop, text, told};

/// Who is asked, and for what with what besides.
type Ask<'a> = (&'a str, Value);

fn asks<'a>(calls: impl IntoIterator<Item = Ask<'a>>) -> Result<Completion, ModelError> {
    let calls = (1..).zip(calls).map(|(n, (agent, arguments))| ToolCall {
        id: format!("call_{n}"),
        name: format!("agent_{agent}"),
        arguments,
    });
    Ok(Completion {
        tool_calls: calls.collect(),
        ..Completion::default()
    })
}

/// An orchestrator that decides by how many results it has been told, and by the words of the request.
fn leads(decide: fn(&str, &[Value]) -> Result<Completion, ModelError>) -> Scripted {
    Scripted::from_completion_fn(move |request| {
        let asked = request.messages.iter().find(|m| m.role == PromptRole::User);
        let words = asked.and_then(|m| m.text()).unwrap_or_default();
        decide(&words, &results(request))
    })
}

fn said(result: &Value) -> &str {
    result["text"].as_str().unwrap_or_default()
}

/// A folder with three agents of different capabilities, and their models.
struct Crew {
    world: World,
    lead: Scripted,
    researcher: Scripted,
    writer: Scripted,
    critic: Scripted,
}

impl Crew {
    async fn new(lead_model: Scripted) -> Self {
        let inputs = "inputs:\n  findings:\n    type: string\n    required: false\n";
        let world = World::new(&[
            ("researcher.md", &sop("researcher", "", "Find things out.")),
            ("writer.md", &sop("writer", inputs, "Write articles.")),
            ("critic.md", &sop("critic", "", "Find fault.")),
            ("lead.md", &lead("Have articles made.")),
        ])
        .await;
        let slow = |text| says(text).delay(Duration::from_millis(200));
        Self {
            lead: world.model("lead", lead_model),
            researcher: world.model("researcher", slow("Bees dance to point the way.")),
            writer: world.model("writer", slow("# Bees\nThey dance.")),
            critic: world.model("critic", slow("Too short.")),
            world,
        }
    }

    async fn ask(&self, words: &str) -> Outcome {
        let team = self.world.start().await;
        let outcome = self.world.ask("lead", words).await;
        team.stop().await;
        assert_eq!(outcome.state, TaskState::Completed, "{}", outcome.error);
        outcome
    }

    /// How often each was asked: researcher, writer, critic.
    fn asked(&self) -> [usize; 3] {
        [&self.researcher, &self.writer, &self.critic].map(|model| model.requests().len())
    }
}

/// What the agent was told in all, data besides the words included.
fn all(request: &Request) -> String {
    let messages = request.messages.iter();
    messages
        .map(|m| m.rendered())
        .collect::<Vec<_>>()
        .join("\n")
}

/// Each is asked for what the one before it gave, so that none begins before that.
///
/// spec: SOP-10.1, SOP-10.4
#[tokio::test]
async fn what_needs_several_in_turn_goes_from_one_to_the_next_with_what_came_before() {
    let crew = Crew::new(leads(|words, done| match done {
        [] => asks([(
            "researcher",
            json!({"task": format!("Find out about: {words}")}),
        )]),
        [found] => asks([(
            "writer",
            json!({"task": "Write about bees", "findings": said(found)}),
        )]),
        [_, written] => asks([(
            "critic",
            json!({"task": format!("Check this:\n{}", said(written))}),
        )]),
        [_, written, checked] => text(&format!("{}\n({})", said(written), said(checked))),
        _ => Err(ModelError::Refused("nobody is left to ask".into())),
    }))
    .await;
    let outcome = crew.ask("an article on bees").await;
    assert_eq!(outcome.text, "# Bees\nThey dance.\n(Too short.)");
    assert_eq!(crew.asked(), [1, 1, 1]);

    let researcher = told(&crew.researcher.requests()[0]);
    assert!(
        researcher.contains("Find out about: an article on bees"),
        "{researcher}"
    );
    let writer = all(&crew.writer.requests()[0]);
    assert!(writer.contains("Write about bees"), "{writer}");
    assert!(writer.contains("Bees dance to point the way."), "{writer}");
    let critic = all(&crew.critic.requests()[0]);
    assert!(critic.contains("They dance."), "{critic}");
    // An agent knows what it is given, and no more.
    assert!(!critic.contains("point the way") && !writer.contains("an article on bees"));

    // The orchestrator itself has everything that came back, in order, under the calls that it made.
    let last = crew.lead.requests().pop().expect("it was asked");
    let told: Vec<Value> = results(&last);
    let agents: Vec<&str> = told.iter().filter_map(|r| r["agent"].as_str()).collect();
    assert_eq!(agents, ["researcher", "writer", "critic"]);
}

/// spec: SOP-10.1
#[tokio::test]
async fn what_needs_several_at_once_goes_to_all_of_them_at_the_same_time() {
    let crew = Crew::new(leads(|_, done| match done {
        [] => asks([
            ("critic", json!({"task": "Check the old article"})),
            ("researcher", json!({"task": "What is new?"})),
        ]),
        [critic, researcher] => text(&format!("{} {}", said(critic), said(researcher))),
        _ => Err(ModelError::Refused("two were asked".into())),
    }))
    .await;
    // One model for both, which counts how many calls it has at the same time.
    let both = says("done").delay(Duration::from_millis(300));
    crew.world.model("critic", both.clone());
    crew.world.model("researcher", both.clone());
    let outcome = crew.ask("is the article on bees still right?").await;
    assert_eq!(outcome.text, "done done");
    assert_eq!((both.most_at_once(), both.requests().len()), (2, 2));
    assert_eq!(crew.writer.requests().len(), 0);
}

/// spec: SOP-10.2
#[tokio::test]
async fn what_one_agent_can_do_goes_to_that_agent_alone() {
    let crew = Crew::new(leads(|words, done| match done {
        [] => asks([("critic", json!({"task": words}))]),
        [checked] => text(said(checked)),
        _ => Err(ModelError::Refused("one was asked".into())),
    }))
    .await;
    let outcome = crew.ask("Check this text: bees fly.").await;
    assert_eq!(outcome.text, "Too short.");
    assert_eq!(crew.asked(), [0, 0, 1]);
    assert!(told(&crew.critic.requests()[0]).contains("Check this text: bees fly."));
}

/// spec: SOP-10.3
#[tokio::test]
async fn what_needs_nobody_is_answered_by_the_orchestrator() {
    let crew = Crew::new(leads(|_, _| text("Good morning!"))).await;
    let outcome = crew.ask("Good morning").await;
    assert_eq!(outcome.text, "Good morning!");
    assert_eq!(crew.asked(), [0, 0, 0]);
    // It could have asked them.
    let first = &crew.lead.requests()[0];
    assert_eq!(
        offered(first),
        ["agent_critic", "agent_researcher", "agent_writer"]
    );
    assert_eq!(crew.lead.requests().len(), 1);
}

/// Two requests at the same time: what one of them is about is nowhere in the other.
///
/// spec: SOP-10.4
#[tokio::test]
async fn context_is_passed_within_a_request_and_never_between_two() {
    let crew = Crew::new(leads(|words, done| match done {
        [] => asks([("researcher", json!({"task": words}))]),
        [found] => asks([(
            "writer",
            json!({"task": words, "findings": format!("{words}: {}", said(found))}),
        )]),
        [_, written] => text(said(written)),
        _ => Err(ModelError::Refused("two were asked".into())),
    }))
    .await;
    let team = crew.world.start().await;
    let (bees, ants) = tokio::join!(
        crew.world.ask("lead", "bees"),
        crew.world.ask("lead", "ants")
    );
    assert_eq!((&*bees.error, &*ants.error), ("", ""));
    team.stop().await;
    let requests = [crew.lead, crew.researcher, crew.writer].map(|model| model.requests());
    for request in requests.iter().flatten() {
        let told = all(request) + &json!(results(request)).to_string();
        let calls = json!(request.messages).to_string();
        let about = ["\"bees", "\"ants"].map(|topic| calls.contains(topic));
        assert_ne!(about[0], about[1], "{told}");
    }
}

//! Beginnings: an objective for Cortex to plan, and an example of a workflow that asks a person.

use std::collections::HashMap;

use agenthub_proto::{
    agenthub::{AgentState, ListAgentsRequest},
    cortex::{Constraints, StartRunRequest},
};
use agenthub_sdk::proto::json;
use axum::{
    extract::{Form, State},
    response::{IntoResponse, Redirect, Response},
};
use maud::{Markup, html};
use serde_json::{Value, json};

use super::chat::model;
use crate::{
    Pages,
    backend::Backend,
    elements::{line, segment},
    form_key,
    place::Place,
    shell::{self, Section},
    trouble::{Fault, Trouble},
    written,
};

/// Agents that are looked at to see which examples can be done.
const LOOKED_AT: i32 = 100;

/// An example that three agents work on: its objective, what it is held to, and what they get.
const POST: (&str, &str, &str) = (
    "Announce the test rides of the Tern 4 cargo bike in Aarhus on 12 May, so that families sign up for a ride.",
    "mentions \"Rides are free of charge\"\nat most 900 characters\nbetween 3 and 12 sentences",
    r#"{
  "clientBrief": "Could a cargo bike do the day care run? On Wednesday 12 May, from 15:00 to 19:00, you can find out at our workshop on the harbour. A ride on the new Tern 4 takes 20 minutes, and up to 3 children ride along in the box. Helmets in 5 sizes are there, and so is the coffee. Book your ride at havncycles.example/ride."
}"#,
);

/// The workflow of the example: it writes an invitation, asks a person, and hands it to an agent once for everybody.
fn invitations(event: &str) -> Value {
    json!({
        // Runs are called so in lists.
        "name": format!("invitations to {}", line(event, MAX_EVENT)),
        "version": "1",
        "description": "Invites a list of people to an event",
        "input": {"type": "object", "required": ["event", "people"], "properties": {
            "event": {"type": "string"},
            "people": {"type": "array", "items": {"type": "string"}, "minItems": 1, "maxItems": 1000},
        }},
        "steps": {
            "draft": {"agent": ECHO, "text": "You are invited to ${workflow.input.event}."},
            "allowed": {"approve": "Send this to ${workflow.input.people | length} people?", "input": {"invitation": "${draft.output.text}"}},
            "send": {"depends_on": ["allowed"], "for_each": "${workflow.input.people}", "agent": ECHO, "text": "Hello ${loop.item}! ${draft.output.text}"},
        },
        "output": {"sent": "${send.output.iterations | length}", "first": "${send.output.iterations[0].text}"},
    })
}

/// Characters of the event in the name of the example.
const MAX_EVENT: usize = 60;

/// The agent that does the steps of the example.
const ECHO: &str = "agent_echo";

/// The skills of the agents that the example of a post is for.
const POST_SKILLS: [&str; 2] = ["content.brief", "content.write"];

pub(super) async fn show(
    State(pages): State<Pages>,
    backend: Backend,
    place: Place,
) -> Result<Response, Trouble> {
    let request = ListAgentsRequest {
        state: AgentState::Online.into(),
        page_size: LOOKED_AT,
        ..ListAgentsRequest::default()
    };
    // Without the list there are no examples; all else can be done.
    let here = backend
        .hub()
        .agents(request)
        .await
        .unwrap_or_default()
        .agents;
    let has_skill = |id: &str| {
        let skills = here
            .iter()
            .flat_map(|entry| &entry.agent_card)
            .flat_map(|card| &card.skills);
        skills.into_iter().any(|skill| skill.id == id)
    };
    let has_echo = here.iter().any(|entry| entry.agent_id == ECHO);
    let can_post = POST_SKILLS.into_iter().all(has_skill);
    let is_post = place.query("example") == "post" && can_post;
    let model = pages.files().model.as_ref();
    let is_stand_in = model.is_some_and(|model| model.advice.is_some());
    let content = html! {
        h1 { "Start a run" }
        p { "A run is work in several steps, written down as it happens: you can watch it, answer what it asks, stop it, and look at any moment of it later." }
        @if let Some(named) = model { (self::model(named)) }
        @if has_echo { (invite()) }
        (plan(is_post, can_post, is_stand_in))
        h2 { "From files" }
        p { "Workflows and teams are files that you write. " a href="/ui/teams" { "Teams" } " says which this hub has, and how to make the first." }
    };
    let viewer = Some(backend.viewer());
    Ok(shell::page(Section::Runs, "Start a run", &content, viewer).into_response())
}

fn invite() -> Markup {
    html! {
        h2 { "An example that asks you" }
        p { "Three steps: an agent writes an invitation, you are asked whether it may be sent, and then it goes to everybody. It needs no language model, and nothing leaves this machine: the agent only says what it gets." }
        form.ask method="post" action="/ui/start/invitations" {
            (form_key::field("invitations"))
            label { span { "Event" } input name="event" value="our open day" required; }
            label { span { "People" } textarea name="people" rows="3" required { "Ann\nBob\nCleo" } small { "One a line." } }
            button { "Start the example" }
        }
    }
}

fn plan(is_post: bool, can_post: bool, is_stand_in: bool) -> Markup {
    let (objective, criteria, payload) = match is_post {
        true => POST,
        false => ("", "", ""),
    };
    html! {
        h2 #plan { "Have Cortex plan it" }
        p {
            "Say what is wanted. Cortex makes a plan, hands the steps to the agents that can do them, and has the result reviewed and made again where it is not good enough. "
            @if can_post && !is_post { a href="/ui/start?example=post#plan" { "Fill in an example: a post that is planned, written and reviewed" } }
        }
        @if is_stand_in {
            p.about { "Without a language model nobody understands what is wanted. The agents compute with what they get to work with, and a text that only says your words again counts as nothing made." }
        }
        form.ask method="post" action="/ui/start/plan" {
            (form_key::field("plan"))
            label { span { "What is wanted (needed)" } textarea name="objective" rows="3" required { (objective) } }
            label { span { "What the result is held to" } textarea name="criteria" rows="3" { (criteria) } small { "One sentence a line, such as: at most 900 characters." } }
            label { span { "What the agents get to work with" } textarea name="payload" rows="5" { (payload) } small { "Words, or names with values as JSON." } }
            button { "Start" }
        }
    }
}

/// Starts a run that Cortex plans, and leads to it. A second press of the same button leads to the same one.
pub(super) async fn plan_it(
    backend: Backend,
    Form(form): Form<HashMap<String, String>>,
) -> Result<Redirect, Trouble> {
    let given = |name: &str| form.get(name).map_or("", |value| value.trim());
    let mut faults = Vec::new();
    if given("objective").is_empty() {
        faults.push(Fault::new("objective", "Say what is wanted."));
    }
    let payload = payload(form.get("payload").map_or("", String::as_str));
    let payload = payload.unwrap_or_else(|why| {
        faults.push(Fault::new("payload", why));
        None
    });
    none(faults)?;
    let request = StartRunRequest {
        objective: given("objective").to_owned(),
        constraints: Some(Constraints {
            acceptance_criteria: lines(given("criteria"))
                .map(|line| json::to_value(&line.into()))
                .collect(),
            ..Constraints::default()
        }),
        payload: payload.map(|payload| json::to_struct(&payload)),
        idempotency_key: form_key::of(&form),
        ..StartRunRequest::default()
    };
    started(&backend, request).await
}

/// Starts the example of a workflow, and leads to it.
pub(super) async fn invite_people(
    backend: Backend,
    Form(form): Form<HashMap<String, String>>,
) -> Result<Redirect, Trouble> {
    let given = |name: &str| form.get(name).map_or("", |value| value.trim());
    let people: Vec<&str> = lines(given("people")).collect();
    let mut faults = Vec::new();
    if given("event").is_empty() {
        faults.push(Fault::new("event", "Say to what they are invited."));
    }
    if people.is_empty() {
        faults.push(Fault::new("people", "Name somebody, one a line."));
    }
    none(faults)?;
    let request = StartRunRequest {
        workflow: Some(json::to_struct(&invitations(given("event")))),
        input: Some(json::to_struct(
            &json!({"event": given("event"), "people": people}),
        )),
        idempotency_key: form_key::of(&form),
        ..StartRunRequest::default()
    };
    started(&backend, request).await
}

/// Checks that no field is at fault.
fn none(faults: Vec<Fault>) -> Result<(), Trouble> {
    match faults.is_empty() {
        true => Ok(()),
        false => Err(Trouble::with_fields(faults)),
    }
}

async fn started(backend: &Backend, request: StartRunRequest) -> Result<Redirect, Trouble> {
    let run = backend.start_run(request).await?;
    Ok(Redirect::to(&format!("/ui/runs/{}", segment(&run.id))))
}

fn lines(text: &str) -> impl Iterator<Item = &str> {
    text.lines().map(str::trim).filter(|line| !line.is_empty())
}

/// Input of the agents: an object, or words under a name that says no more than that.
fn payload(given: &str) -> Result<Option<Value>, String> {
    match written::words_or_json(given)? {
        None => Ok(None),
        Some(object @ Value::Object(_)) => Ok(Some(object)),
        Some(Value::String(words)) => Ok(Some(json!({ "notes": words }))),
        Some(_) => written::object(given).map(|object| object.map(Value::from)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn agents_get_words_as_notes_and_data_as_they_are() {
        assert_eq!(payload("  "), Ok(None));
        assert_eq!(payload("be brief"), Ok(Some(json!({"notes": "be brief"}))));
        assert_eq!(payload("{\"a\": 1}"), Ok(Some(json!({"a": 1}))));
        assert!(payload("[1]").is_err_and(|why| why.contains("Names with values")));
        assert!(payload("{\"a\" 1}").is_err_and(|why| why.contains("line 1 at character 6")));
    }

    #[test]
    fn the_example_of_a_post_can_be_sent_as_it_is_filled_in() {
        let (objective, criteria, given) = POST;
        assert!(!objective.is_empty() && lines(criteria).count() == 3);
        assert!(matches!(payload(given), Ok(Some(Value::Object(_)))));
        assert!(!plan(false, true, false).into_string().contains("Tern 4"));
        assert!(plan(true, true, false).into_string().contains("Tern 4"));
        let told = "counts as nothing made";
        assert!(plan(false, true, true).into_string().contains(told));
        assert!(!plan(false, true, false).into_string().contains(told));
    }
}

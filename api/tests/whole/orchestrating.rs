//! App runs among agents that the tests make.

use std::{
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use agenthub_cortex::CORTEX;
use agenthub_sdk::{
    Agent, AgentBuilder, Card, Phase, Skill, TaskContext,
    model::{
        Completion, DeltaSink, LanguageModel, ModelError, Offline, PromptMessage, PromptPart,
        Request,
    },
    runs::{Journal, journal::MemoryJournal},
};
use serde_json::{Value, json};

use crate::{harness::*, web::Web};

/// What somebody was given.
type Given = Arc<Mutex<Vec<String>>>;

fn text() -> Value {
    json!({"type": "string"})
}

fn object(properties: Value, required: Value) -> Value {
    json!({"type": "object", "properties": properties, "required": required})
}

/// An agent that makes things, and writes down all that it is given.
fn maker(name: &'static str, given: &Given) -> AgentBuilder {
    let given = Arc::clone(given);
    let card = Card::new(name, "Makes things")
        .skill(Skill::new("make", "Make", "Makes a thing"))
        .input_schema(
            "make",
            object(
                json!({"brief": text(), "priorPerformance": {"type": "array"}}),
                json!(["brief"]),
            ),
        )
        .output_schema(
            "make",
            object(
                json!({"thing": object(json!({"text": text()}), json!(["text"]))}),
                json!(["thing"]),
            ),
        )
        .phase("make", Phase::Generation);
    Agent::worker(card).on_task_type("make", move |task: TaskContext| {
        given
            .lock()
            .expect("no panic")
            .push(format!("{:?} {:?}", task.message(), task.data()));
        async move { Ok(json!({"thing": {"text": format!("by {name}")}, "knobs": {"size": 0.3}})) }
    })
}

/// An agent that likes what is by somebody.
fn checker(liked: &'static str) -> AgentBuilder {
    let thing = object(json!({"text": text()}), json!(["text"]));
    let verdict = object(
        json!({"pass": {"type": "boolean"}, "score": {"type": "number"}}),
        json!(["pass", "score"]),
    );
    let card = Card::new("checker", "Checks things")
        .skill(Skill::new("check", "Check", "Checks a thing"))
        .input_schema("check", object(json!({"thing": thing}), json!(["thing"])))
        .output_schema("check", object(json!({"qa": verdict}), json!(["qa"])))
        .phase("check", Phase::Qa);
    Agent::worker(card).on_task_type("check", move |task: TaskContext| async move {
        let data = task.data().unwrap_or_default();
        let is_liked = data["thing"]["text"]
            .as_str()
            .is_some_and(|text| text.contains(liked));
        Ok(json!({"qa": {"pass": is_liked, "score": if is_liked { 0.9 } else { 0.2 }}}))
    })
}

/// What the stand-in proposes, as if nothing had been refused.
async fn proposed(mut request: Request) -> Value {
    let is_refusal =
        |part: &PromptPart| matches!(part, PromptPart::Data { label, .. } if label == "rejected");
    request
        .messages
        .retain(|message: &PromptMessage| !message.parts.iter().any(is_refusal));
    let answer = Offline.complete(request, DeltaSink::ignored()).await;
    serde_json::from_str(&answer.expect("the stand-in answers").text).expect("JSON")
}

/// A run's bundle, once it is over.
async fn bundle(web: &Web, brief: &Value) -> (String, Value) {
    let id = web.start(brief).await;
    let mut events = web.watch(&id, None).await;
    while events.next().await.is_some() {}
    let run = web.get(&format!("/v1/runs/{id}")).await.json();
    assert_eq!(run["state"], "completed", "{run:#}");
    (id, run["result"].clone())
}

/// spec: ORC-3.1, ORC-4, ORC-5.1
#[tokio::test]
async fn what_the_orchestrator_is_told_is_in_nothing_that_a_specialist_gets() {
    let told = Arc::new(Mutex::new(String::new()));
    let heard = Arc::clone(&told);
    // A model that hands over what it was told whenever it hands anything over, unless that was refused.
    let model = Thinking(move |request: Request| {
        let heard = Arc::clone(&heard);
        async move {
            let rules = request.messages[0].text().expect("the rules");
            rules.clone_into(&mut heard.lock().expect("no panic"));
            let was_refused = request.data("rejected").is_some();
            let mut proposal = proposed(request).await;
            if proposal["action"] == "handoff" && !was_refused {
                proposal["payload"] = json!({"brief": format!("Remember: {rules}")});
            }
            proposal.to_string()
        }
    });
    let world = World::new(model).await;
    let given = Given::default();
    let _maker = world.agent(maker("maker", &given)).await;
    let web = Web::of(&world.cortex).await;
    let (_, bundle) = bundle(&web, &json!({"objective": "Make a thing of glass"})).await;
    assert_eq!(bundle["result"]["thing"]["text"], "by maker");

    let told = told.lock().expect("no panic").clone();
    let mark = told
        .split_whitespace()
        .last()
        .expect("the mark of the rules")
        .to_owned();
    assert!(mark.starts_with("cortex-"), "{mark}");
    let given = given.lock().expect("no panic").join("\n");
    assert!(given.contains("Make a thing of glass"));
    assert!(!given.contains(&mark), "{given}");
    for line in told
        .lines()
        .filter(|line| line.split_whitespace().count() > 8)
    {
        assert!(!given.contains(line), "{line}");
    }
    world.end().await;
}

/// spec: ORC-12.1
#[tokio::test]
async fn among_several_the_one_whose_work_was_liked_gets_the_next() {
    let world = World::new(Offline).await;
    let (ann, bob) = (Given::default(), Given::default());
    let _ann = world.agent(maker("ann", &ann)).await;
    let _bob = world.agent(maker("bob", &bob)).await;
    let _checker = world.agent(checker("bob")).await;
    let web = Web::of(&world.cortex).await;
    let brief = json!({"objective": "Make a thing", "constraints": {"executionDepth": 1}});
    let (_, first) = bundle(&web, &brief).await;
    assert_eq!(first["result"]["thing"]["text"], "by ann");
    assert_eq!(first["quality"]["score"], 0.2);
    let (_, second) = bundle(&web, &brief).await;
    assert_eq!(second["result"]["thing"]["text"], "by bob");
    assert_eq!(second["quality"]["score"], 0.9);
    world.end().await;
}

/// A Cortex whose runs are in this journal.
async fn kept(model: impl LanguageModel + 'static) -> (Arc<MemoryJournal>, World) {
    let journal = Arc::new(MemoryJournal::default());
    let kept = Arc::clone(&journal);
    let world = World::with(model, |settings| settings.journal = Some(kept)).await;
    (journal, world)
}

/// Leaves of the runs that are over what outlives them.
async fn grow_old(journal: &MemoryJournal) {
    let condensed = journal.condense(CORTEX, Duration::ZERO).await;
    assert_eq!(condensed, Ok(1));
}

/// spec: ORC-12.2
#[tokio::test]
async fn what_became_of_a_result_reaches_the_next_run_of_its_series() {
    let (journal, world) = kept(Offline).await;
    let given = Given::default();
    let _maker = world.agent(maker("maker", &given)).await;
    let _checker = world.agent(checker("maker")).await;
    let web = Web::of(&world.cortex).await;
    let brief = json!({"objective": "Make a thing", "series": "glass"});
    let (id, _) = bundle(&web, &brief).await;
    let recorded = web
        .post(
            &format!("/v1/runs/{id}/results"),
            &json!({"metrics": {"signUps": 9}}),
        )
        .await;
    assert_eq!(recorded.status, 200, "{recorded:?}");
    grow_old(&journal).await;
    bundle(
        &web,
        &json!({"objective": "Make a thing", "series": "wood"}),
    )
    .await;
    bundle(&web, &brief).await;
    let given = given.lock().expect("no panic").clone();
    let learned = |given: &String| given.contains("qualityScore") && given.contains("signUps");
    assert_eq!(
        given.iter().map(learned).collect::<Vec<_>>(),
        [false, false, true],
        "{given:#?}"
    );
    world.end().await;
}

/// spec: ORC-2.4, ORC-6.1
#[tokio::test]
async fn a_thread_keeps_what_its_runs_made() {
    let model = Thinking(async |request: Request| {
        let mut proposal = proposed(request.clone()).await;
        if proposal["action"] == "plan_update" && request.data("thread").is_some() {
            proposal["planPatch"][0]["value"]["payload"]["brief"] =
                "like ${thread.thing.text}".into();
        }
        proposal.to_string()
    });
    let (journal, world) = kept(model).await;
    let given = Given::default();
    let _maker = world.agent(maker("maker", &given)).await;
    let web = Web::of(&world.cortex).await;
    let brief = json!({"objective": "Make a thing", "threadId": "shop"});
    bundle(&web, &brief).await;
    grow_old(&journal).await;
    bundle(&web, &brief).await;
    let given = given.lock().expect("no panic").clone();
    assert!(given[1].contains("like by maker"), "{}", given[1]);
    world.end().await;
}

/// The stand-in, which cannot be reached at first.
#[derive(Debug, Default)]
struct Returning(AtomicUsize);

#[tonic::async_trait]
impl LanguageModel for Returning {
    fn name(&self) -> &str {
        "returning"
    }

    async fn complete(
        &self,
        request: Request,
        deltas: DeltaSink,
    ) -> Result<Completion, ModelError> {
        match self.0.fetch_add(1, Ordering::SeqCst) {
            0 => Err(ModelError::Unavailable("the answer broke off".to_owned())),
            _ => Offline.complete(request, deltas).await,
        }
    }
}

#[tokio::test]
async fn a_model_that_cannot_be_reached_for_a_moment_ends_no_run() {
    let world = World::new(Returning::default()).await;
    let given = Given::default();
    let _maker = world.agent(maker("maker", &given)).await;
    let web = Web::of(&world.cortex).await;
    let (_, bundle) = bundle(&web, &json!({"objective": "Make a thing of glass"})).await;
    assert_eq!(bundle["result"]["thing"]["text"], "by maker");
    world.end().await;
}

/// The writer and the reviewer are handed the profile of a brief as it is, with keys that no code knows, and none where there is none.
///
/// spec: ORC-2.2, ORC-5.2
#[tokio::test]
async fn who_writes_and_who_reviews_are_handed_the_profile() {
    let world = World::new(Offline).await;
    let offline = || Arc::new(Offline);
    let _writer = world.agent(agenthub_agents::writer::agent(offline())).await;
    let _qa = world.agent(agenthub_agents::qa::agent(offline())).await;
    let web = Web::of(&world.cortex).await;
    let profile = json!({"tone": ["dry"], "shoeSize": {"left": 43}});
    let mut brief = json!({
        "objective": "Tell the neighbours when the library opens",
        "payload": {"clientBrief": "The library opens on Monday at nine.", "clientProfile": profile},
        "constraints": {"executionDepth": 1},
    });
    let (id, _) = bundle(&web, &brief).await;
    let plan = web.get(&format!("/v1/runs/{id}/plan")).await.json();
    let handed = |plan: &Value, capability: &str| {
        let steps = plan["plan"]["steps"].as_object().expect("steps").values();
        let mut steps = steps.filter(|step| step["capability"] == capability);
        steps.next().expect(capability)["payload"]["clientProfile"].clone()
    };
    for capability in ["content.brief", "content.write", "qa.review"] {
        let given = handed(&plan, capability);
        let is_whole = given == "${input.clientProfile}" || given == profile;
        assert!(is_whole, "{capability}: {plan:#}");
    }

    let payload = brief["payload"].as_object_mut().expect("an object");
    payload.remove("clientProfile");
    let (id, _) = bundle(&web, &brief).await;
    let plan = web.get(&format!("/v1/runs/{id}/plan")).await.json();
    assert_eq!(handed(&plan, "content.write"), Value::Null, "{plan:#}");
}

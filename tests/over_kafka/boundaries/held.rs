//! Runs of the example workflows, each held at one boundary of one step.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::PathBuf,
    thread::sleep,
    time::{Duration, Instant},
};

use agenthub_bus::{
    BusError, Group, Groups, KafkaBus,
    kafka::{Settings, Topics, lag},
    messages::{MONITORING, MonitoringUpdate, RESULTS, StepStatus, TASKS, read},
};
use agenthub_documents::yaml;
use agenthub_sdk::{
    Agent, Client, Delegation, Pending,
    runs::{RunId, StepId, StepKey, boundaries::Boundary},
};
use agenthub_workflow::{NAME, RUN};
use serde_json::{Value, json};
use tokio::{runtime::Runtime, time::timeout};
use uuid::Uuid;

use crate::{harness::Process, http::send, over_kafka::stage::Stage};

/// The group of the bridges.
pub(super) const BRIDGES: &str = "agenthub.bridges";

/// Time for all runs to come to their boundaries, and to end.
const PATIENCE: Duration = Duration::from_secs(300);

/// An example, an input, and those of its steps that agents then do.
struct Example {
    file: &'static str,
    input: &'static str,
    steps: &'static [&'static str],
}

const EXAMPLES: [Example; 4] = [
    Example {
        file: "chain.json",
        input: r#"{"topic": "bread"}"#,
        steps: &["first", "second", "last"],
    },
    Example {
        file: "counting.yaml",
        input: r#"{"texts": ["one two", "three"]}"#,
        steps: &["count/0", "count/1", "report"],
    },
    Example {
        file: "invitations.yaml",
        input: r#"{"event": "our open day", "people": ["Ann", "Bob"], "formal": false}"#,
        steps: &["draft", "friendly", "send/0", "send/1"],
    },
    Example {
        file: "review.yaml",
        input: r#"{"topic": "bread", "languages": ["en"]}"#,
        steps: &["draft", "translate/0"],
    },
];

/// A boundary, wherever it is held.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// The agent has the request.
    HttpSent,
    At(Boundary),
}

impl Place {
    /// The run comes there once, at its end.
    fn is_of_run(self) -> bool {
        self == Self::At(Boundary::OutboxSent)
    }
}

/// A run that is held.
struct Held {
    run: String,
    steps: &'static [&'static str],
    step: &'static str,
    place: Place,
    /// File that is there until the step comes to its boundary.
    file: Option<PathBuf>,
}

impl Held {
    /// The task of a step, which is the id of its message, too.
    fn task(&self, step: &str) -> String {
        let key = StepKey {
            run: RunId::new(&*self.run),
            step: StepId::new(step),
            attempt: 1,
        };
        key.task_id().to_string()
    }
}

/// The runs, and whoever asked for them.
pub(super) struct Runs<'a> {
    stage: &'a Stage,
    held: Vec<Held>,
    runtime: Runtime,
    _asked: (Client, Vec<Pending>),
}

impl<'a> Runs<'a> {
    /// Begins a run for each of these places of each step of all examples.
    pub(super) fn begin(stage: &'a Stage, places: &[Place]) -> Self {
        Self::begin_some(stage, places, &EXAMPLES.map(|example| example.file))
    }

    /// The same for some of the examples.
    pub(super) fn begin_some(stage: &'a Stage, places: &[Place], files: &[&str]) -> Self {
        let runtime = Runtime::new().expect("threads");
        let client = runtime.block_on(Client::builder(stage.system.hub()).connect());
        let client = client.expect("the hub is there");
        fs::create_dir_all(stage.boundaries()).expect("it is made");
        let (mut held, mut pending) = (Vec::new(), Vec::new());
        for example in EXAMPLES.iter().filter(|of| files.contains(&of.file)) {
            for place in places {
                let steps = match place.is_of_run() {
                    true => &example.steps[example.steps.len() - 1..],
                    false => example.steps,
                };
                for step in steps {
                    let id = Uuid::new_v4().to_string();
                    held.push(hold(stage, example, step, *place, &id));
                    let asked = client.delegate(request(example, &id));
                    pending.push(runtime.block_on(asked).expect("the hub takes it"));
                }
            }
        }
        Self {
            stage,
            held,
            runtime,
            _asked: (client, pending),
        }
    }

    /// The ids of the runs.
    pub(super) fn ids(&self) -> impl Iterator<Item = &str> {
        self.held.iter().map(|held| &*held.run)
    }

    /// Waits until each run is held at its boundary. A person approves what is asked on the way.
    pub(super) fn are_held(&self) {
        let since = Instant::now();
        loop {
            let on_their_way: Vec<_> = self
                .held
                .iter()
                .filter(|held| !self.is_there(held))
                .collect();
            if on_their_way.is_empty() {
                return;
            }
            for held in &on_their_way {
                let shown = self.shown(held);
                let late = since.elapsed() > PATIENCE;
                assert!(!late, "{} {:?}: {shown}", held.step, held.place);
            }
            sleep(Duration::from_millis(50));
        }
    }

    fn is_there(&self, held: &Held) -> bool {
        match &held.file {
            Some(file) => !file.exists(),
            None => {
                let task = held.task(held.step);
                let counted = self.stage.agent.counted();
                counted.begun.iter().any(|asked| asked.id == task)
            }
        }
    }

    /// The run as HTTP shows it, approved if it asks.
    fn shown(&self, held: &Held) -> Value {
        let path = format!("/v1/runs/{}", held.run);
        let shown = send(&self.stage.http, "GET", &path, "", "");
        let shown = shown.map_or(Value::Null, |answer| answer.json());
        if shown["state"] == "awaiting-approval" {
            let id = shown["approvals"][0]["id"].as_str().expect("an approval");
            let (path, json) = (
                format!("{path}/approvals/{id}"),
                "Content-Type: application/json\r\n",
            );
            let approved = json!({ "approved": true, "by": "ann" }).to_string();
            // Whoever has the run may be about to be killed, or not be back yet: it is asked again.
            let _ = send(&self.stage.http, "POST", &path, json, &approved);
        }
        shown
    }

    /// Waits until it is on the topic of monitoring that the steps have begun which are held behind that.
    pub(super) fn have_sent_their_outbox(&self) {
        let is_begun = |held: &&Held| held.place == Place::At(Boundary::IntentSaved);
        let begun = self.held.iter().filter(is_begun);
        let mut missing: BTreeSet<(String, String)> = begun
            .map(|held| (held.run.clone(), held.step.to_owned()))
            .collect();
        assert!(!missing.is_empty());
        let reading = async {
            let bus = self.bus().await.expect("it answers");
            // The topic has what other tests have left: it is read in one go.
            let group = Group {
                in_flight: 10_000,
                ..Group::new(Uuid::new_v4().to_string(), [MONITORING])
            };
            let mut member = bus.join(group).await.expect("it joins");
            while !missing.is_empty() {
                let delivery = member.next().await.expect("a member");
                if let Ok(update) = read::<MonitoringUpdate>(&delivery.message)
                    && update.status == StepStatus::Running
                {
                    missing.remove(&(update.run_id, update.step_name));
                }
                delivery.acknowledge();
            }
            member.leave().await;
        };
        let read = self
            .runtime
            .block_on(async { timeout(PATIENCE, reading).await });
        assert!(read.is_ok(), "{missing:?}");
    }

    /// Holds nothing any more.
    pub(super) fn let_go(&self) {
        fs::remove_dir_all(self.stage.boundaries()).expect("it is there");
        self.stage.agent.let_go();
    }

    /// Waits until all runs have completed.
    pub(super) fn end(&self, processes: &[&Process]) {
        let since = Instant::now();
        let mut open: Vec<&Held> = self.held.iter().collect();
        while !open.is_empty() {
            open.retain(|held| {
                let shown = self.shown(held);
                let state = shown["state"].as_str().unwrap_or_default();
                let said = || {
                    processes
                        .iter()
                        .map(|process| process.said())
                        .collect::<String>()
                };
                let is_bad = ["failed", "cancelled"].contains(&state) || since.elapsed() > PATIENCE;
                assert!(
                    !is_bad,
                    "{} {:?}: {shown}\n{}\n{}",
                    held.step,
                    held.place,
                    self.on_its_way(held),
                    said()
                );
                state != "completed"
            });
            sleep(Duration::from_millis(100));
        }
    }

    /// Progress of the steps of a run, and what bridges and the reader of results have not taken.
    fn on_its_way(&self, held: &Held) -> String {
        let results = self.runtime.block_on(async {
            let results = timeout(PATIENCE, self.results_of(&held.run)).await;
            results.unwrap_or_else(|_| Err(BusError::Unavailable("it takes too long".to_owned())))
        });
        let counted = self.stage.agent.counted();
        let steps = held.steps.iter().map(|step| {
            let task = held.task(step);
            let asked = counted.begun.iter().filter(|asked| asked.id == task);
            let asked = asked.map(|asked| asked.at.elapsed());
            let answered = counted.ended.get(&task).map(Instant::elapsed);
            let results = results.as_ref().map(|results| {
                let id = format!("{task}.result");
                results.iter().filter(|result| **result == id).count()
            });
            format!(
                "{step} is task {task}: asked {:?} ago, answered {answered:?} ago, results on the topic: {results:?}\n",
                asked.collect::<Vec<_>>()
            )
        });
        let steps: String = steps.collect();
        let reader = self.stage.results();
        let left = |group: &str, topic: &str| lag(&self.stage.servers, group, topic);
        format!(
            "{steps}by what is committed, {} tasks are not done, and {} results are not taken in",
            left(BRIDGES, TASKS),
            left(&reader, RESULTS)
        )
    }

    /// The ids of the results of a run that are on the topic.
    async fn results_of(&self, run: &str) -> Result<Vec<String>, BusError> {
        let bus = self.bus().await?;
        let extents = bus.extents(RESULTS).await?;
        let mut left: i64 = extents.iter().map(|of| of.end - of.first).sum();
        let from = extents.into_iter().map(|of| (of.partition, of.first));
        let mut reader = bus.read(from)?;
        let mut results = Vec::new();
        while left > 0 {
            let record = reader.next().await?;
            left -= 1;
            if record.key.as_deref() == Some(run.as_bytes()) {
                results.extend(record.header("ce_id").map(str::to_owned));
            }
        }
        Ok(results)
    }

    async fn bus(&self) -> Result<KafkaBus, BusError> {
        let settings = Settings {
            topics: Topics {
                make: false,
                partitions: 1,
                ..Topics::default()
            },
            ..Settings::new(&*self.stage.servers)
        };
        KafkaBus::connect(settings).await
    }

    /// Checks that the agent was asked for the step at which a run was held this often, for each other one once, and for nothing else.
    pub(super) fn are_counted(&self, times: impl Fn(Place) -> usize) {
        let counted = self.stage.agent.counted();
        let mut asked: BTreeMap<&str, BTreeMap<&str, usize>> = BTreeMap::new();
        for request in &counted.begun {
            let of_run = asked.entry(&request.context).or_default();
            *of_run.entry(&request.id).or_default() += 1;
        }
        assert_eq!(asked.len(), self.held.len());
        for held in &self.held {
            let tasks: Vec<_> = held
                .steps
                .iter()
                .map(|step| (*step, held.task(step)))
                .collect();
            let expected = tasks.iter().map(|(step, task)| match *step == held.step {
                true => (&**task, times(held.place)),
                false => (&**task, 1),
            });
            let expected: BTreeMap<&str, usize> = expected.collect();
            assert_eq!(asked[&*held.run], expected, "{:?}: {tasks:?}", held.place);
        }
    }
}

/// Has a run held that is about to begin as this task.
fn hold(stage: &Stage, example: &Example, step: &'static str, place: Place, id: &str) -> Held {
    let run = Agent::run_of(NAME, id, id).to_string();
    let mut held = Held {
        run,
        steps: example.steps,
        step,
        place,
        file: None,
    };
    let task = held.task(step);
    match place {
        Place::HttpSent => stage.agent.hold(&task),
        Place::At(boundary) => {
            let of = match place.is_of_run() {
                true => &held.run,
                false => &task,
            };
            let file = stage.boundaries().join(format!("{boundary:?}.{of}"));
            fs::write(&file, "").expect("the folder is there");
            held.file = Some(file);
        }
    }
    held
}

/// The request for a run of an example, with the agent that counts in place of others.
fn request(example: &Example, id: &str) -> Delegation {
    let text = fs::read_to_string(crate::workflows::example(example.file)).expect("it is there");
    let text = ["agent_echo", "word-counter"]
        .iter()
        .fold(text, |text, agent| text.replace(agent, "counting"));
    let workflow: Value = yaml::read(&text).expect("it is right");
    let input: Value = serde_json::from_str(example.input).expect("JSON");
    let asked = Delegation::to(NAME)
        .capability(RUN)
        .task_id(id)
        .message_id(id);
    asked.payload(json!({ "workflow": workflow, "input": input }))
}

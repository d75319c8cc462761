//! Notes on tasks and runs that are not over, with what they wait for: a person's yes, or an agent that does not answer. Each leads to where
//! somebody can act.

use std::collections::{BTreeSet, HashMap};

use agenthub_proto::{
    a2a::Task,
    agenthub::{AgentEntry, AgentState},
    cortex::{Approval, Run, RunMoment},
    wkt::Timestamp,
};
use agenthub_sdk::Agent;
use futures_util::future::join_all;
use maud::{Markup, html};

use crate::{
    backend::Backend,
    elements::{agent, segment, state, time},
};

/// The most agents whose presence is looked up for a page.
const MAX_AGENTS: usize = 50;

/// The most runs that are looked at for a page, which is drawn again each second. The hub keeps more than that at hand.
const MAX_RUNS: usize = 10;

/// Reason why an agent does nothing at the moment.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Absence {
    /// Its connection broke then, and it has a moment to come back.
    Silent(Timestamp),
    Away,
}

impl Absence {
    /// The absence of an agent, if it is not here.
    pub(super) fn of(entry: &AgentEntry) -> Option<Self> {
        if entry.state() != AgentState::Online {
            return Some(Self::Away);
        }
        // An agent without instances is here by its probe.
        let lost = entry.instances.iter().map(|instance| instance.lost_at);
        let lost: Option<Vec<Timestamp>> = lost.collect();
        let latest = lost?.into_iter().max_by_key(|at| (at.seconds, at.nanos));
        latest.map(Self::Silent)
    }

    /// It in words behind the name of the agent.
    pub(super) fn words(&self) -> Markup {
        match self {
            Self::Silent(since) => html! { "does not answer since " (time(Some(since))) },
            Self::Away => html! { "is away: it goes on once it is back" },
        }
    }
}

/// The agents of these that are not here.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Absences(HashMap<String, Absence>);

impl Absences {
    /// Looks these agents up. Without an answer, nothing is said of one.
    pub(super) async fn among(backend: &Backend, ids: impl IntoIterator<Item = String>) -> Self {
        let ids: BTreeSet<String> = ids.into_iter().filter(|id| !id.is_empty()).collect();
        let look = async |id: String| {
            let entry = backend.hub().agent(&id).await.ok()?;
            Some((id, Absence::of(&entry)?))
        };
        let found = join_all(ids.into_iter().take(MAX_AGENTS).map(look)).await;
        Self(found.into_iter().flatten().collect())
    }

    pub(super) fn get(&self, id: &str) -> Option<&Absence> {
        self.0.get(id)
    }
}

/// Notes on rows of a list, by the id of the task or the run.
#[derive(Debug, Default)]
pub(super) struct Waits(HashMap<String, Note>);

/// A note on a row.
#[derive(Clone, Debug)]
pub(super) struct Note {
    /// A person is asked, whatever state the row has.
    asks: bool,
    words: Markup,
}

impl Waits {
    /// Of tasks: those whose run asks a person, and those whose agent is not here.
    pub(super) async fn of_tasks(backend: &Backend, tasks: &[Task]) -> Self {
        let open: Vec<&Task> = tasks.iter().filter(|task| is_open(task)).collect();
        if open.is_empty() {
            return Self::default();
        }
        // Without Cortex nobody is asked.
        let approvals = backend.approvals().await.unwrap_or_default();
        let assignees = open.iter().map(|task| task.assignee().to_owned());
        let absences = Absences::among(backend, assignees).await;
        let notes = open.into_iter().filter_map(|task| {
            let note = of_task(task, &approvals, &absences)?;
            Some((task.id.clone(), note))
        });
        Self(notes.collect())
    }

    /// Of runs that are not over: what is out, and for whom.
    pub(super) async fn of_runs(backend: &Backend, runs: &[Run]) -> Self {
        let open = runs.iter().filter(|run| run.ended_at.is_none());
        // Of those that ask a person, a list says enough.
        let (asking, others): (Vec<&Run>, Vec<&Run>) =
            open.partition(|run| !run.approvals.is_empty());
        let glance = async |run: &Run| backend.glance(&run.id).await.ok();
        let moments = join_all(others.into_iter().take(MAX_RUNS).map(glance)).await;
        let moments: Vec<RunMoment> = moments.into_iter().flatten().collect();
        let at_work = moments.iter().flat_map(at_work);
        let absences = Absences::among(backend, at_work.map(|(agent, _)| agent)).await;
        let notes = moments.iter().filter_map(|moment| {
            let note = of_run(moment, &absences)?;
            Some((moment.run.as_ref()?.id.clone(), note))
        });
        let answers = asking.into_iter().filter_map(|run| {
            let approval = run.approvals.first()?;
            Some((run.id.clone(), answer(approval)))
        });
        Self(notes.chain(answers).collect())
    }

    /// State of a row, in words, with the note on it.
    pub(super) fn state(&self, id: &str, words: &str) -> Markup {
        let note = self.0.get(id);
        let words = match note {
            Some(note) if note.asks => "awaiting-approval",
            _ => words,
        };
        html! {
            (state(words))
            @if let Some(note) = note { div.about { (note.words) } }
        }
    }
}

fn is_open(task: &Task) -> bool {
    !task.state().is_terminal()
}

/// The agents that have work of a run, each with the name of the step.
pub(super) fn at_work(moment: &RunMoment) -> Vec<(String, String)> {
    let out = moment.steps.iter().filter(|step| step.ended_at.is_none());
    let of_agents = out.filter(|step| step.kind == "agent" && !step.agent.is_empty());
    of_agents
        .map(|step| (step.agent.clone(), super::run::called(step)))
        .collect()
}

fn of_task(task: &Task, approvals: &[Approval], absences: &Absences) -> Option<Note> {
    let first = task.history.first();
    let run = first.map(|first| Agent::run_of(task.assignee(), &task.id, &first.message_id));
    let asks = approvals.iter().find(|approval| {
        run.as_ref()
            .is_some_and(|run| run.as_str() == approval.run_id)
    });
    if let Some(approval) = asks {
        return Some(answer(approval));
    }
    let absence = absences.get(task.assignee())?;
    Some(Note {
        asks: false,
        words: html! { (agent(task.assignee())) " " (absence.words()) },
    })
}

fn of_run(moment: &RunMoment, absences: &Absences) -> Option<Note> {
    let run = moment.run.as_ref()?;
    if let Some(approval) = run.approvals.first() {
        return Some(answer(approval));
    }
    let at_work = at_work(moment);
    let absent = at_work.iter().find(|(id, _)| absences.get(id).is_some());
    let (id, step) = absent.or(at_work.first())?;
    let words = match absences.get(id) {
        Some(absence) => html! { "for " (step) ": " (agent(id)) " " (absence.words()) },
        None => html! { (agent(id)) " is at work on " (step) },
    };
    Some(Note { asks: false, words })
}

/// The way to the answer that a run waits for.
fn answer(approval: &Approval) -> Note {
    let to = format!(
        "/ui/runs/{}#approval-{}",
        segment(&approval.run_id),
        segment(&approval.id)
    );
    Note {
        asks: true,
        words: html! { a href=(to) { "Allow or refuse: " (approval.step) } },
    }
}

#[cfg(test)]
mod tests {
    use agenthub_proto::{
        a2a::{Message, Role},
        agenthub::AgentInstance,
        cortex::StepAttempt,
    };
    use agenthub_sdk::proto::json;
    use serde_json::json;

    use super::*;

    fn entry(lost: &[Option<i64>]) -> AgentEntry {
        let instance = |at: &Option<i64>| AgentInstance {
            lost_at: at.map(|seconds| Timestamp { seconds, nanos: 0 }),
            ..AgentInstance::default()
        };
        AgentEntry {
            state: AgentState::Online.into(),
            instances: lost.iter().map(instance).collect(),
            ..AgentEntry::default()
        }
    }

    /// Issue 26: who was killed is not at work until a lease ends, as the hub knows at once that nobody is connected.
    #[test]
    fn an_agent_whose_connections_all_broke_does_not_answer() {
        assert_eq!(Absence::of(&entry(&[])), None, "a probe found it");
        assert_eq!(Absence::of(&entry(&[Some(3), None])), None);
        let silent = Absence::of(&entry(&[Some(3), Some(5)])).expect("nobody is connected");
        let shown = silent.words().into_string();
        assert!(
            shown.contains("does not answer since <time datetime=\"1970-01-01T00:00:05Z\""),
            "{shown}"
        );
        let away = AgentEntry {
            state: AgentState::Offline.into(),
            ..entry(&[])
        };
        assert_eq!(Absence::of(&away), Some(Absence::Away));
    }

    fn absences(id: &str) -> Absences {
        Absences([(id.to_owned(), Absence::Away)].into())
    }

    fn approval(run: &str) -> Approval {
        Approval {
            id: "a1".into(),
            run_id: run.into(),
            step: "allowed".into(),
            ..Approval::default()
        }
    }

    /// Issue 26, overview: what waits says for what, and leads to where somebody can act.
    #[test]
    fn a_task_that_waits_says_for_what() {
        let mut message = Message::new(Role::User, "do it");
        message.message_id = "m".into();
        let task = Task {
            id: "t".into(),
            history: vec![message],
            metadata: Some(json::to_struct(&json!({"assignee": "writer"}))),
            ..Task::default()
        };
        let run = Agent::run_of("writer", "t", "m");
        let asks = [approval("other"), approval(run.as_str())];
        let note = of_task(&task, &asks, &absences("writer")).expect("it asks");
        let to = format!("/ui/runs/{}#approval-a1", run.as_str());
        assert!(note.asks && note.words.into_string().contains(&to));
        let note = of_task(&task, &asks[..1], &absences("writer")).expect("it waits");
        let note = note.words.into_string();
        assert!(
            note.contains("writer") && note.contains("is away"),
            "{note}"
        );
        assert!(of_task(&task, &[], &absences("qa")).is_none());
    }

    #[test]
    fn a_run_says_who_is_at_work_and_who_does_not_answer() {
        let step = |agent: &str, step: &str| StepAttempt {
            kind: "agent".into(),
            agent: agent.into(),
            step: step.into(),
            plan_step: step.into(),
            ..StepAttempt::default()
        };
        let mut moment = RunMoment {
            run: Some(Run::default()),
            steps: vec![step("writer", "draft"), step("qa", "check")],
            ..RunMoment::default()
        };
        let told = |moment: &RunMoment, absences: &Absences| {
            of_run(moment, absences).map_or_else(String::new, |note| note.words.into_string())
        };
        let here = told(&moment, &Absences::default());
        assert!(here.contains("is at work on draft"), "{here}");
        let away = told(&moment, &absences("qa"));
        assert!(
            away.contains("for check:") && away.contains("is away"),
            "{away}"
        );
        if let Some(run) = &mut moment.run {
            run.approvals.push(approval("r/1"));
        }
        let asks = told(&moment, &absences("qa"));
        assert!(asks.contains("/ui/runs/r%2F1#approval-a1"), "{asks}");
        moment = RunMoment::default();
        assert_eq!(told(&moment, &Absences::default()), "");
    }
}

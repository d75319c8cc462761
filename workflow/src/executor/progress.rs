//! The steps of a run and its questions to people, also those of the runs within it, as statuses of its task, for whoever called the
//! workflow.

use std::{
    convert::Infallible,
    future::pending,
    sync::{Mutex, PoisonError},
    time::Duration,
};

use agenthub_sdk::{
    TaskContext, TaskUpdate, Update, Updates,
    proto::{a2a::TaskStatus, agenthub::TaskStatusUpdateEvent, json},
    runs::{RunEvent, StepRequest, StepResult, workflow_step::StepEnd},
};
use serde_json::json;
use tokio::{
    sync::{mpsc, oneshot},
    task::JoinSet,
    time::{Instant, timeout, timeout_at},
};

/// Lines that wait at most; while there are as many, what comes is left out.
const ROOM: usize = 256;

/// Time that a line waits for others, so that several are published beside the steps and not between them. The end of the run waits for
/// none of it.
const LINGER: Duration = Duration::from_millis(20);

/// Time that the end of a run waits for the lines before it.
const CATCH_UP: Duration = Duration::from_secs(2);

/// The longest question in a line, in characters.
const MAX_QUESTION: usize = 500;

enum Job {
    Line(TaskUpdate),
    Mark(oneshot::Sender<()>),
}

/// Key of a status's metadata with the question of a run to a person.
const APPROVAL: &str = "approval";

/// Publishes lines one after the other, beside the run. Dropping it ends it at once.
pub(super) struct Progress {
    task: TaskContext,
    /// False if only questions to people are published.
    tells_steps: bool,
    publishing: Mutex<Option<Publishing>>,
}

struct Publishing {
    jobs: mpsc::Sender<Job>,
    _publishing: JoinSet<()>,
}

impl Progress {
    /// For a caller that is to see the steps.
    pub(super) fn of_steps(task: TaskContext) -> Self {
        Self {
            tells_steps: true,
            ..Self::of_questions(task)
        }
    }

    /// For a caller that sees the steps elsewhere.
    pub(super) fn of_questions(task: TaskContext) -> Self {
        Self {
            task,
            tells_steps: false,
            publishing: Mutex::default(),
        }
    }

    /// Publishes the line of an event, if it has one. Never waits.
    pub(super) fn show(&self, event: &RunEvent) {
        let agent = self.task.client().agent_id();
        let run = self.task.run_id();
        let line = || line(event).map(TaskUpdate::from);
        let told = question(event, run.as_str(), agent);
        if let Some(told) = told.or_else(|| line().filter(|_| self.tells_steps)) {
            self.give(Job::Line(told));
        }
    }

    /// Publishes a line of its own, where steps are told. Never waits.
    pub(super) fn say(&self, line: String) {
        if self.tells_steps {
            self.give(Job::Line(line.into()));
        }
    }

    /// Passes the questions of a run within this one on. Never ends.
    pub(super) async fn pass_on(&self, mut updates: Updates) -> Infallible {
        while let Some(update) = updates.next().await {
            if let Update::Status(status) = update
                && let Some(question) = asked(&status)
            {
                self.give(Job::Line(question));
            }
        }
        pending().await
    }

    /// Waits until all lines have been published, for at most 2 s.
    pub(super) async fn caught_up(&self) {
        let (done, is_done) = oneshot::channel();
        self.give(Job::Mark(done));
        // An error says that there was no room: then it is far behind.
        let _ = timeout(CATCH_UP, is_done).await;
    }

    fn give(&self, job: Job) {
        let publishing = self.publishing.lock();
        let mut publishing = publishing.unwrap_or_else(PoisonError::into_inner);
        let Publishing { jobs, .. } =
            publishing.get_or_insert_with(|| Publishing::start(self.task.clone()));
        if jobs.try_send(job).is_err() {
            tracing::debug!(task = self.task.task_id(), "a status was left out");
        }
    }
}

impl Publishing {
    fn start(task: TaskContext) -> Self {
        let (jobs, mut given) = mpsc::channel(ROOM);
        let mut publishing = JoinSet::new();
        publishing.spawn(async move {
            let mut lines = Vec::new();
            while let Some(mark) = next_lines(&mut given, &mut lines).await {
                for line in lines.drain(..) {
                    if let Err(error) = task.publish_update(line).await {
                        tracing::debug!(%error, "a status was not published");
                    }
                }
                if let Some(done) = mark {
                    // Nobody waits any more.
                    let _ = done.send(());
                }
            }
        });
        Self {
            jobs,
            _publishing: publishing,
        }
    }
}

/// Takes the lines of a moment, or those up to a mark; `None` at the end.
async fn next_lines(
    given: &mut mpsc::Receiver<Job>,
    lines: &mut Vec<TaskUpdate>,
) -> Option<Option<oneshot::Sender<()>>> {
    let mut next = given.recv().await;
    let until = Instant::now() + LINGER;
    loop {
        match next? {
            Job::Line(line) => lines.push(line),
            Job::Mark(done) => return Some(Some(done)),
        }
        if lines.len() >= ROOM {
            return Some(None);
        }
        match timeout_at(until, given.recv()).await {
            Ok(job) => next = job,
            Err(_) => return Some(None),
        }
    }
}

/// The question of an event to a person, with what answers it.
fn question(event: &RunEvent, run: &str, agent: &str) -> Option<TaskUpdate> {
    let RunEvent::StepBegun {
        step,
        what: StepRequest::ApprovalAsked(approval),
        ..
    } = event
    else {
        return None;
    };
    let question = approval.arguments["question"].as_str();
    let question = cut(question.unwrap_or_default());
    let id = &approval.id;
    // The agent is named, as Cortex may not know the folder with its runs.
    let text = format!(
        "Step {step} waits for a person: {question} (`agenthub runs approve {run} {id} --agent {agent}` allows it, \
         `refuse` in place of `approve` does not; a message in this task is no answer)"
    );
    let approval = json!({
        "run": run,
        "id": id,
        "agent": agent,
        "step": approval.subject,
        "question": question,
    });
    Some(TaskUpdate::new(text).metadata(APPROVAL, approval))
}

/// The question of another run that a status tells, to tell it again.
fn asked(status: &TaskStatusUpdateEvent) -> Option<TaskUpdate> {
    let metadata = json::from_struct(status.metadata.as_ref()?);
    let approval = metadata.get(APPROVAL).filter(|a| a.is_object())?;
    let text = status.status.as_ref().map(TaskStatus::text);
    Some(TaskUpdate::new(text.unwrap_or_default()).metadata(APPROVAL, approval.clone()))
}

/// The line of an event: a step goes out to an agent, or comes back from one or from a person.
fn line(event: &RunEvent) -> Option<String> {
    Some(match event {
        RunEvent::StepBegun {
            step,
            attempt,
            what: StepRequest::Delegated(sent),
            ..
        } => {
            let agent = &sent.handoff.agent;
            match attempt {
                1 => format!("Step {step}: {agent} is asked"),
                n => format!("Step {step}: {agent} is asked, attempt {n}"),
            }
        }
        RunEvent::StepEnded { step, result, .. } => match (result, StepEnd::of(result)) {
            (StepResult::Decided(decision), _) => match decision.approved {
                true => format!("Step {step} is allowed"),
                false => format!("Step {step} is refused"),
            },
            (StepResult::DelegationEnded(_), StepEnd::Completed) => {
                format!("Step {step} is completed")
            }
            (StepResult::DelegationEnded(_), StepEnd::Cancelled) => {
                format!("Step {step} is called back")
            }
            (_, StepEnd::Failed(reason)) => format!("Step {step} has failed: {reason}"),
            _ => return None,
        },
        _ => return None,
    })
}

fn cut(question: &str) -> String {
    question.chars().take(MAX_QUESTION).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn lines_of_one_moment_are_taken_together_and_a_mark_waits_for_no_others() {
        let (jobs, mut given) = mpsc::channel(ROOM);
        let mut lines = Vec::new();
        for line in ["a", "b"] {
            let sent = jobs.try_send(Job::Line(line.into()));
            assert!(sent.is_ok(), "there is room");
        }
        let began = Instant::now();
        let taken = next_lines(&mut given, &mut lines).await;
        assert!(matches!(taken, Some(None)));
        assert_eq!(
            (&lines[..], began.elapsed()),
            (&["a".into(), "b".into()][..], LINGER)
        );
        lines.clear();

        let (done, _is_done) = oneshot::channel();
        for job in [Job::Line("c".into()), Job::Mark(done)] {
            assert!(jobs.try_send(job).is_ok(), "there is room");
        }
        let began = Instant::now();
        let taken = next_lines(&mut given, &mut lines).await;
        assert!(matches!(taken, Some(Some(_))));
        assert_eq!(
            (&lines[..], began.elapsed()),
            (&["c".into()][..], Duration::ZERO)
        );
        drop(jobs);
        assert!(next_lines(&mut given, &mut lines).await.is_none());
    }
}

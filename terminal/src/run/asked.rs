//! Questions of runs to people: hearing of them, and answering.

use std::{collections::HashSet, time::Duration};

use agenthub_proto::cortex::{Approval, DecideApprovalRequest, Run};
use anyhow::bail;
use tokio::{sync::mpsc, time::sleep};
use tokio_util::task::AbortOnDropHandle;

use super::line::{Line, Trouble};
use crate::ids::meant;

/// Questions that wait to be told; listening waits when there are more.
const WAITING: usize = 16;

/// The pause before it is listened again.
const PAUSE: Duration = Duration::from_secs(2);

/// Questions that are remembered as told.
const KNOWN: usize = 4_096;

/// Hears of each thing that waits for a person's yes, once. Dropping it ends that.
#[derive(Debug)]
pub struct Asking {
    asked: mpsc::Receiver<Approval>,
    _listening: AbortOnDropHandle<()>,
}

impl Asking {
    /// Listens on this line, also after it broke; where there is no Cortex, nothing is ever heard.
    pub fn listen(line: Line) -> Self {
        let (sender, asked) = mpsc::channel(WAITING);
        Self {
            asked,
            _listening: AbortOnDropHandle::new(tokio::spawn(listen(line, sender))),
        }
    }

    /// The next one. Cancel-safe.
    pub async fn next(&mut self) -> Approval {
        match self.asked.recv().await {
            Some(approval) => approval,
            None => std::future::pending().await,
        }
    }
}

async fn listen(line: Line, asked: mpsc::Sender<Approval>) {
    let mut known = HashSet::new();
    loop {
        match line.approvals(true).await {
            Ok(mut stream) => {
                while let Ok(Some(approval)) = stream.message().await {
                    if known.len() >= KNOWN {
                        known.clear();
                    }
                    let is_new = known.insert((approval.run_id.clone(), approval.id.clone()));
                    if is_new && asked.send(approval).await.is_err() {
                        return;
                    }
                }
            }
            Err(Trouble::NoCortex { .. }) => return,
            Err(_) => {}
        }
        sleep(PAUSE).await;
    }
}

/// An answer to what a run asks.
#[derive(Clone, Debug)]
pub struct Answer<'a> {
    /// The run, or the approval's own id.
    pub run: &'a str,
    /// The approval of the run, where it has several.
    pub approval: Option<&'a str>,
    /// True if it is allowed.
    pub approved: bool,
    /// Name of the person who answers.
    pub by: String,
    /// Reason.
    pub comment: String,
}

/// Gives an answer. Returns what was asked, and the run.
///
/// # Errors
///
/// It is not clear what is meant, or it does not wait for an answer (any more).
pub async fn answer(line: &Line, answer: Answer<'_>) -> anyhow::Result<(Approval, Run)> {
    let asked = which(line.pending().await?, answer.run, answer.approval)?;
    let request = DecideApprovalRequest {
        run_id: asked.run_id.clone(),
        approval_id: asked.id.clone(),
        approved: answer.approved,
        by: answer.by,
        comment: answer.comment,
    };
    let run = line.decide(request).await?;
    Ok((asked, run))
}

/// The approval that is meant: of a run, or by its own id.
fn which(waiting: Vec<Approval>, run: &str, approval: Option<&str>) -> anyhow::Result<Approval> {
    let runs = waiting.iter().map(|asked| asked.run_id.as_str());
    let own = waiting.iter().map(|asked| asked.id.as_str());
    let own = own.filter(|_| approval.is_none());
    let found = meant(run, runs.chain(own))?;
    let run = found.as_deref().unwrap_or(run);
    let of_run = |a: &Approval| a.run_id == run || (approval.is_none() && a.id == run);
    let of_this_run = |a: &&Approval| a.run_id == run;
    let ids = waiting.iter().filter(of_this_run).map(|a| a.id.clone());
    let ids: Vec<String> = ids.collect();
    let mut meant: Vec<Approval> = waiting
        .into_iter()
        .filter(|a| of_run(a) && approval.is_none_or(|id| a.id == id))
        .collect();
    match (meant.len(), approval) {
        (1, _) => Ok(meant.remove(0)),
        (0, Some(id)) if !ids.is_empty() => bail!(
            "`{id}` was taken for the id of an approval, and of run {run} none with it waits for a yes: nothing was answered; \
             what waits is {}. Words on why go with --comment",
            ids.join(", ")
        ),
        (0, _) => bail!("nothing of {run} waits for a yes (any more): nothing was answered"),
        _ => {
            let ids: Vec<&str> = meant.iter().map(|a| a.id.as_str()).collect();
            bail!(
                "several things of run {run} wait for a yes, say which: {}",
                ids.join(", ")
            )
        }
    }
}

#[cfg(test)]
mod tests {
    use tokio::time::timeout;

    use super::*;
    use crate::run::fake::{Fake, Script};

    fn asked(run: &str, id: &str) -> Approval {
        Approval {
            id: id.to_owned(),
            run_id: run.to_owned(),
            ..Approval::default()
        }
    }

    /// spec: ORC-12.3
    #[test]
    fn an_approval_is_named_by_its_run_where_that_is_clear() {
        let waiting = || vec![asked("r1", "a"), asked("r2", "b"), asked("r2", "c")];
        let id = |run, approval| which(waiting(), run, approval).map(|found| found.id);
        assert_eq!(id("r1", None).expect("one"), "a");
        assert_eq!(id("r2", Some("c")).expect("named"), "c");
        assert_eq!(id("b", None).expect("by its own id"), "b");
        let long = vec![asked("r1-long", "a-long"), asked("r2", "b")];
        let found = which(long, "r1", None).expect("by the beginning");
        assert_eq!(found.id, "a-long");
        for (run, approval, part) in [
            ("r2", None, "say which: b, c"),
            ("r3", None, "nothing of r3"),
            ("r", None, "2 ids begin with `r`"),
            (
                "r1",
                Some("too dear"),
                "`too dear` was taken for the id of an approval, and of run r1 none with it waits for a yes: nothing was answered; what waits is a. \
                 Words on why go with --comment",
            ),
            (
                "r3",
                Some("b"),
                "nothing of r3 waits for a yes (any more): nothing was answered",
            ),
        ] {
            let error = id(run, approval).expect_err(part).to_string();
            assert!(error.contains(part), "{error}");
        }
    }

    /// spec: ORC-12.3
    #[tokio::test]
    async fn an_answer_goes_to_exactly_what_was_asked() {
        let fake = Fake::start(Script::default()).await;
        fake.approvals
            .send_replace(vec![asked("r1", "a"), asked("r2", "b")]);
        let no = Answer {
            run: "r2",
            approval: None,
            approved: false,
            by: "ann".to_owned(),
            comment: "too early".to_owned(),
        };
        let (asked, run) = answer(&fake.line(), no).await.expect("it waits");
        assert_eq!((&*asked.id, &*run.id), ("b", "r2"));
        let decided = fake.script.lock().expect("nobody panics").decided.clone();
        let expected = DecideApprovalRequest {
            run_id: "r2".to_owned(),
            approval_id: "b".to_owned(),
            approved: false,
            by: "ann".to_owned(),
            comment: "too early".to_owned(),
        };
        assert_eq!(decided, [expected]);
    }

    /// The line breaks in between, and what waits is told again by the other side.
    #[tokio::test]
    async fn what_is_asked_is_heard_of_once() {
        let fake = Fake::start(Script::default()).await;
        fake.approvals.send_replace(vec![asked("r1", "a")]);
        let mut asking = Asking::listen(fake.line());
        let next = async |asking: &mut Asking| {
            let heard = timeout(Duration::from_secs(20), asking.next()).await;
            heard.expect("it is asked").id
        };
        assert_eq!(next(&mut asking).await, "a");
        fake.approvals
            .send_replace(vec![asked("r1", "a"), asked("r1", "b")]);
        fake.cut();
        assert_eq!(next(&mut asking).await, "b");
    }
}

//! A line to Cortex: its service `cortex.Cortex`, wherever that is.

use std::{error::Error as _, time::Duration};

use agenthub_proto::{
    INVALID_FIELD,
    bearer::Bearer,
    cortex::{self as pb, Frame, Run, RunGraph, RunPlan, cortex_client::CortexClient},
    grpc::Transport,
    socket::{HubAddress, PING, PONG, channel},
    tls::{ClientTls, explain, hinted},
};
use anyhow::bail;
use tokio::time::timeout;
use tonic::{Code, Response, Status, Streaming};

/// Deadline of a call. Cortex itself waits up to 5 s for what it has asked for.
const DEADLINE: Duration = Duration::from_secs(20);

/// Deadline of connecting.
const CONNECT: Duration = Duration::from_secs(5);

/// The largest answer, in bytes: a bundle or a graph.
const MAX_BYTES: usize = 16 << 20;

/// The runs of one page.
const PAGE: u32 = 100;

/// The reason why a call gave nothing.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Trouble {
    /// No answer from the hub.
    #[error(
        "nobody answers at {url} ({reason}): start everything with `agenthub up`, name another hub with --hub URL, or Cortex's \
         own address with --cortex URL"
    )]
    Away {
        /// The address.
        url: String,
        /// The network's error.
        reason: String,
    },
    /// TLS with the hub fails.
    #[error("no secure connection to {url}: {reason}")]
    Insecure {
        /// The address.
        url: String,
        /// The reason, and what to do about it.
        reason: String,
    },
    /// Cortex is there, but not ready.
    #[error("{0}")]
    NotReady(String),
    /// Something else is there.
    #[error(
        "there is no Cortex at {url}: `agenthub up` runs one with its hub; one that runs elsewhere is named with --cortex URL"
    )]
    NoCortex {
        /// The address.
        url: String,
    },
    /// No such run or approval.
    #[error("{0}")]
    NotFound(String),
    /// Cortex does not take it.
    #[error("{why}")]
    Invalid {
        /// The fields that are not as they must be: each that of one line of `why`, or one for all of it.
        fields: Vec<String>,
        /// The faults, all of them.
        why: String,
    },
    /// Not as things stand.
    #[error("{0}")]
    Conflict(String),
    /// Anything else.
    #[error("{0}")]
    Failed(String),
}

impl Trouble {
    /// True if the same call may go well a moment later.
    pub fn is_retryable(&self) -> bool {
        matches!(self, Self::Away { .. } | Self::NotReady(_))
    }
}

/// A line to Cortex. Cheap to clone; it connects when it is used, and again after a break.
#[derive(Clone, Debug)]
pub struct Line {
    url: String,
    client: CortexClient<Transport>,
}

impl Line {
    /// A line to this address. A bare `host:port` is taken for `http://host:port`.
    ///
    /// # Errors
    ///
    /// It is no address.
    pub fn to(url: &str) -> anyhow::Result<Self> {
        let full = match url.trim().contains("://") {
            true => url.trim().to_owned(),
            false => format!("http://{}", url.trim()),
        };
        let address = match HubAddress::parse(url) {
            Ok(address) => address,
            Err(reason) => bail!("{url} is no address of Cortex: {reason}; give http://HOST:PORT"),
        };
        let endpoint = address
            .endpoint()
            .http2_keep_alive_interval(PING)
            .keep_alive_timeout(PONG)
            .keep_alive_while_idle(true);
        let channel = channel(address, &endpoint, CONNECT);
        let transport = Transport::from(channel).with_bearer(Bearer::of_process());
        Ok(Self {
            url: full,
            client: CortexClient::new(transport).max_decoding_message_size(MAX_BYTES),
        })
    }

    /// The address of Cortex.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Starts a run.
    pub async fn start(&self, request: pb::StartRunRequest) -> Result<Run, Trouble> {
        let mut client = self.client.clone();
        self.answer(client.start_run(request)).await
    }

    /// A run as it stands.
    pub async fn get(&self, id: &str) -> Result<Run, Trouble> {
        let request = pb::GetRunRequest { id: id.to_owned() };
        self.answer(self.client.clone().get_run(request)).await
    }

    /// The latest runs that fit, at most `most`.
    pub async fn list(
        &self,
        mut request: pb::ListRunsRequest,
        most: usize,
    ) -> Result<Vec<Run>, Trouble> {
        let mut runs = Vec::new();
        while runs.len() < most {
            let room = u32::try_from(most - runs.len()).unwrap_or(PAGE);
            request.page_size = room.min(PAGE);
            let mut client = self.client.clone();
            let page = client.list_runs(request.clone());
            let mut page = self.answer(page).await?;
            runs.append(&mut page.runs);
            if page.next_page_token.is_empty() {
                break;
            }
            request.page_token = page.next_page_token;
        }
        runs.truncate(most);
        Ok(runs)
    }

    /// The latest runs that fit and that no other run led to, at most `most`; and how many others were passed over.
    pub async fn list_asked(
        &self,
        mut request: pb::ListRunsRequest,
        most: usize,
    ) -> Result<(Vec<Run>, usize), Trouble> {
        let (mut runs, mut passed) = (Vec::new(), 0);
        while runs.len() < most {
            request.page_size = PAGE;
            let mut client = self.client.clone();
            let page = client.list_runs(request.clone());
            let page = self.answer(page).await?;
            for run in page.runs {
                match run.parent_task_id.is_empty() {
                    false => passed += 1,
                    true if runs.len() < most => runs.push(run),
                    true => return Ok((runs, passed)),
                }
            }
            if page.next_page_token.is_empty() {
                break;
            }
            request.page_token = page.next_page_token;
        }
        Ok((runs, passed))
    }

    /// The frames of a run behind a sequence number, then those that come.
    pub async fn watch(&self, id: &str, after: u64) -> Result<Streaming<Frame>, Trouble> {
        let request = pb::WatchRunRequest {
            id: id.to_owned(),
            after_sequence: after,
        };
        self.answer(self.client.clone().watch_run(request)).await
    }

    /// The plan of a run.
    pub async fn plan(&self, id: &str) -> Result<RunPlan, Trouble> {
        let request = pb::GetRunPlanRequest { id: id.to_owned() };
        self.answer(self.client.clone().get_run_plan(request)).await
    }

    /// The graph of handoffs.
    pub async fn graph(&self, id: &str) -> Result<RunGraph, Trouble> {
        let request = pb::GetRunGraphRequest { id: id.to_owned() };
        let mut client = self.client.clone();
        self.answer(client.get_run_graph(request)).await
    }

    /// Tells a run to stop.
    pub async fn cancel(&self, id: &str, reason: &str) -> Result<Run, Trouble> {
        let request = pb::CancelRunRequest {
            id: id.to_owned(),
            reason: reason.to_owned(),
        };
        self.answer(self.client.clone().cancel_run(request)).await
    }

    /// Goes on from a run that is over.
    pub async fn resume(&self, request: pb::ResumeRunRequest) -> Result<Run, Trouble> {
        let mut client = self.client.clone();
        self.answer(client.resume_run(request)).await
    }

    /// The steps of a run, attempt by attempt.
    pub async fn steps(&self, id: &str) -> Result<Vec<pb::StepAttempt>, Trouble> {
        let request = pb::GetRunStepsRequest {
            id: id.to_owned(),
            ..pb::GetRunStepsRequest::default()
        };
        let mut client = self.client.clone();
        Ok(self.answer(client.get_run_steps(request)).await?.steps)
    }

    /// Starts a workflow again that has ended.
    pub async fn retry(&self, request: pb::RetryRunRequest) -> Result<Run, Trouble> {
        let mut client = self.client.clone();
        self.answer(client.retry_run(request)).await
    }

    /// Starts a run that goes on from an event of another one.
    pub async fn fork(&self, request: pb::ForkRunRequest) -> Result<Run, Trouble> {
        let mut client = self.client.clone();
        self.answer(client.fork_run(request)).await
    }

    /// Events of a run's journal.
    pub async fn events(
        &self,
        request: pb::ListRunEventsRequest,
    ) -> Result<pb::ListRunEventsResponse, Trouble> {
        let mut client = self.client.clone();
        self.answer(client.list_run_events(request)).await
    }

    /// Answers an approval.
    pub async fn decide(&self, request: pb::DecideApprovalRequest) -> Result<Run, Trouble> {
        let mut client = self.client.clone();
        self.answer(client.decide_approval(request)).await
    }

    /// The approvals that wait, and, with `follow`, those that come.
    pub async fn approvals(&self, follow: bool) -> Result<Streaming<pb::Approval>, Trouble> {
        let request = pb::WatchApprovalsRequest { follow };
        let mut client = self.client.clone();
        self.answer(client.watch_approvals(request)).await
    }

    /// The approvals that wait.
    pub async fn pending(&self) -> Result<Vec<pb::Approval>, Trouble> {
        let all = async {
            let mut stream = self.approvals(false).await?;
            let mut all = Vec::new();
            while let Some(approval) = stream.message().await.map_err(|s| self.trouble(&s))? {
                all.push(approval);
            }
            Ok(all)
        };
        match timeout(DEADLINE, all).await {
            Ok(all) => all,
            Err(_) => Err(self.late()),
        }
    }

    /// Adds what became of a run's result.
    pub async fn record(&self, request: pb::RecordResultsRequest) -> Result<Run, Trouble> {
        let mut client = self.client.clone();
        self.answer(client.record_results(request)).await
    }

    /// The error of a failed call.
    pub fn trouble(&self, status: &Status) -> Trouble {
        let said = status.message().to_owned();
        let url = self.url.clone();
        match status.code() {
            Code::Unimplemented => Trouble::NoCortex { url },
            // What comes from the connection has a cause; what a server says has none.
            _ if status.source().is_some() => match explain(status, ClientTls::of_process()) {
                Some(reason) => Trouble::Insecure { url, reason },
                None => Trouble::Away {
                    reason: hinted(&url, root(status)),
                    url,
                },
            },
            Code::Unavailable | Code::Cancelled | Code::Aborted | Code::DeadlineExceeded => {
                Trouble::NotReady(said)
            }
            Code::NotFound => Trouble::NotFound(said),
            Code::InvalidArgument | Code::OutOfRange => {
                let fields = status.metadata().get_all(INVALID_FIELD).iter();
                let fields = fields.filter_map(|field| field.to_str().ok());
                Trouble::Invalid {
                    fields: fields.map(str::to_owned).collect(),
                    why: said,
                }
            }
            Code::FailedPrecondition | Code::AlreadyExists => Trouble::Conflict(said),
            code => Trouble::Failed(match said.is_empty() {
                true => format!("{} says: {}", self.url, code.description()),
                false => said,
            }),
        }
    }

    async fn answer<T>(
        &self,
        call: impl Future<Output = Result<Response<T>, Status>>,
    ) -> Result<T, Trouble> {
        match timeout(DEADLINE, call).await {
            Ok(Ok(answer)) => Ok(answer.into_inner()),
            Ok(Err(status)) => Err(self.trouble(&status)),
            Err(_) => Err(self.late()),
        }
    }

    fn late(&self) -> Trouble {
        Trouble::Away {
            url: self.url.clone(),
            reason: format!("no answer within {} s", DEADLINE.as_secs()),
        }
    }
}

/// The last cause of an error.
fn root(error: &Status) -> String {
    let mut cause: &dyn std::error::Error = error;
    while let Some(next) = cause.source() {
        cause = next;
    }
    cause.to_string()
}

#[cfg(test)]
mod tests {
    use agenthub_proto::cortex::{ListRunsRequest, ListRunsResponse};

    use super::*;
    use crate::run::fake::{Fake, Script};

    fn runs(from: u32, to: u32) -> Vec<Run> {
        let run = |n| Run {
            id: format!("r{n}"),
            ..Run::default()
        };
        (from..to).map(run).collect()
    }

    #[tokio::test]
    async fn troubles_say_what_to_do() {
        let fake = Fake::start(Script::default()).await;
        let line = fake.line();
        let trouble = line.graph("r1").await.expect_err("it is a hub alone");
        assert!(matches!(trouble, Trouble::NoCortex { .. }), "{trouble:?}");
        let said = trouble.to_string();
        assert!(
            said.contains("--cortex") && said.contains(line.url()),
            "{said}"
        );
        let trouble = line.plan("r1").await.expect_err("it is not ready");
        assert!(trouble.is_retryable());
        let trouble = line.get("r1").await.expect_err("it is not there");
        assert_eq!(trouble, Trouble::NotFound("there is no run r1".to_owned()));
        let trouble = line.cancel("r1", "").await.expect_err("it is over");
        assert!(!trouble.is_retryable());
        let request = pb::RecordResultsRequest::default();
        let trouble = line.record(request).await.expect_err("it is full");
        assert!(trouble.to_string().contains(line.url()), "{trouble}");

        let address = fake.address.to_string();
        drop(fake);
        let line = Line::to(&address).expect("it is an address");
        let trouble = line.get("r1").await.expect_err("nobody is there");
        assert!(matches!(trouble, Trouble::Away { .. }), "{trouble:?}");
        let said = trouble.to_string();
        assert!(
            said.contains("agenthub up") && said.contains(&address),
            "{said}"
        );
        assert!(!said.contains('\n'), "{said}");
    }

    #[tokio::test]
    async fn what_is_no_address_is_refused() {
        for url in ["ftp://h", "http://", "a b"] {
            assert!(Line::to(url).is_err(), "{url}");
        }
    }

    #[tokio::test]
    async fn a_list_goes_on_over_pages_until_it_has_enough() {
        let page = |runs, next: &str| ListRunsResponse {
            runs,
            next_page_token: next.to_owned(),
        };
        let script = Script {
            pages: [
                page(runs(0, 3), "3"),
                page(runs(3, 6), "6"),
                page(runs(6, 9), ""),
            ]
            .into(),
            ..Script::default()
        };
        let fake = Fake::start(script).await;
        let listed = fake
            .line()
            .list(ListRunsRequest::default(), 5)
            .await
            .expect("there are some");
        let ids: Vec<&str> = listed.iter().map(|run| run.id.as_str()).collect();
        assert_eq!(ids, ["r0", "r1", "r2", "r3", "r4"]);
    }
}

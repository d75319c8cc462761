//! Results of runs after their end, such as engagement, kept for later runs of their series.

use std::time::{SystemTime, UNIX_EPOCH};

use agenthub_cortex::{CORTEX, RESULTS, results_of};
use agenthub_sdk::runs::{
    Budget, RunEvent, RunId, RunOutcome, RunStarted, Spent, journal, model::Undone,
};
use serde_json::{Map, Value};
use tokio::time::timeout;
use uuid::Uuid;

use super::{
    Inner,
    error::Error,
    reading::ANSWER,
    resources::{RunState, RunView},
    viewer::FoundRun,
};

/// The most numbers at one time.
const MAX_METRICS: usize = 64;

/// The longest name of a number, in bytes.
const MAX_NAME_BYTES: usize = 128;

impl Inner {
    /// Keeps what became of a run's result.
    pub(super) async fn record(
        &self,
        found: &FoundRun,
        metrics: Map<String, Value>,
    ) -> Result<RunView, Error> {
        check(&metrics)?;
        let view = self.view_of(found).await?;
        let id = found.run.as_str();
        if !view.state.is_over() {
            return Err(Error::Active {
                run: id.to_owned(),
                state: view.state.label().to_owned(),
            });
        }
        // A result of which a part is there can have results.
        if view.state != RunState::Completed || view.undone == Some(Undone::All) {
            return Err(Error::Unsuitable(format!(
                "run {id} made nothing that could have results"
            )));
        }
        match timeout(ANSWER, self.keep_results(id, &metrics)).await {
            Ok(Ok(())) => Ok(view),
            Ok(Err(error)) => Err(error.into()),
            Err(_) => Err(Error::Unavailable("the journal does not answer".to_owned())),
        }
    }

    async fn keep_results(
        &self,
        of: &str,
        metrics: &Map<String, Value>,
    ) -> Result<(), journal::JournalError> {
        let since = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .unwrap_or_default();
        let at_ms = u64::try_from(since.as_millis()).unwrap_or(u64::MAX);
        let started = RunEvent::Started(RunStarted {
            strategy: RESULTS.to_owned(),
            input: results_of(of, metrics),
            thread: String::new(),
            origin: Value::Null,
            budget: Budget::default(),
            deadline_ms: None,
            at_ms,
        });
        let ended = RunEvent::Ended {
            outcome: RunOutcome::completed(""),
            spent: Spent::default(),
            at_ms,
        };
        let run = RunId::new(Uuid::now_v7().to_string());
        let journal = &self.home.journal;
        journal.add(&run, CORTEX, &[started, ended]).await
    }
}

fn check(metrics: &Map<String, Value>) -> Result<(), Error> {
    let invalid = |at: String, why: String| Err(Error::Invalid { at, why });
    if metrics.is_empty() || metrics.len() > MAX_METRICS {
        let why = format!("has {} numbers; it takes 1 to {MAX_METRICS}", metrics.len());
        return invalid("metrics".to_owned(), why);
    }
    for (name, value) in metrics {
        if name.is_empty() || name.len() > MAX_NAME_BYTES {
            let why = format!("has a name of {} bytes; it takes 1 to 128", name.len());
            return invalid("metrics".to_owned(), why);
        }
        if !value.is_number() {
            return invalid(format!("metrics.{name}"), "is no number".to_owned());
        }
        if value.as_f64().is_some_and(|number| number < 0.0) {
            let why = format!("is {value}: what became of a result is counted from 0");
            return invalid(format!("metrics.{name}"), why);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn results_are_numbers_by_name() {
        let check = |metrics: Value| check(metrics.as_object().expect("an object"));
        assert_eq!(check(json!({"clicks": 12, "rate": 0.5})), Ok(()));
        for (metrics, at) in [
            (json!({}), "metrics"),
            (json!({"": 1}), "metrics"),
            (json!({"clicks": "12"}), "metrics.clicks"),
            (json!({"clicks": -3}), "metrics.clicks"),
        ] {
            let Err(Error::Invalid { at: found, .. }) = check(metrics) else {
                panic!("{at} is taken");
            };
            assert_eq!(found, at);
        }
    }
}

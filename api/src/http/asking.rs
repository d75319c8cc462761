//! The runs as the caller of a request sees them.

use std::{convert::Infallible, sync::Arc};

use agenthub_access::{Caller, Meter, StreamPermit};
use axum::{extract::FromRequestParts, http::request::Parts};
use tokio_util::sync::CancellationToken;

use super::{Http, problem::Problem};
use crate::runs::Runs;

/// The service and who asks it.
pub(super) struct Asking {
    http: Http,
    caller: Arc<Caller>,
    meter: Meter,
}

impl FromRequestParts<Http> for Asking {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, http: &Http) -> Result<Self, Infallible> {
        Ok(Self {
            http: http.clone(),
            caller: Caller::of_request(&parts.extensions),
            meter: Meter::of_request(&parts.extensions),
        })
    }
}

impl Asking {
    /// The runs that the caller may see.
    pub(super) fn runs(&self) -> Result<Runs, Problem> {
        let runs = self.http.runs()?;
        Ok(runs.seen_by(Arc::clone(&self.caller)))
    }

    /// The same, as [`Http::runs_soon`].
    pub(super) async fn runs_soon(&self) -> Result<Runs, Problem> {
        let runs = self.http.runs_soon().await?;
        Ok(runs.seen_by(Arc::clone(&self.caller)))
    }

    /// Counts a stream before what it is about is begun. It goes with the answer.
    pub(super) fn stream(&self) -> Result<StreamPermit, Problem> {
        let permit = self.meter.stream();
        permit.map_err(|exceeded| Problem::over_quota(&exceeded))
    }

    pub(super) fn closing(&self) -> CancellationToken {
        self.http.closing()
    }
}

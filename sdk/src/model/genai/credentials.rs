//! The key or token that a call carries.

use std::sync::Arc;

use gcp_auth::TokenProvider;
use tokio::sync::OnceCell;

use super::settings::{Credential, Secret};
use crate::model::Error;

const SCOPES: &[&str] = &["https://www.googleapis.com/auth/cloud-platform"];

/// Where the key of a call comes from. Google's tokens are kept and renewed by their provider.
pub(super) enum Credentials {
    Key(Secret),
    Google(OnceCell<Arc<dyn TokenProvider>>),
}

impl Credentials {
    pub(super) fn new(credential: Credential) -> Self {
        match credential {
            Credential::Key(key) => Self::Key(key),
            Credential::GoogleDefault => Self::Google(OnceCell::new()),
        }
    }

    /// The key for one call.
    pub(super) async fn key(&self) -> Result<String, Error> {
        match self {
            Self::Key(key) => Ok(key.reveal().to_owned()),
            Self::Google(cell) => {
                let token = google(cell).await?.token(SCOPES).await;
                Ok(token
                    .map_err(|error| unavailable(&error))?
                    .as_str()
                    .to_owned())
            }
        }
    }

    /// The project that Google's credentials belong to.
    pub(super) async fn project(&self) -> Result<String, Error> {
        let unknown =
            || Error::InvalidRequest("no Google Cloud project is known: set GCP_PROJECT".into());
        match self {
            Self::Key(_) => Err(unknown()),
            Self::Google(cell) => {
                let project = google(cell).await?.project_id().await;
                project.map(|id| id.to_string()).map_err(|_| unknown())
            }
        }
    }
}

async fn google(cell: &OnceCell<Arc<dyn TokenProvider>>) -> Result<&Arc<dyn TokenProvider>, Error> {
    cell.get_or_try_init(gcp_auth::provider)
        .await
        .map_err(|error| unavailable(&error))
}

fn unavailable(error: &gcp_auth::Error) -> Error {
    match error {
        gcp_auth::Error::Http(what, _) => {
            Error::Unavailable(format!("Google's token service: {what}"))
        }
        _ => Error::Unauthorized(
            "no Google credentials work here: run `gcloud auth application-default login`, or set \
             GOOGLE_APPLICATION_CREDENTIALS to a service account's file"
                .into(),
        ),
    }
}

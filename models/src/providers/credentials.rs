//! The key or token that a call carries.

use std::sync::Arc;

use gcp_auth::TokenProvider;
use tokio::sync::OnceCell;

use super::aws::{self, AwsCredentials};
use super::settings::{ConfigError, Credential};
use crate::{ModelError, Secret};

const SCOPES: &[&str] = &["https://www.googleapis.com/auth/cloud-platform"];

/// Source of a call's key. Credentials of AWS and tokens of Google are kept and renewed by their providers.
pub(super) enum Credentials {
    Key(Secret),
    Aws(AwsCredentials),
    Google(OnceCell<Arc<dyn TokenProvider>>),
}

impl Credentials {
    /// # Errors
    ///
    /// TLS cannot be set up.
    pub(super) fn new(credential: Credential) -> Result<Self, ConfigError> {
        Ok(match credential {
            Credential::Key(key) => Self::Key(key),
            Credential::Aws { source, region } => {
                let context = aws::context().map_err(|e| ConfigError::Tls(e.to_string()))?;
                Self::Aws(AwsCredentials::new(&source, region, context))
            }
            Credential::GoogleDefault => Self::Google(OnceCell::new()),
        })
    }

    /// The key for one call.
    pub(super) async fn key(&self) -> Result<String, ModelError> {
        match self {
            Self::Key(key) => Ok(key.reveal().to_owned()),
            Self::Aws(credentials) => credentials.api_key().await,
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
    pub(super) async fn project(&self) -> Result<String, ModelError> {
        let unknown = || {
            ModelError::InvalidRequest("no Google Cloud project is known: set GCP_PROJECT".into())
        };
        match self {
            Self::Key(_) | Self::Aws(_) => Err(unknown()),
            Self::Google(cell) => {
                let project = google(cell).await?.project_id().await;
                project.map(|id| id.to_string()).map_err(|_| unknown())
            }
        }
    }
}

async fn google(
    cell: &OnceCell<Arc<dyn TokenProvider>>,
) -> Result<&Arc<dyn TokenProvider>, ModelError> {
    cell.get_or_try_init(gcp_auth::provider)
        .await
        .map_err(|error| unavailable(&error))
}

fn unavailable(error: &gcp_auth::Error) -> ModelError {
    match error {
        gcp_auth::Error::Http(what, _) => {
            ModelError::Unavailable(format!("Google's token service: {what}"))
        }
        _ => ModelError::Unauthorized(
            "no Google credentials work here: run `gcloud auth application-default login`, or set \
             GOOGLE_APPLICATION_CREDENTIALS to a service account's file"
                .into(),
        ),
    }
}

#[cfg(test)]
mod tests {
    use async_trait::async_trait;
    use gcp_auth::Token;

    use super::*;

    struct Fake {
        project: Option<&'static str>,
    }

    #[async_trait]
    impl TokenProvider for Fake {
        async fn token(&self, scopes: &[&str]) -> Result<Arc<Token>, gcp_auth::Error> {
            assert_eq!(scopes, SCOPES);
            let token = serde_json::json!({"access_token": "ya29.fake", "expires_in": 3600, "token_type": "Bearer"});
            Ok(Arc::new(
                serde_json::from_value(token).expect("a token as Google sends it"),
            ))
        }

        async fn project_id(&self) -> Result<Arc<str>, gcp_auth::Error> {
            self.project
                .map(Arc::from)
                .ok_or(gcp_auth::Error::Str("no project"))
        }
    }

    fn google(project: Option<&'static str>) -> Credentials {
        Credentials::Google(OnceCell::new_with(Some(Arc::new(Fake { project }))))
    }

    #[tokio::test]
    async fn default_credentials_give_a_token_and_their_project() {
        let credentials = google(Some("mine"));
        assert_eq!(credentials.key().await.as_deref(), Ok("ya29.fake"));
        assert_eq!(credentials.project().await.as_deref(), Ok("mine"));
    }

    #[tokio::test]
    async fn a_missing_project_is_said_with_the_way_out() {
        let error = google(None)
            .project()
            .await
            .expect_err("there is no project");
        assert!(error.to_string().contains("set GCP_PROJECT"), "{error}");
    }

    #[test]
    fn credentials_that_do_not_work_are_told_from_a_service_that_does_not_answer() {
        let error = unavailable(&gcp_auth::Error::Str("no file"));
        assert!(
            !error.is_retryable()
                && error
                    .to_string()
                    .contains("gcloud auth application-default login"),
            "{error}"
        );
    }
}

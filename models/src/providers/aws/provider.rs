//! Credentials of a source, kept until they are about to expire.

use std::{sync::Arc, time::SystemTime};

use reqsign_aws_v4::{
    AssumeRoleCredentialProvider, AssumeRoleWithWebIdentityCredentialProvider, Credential,
    ECSCredentialProvider, IMDSv2CredentialProvider, ProcessCredentialProvider, RequestSigner,
    SSOCredentialProvider, StaticCredentialProvider,
};
use reqsign_core::{Context, ErrorKind, ProvideCredential, Signer, SigningCredential};
use tokio::sync::Mutex;

use super::{AccessKey, Keys, Source};
use crate::{ModelError, Secret};

/// Name of this program in the sessions of assumed roles, where the profile gives none.
const SESSION: &str = "agenthub";

type Provider = Arc<dyn reqsign_core::ProvideCredentialDyn<Credential = Credential>>;

/// The credentials of a source for one region.
pub(in crate::providers) struct AwsCredentials {
    provider: Provider,
    context: Context,
    region: String,
    are_guessed: bool,
    absence: &'static str,
    current: Mutex<Option<Credential>>,
}

impl AwsCredentials {
    pub(in crate::providers) fn new(source: &Source, region: String, context: Context) -> Self {
        Self {
            provider: provider(source, &region, &context),
            context,
            region,
            absence: match source {
                Source::Sso(_) => NO_LOGIN,
                _ => NO_CREDENTIALS,
            },
            are_guessed: *source == Source::Instance,
            current: Mutex::default(),
        }
    }

    /// True if nothing says that there are any: this may be an instance of AWS, or none.
    pub(in crate::providers) fn are_guessed(&self) -> bool {
        self.are_guessed
    }

    /// An API key for one call.
    ///
    /// # Errors
    ///
    /// [`ModelError::Unauthorized`] where the source has no credentials or refuses to give them, [`ModelError::Unavailable`] where it does not answer.
    pub(in crate::providers) async fn api_key(&self) -> Result<String, ModelError> {
        let credential = self.credential().await?;
        let key = AccessKey {
            keys: Keys {
                id: credential.access_key_id,
                secret: Secret::new(credential.secret_access_key),
                session: credential.session_token.map(Secret::new),
            },
            region: self.region.clone(),
        };
        Ok(key.api_key(SystemTime::now()))
    }

    /// Returns the credentials of before, as long as they are good for more than two minutes. Calls that come meanwhile wait for the one that asks.
    async fn credential(&self) -> Result<Credential, ModelError> {
        let mut current = self.current.lock().await;
        if let Some(credential) = current.as_ref().filter(|known| known.is_valid()) {
            return Ok(credential.clone());
        }
        let given = self.provider.provide_credential(&self.context).await;
        let given = given.map_err(|error| explain(&error))?;
        let credential = given.ok_or_else(|| ModelError::Unauthorized(self.absence.to_owned()))?;
        *current = Some(credential.clone());
        Ok(credential)
    }
}

/// The reason and the way out where no source has any.
pub(in crate::providers) const NO_CREDENTIALS: &str = "no AWS credentials were found: set AWS_BEARER_TOKEN_BEDROCK, or AWS_ACCESS_KEY_ID and \
     AWS_SECRET_ACCESS_KEY, or AWS_PROFILE";

const NO_LOGIN: &str =
    "the AWS profile has a login that is over or was never made: run `aws sso login`";

fn explain(error: &reqsign_core::Error) -> ModelError {
    let what = format!("AWS credentials: {error}");
    match error.kind() {
        _ if error.is_retryable() => ModelError::Unavailable(what),
        ErrorKind::RateLimited => ModelError::Unavailable(what),
        _ => ModelError::Unauthorized(what),
    }
}

fn provider(source: &Source, region: &str, context: &Context) -> Provider {
    match source {
        Source::Keys(keys) => {
            let fixed = StaticCredentialProvider::new(&keys.id, keys.secret.reveal());
            Arc::new(match &keys.session {
                Some(session) => fixed.with_session_token(session.reveal()),
                None => fixed,
            })
        }
        Source::WebIdentity(identity) => {
            let session = identity.session_name.as_deref().unwrap_or(SESSION);
            Arc::new(
                AssumeRoleWithWebIdentityCredentialProvider::new()
                    .with_role_arn(&identity.role_arn)
                    .with_web_identity_token_file(&identity.token_file)
                    .with_role_session_name(session.to_owned())
                    .with_region(region.to_owned())
                    .with_regional_sts_endpoint(),
            )
        }
        Source::Sso(sso) => Arc::new(
            SSOCredentialProvider::new()
                .with_start_url(&sso.start_url)
                .with_region(&sso.region)
                .with_account_id(&sso.account)
                .with_role_name(&sso.role),
        ),
        Source::Process(command) => {
            Arc::new(ProcessCredentialProvider::new().with_command(command))
        }
        Source::Role(role, from) => {
            let signer = Signer::new(
                context.clone(),
                provider(from, region, context),
                RequestSigner::new("sts", region),
            );
            let session = role.session_name.as_deref().unwrap_or(SESSION);
            let mut assumed = AssumeRoleCredentialProvider::new(role.arn.clone(), signer)
                .with_role_session_name(session.to_owned())
                .with_region(region.to_owned())
                .with_regional_sts_endpoint();
            if let Some(id) = &role.external_id {
                assumed = assumed.with_external_id(id.clone());
            }
            if let Some(duration_s) = role.duration_s {
                assumed = assumed.with_duration_seconds(duration_s);
            }
            Arc::new(assumed)
        }
        Source::Container => Arc::new(ECSCredentialProvider::new()),
        Source::Instance => Arc::new(IMDSv2CredentialProvider::new()),
    }
}

#[cfg(test)]
#[path = "provider_tests.rs"]
mod tests;

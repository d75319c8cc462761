//! Hosted and local providers, through the crate `genai`.
//!
//! [`Settings`] say which model; [`Genai::new`] checks them and reads what they leave open from the providers' usual
//! environment variables. Transient failures are asked again with growing pauses, as long as nothing was handed out.

mod answer;
mod aws;
mod backoff;
mod convert;
mod credentials;
mod failure;
mod outage;
mod settings;
mod tools;
mod turns;

use std::fmt;
use std::time::Duration;

use async_trait::async_trait;
use futures_util::StreamExt;
use genai::chat::{ChatOptions, ChatRequest, ChatStreamEvent};
use genai::resolver::{AuthData, Endpoint};
use genai::{Client, ModelIden, ServiceTarget};
use tokio::time::{Instant, sleep, timeout, timeout_at};

pub use super::settings::{Secret, Settings};
use super::{Completion, DeltaSink, LanguageModel, ModelError, Request};
use answer::Answer;
use credentials::Credentials;
use outage::Outage;
pub use settings::ConfigError;

/// Deadline of connecting.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// Deadline for finding the credentials, or their project.
const CHECK_TIMEOUT: Duration = Duration::from_secs(5);

/// The longest time that a call may be given.
const LONGEST_TIMEOUT: Duration = Duration::from_secs(24 * 60 * 60);

/// A model of a provider. Calls share one pool of connections.
pub struct Genai {
    name: String,
    client: Client,
    model: ModelIden,
    endpoint: settings::Address,
    credentials: Credentials,
    style: convert::JsonStyle,
    turns: turns::Turns,
    calls_tools: bool,
    timeout: Duration,
    max_retries: u32,
    backoff: Duration,
    outage: Outage,
}

impl fmt::Debug for Genai {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Genai")
            .field("name", &self.name)
            .field("endpoint", &self.endpoint)
            .finish_non_exhaustive()
    }
}

/// Makes ring the TLS implementation of this process, unless one was chosen already.
///
/// [`Genai::new`] does so itself. Whatever else builds a `reqwest::Client` in a program with this feature calls it first.
pub fn install_tls() {
    if rustls::crypto::CryptoProvider::get_default().is_none() {
        // Losing the race against another thread means that a provider is installed, which is all that is wanted.
        let _ = rustls::crypto::ring::default_provider().install_default();
    }
}

impl Genai {
    /// A model by its settings. Nothing is sent yet.
    ///
    /// # Errors
    ///
    /// Each variant says in one line what is missing and where to put it.
    pub fn new(settings: Settings) -> Result<Self, ConfigError> {
        let env = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
        let resolved = settings::resolve(&settings, &env)?;
        install_tls();
        let mut http = reqwest::Client::builder()
            .connect_timeout(CONNECT_TIMEOUT)
            .tcp_nodelay(true)
            .http2_keep_alive_interval(Some(Duration::from_secs(20)))
            // A redirect could carry the key to another host.
            .redirect(reqwest::redirect::Policy::none());
        if resolved.address.is_loopback() {
            http = http.no_proxy();
        }
        let http = http
            .build()
            .map_err(|error| ConfigError::Tls(error.to_string()))?;
        Ok(Self {
            name: settings.model,
            client: Client::builder()
                .with_reqwest(http)
                .build()
                .map_err(|e| ConfigError::Tls(e.to_string()))?,
            style: convert::JsonStyle::of(resolved.kind, &resolved.model),
            turns: turns::Turns::of(resolved.kind),
            calls_tools: resolved.calls_tools(),
            model: ModelIden::new(resolved.kind, resolved.model),
            endpoint: resolved.address,
            credentials: Credentials::new(resolved.credential)?,
            timeout: settings.timeout.min(LONGEST_TIMEOUT),
            max_retries: settings.max_retries,
            backoff: settings.backoff,
            outage: Outage::default(),
        })
    }

    /// Finds out what every call would fail without: for Vertex, a project that neither the settings nor the environment name must be
    /// that of the credentials; for Bedrock with credentials of AWS, that there are some. Asks the services that give them for at most 5 s then, and
    /// the model never.
    ///
    /// # Errors
    ///
    /// [`ModelError::Misconfigured`] says in one line what to set.
    pub async fn check(&self) -> Result<(), ModelError> {
        if let Credentials::Aws(credentials) = &self.credentials {
            return match timeout(CHECK_TIMEOUT, credentials.api_key()).await {
                Ok(Ok(_)) => Ok(()),
                Ok(Err(ModelError::Unauthorized(why))) => Err(ModelError::Misconfigured(why)),
                _ if credentials.are_guessed() => {
                    Err(ModelError::Misconfigured(aws::NO_CREDENTIALS.to_owned()))
                }
                // It may answer by the time that the model is asked.
                Ok(Err(_)) | Err(_) => Ok(()),
            };
        }
        let settings::Address::Vertex(settings::Vertex { project: None, .. }) = &self.endpoint
        else {
            return Ok(());
        };
        match timeout(CHECK_TIMEOUT, self.credentials.project()).await {
            Ok(Ok(_)) => Ok(()),
            Ok(Err(ModelError::Unauthorized(why))) => Err(ModelError::Misconfigured(format!(
                "vertex needs a project: set GCP_PROJECT; and {why}"
            ))),
            Ok(Err(_)) | Err(_) => Err(ModelError::Misconfigured(
                "vertex needs a project, and Google's credentials name none: set GCP_PROJECT"
                    .to_owned(),
            )),
        }
    }

    async fn target(&self) -> Result<ServiceTarget, ModelError> {
        let key = self.credentials.key().await?;
        let base = match &self.endpoint {
            settings::Address::Fixed(url) => url.clone(),
            settings::Address::Vertex(vertex) => match &vertex.project {
                Some(project) => vertex.url(project),
                None => vertex.url(&self.credentials.project().await?),
            },
        };
        Ok(ServiceTarget {
            endpoint: Endpoint::from_owned(base),
            auth: AuthData::from_single(key),
            model: self.model.clone(),
        })
    }

    async fn ask(
        &self,
        chat: ChatRequest,
        options: &ChatOptions,
        answer: &mut Answer<'_>,
    ) -> Result<Completion, failure::Failure> {
        let target = self.target().await?;
        let secret = target.auth.single_key_value().unwrap_or_default();
        let explain = |error: genai::Error| failure::explain(&error, &secret);
        let response = self
            .client
            .exec_chat_stream(target, chat, Some(options))
            .await
            .map_err(explain)?;
        let mut stream = response.stream;
        while let Some(event) = stream.next().await {
            match event.map_err(explain)? {
                ChatStreamEvent::Chunk(chunk) => answer.push(&chunk.content)?,
                ChatStreamEvent::End(end) => {
                    return Ok(answer.finish(end, self.model.adapter_kind)?);
                }
                ChatStreamEvent::ToolCallChunk(chunk) => answer.call_grows(chunk.tool_call)?,
                // Reasoning is not part of the answer.
                ChatStreamEvent::Start
                | ChatStreamEvent::ReasoningChunk(_)
                | ChatStreamEvent::ThoughtSignatureChunk(_)
                | ChatStreamEvent::Heartbeat => {}
            }
        }
        Err(answer.broken_off().into())
    }

    async fn ask_until(
        &self,
        deadline: Instant,
        request: &Request,
        deltas: &DeltaSink,
    ) -> Result<Completion, ModelError> {
        let (chat, options) = convert::request(request, self.style, self.turns)?;
        let mut attempt = 0;
        loop {
            let mut answer = Answer::new(request, deltas);
            let asked = timeout_at(deadline, self.ask(chat.clone(), &options, &mut answer)).await;
            let failure = match asked {
                Ok(Ok(completion)) => {
                    self.outage.ends();
                    return Ok(completion);
                }
                Ok(Err(failure)) => failure,
                Err(_) => return Err(ModelError::Timeout(self.timeout)),
            };
            let pause = backoff::pause(attempt, self.backoff, failure.retry_after, fastrand::f64());
            let too_late = Instant::now()
                .checked_add(pause)
                .is_none_or(|then| then >= deadline);
            if !failure.is_transient()
                || answer.was_handed_out()
                || attempt >= self.max_retries
                || too_late
            {
                return Err(failure.error);
            }
            attempt += 1;
            let (model, error) = (&self.name, &failure.error);
            match self.outage.begins() {
                true => {
                    tracing::warn!(model, %error, "the model failed, and is asked again until it answers")
                }
                false => tracing::debug!(model, attempt, %error, "the model is asked again"),
            }
            sleep(pause).await;
        }
    }
}

#[async_trait]
impl LanguageModel for Genai {
    fn name(&self) -> &str {
        &self.name
    }

    fn calls_tools(&self) -> bool {
        self.calls_tools
    }

    async fn complete(
        &self,
        request: Request,
        deltas: DeltaSink,
    ) -> Result<Completion, ModelError> {
        request.check()?;
        self.ask_until(Instant::now() + self.timeout, &request, &deltas)
            .await
    }
}

//! Settings of a model: which one, where, and with which key.

use std::fmt;
use std::time::Duration;

/// A key or token. It shows itself to nobody by accident.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// Keeps `value`.
    pub fn new(value: impl Into<String>) -> Self {
        Self(value.into())
    }

    /// The value itself.
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(…)")
    }
}

/// Settings of a model: what to ask and how long to wait.
#[derive(Debug, Clone)]
pub struct Settings {
    /// The provider and the model: `vertex/gemini-2.5-flash`, `openai/gpt-5`, `anthropic/…`, `bedrock/…`, `gemini/…`,
    /// `ollama/…`; or `offline`.
    pub model: String,
    /// The base URL, where it is not the provider's own: with the version in its path (`http://localhost:8000/v1`), but for
    /// Vertex, Bedrock and Ollama, whose is the host alone. If not given, the provider's usual variable is read
    /// (`OPENAI_BASE_URL`, `ANTHROPIC_BASE_URL`, `AWS_ENDPOINT_URL_BEDROCK_RUNTIME`).
    pub endpoint: Option<String>,
    /// The key; for Vertex, an access token. If not given, the provider's usual variable is read. Vertex has the application
    /// default credentials then, and Bedrock the credentials of AWS: an access key in `AWS_ACCESS_KEY_ID`, `AWS_SECRET_ACCESS_KEY` and
    /// `AWS_SESSION_TOKEN`, else a web identity, a profile (`AWS_PROFILE`), a container's or an instance's.
    pub api_key: Option<Secret>,
    /// The Google Cloud project (`GCP_PROJECT`, `GOOGLE_CLOUD_PROJECT`), else the one of the credentials.
    pub project: Option<String>,
    /// The Google Cloud location (`GCP_LOCATION`), else `global`; for Bedrock the region (`AWS_REGION`), else the
    /// profile's, else `us-east-1`.
    pub location: Option<String>,
    /// Deadline of a call, retries included; at most a day.
    pub timeout: Duration,
    /// Retries of a call after transient failures.
    pub max_retries: u32,
    /// The pause before the first repetition; later ones are longer.
    pub backoff: Duration,
}

impl Settings {
    /// The settings of a model without any of the options: two minutes, three retries.
    pub fn new(model: impl Into<String>) -> Self {
        Self {
            model: model.into(),
            endpoint: None,
            api_key: None,
            project: None,
            location: None,
            timeout: Duration::from_secs(120),
            max_retries: 3,
            backoff: Duration::from_millis(500),
        }
    }
}

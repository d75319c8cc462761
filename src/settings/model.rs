//! Settings of the model that decides.

use serde::{Deserialize, Serialize};

use crate::cassette::{self, Cassette};

/// The model that needs nothing.
pub(crate) const OFFLINE: &str = "offline";

/// Settings of the model that decides.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Model {
    /// `provider/model`, or `offline`.
    pub(crate) name: String,
    /// The base URL, where it is not the provider's own.
    #[serde(default)]
    pub(crate) endpoint: Option<String>,
    /// The provider's key; if not given, its usual variable is read.
    #[serde(default)]
    pub(crate) api_key: Option<ApiKey>,
    /// The Google Cloud project.
    #[serde(default)]
    pub(crate) project: Option<String>,
    /// The Google Cloud location or AWS region.
    #[serde(default)]
    pub(crate) location: Option<String>,
    /// Recording or replay; the command line alone says so.
    #[serde(skip)]
    pub(crate) cassette: Cassette,
}

impl Model {
    /// The model for an agent that names one itself, unless the command line has named another. An address, key or place that is set
    /// for one provider is not used for another. What is replayed has the name of the model that was recorded.
    pub(crate) fn unless(&self, flag: Option<&str>, own: Option<&str>) -> Self {
        let provider = |name: &str| name.split('/').next().unwrap_or_default().to_owned();
        let own = own.filter(|_| self.cassette.replayer().is_none());
        match (flag, own) {
            (None, Some(own)) if [OFFLINE, &provider(own)].contains(&&*provider(&self.name)) => {
                Self {
                    name: own.to_owned(),
                    ..self.clone()
                }
            }
            (None, Some(own)) => Self {
                name: own.to_owned(),
                endpoint: None,
                api_key: None,
                project: None,
                location: None,
                cassette: self.cassette.clone(),
            },
            _ => self.clone(),
        }
    }
}

/// A provider's key. It shows itself to nobody by accident.
#[derive(Clone, PartialEq, Eq, Deserialize)]
#[serde(transparent)]
pub(crate) struct ApiKey(pub(crate) String);

impl std::fmt::Debug for ApiKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("ApiKey(…)")
    }
}

/// Settings of the model in one source.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub(crate) struct ModelLayer {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) name: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) endpoint: Option<String>,
    #[serde(skip)]
    pub(crate) cassette: Option<cassette::CassetteFlag>,
}

#[cfg(test)]
mod tests {
    use crate::settings::Settings;

    #[test]
    fn an_agent_s_own_model_gives_way_to_the_command_line_alone() {
        let file = "[model]\nname = 'openai/a'\nendpoint = 'http://e'\napi_key = 'k'\n";
        let model = Settings::of_text(file).expect("right").model;
        let name_and_endpoint = |flag, own| {
            let model = model.unless(flag, own);
            (model.name, model.endpoint, model.api_key.is_some())
        };
        let at = Some("http://e".to_owned());
        for (flag, own, expected) in [
            (None, None, ("openai/a".to_owned(), at.clone(), true)),
            (
                None,
                Some("openai/b"),
                ("openai/b".to_owned(), at.clone(), true),
            ),
            (None, Some("ollama/b"), ("ollama/b".to_owned(), None, false)),
            (None, Some("offline"), ("offline".to_owned(), None, false)),
            (
                Some("openai/a"),
                Some("ollama/b"),
                ("openai/a".to_owned(), at, true),
            ),
        ] {
            assert_eq!(name_and_endpoint(flag, own), expected);
        }
    }
}

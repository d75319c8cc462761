//! Choice of the model that decides.

use std::sync::Arc;

use agenthub_sdk::model::{LanguageModel, Offline};

use crate::{
    cassette::Cassette,
    settings::{Model, OFFLINE},
};

/// The model that the settings name.
///
/// # Errors
///
/// Wrong usage, if the provider is not known or something is missing, in one line that says what to set.
pub(crate) async fn model(settings: &Model) -> anyhow::Result<Arc<dyn LanguageModel>> {
    if let Some(replayer) = settings.cassette.replayer() {
        return Ok(Arc::new(replayer.clone()));
    }
    let model: Arc<dyn LanguageModel> = match settings.name.as_str() {
        OFFLINE => Arc::new(Offline),
        _ => provided(settings).await?,
    };
    settings.cassette.recorded(model)
}

/// Whoever asks has a deadline of their own: an agent file's `model_timeout_s`, or Cortex'. The provider's adapter does not end a call
/// sooner.
#[cfg(feature = "models")]
const NO_SOONER: std::time::Duration = std::time::Duration::from_secs(24 * 60 * 60);

#[cfg(feature = "models")]
async fn provided(settings: &Model) -> anyhow::Result<Arc<dyn LanguageModel>> {
    use agenthub_sdk::model::providers::{Genai, Secret, Settings};
    let Model {
        name,
        endpoint,
        api_key,
        project,
        location,
        cassette: _,
    } = settings.clone();
    let model = Genai::new(Settings {
        endpoint,
        api_key: api_key.map(|key| Secret::new(key.0)),
        project,
        location,
        timeout: NO_SOONER,
        ..Settings::new(name)
    })
    .map_err(|error| refused(error.into()))?;
    model.check().await.map_err(refused)?;
    Ok(Arc::new(model))
}

/// A model that the settings do not name well enough is a mistake of whoever wrote them.
#[cfg(feature = "models")]
fn refused(error: agenthub_sdk::model::ModelError) -> anyhow::Error {
    match error {
        agenthub_sdk::model::ModelError::Misconfigured(why) => {
            agenthub_terminal::usage::WrongUsage(why).into()
        }
        error => error.into(),
    }
}

#[cfg(not(feature = "models"))]
async fn provided(settings: &Model) -> anyhow::Result<Arc<dyn LanguageModel>> {
    anyhow::bail!(
        "this agenthub was built without model providers, so it cannot use {}: build it with the feature `models`",
        settings.name
    )
}

/// The model for people, with where it is recorded or was.
pub(crate) fn described(settings: &Model) -> String {
    let name = match settings.name.as_str() {
        OFFLINE => "offline (a stand-in that only matches words)",
        name => name,
    };
    let recorded = settings.cassette.described(name);
    recorded.unwrap_or_else(|| name.to_owned())
}

/// The advice on how to have another model, where there is only the stand-in.
pub(crate) fn advice(settings: &Model) -> Option<&'static str> {
    (settings.name == OFFLINE && settings.cassette == Cassette::None).then_some(
        "for a real one: --model openai/gpt-5 with OPENAI_API_KEY; also vertex/…, anthropic/…, ollama/…",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(name: &str) -> Model {
        Model {
            name: name.to_owned(),
            endpoint: None,
            api_key: None,
            project: None,
            location: None,
            cassette: Cassette::None,
        }
    }

    #[tokio::test]
    async fn offline_needs_nothing() {
        let model = model(&named(OFFLINE)).await.expect("it needs nothing");
        assert_eq!(model.name(), "offline");
    }

    #[cfg(feature = "models")]
    #[tokio::test]
    async fn what_is_missing_is_named() {
        for (name, part) in [
            ("gpt-5", "provider/model"),
            ("nobody/x", "nobody"),
            ("vertex/", "provider"),
        ] {
            let error = model(&named(name)).await.expect_err(name);
            assert!(
                error.is::<agenthub_terminal::usage::WrongUsage>(),
                "{error}"
            );
            assert!(error.to_string().contains(part), "{error}");
        }
        let mut token = named("vertex/gemini");
        token.api_key = Some(crate::settings::ApiKey("k".to_owned()));
        let error = model(&token).await.expect_err("no project").to_string();
        assert!(error.contains("GCP_PROJECT"), "{error}");
    }

    #[cfg(feature = "models")]
    #[tokio::test]
    async fn a_provider_with_what_it_needs_is_used() {
        let mut settings = named("openai/m");
        settings.endpoint = Some("http://127.0.0.1:9/v1".to_owned());
        settings.api_key = Some(crate::settings::ApiKey("k".to_owned()));
        let model = model(&settings).await.expect("nothing is missing");
        assert_eq!(model.name(), "openai/m");
    }
}

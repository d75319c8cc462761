//! The model of a name.

use std::sync::Arc;

use super::{LanguageModel, ModelError, Offline, STAND_IN, Settings};

/// The model `provider/model`, such as `openai/gpt-5` or `bedrock/amazon.nova-pro-v1:0`, or `offline`. Keys, addresses and
/// regions are read from the providers' usual environment variables. Nothing is sent yet.
///
/// # Errors
///
/// [`ModelError::Misconfigured`] says in one line what is missing and where to put it, or that the feature `genai` is off.
///
/// ```
/// let model = agenthub_models::named("offline")?;
/// assert_eq!(model.name(), "offline");
/// # Ok::<(), agenthub_models::ModelError>(())
/// ```
pub fn named(name: &str) -> Result<Arc<dyn LanguageModel>, ModelError> {
    configured(Settings::new(name))
}

/// The model of `settings`. What they leave open is read as [`named`] does.
///
/// # Errors
///
/// As [`named`].
pub fn configured(settings: Settings) -> Result<Arc<dyn LanguageModel>, ModelError> {
    match settings.model.as_str() {
        STAND_IN => Ok(Arc::new(Offline)),
        _ => provided(settings),
    }
}

/// A model, or the name of one (`openai/gpt-5`, `offline`).
pub trait IntoModel {
    /// The model.
    ///
    /// # Errors
    ///
    /// Those of [`named`].
    fn into_model(self) -> Result<Arc<dyn LanguageModel>, ModelError>;
}

impl IntoModel for &str {
    fn into_model(self) -> Result<Arc<dyn LanguageModel>, ModelError> {
        named(self)
    }
}

impl IntoModel for String {
    fn into_model(self) -> Result<Arc<dyn LanguageModel>, ModelError> {
        named(&self)
    }
}

impl IntoModel for Settings {
    fn into_model(self) -> Result<Arc<dyn LanguageModel>, ModelError> {
        configured(self)
    }
}

impl IntoModel for Arc<dyn LanguageModel> {
    fn into_model(self) -> Result<Arc<dyn LanguageModel>, ModelError> {
        Ok(self)
    }
}

impl<M: LanguageModel + 'static> IntoModel for M {
    fn into_model(self) -> Result<Arc<dyn LanguageModel>, ModelError> {
        Ok(Arc::new(self))
    }
}

#[cfg(feature = "genai")]
fn provided(settings: Settings) -> Result<Arc<dyn LanguageModel>, ModelError> {
    Ok(Arc::new(super::providers::Genai::new(settings)?))
}

#[cfg(not(feature = "genai"))]
fn provided(settings: Settings) -> Result<Arc<dyn LanguageModel>, ModelError> {
    Err(ModelError::Misconfigured(format!(
        "this program was built without model providers, so it cannot use {}: build it with the feature `genai` of agenthub-sdk",
        settings.model
    )))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn offline_needs_nothing() {
        let model = named("offline").expect("nothing is missing");
        assert_eq!(model.name(), "offline");
    }

    #[cfg(feature = "genai")]
    #[test]
    fn providers_are_found_and_what_is_missing_is_said_in_one_line() {
        let local = Settings {
            endpoint: Some("http://127.0.0.1:9/v1".into()),
            ..Settings::new("openai/m")
        };
        let model = configured(local).expect("a server of one's own needs no key");
        assert_eq!(model.name(), "openai/m");
        for (name, part) in [("gpt-5", "provider/model"), ("nobody/x", "`nobody`")] {
            let error = named(name).expect_err(name);
            assert!(matches!(&error, ModelError::Misconfigured(_)), "{error:?}");
            let said = error.to_string();
            assert!(said.contains(part) && !said.contains('\n'), "{said}");
            assert!(!error.is_retryable());
        }
    }

    #[cfg(not(feature = "genai"))]
    #[test]
    fn providers_that_were_left_out_are_missed_by_name() {
        let error = named("openai/m").expect_err("there are no providers");
        let said = error.to_string();
        assert!(
            said.contains("openai/m") && said.contains("`genai`"),
            "{said}"
        );
    }
}

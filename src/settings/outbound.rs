//! Settings of calls to addresses that others name.

use agenthub_outbound::{Connector, Network, Settings};
use serde::{Deserialize, Serialize};

/// Fields of it that were set.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Outbound {
    /// Networks that are reached though they are not public.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) allow: Option<Vec<Network>>,
}

impl Outbound {
    /// The connector of a hub.
    pub(crate) fn connector(&self) -> Connector {
        Connector::new(Settings {
            allow: self.allow.clone().unwrap_or_default(),
            ..Settings::default()
        })
    }
}

#[cfg(test)]
mod tests {
    use crate::settings::Settings;

    #[test]
    fn networks_are_read_and_what_is_none_is_refused() {
        let settings = Settings::of_text("[outbound]\nallow = ['127.0.0.0/8', '::1']\n");
        let allow = settings.expect("right").outbound.allow.unwrap_or_default();
        let written: Vec<String> = allow.iter().map(ToString::to_string).collect();
        assert_eq!(written, ["127.0.0.0/8", "::1/128"]);
        let error = Settings::of_text("[outbound]\nallow = ['localhost']\n");
        let error = error.expect_err("no network").to_string();
        assert!(error.contains("`localhost` is no network"), "{error}");
    }
}

//! Settings of the bridge to agents over HTTP.

use std::collections::HashMap;

use agenthub_a2a::client::Auth;
use serde::Deserialize;

/// Fields of it that were set.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Bridge {
    /// Credentials for agents elsewhere, by their ids on the hub, each by reference.
    pub(crate) auth: HashMap<String, Auth>,
}

#[cfg(test)]
mod tests {
    use crate::settings::Settings;

    #[test]
    fn credentials_are_named_and_not_written_down() {
        let of = |token: &str| {
            let file = format!("[bridge.auth.writer]\nkind = 'bearer'\ntoken = '{token}'\n");
            Settings::of_text(&file)
        };
        assert!(
            of("env:TOKEN")
                .expect("right")
                .bridge
                .auth
                .contains_key("writer")
        );
        let error = of("hunter2").expect_err("a secret").to_string();
        assert!(error.contains("bridge.auth.writer"), "{error}");
        assert!(!error.contains("hunter2"), "{error}");
    }
}

//! Configurations of push notifications: which are taken, and the request that they lead to.

use std::net::{IpAddr, Ipv4Addr};

use agenthub_outbound::{Network, parse_url, reachable::may_reach};
use http::{HeaderValue, Uri};

use crate::{
    error::Error,
    v1::{AuthenticationInfo, TaskPushNotificationConfig},
};

/// The longest values, in bytes.
const ID_BYTES: usize = 256;
const TOKEN_BYTES: usize = 1024;
const CREDENTIALS_BYTES: usize = 8 * 1024;

/// A configuration whose values were checked.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Config {
    /// Empty if the client leaves it to the gateway.
    pub(crate) id: String,
    pub(crate) url: String,
    pub(crate) token: String,
    /// Of the header `Authorization`, such as `Bearer`; empty for none.
    pub(crate) scheme: String,
    pub(crate) credentials: String,
    /// The principal that has made it; empty if nobody needed an identity then.
    pub(crate) owner: String,
}

/// Shows no secret.
impl std::fmt::Debug for Config {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Config")
            .field("id", &self.id)
            .field("url", &self.url)
            .finish_non_exhaustive()
    }
}

impl Config {
    /// Checks a configuration. `at` is its place in the request, such as `configuration.taskPushNotificationConfig.`.
    ///
    /// # Errors
    ///
    /// The field that is missing or wrong.
    pub(crate) fn read(
        config: &TaskPushNotificationConfig,
        at: &str,
        allow: &[Network],
    ) -> Result<Self, Error> {
        let wrong = |field: &str, fault: &str| {
            let field = format!("{at}{field}");
            let message = format!("{field} {fault}");
            Error::field(&field, message)
        };
        if config.url.is_empty() {
            return Err(wrong("url", "is required"));
        }
        receiver(&config.url, allow)
            .map_err(|fault| wrong("url", &format!("is wrong: {fault}")))?;
        if config.id.len() > ID_BYTES || config.id.chars().any(char::is_control) {
            return Err(wrong("id", "is not printable, or longer than 256 bytes"));
        }
        if !is_value(&config.token, TOKEN_BYTES) {
            let fault = "is not printable, or longer than 1024 bytes: it is sent as a header";
            return Err(wrong("token", fault));
        }
        let auth = config.authentication.clone().unwrap_or_default();
        if config.authentication.is_some() && auth.scheme.is_empty() {
            return Err(wrong(
                "authentication.scheme",
                "is required, such as Bearer or Basic",
            ));
        }
        let is_token = |c: char| c.is_ascii_alphanumeric() || "!#$%&'*+-.^_`|~".contains(c);
        if !auth.scheme.chars().all(is_token) || auth.scheme.len() > ID_BYTES {
            let fault = "is no scheme of HTTP, such as Bearer or Basic";
            return Err(wrong("authentication.scheme", fault));
        }
        if !is_value(&auth.credentials, CREDENTIALS_BYTES) {
            let fault = "is not printable, or longer than 8 KiB: it is sent as a header";
            return Err(wrong("authentication.credentials", fault));
        }
        Ok(Self {
            id: config.id.clone(),
            url: config.url.clone(),
            token: config.token.clone(),
            scheme: auth.scheme,
            credentials: auth.credentials,
            owner: String::new(),
        })
    }

    /// The same, made by this principal.
    pub(crate) fn of(self, owner: String) -> Self {
        Self { owner, ..self }
    }

    /// The configuration as clients see it. Token and credentials are secrets (specification §13.2, §13.4), for the receiver alone.
    pub(crate) fn shown(self, tenant: &str, task_id: &str) -> TaskPushNotificationConfig {
        let authentication = (!self.scheme.is_empty()).then(|| AuthenticationInfo {
            scheme: self.scheme,
            credentials: String::new(),
        });
        TaskPushNotificationConfig {
            tenant: tenant.to_owned(),
            id: self.id,
            task_id: task_id.to_owned(),
            url: self.url,
            token: String::new(),
            authentication,
        }
    }

    /// The value of `Authorization`.
    pub(crate) fn authorization(&self) -> Option<String> {
        match (self.scheme.as_str(), self.credentials.as_str()) {
            ("", _) => None,
            (scheme, "") => Some(scheme.to_owned()),
            (scheme, credentials) => Some(format!("{scheme} {credentials}")),
        }
    }
}

fn is_value(text: &str, bytes: usize) -> bool {
    text.len() <= bytes && HeaderValue::from_str(text).is_ok()
}

/// Reads the address of a receiver, and checks it as far as that goes without asking for names; those are checked whenever it is called.
///
/// # Errors
///
/// The fault (§13.2).
pub(crate) fn receiver(url: &str, allow: &[Network]) -> Result<Uri, String> {
    let uri = parse_url(url).map_err(|error| error.to_string())?;
    let host = uri.host().unwrap_or_default();
    let name = host.trim_end_matches('.');
    let is_local = name == "localhost" || name.ends_with(".localhost");
    let in_brackets = host.strip_prefix('[').and_then(|h| h.strip_suffix(']'));
    let address = match is_local {
        true => Some(Ipv4Addr::LOCALHOST.into()),
        false => in_brackets.unwrap_or(host).parse::<IpAddr>().ok(),
    };
    if let Some(address) = address {
        may_reach(address, allow).map_err(|refusal| {
            format!("{host} is not called: {refusal}; the setting outbound.allow names the networks that are, besides public ones")
        })?;
    }
    Ok(uri)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config(url: &str) -> TaskPushNotificationConfig {
        TaskPushNotificationConfig {
            url: url.into(),
            ..Default::default()
        }
    }

    fn fault(config: &TaskPushNotificationConfig) -> String {
        let read = Config::read(config, "x.", &[]);
        read.map_or_else(|error| error.field, |_| String::new())
    }

    /// spec: A2A 1.0.1 §13.2
    #[test]
    fn receivers_in_private_networks_are_refused() {
        let everywhere = Network::everything();
        for url in [
            "http://127.0.0.1/",
            "http://2130706433/",
            "http://localhost:80/a",
            "http://LOCALHOST./a",
            "http://a.localhost/",
            "http://10.1.2.3/",
            "http://169.254.169.254/latest/meta-data",
            "http://[::1]/",
            "http://[::ffff:127.0.0.1]/",
        ] {
            assert!(receiver(url, &[]).is_err(), "{url}");
            assert!(receiver(url, &everywhere).is_ok(), "{url}");
        }
        for url in [
            "https://93.184.216.34/x",
            "https://[2606:4700::1]:8443/",
            "https://hook.example/a?b=c",
        ] {
            assert!(receiver(url, &[]).is_ok(), "{url}");
        }
        for url in [
            "hook.example/a",
            "ftp://hook.example/",
            "https://u:p@hook.example/",
        ] {
            assert!(receiver(url, &everywhere).is_err(), "{url}");
        }
    }

    #[test]
    fn wrong_fields_are_named() {
        assert_eq!(fault(&config("")), "x.url");
        assert_eq!(fault(&config("https://hook.example/")), "");
        let with = |change: fn(&mut TaskPushNotificationConfig)| {
            let mut config = config("https://hook.example/");
            change(&mut config);
            fault(&config)
        };
        assert_eq!(with(|c| c.token = "a\r\nb: c".into()), "x.token");
        assert_eq!(with(|c| c.id = "a\nb".into()), "x.id");
        let auth = |scheme: &str, credentials: &str| AuthenticationInfo {
            scheme: scheme.into(),
            credentials: credentials.into(),
        };
        assert_eq!(
            with(|c| c.authentication = Some(Default::default())),
            "x.authentication.scheme"
        );
        let mut config = config("https://hook.example/");
        config.authentication = Some(auth("Bear er", ""));
        assert_eq!(fault(&config), "x.authentication.scheme");
        config.authentication = Some(auth("Bearer", "a\nb"));
        assert_eq!(fault(&config), "x.authentication.credentials");
    }

    /// spec: A2A 1.0.1 §4.3.2, §13.2, §13.4
    #[test]
    fn credentials_are_sent_and_not_shown() {
        let mut given = config("https://hook.example/");
        given.token = "tok".into();
        given.authentication = Some(AuthenticationInfo {
            scheme: "Bearer".into(),
            credentials: "secret".into(),
        });
        let read = Config::read(&given, "", &[]).expect("right");
        assert_eq!(read.authorization().as_deref(), Some("Bearer secret"));
        assert!(!format!("{read:?}").contains("secret"));
        assert_eq!(read.token, "tok");
        let shown = read.shown("", "t");
        assert_eq!(shown.token, "");
        let shown = shown.authentication.unwrap_or_default();
        assert_eq!(
            (shown.scheme.as_str(), shown.credentials.as_str()),
            ("Bearer", "")
        );
    }
}

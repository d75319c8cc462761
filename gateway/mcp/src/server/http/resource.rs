//! The endpoint as a protected resource (RFC 9728): its URL, and who issues tokens for it.

use axum::{
    extract::Request,
    http::{header, uri::Authority},
};
use serde_json::{Map, Value, json};

use super::DoorSettings;

/// Path of the metadata of a resource at the root; that of a resource with a path has it behind (RFC 9728 §3.1).
pub(super) const WELL_KNOWN: &str = "/.well-known/oauth-protected-resource";

/// The endpoint.
#[derive(Debug)]
pub(super) struct Resource {
    settings: DoorSettings,
    path: &'static str,
}

/// The endpoint as one request has reached it.
#[derive(Debug)]
pub(super) struct Place<'a> {
    resource: &'a Resource,
    /// Scheme and authority.
    origin: String,
    path: String,
}

impl Resource {
    pub(super) fn new(settings: DoorSettings, path: &'static str) -> Self {
        Self { settings, path }
    }

    /// The endpoint under the name that this request has for it.
    pub(super) fn at(&self, request: &Request) -> Place<'_> {
        let public = self.settings.public_url.as_deref();
        let public = public.and_then(|url| url.parse::<http::Uri>().ok());
        if let Some(url) = public
            && let (Some(scheme), Some(authority)) = (url.scheme_str(), url.authority())
        {
            return Place {
                resource: self,
                origin: format!("{scheme}://{authority}"),
                path: url.path().trim_end_matches('/').to_owned(),
            };
        }
        let host = request.headers().get(header::HOST);
        let host = host.and_then(|host| host.to_str().ok()?.parse().ok());
        let host: Option<Authority> = host.or_else(|| request.uri().authority().cloned());
        let host = host.map_or_else(
            || self.settings.address.to_string(),
            |host| match host.port() {
                Some(port) => format!("{}:{port}", host.host()),
                None => host.host().to_owned(),
            },
        );
        Place {
            resource: self,
            origin: format!("{}://{host}", self.settings.scheme()),
            path: self.path.to_owned(),
        }
    }
}

impl Place<'_> {
    /// URL of its metadata.
    pub(super) fn metadata_url(&self) -> String {
        format!("{}{WELL_KNOWN}{}", self.origin, self.path)
    }

    /// Scopes that tokens of issuers elsewhere need.
    pub(super) fn scopes(&self) -> &[String] {
        &self.resource.settings.scopes
    }

    /// Its metadata. What has no value is left out (RFC 9728 §3.2): where the hub takes its own tokens alone, no server gives any.
    pub(super) fn document(&self) -> Value {
        let settings = &self.resource.settings;
        let mut document = Map::new();
        let resource = format!("{}{}", self.origin, self.path);
        document.insert("resource".to_owned(), json!(resource));
        if !settings.issuers.is_empty() {
            document.insert("authorization_servers".to_owned(), json!(settings.issuers));
        }
        if !settings.scopes.is_empty() {
            document.insert("scopes_supported".to_owned(), json!(settings.scopes));
        }
        document.insert("bearer_methods_supported".to_owned(), json!(["header"]));
        document.insert("resource_name".to_owned(), json!("AgentHub"));
        Value::Object(document)
    }
}

#[cfg(test)]
mod tests {
    use axum::body::Body;

    use super::*;

    fn settings() -> DoorSettings {
        DoorSettings {
            address: ([127, 0, 0, 1], 8765).into(),
            is_tls: true,
            public_url: None,
            issuers: Vec::new(),
            scopes: Vec::new(),
            needs_identity: true,
        }
    }

    fn check(settings: DoorSettings, host: Option<&str>, resource: &str, metadata: &str) {
        let mut request = Request::builder().uri("/mcp");
        if let Some(host) = host {
            request = request.header("Host", host);
        }
        let request = request.body(Body::empty()).expect("a request");
        let resource_of = Resource::new(settings, "/mcp");
        let place = resource_of.at(&request);
        assert_eq!(place.document()["resource"], resource);
        assert_eq!(place.metadata_url(), metadata);
    }

    /// RFC 9728 §3.1, §3.3: the metadata of a resource is found by its URL, and names the same URL.
    #[test]
    fn the_resource_is_called_as_its_callers_call_it() {
        let of_hub = "https://hub.example/mcp";
        let at_hub = "https://hub.example/.well-known/oauth-protected-resource/mcp";
        check(settings(), Some("hub.example"), of_hub, at_hub);
        check(
            settings(),
            Some("user@[::1]:8765"),
            "https://[::1]:8765/mcp",
            "https://[::1]:8765/.well-known/oauth-protected-resource/mcp",
        );
        for host in [None, Some("a b"), Some("\"")] {
            check(
                settings(),
                host,
                "https://127.0.0.1:8765/mcp",
                "https://127.0.0.1:8765/.well-known/oauth-protected-resource/mcp",
            );
        }
        let public = |url: &str| DoorSettings {
            public_url: Some(url.to_owned()),
            is_tls: false,
            ..settings()
        };
        check(public(of_hub), Some("10.0.0.1"), of_hub, at_hub);
        check(
            public("https://tools.example/"),
            Some("10.0.0.1"),
            "https://tools.example",
            "https://tools.example/.well-known/oauth-protected-resource",
        );
    }

    /// RFC 9728 §2, §3.2
    #[test]
    fn what_has_no_value_is_left_out() {
        let request = Request::new(Body::empty());
        let own = Resource::new(settings(), "/mcp").at(&request).document();
        assert_eq!(own.get("authorization_servers"), None);
        assert_eq!(own.get("scopes_supported"), None);
        let with = DoorSettings {
            issuers: vec!["https://login.example".to_owned()],
            scopes: vec!["openid".to_owned()],
            ..settings()
        };
        let document = Resource::new(with, "/mcp").at(&request).document();
        assert_eq!(
            document["authorization_servers"],
            json!(["https://login.example"])
        );
        assert_eq!(document["scopes_supported"], json!(["openid"]));
        assert_eq!(document["bearer_methods_supported"], json!(["header"]));
    }
}

//! Claims of a token, and what they mean for the hub.

use serde_json::{Map, Value};

use super::{IssuerSettings, verification::Refusal};
use crate::Principal;

/// Maximum number of words of the claim of groups that are looked at.
const MAX_GROUPS: usize = 1_000;

/// Meaning of the claims of a token that was checked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Meaning {
    pub(crate) principal: Principal,
    pub(crate) namespace: Option<String>,
    /// Roles of the hub, each once.
    pub(crate) roles: Vec<String>,
    /// Seconds since 1970.
    pub(crate) expires: u64,
    pub(crate) nonce: Option<String>,
    /// The client that it was issued to, if it says so.
    pub(crate) authorized_party: Option<String>,
    /// It is for others, too.
    pub(crate) has_other_audiences: bool,
}

impl Meaning {
    /// Reads the claims as these settings say.
    pub(super) fn of(
        settings: &IssuerSettings,
        claims: &Map<String, Value>,
    ) -> Result<Self, Refusal> {
        let wrong = |why: String| Refusal::Claims(why);
        let named = text(claims, &settings.principal)
            .filter(|name| !name.is_empty())
            .ok_or_else(|| {
                wrong(format!(
                    "its claim `{}`, which names the principal, is missing",
                    settings.principal
                ))
            })?;
        // An address that somebody has only said to be theirs names nobody.
        if settings.principal == "email" && claims.get("email_verified") == Some(&false.into()) {
            return Err(wrong("its `email` is not verified".to_owned()));
        }
        let principal = settings.principal_of(named).parse();
        let principal = principal.map_err(|error: crate::InvalidPrincipal| {
            wrong(format!("its claim `{}`: {error}", settings.principal))
        })?;
        let namespace = match &settings.namespace {
            None => None,
            Some(claim) => Some(
                text(claims, claim)
                    .filter(|name| !name.is_empty())
                    .ok_or_else(|| {
                        wrong(format!(
                            "its claim `{claim}`, which names the namespace, is missing"
                        ))
                    })?
                    .to_owned(),
            ),
        };
        let mut roles = settings.default_roles.clone();
        if let Some(claim) = &settings.groups {
            let given = words(claims, claim).filter_map(|word| settings.roles.get(word));
            roles.extend(given.flatten().cloned());
        }
        roles.sort();
        roles.dedup();
        let expires = claims.get("exp").and_then(seconds);
        Ok(Self {
            principal,
            namespace,
            roles,
            expires: expires.ok_or_else(|| wrong("its claim `exp` is no time".to_owned()))?,
            nonce: text(claims, "nonce").map(str::to_owned),
            authorized_party: match claims.get("azp") {
                None => None,
                Some(Value::String(party)) => Some(party.clone()),
                Some(_) => return Err(wrong("its claim `azp` has another form".to_owned())),
            },
            has_other_audiences: claims
                .get("aud")
                .and_then(Value::as_array)
                .is_some_and(|audiences| audiences.len() > 1),
        })
    }

    /// The fault of a token about a person who logs in, if it was not issued to this client (OpenID Connect Core 1.0 §3.1.3.7).
    pub(crate) fn fault_of_login(&self, client: &str) -> Option<&'static str> {
        match &self.authorized_party {
            Some(party) if party != client => Some("it was issued to another client"),
            None if self.has_other_audiences => {
                Some("it is for several audiences, and its claim `azp` is missing")
            }
            _ => None,
        }
    }
}

/// A time in seconds since 1970; fractions are left out.
fn seconds(value: &Value) -> Option<u64> {
    value.as_u64().or_else(|| {
        let fraction = value.as_f64().filter(|seconds| *seconds >= 0.0)?;
        // A float larger than that becomes the largest number, which is as good as no end.
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
        Some(fraction as u64)
    })
}

/// The value of a claim: of the name as it stands, or where its dots lead to.
fn claim<'a>(claims: &'a Map<String, Value>, name: &str) -> Option<&'a Value> {
    if let Some(value) = claims.get(name) {
        return Some(value);
    }
    let mut parts = name.split('.');
    let first = claims.get(parts.next()?)?;
    parts.try_fold(first, |value, part| value.get(part))
}

fn text<'a>(claims: &'a Map<String, Value>, name: &str) -> Option<&'a str> {
    claim(claims, name)?.as_str()
}

/// The words of a claim: a list, or one text with spaces between them, as `scope` is.
fn words<'a>(claims: &'a Map<String, Value>, name: &str) -> impl Iterator<Item = &'a str> {
    let value = claim(claims, name);
    let list = value.and_then(Value::as_array).into_iter().flatten();
    let text = value.and_then(Value::as_str).into_iter();
    list.filter_map(Value::as_str)
        .chain(text.flat_map(str::split_whitespace))
        .take(MAX_GROUPS)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn settings(text: &str) -> IssuerSettings {
        let text = format!("issuer = 'https://id.example'\naudience = 'hub'\n{text}");
        let mut settings: IssuerSettings = toml::from_str(&text).expect("settings");
        settings.name = "corp".to_owned();
        settings
    }

    fn read(text: &str, claims: Value) -> Result<Meaning, String> {
        let claims = claims.as_object().expect("an object");
        Meaning::of(&settings(text), claims).map_err(|refusal| refusal.to_string())
    }

    #[test]
    fn claims_mean_what_the_settings_say_and_nothing_else() {
        let meaning = read(
            "principal = 'email'\nprefix = ''\nnamespace = 'org.id'\ngroups = 'realm.roles'\ndefault_roles = ['agent']\n\
             roles.ops = ['operator', 'agent']",
            json!({"exp": 7.9, "email": "a@b.example", "org": {"id": "blue"}, "realm": {"roles": ["ops", "admin", 3]}, "roles": ["admin"]}),
        )
        .expect("right");
        assert_eq!(meaning.principal.as_str(), "a@b.example");
        assert_eq!(meaning.namespace.as_deref(), Some("blue"));
        assert_eq!(meaning.roles, ["agent", "operator"]);
        assert_eq!(meaning.expires, 7);
        let plain = read(
            "groups = 'scope'\nroles.ops = ['operator']",
            json!({"exp": 1, "sub": "x", "scope": "openid ops"}),
        );
        let plain = plain.expect("right");
        assert_eq!(
            (plain.principal.as_str(), &plain.roles[..]),
            ("corp:x", &["operator".to_owned()][..])
        );
    }

    #[test]
    fn claims_that_are_missing_or_name_nobody_are_refused() {
        for (text, claims, said) in [
            (
                "",
                json!({"exp": 1}),
                "`sub`, which names the principal, is missing",
            ),
            ("", json!({"exp": 1, "sub": ""}), "is missing"),
            ("", json!({"exp": 1, "sub": 7}), "is missing"),
            ("", json!({"exp": 1, "sub": "a*"}), "no name of a principal"),
            (
                "",
                json!({"exp": 1, "sub": "a\n"}),
                "no name of a principal",
            ),
            (
                "prefix = ''",
                json!({"exp": 1, "sub": "agenthub"}),
                "a name of the hub itself",
            ),
            (
                "namespace = 'org'",
                json!({"exp": 1, "sub": "a"}),
                "names the namespace, is missing",
            ),
            (
                "principal = 'email'",
                json!({"exp": 1, "email": "a@b", "email_verified": false}),
                "not verified",
            ),
            ("", json!({"exp": "never", "sub": "a"}), "`exp` is no time"),
            ("", json!({"exp": -1, "sub": "a"}), "`exp` is no time"),
        ] {
            let error = read(text, claims).expect_err(text);
            assert!(error.contains(said), "{said}: {error}");
        }
    }
}

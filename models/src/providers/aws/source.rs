//! Source of the AWS credentials: the environment, a profile, a container or an instance.
//!
//! The order is that of AWS's own tools: an access key in the environment, a web identity in the environment, the profile that
//! `AWS_PROFILE` names (else `default`), the container's endpoint, the instance's metadata.

use std::{fs, io, path::PathBuf};

use ini::{Ini, ParseOption};

use super::Keys;
use crate::Secret;

/// The most profiles that assume each other's roles.
const MAX_ROLES: usize = 5;

/// A variable of the environment.
pub(in crate::providers) type Env<'a> = &'a dyn Fn(&str) -> Option<String>;

/// A source of credentials.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::providers) enum Source {
    /// Keys that are known already.
    Keys(Keys),
    /// A role that is assumed with the token in a file, which a cluster puts there.
    WebIdentity(WebIdentity),
    /// A role of IAM Identity Center, with the token of `aws sso login`.
    Sso(Sso),
    /// A program that prints them.
    Process(String),
    /// A role that is assumed with the credentials of another source.
    Role(Role, Box<Source>),
    /// The endpoint that a container is told of.
    Container,
    /// The metadata service of an instance.
    Instance,
}

/// A role to assume.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::providers) struct Role {
    pub(super) arn: String,
    pub(super) session_name: Option<String>,
    pub(super) external_id: Option<String>,
    pub(super) duration_s: Option<u32>,
}

/// A role that a token lets assume.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::providers) struct WebIdentity {
    pub(super) role_arn: String,
    pub(super) token_file: PathBuf,
    pub(super) session_name: Option<String>,
}

/// A role of an account in IAM Identity Center.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::providers) struct Sso {
    pub(super) start_url: String,
    pub(super) region: String,
    pub(super) account: String,
    pub(super) role: String,
}

/// The shared files, `~/.aws/config` and `~/.aws/credentials`, and the profile of them that is used.
pub(in crate::providers) struct Profiles {
    config: Ini,
    credentials: Ini,
    /// The profile's name, and whether somebody named it.
    profile: String,
    is_named: bool,
}

impl Profiles {
    /// Reads both files; one that is not there is empty. `AWS_CONFIG_FILE` and `AWS_SHARED_CREDENTIALS_FILE` say where else they are.
    ///
    /// # Errors
    ///
    /// The file that cannot be read, and why.
    pub(in crate::providers) fn read(env: Env<'_>) -> Result<Self, String> {
        let named = env("AWS_PROFILE").or_else(|| env("AWS_DEFAULT_PROFILE"));
        Ok(Self {
            config: read(env, "AWS_CONFIG_FILE", ".aws/config")?,
            credentials: read(env, "AWS_SHARED_CREDENTIALS_FILE", ".aws/credentials")?,
            is_named: named.is_some(),
            profile: named.unwrap_or_else(|| "default".to_owned()),
        })
    }

    /// The region of the profile.
    pub(in crate::providers) fn region(&self) -> Option<&str> {
        self.get(&self.profile, "region")
    }

    /// The source of credentials.
    ///
    /// # Errors
    ///
    /// The profile cannot be used, with what to change.
    pub(in crate::providers) fn source(&self, env: Env<'_>) -> Result<Source, String> {
        if let Some(keys) = environment(env)? {
            return Ok(Source::Keys(keys));
        }
        if let Some(identity) =
            web_identity(&|key| env(&format!("AWS_{}", key.to_ascii_uppercase())))
        {
            return Ok(Source::WebIdentity(identity));
        }
        let is_there = self.has(&self.profile);
        if self.is_named && !is_there {
            return Err(format!(
                "no AWS profile `{}` in ~/.aws/config or ~/.aws/credentials: AWS_PROFILE names it",
                self.profile
            ));
        }
        match self.of_profile(&self.profile, &mut Vec::new(), env)? {
            Some(source) => Ok(source),
            None if self.is_named => Err(format!(
                "the AWS profile `{}` has no credentials: it has neither keys nor role_arn, credential_process or sso_start_url",
                self.profile
            )),
            None if is_container(env) => Ok(Source::Container),
            None => Ok(Source::Instance),
        }
    }

    fn of_profile(
        &self,
        profile: &str,
        on_the_way: &mut Vec<String>,
        env: Env<'_>,
    ) -> Result<Option<Source>, String> {
        let get = |key: &str| self.get(profile, key).map(str::to_owned);
        let refuse = |why: &str| Err(format!("the AWS profile `{profile}` {why}"));
        if let Some(identity) = web_identity(&get) {
            return Ok(Some(Source::WebIdentity(identity)));
        }
        // A profile may have both a role and the keys with which it is assumed.
        let is_own_source = on_the_way.iter().any(|earlier| earlier == profile);
        if let Some(arn) = get("role_arn").filter(|_| !is_own_source) {
            if on_the_way.len() == MAX_ROLES {
                return refuse(
                    "is at the end of too many roles: at most 5 are assumed one after the other",
                );
            }
            if get("mfa_serial").is_some() {
                return refuse(
                    "wants a code of a second factor, which nobody types here: write `credential_process = aws configure \
                     export-credentials --profile NAME --format process` in a profile of its own",
                );
            }
            on_the_way.push(profile.to_owned());
            let from = match (get("source_profile"), get("credential_source").as_deref()) {
                (Some(from), _) if !self.has(&from) => {
                    return refuse(&format!("has a source_profile `{from}` that is not there"));
                }
                (Some(from), _) => self.of_profile(&from, on_the_way, env)?,
                (None, Some("Environment")) => environment(env)?.map(Source::Keys),
                (None, Some("EcsContainer")) => Some(Source::Container),
                (None, Some("Ec2InstanceMetadata")) => Some(Source::Instance),
                (None, _) => {
                    return refuse(
                        "has a role_arn and says not with whose credentials: add source_profile, or credential_source \
                         with Environment, EcsContainer or Ec2InstanceMetadata",
                    );
                }
            };
            let Some(from) = from else {
                return refuse("has a role_arn, but its source has no credentials");
            };
            let duration_s = match get("duration_seconds").map(|seconds| seconds.parse()) {
                None => None,
                Some(Ok(seconds)) => Some(seconds),
                Some(Err(_)) => return refuse("has a duration_seconds that is no number"),
            };
            let role = Role {
                arn,
                session_name: get("role_session_name"),
                external_id: get("external_id"),
                duration_s,
            };
            return Ok(Some(Source::Role(role, Box::new(from))));
        }
        if get("sso_session").is_some() {
            return refuse(
                "is of an sso_session, whose token is not read here: write `credential_process = aws configure \
                 export-credentials --profile NAME --format process` in a profile of its own",
            );
        }
        if let (Some(start_url), Some(region), Some(account), Some(role)) = (
            get("sso_start_url"),
            get("sso_region"),
            get("sso_account_id"),
            get("sso_role_name"),
        ) {
            return Ok(Some(Source::Sso(Sso {
                start_url,
                region,
                account,
                role,
            })));
        }
        if let (Some(id), Some(secret)) = (get("aws_access_key_id"), get("aws_secret_access_key")) {
            return Ok(Some(Source::Keys(Keys {
                id,
                secret: Secret::new(secret),
                session: get("aws_session_token").map(Secret::new),
            })));
        }
        Ok(get("credential_process").map(Source::Process))
    }

    fn has(&self, profile: &str) -> bool {
        self.credentials.section(Some(profile)).is_some()
            || self.config.section(Some(section(profile))).is_some()
    }

    fn get(&self, profile: &str, key: &str) -> Option<&str> {
        let credentials = self.credentials.section(Some(profile));
        let config = self.config.section(Some(section(profile)));
        let value = credentials.and_then(|section| section.get(key));
        value
            .or_else(|| config?.get(key))
            .filter(|value| !value.is_empty())
    }
}

/// The section of `~/.aws/config` that a profile has.
fn section(profile: &str) -> String {
    match profile {
        "default" => profile.to_owned(),
        profile => format!("profile {profile}"),
    }
}

fn environment(env: Env<'_>) -> Result<Option<Keys>, String> {
    match (env("AWS_ACCESS_KEY_ID"), env("AWS_SECRET_ACCESS_KEY")) {
        (Some(id), Some(secret)) => Ok(Some(Keys {
            id,
            secret: Secret::new(secret),
            session: env("AWS_SESSION_TOKEN").map(Secret::new),
        })),
        (Some(_), None) => Err("AWS_ACCESS_KEY_ID is set and AWS_SECRET_ACCESS_KEY is not".into()),
        (None, _) => Ok(None),
    }
}

fn web_identity(get: Env<'_>) -> Option<WebIdentity> {
    Some(WebIdentity {
        role_arn: get("role_arn")?,
        token_file: get("web_identity_token_file")?.into(),
        session_name: get("role_session_name"),
    })
}

fn is_container(env: Env<'_>) -> bool {
    env("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI").is_some()
        || env("AWS_CONTAINER_CREDENTIALS_FULL_URI").is_some()
}

fn read(env: Env<'_>, variable: &str, usual: &str) -> Result<Ini, String> {
    let home = || env("HOME").map(PathBuf::from);
    let path = match env(variable) {
        Some(path) => match path.strip_prefix("~/") {
            Some(rest) => home().map(|home| home.join(rest)),
            None => Some(PathBuf::from(path)),
        },
        None => home().map(|home| home.join(usual)),
    };
    let Some(path) = path else {
        return Ok(Ini::new());
    };
    let text = match fs::read_to_string(&path) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Ini::new()),
        Err(error) => return Err(format!("{} cannot be read: {error}", path.display())),
    };
    // Values stand as they are: a secret may have any character in it.
    let plain = ParseOption {
        enabled_quote: false,
        enabled_escape: false,
        ..ParseOption::default()
    };
    Ini::load_from_str_opt(&text, plain)
        .map_err(|error| format!("{} cannot be read: {error}", path.display()))
}

#[cfg(test)]
#[path = "source_tests.rs"]
mod tests;

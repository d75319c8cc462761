use std::{collections::HashMap, fs};

use super::*;

const CONFIG: &str = "\
# Profiles, as `aws configure` writes them.
[default]
region = eu-central-1
s3 =
    max_concurrent_requests = 20

[profile audit]
role_arn = arn:aws:iam::123456789012:role/Audit
source_profile = base
external_id = e#1
role_session_name = me
duration_seconds = 900

[profile deep]
role_arn = arn:aws:iam::123456789012:role/Deep
source_profile = audit

[profile pod]
role_arn = arn:aws:iam::123456789012:role/Pod
credential_source = EcsContainer

[profile both]
role_arn = arn:aws:iam::123456789012:role/Both
source_profile = both
aws_access_key_id = AKIABOTH
aws_secret_access_key = both+/secret

[profile login]
sso_start_url = https://my.awsapps.com/start
sso_region = eu-west-1
sso_account_id = 123456789012
sso_role_name = Reader

[profile printed]
credential_process = /opt/tool --for me

[profile web]
role_arn = arn:aws:iam::123456789012:role/Web
web_identity_token_file = /var/token

[profile long]
role_arn = arn:aws:iam::123456789012:role/Long
source_profile = base
duration_seconds = an hour

[profile session]
sso_session = mine
sso_account_id = 1

[profile lost]
role_arn = arn:aws:iam::123456789012:role/Lost
source_profile = nobody

[profile alone]
role_arn = arn:aws:iam::123456789012:role/Alone

[profile circle]
role_arn = arn:aws:iam::123456789012:role/Circle
source_profile = back

[profile back]
role_arn = arn:aws:iam::123456789012:role/Back
source_profile = circle

[profile mfa]
role_arn = arn:aws:iam::123456789012:role/Mfa
source_profile = base
mfa_serial = arn:aws:iam::123456789012:mfa/me

[profile bare]
region = us-west-2
";

const CREDENTIALS: &str = "\
[base]
aws_access_key_id = AKIABASE
aws_secret_access_key = a\\b\"c/d+e

[temporary]
aws_access_key_id = ASIATEMP
aws_secret_access_key = secret
aws_session_token = token==
";

fn chosen(variables: &[(&str, &str)]) -> (Result<Source, String>, Option<String>) {
    let home = tempfile::tempdir().expect("a temporary folder");
    fs::create_dir(home.path().join(".aws")).expect("a folder");
    fs::write(home.path().join(".aws/config"), CONFIG).expect("a file");
    fs::write(home.path().join(".aws/credentials"), CREDENTIALS).expect("a file");
    let home = home.path().to_str().expect("text").to_owned();
    let mut all: HashMap<&str, &str> = variables.iter().copied().collect();
    all.entry("HOME").or_insert(&home);
    let env = |name: &str| all.get(name).map(|value| (*value).to_owned());
    let profiles = Profiles::read(&env).expect("files that can be read");
    (profiles.source(&env), profiles.region().map(str::to_owned))
}

fn of_profile(profile: &str) -> Result<Source, String> {
    chosen(&[("AWS_PROFILE", profile)]).0
}

fn keys(id: &str, secret: &str, session: Option<&str>) -> Keys {
    Keys {
        id: id.to_owned(),
        secret: Secret::new(secret),
        session: session.map(Secret::new),
    }
}

fn role(name: &str) -> Role {
    Role {
        arn: format!("arn:aws:iam::123456789012:role/{name}"),
        session_name: None,
        external_id: None,
        duration_s: None,
    }
}

fn audit() -> Source {
    let base = Source::Keys(keys("AKIABASE", "a\\b\"c/d+e", None));
    let role = Role {
        session_name: Some("me".into()),
        external_id: Some("e#1".into()),
        duration_s: Some(900),
        ..role("Audit")
    };
    Source::Role(role, Box::new(base))
}

#[test]
fn a_profile_has_keys_a_role_a_login_or_a_program() {
    let both = Source::Keys(keys("AKIABOTH", "both+/secret", None));
    for (profile, expected) in [
        ("base", Source::Keys(keys("AKIABASE", "a\\b\"c/d+e", None))),
        (
            "temporary",
            Source::Keys(keys("ASIATEMP", "secret", Some("token=="))),
        ),
        ("audit", audit()),
        ("deep", Source::Role(role("Deep"), Box::new(audit()))),
        (
            "pod",
            Source::Role(role("Pod"), Box::new(Source::Container)),
        ),
        ("both", Source::Role(role("Both"), Box::new(both))),
        (
            "login",
            Source::Sso(Sso {
                start_url: "https://my.awsapps.com/start".into(),
                region: "eu-west-1".into(),
                account: "123456789012".into(),
                role: "Reader".into(),
            }),
        ),
        ("printed", Source::Process("/opt/tool --for me".into())),
        (
            "web",
            Source::WebIdentity(WebIdentity {
                role_arn: role("Web").arn,
                token_file: "/var/token".into(),
                session_name: None,
            }),
        ),
    ] {
        assert_eq!(of_profile(profile), Ok(expected), "{profile}");
    }
}

#[test]
fn a_profile_that_cannot_be_used_says_what_to_change() {
    for (profile, why) in [
        ("nobody", "no AWS profile `nobody`"),
        ("session", "credential_process"),
        ("long", "a duration_seconds that is no number"),
        ("lost", "a source_profile `nobody` that is not there"),
        ("alone", "add source_profile, or credential_source"),
        ("circle", "its source has no credentials"),
        ("mfa", "a second factor"),
        ("bare", "has no credentials"),
    ] {
        let error = of_profile(profile).expect_err(profile);
        assert!(error.contains(why), "{profile}: {error}");
    }
}

#[test]
fn the_environment_goes_before_profiles_and_they_before_container_and_instance() {
    let key = [("AWS_ACCESS_KEY_ID", "id"), ("AWS_SECRET_ACCESS_KEY", "s")];
    let identity = [
        ("AWS_ROLE_ARN", "arn:aws:iam::1:role/W"),
        ("AWS_WEB_IDENTITY_TOKEN_FILE", "/t"),
    ];
    let profile = ("AWS_PROFILE", "base");
    let container = ("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI", "/c");
    let all = [key[0], key[1], identity[0], identity[1], profile, container];
    let source = |from: usize| chosen(&all[from..]).0.expect("a source");
    assert_eq!(source(0), Source::Keys(keys("id", "s", None)));
    assert!(matches!(source(2), Source::WebIdentity(_)));
    assert!(matches!(source(4), Source::Keys(base) if base.id == "AKIABASE"));
    assert_eq!(source(5), Source::Container);
    assert_eq!(source(6), Source::Instance);
    let half = chosen(&key[..1]).0.expect_err("half a key");
    assert!(half.contains("AWS_SECRET_ACCESS_KEY"), "{half}");
}

#[test]
fn files_may_stand_elsewhere_and_the_region_is_the_profiles() {
    let (_, region) = chosen(&[]);
    assert_eq!(region.as_deref(), Some("eu-central-1"));
    let (_, region) = chosen(&[("AWS_PROFILE", "bare")]);
    assert_eq!(region.as_deref(), Some("us-west-2"));
    let elsewhere = tempfile::NamedTempFile::new().expect("a file");
    fs::write(elsewhere.path(), "[default]\nregion = mars-1\n").expect("a file");
    let path = elsewhere.path().to_str().expect("text");
    let (source, region) = chosen(&[("AWS_CONFIG_FILE", path)]);
    assert_eq!(source, Ok(Source::Instance));
    assert_eq!(region.as_deref(), Some("mars-1"));
    let (source, _) = chosen(&[("HOME", "/nowhere")]);
    assert_eq!(source, Ok(Source::Instance));
}

#[test]
fn a_file_that_is_no_ini_is_named() {
    let broken = tempfile::NamedTempFile::new().expect("a file");
    fs::write(broken.path(), "[default\nregion").expect("a file");
    let path = broken.path().to_str().expect("text");
    let env = |name: &str| (name == "AWS_CONFIG_FILE").then(|| path.to_owned());
    let error = Profiles::read(&env).err().expect("it is no INI file");
    assert!(error.contains(path), "{error}");
}

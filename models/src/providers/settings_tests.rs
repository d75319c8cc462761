use super::*;
use crate::providers::aws::Keys;

fn with_env(settings: &Settings, env: &[(&str, &str)]) -> Result<Resolved, ConfigError> {
    resolve(settings, &|name| {
        env.iter()
            .find(|(key, _)| *key == name)
            .map(|(_, value)| (*value).to_owned())
    })
}

fn url(resolved: &Resolved) -> String {
    match &resolved.address {
        Address::Fixed(url) => url.clone(),
        Address::Vertex(vertex) => vertex.url(vertex.project.as_deref().unwrap_or("found")),
    }
}

#[test]
fn providers_are_found_by_name_with_their_address_and_key() {
    for (model, env, expected_url, key) in [
        (
            "openai/gpt-5",
            &[("OPENAI_API_KEY", "k")][..],
            "https://api.openai.com/v1/",
            Some("k"),
        ),
        (
            "anthropic/claude-x",
            &[("ANTHROPIC_API_KEY", "k")],
            "https://api.anthropic.com/v1/",
            Some("k"),
        ),
        (
            "gemini/g",
            &[("GEMINI_API_KEY", "k")],
            "https://generativelanguage.googleapis.com/v1beta/",
            Some("k"),
        ),
        (
            "ollama/llama3.2:1b",
            &[],
            "http://localhost:11434/",
            Some(""),
        ),
        (
            "bedrock/amazon.nova-pro-v1:0",
            &[("BEDROCK_API_KEY", "k"), ("AWS_REGION", "eu-west-1")],
            "https://bedrock-runtime.eu-west-1.amazonaws.com/",
            Some("k"),
        ),
        (
            "vertex/gemini-2.5-flash",
            &[("GCP_PROJECT", "p"), ("GCP_LOCATION", "europe-west4")],
            "https://europe-west4-aiplatform.googleapis.com/v1/projects/p/locations/europe-west4/",
            None,
        ),
        (
            "vertex/gemini-2.5-flash",
            &[],
            "https://aiplatform.googleapis.com/v1/projects/found/locations/global/",
            None,
        ),
    ] {
        let resolved = with_env(&Settings::new(model), env).expect(model);
        assert_eq!(url(&resolved), expected_url);
        let expected = key.map_or(Credential::GoogleDefault, |key| {
            Credential::Key(Secret::new(key))
        });
        assert_eq!(resolved.credential, expected, "{model}");
    }
}

#[test]
fn settings_win_over_the_environment() {
    let settings = Settings {
        api_key: Some(Secret::new("mine")),
        endpoint: Some("http://127.0.0.1:8000/v1".into()),
        ..Settings::new("openai/org/model")
    };
    let resolved = with_env(&settings, &[("OPENAI_API_KEY", "theirs")]).expect("complete settings");
    assert_eq!(resolved.model, "org/model");
    assert_eq!(url(&resolved), "http://127.0.0.1:8000/v1/");
    assert_eq!(resolved.credential, Credential::Key(Secret::new("mine")));
    assert!(resolved.address.is_loopback());
}

#[test]
fn the_address_is_read_from_the_usual_variable() {
    for (model, variable, value, expected) in [
        (
            "openai/m",
            "OPENAI_BASE_URL",
            "http://gpu.local/v1",
            "http://gpu.local/v1/",
        ),
        (
            "anthropic/m",
            "ANTHROPIC_BASE_URL",
            "http://gpu.local/v1",
            "http://gpu.local/v1/",
        ),
        (
            "bedrock/m",
            "AWS_ENDPOINT_URL_BEDROCK_RUNTIME",
            "https://vpce.local",
            "https://vpce.local/",
        ),
        (
            "bedrock/m",
            "AWS_ENDPOINT_URL",
            "https://vpce.local",
            "https://vpce.local/",
        ),
    ] {
        let resolved = with_env(&Settings::new(model), &[(variable, value)]).expect(model);
        assert_eq!(url(&resolved), expected);
        let mine = Settings {
            endpoint: Some("http://mine.local".into()),
            ..Settings::new(model)
        };
        let resolved = with_env(&mine, &[(variable, value)]).expect(model);
        assert_eq!(url(&resolved), "http://mine.local/");
    }
}

#[test]
fn bedrock_takes_an_access_key_where_there_is_no_api_key() {
    let id = ("AWS_ACCESS_KEY_ID", "id");
    let secret = ("AWS_SECRET_ACCESS_KEY", "secret");
    let region = ("AWS_DEFAULT_REGION", "eu-west-1");
    let settings = Settings::new("bedrock/m");
    let resolved = with_env(&settings, &[id, secret, region]).expect("a whole key");
    let keys = |session: Option<&str>| Credential::Aws {
        source: Source::Keys(Keys {
            id: "id".into(),
            secret: Secret::new("secret"),
            session: session.map(Secret::new),
        }),
        region: "eu-west-1".into(),
    };
    assert_eq!(resolved.credential, keys(None));

    let session = ("AWS_SESSION_TOKEN", "session");
    let resolved = with_env(&settings, &[id, secret, region, session]).expect("a whole key");
    assert_eq!(resolved.credential, keys(Some("session")));

    let api_key = ("AWS_BEARER_TOKEN_BEDROCK", "k");
    let resolved = with_env(&settings, &[id, secret, api_key]).expect("an API key");
    assert_eq!(resolved.credential, Credential::Key(Secret::new("k")));

    for wrong in [id, ("AWS_PROFILE", "p")] {
        let error = with_env(&settings, &[wrong]).expect_err("it cannot be used");
        assert!(
            matches!(error, ConfigError::BadAwsCredentials(_)),
            "{error}"
        );
    }
}

/// A machine of AWS has credentials without a variable or a file that says so.
#[test]
fn bedrock_asks_the_instance_where_nothing_else_is_said_and_nobody_for_a_server_of_ones_own() {
    let resolved = with_env(&Settings::new("bedrock/m"), &[]).expect("it may be an instance");
    let instance = Credential::Aws {
        source: Source::Instance,
        region: "us-east-1".into(),
    };
    assert_eq!(resolved.credential, instance);
    let own = Settings {
        endpoint: Some("http://gpu.local".into()),
        ..Settings::new("bedrock/m")
    };
    let resolved = with_env(&own, &[]).expect("no key is needed");
    assert_eq!(resolved.credential, Credential::Key(Secret::new("none")));
}

#[test]
fn the_region_of_a_profile_is_that_of_the_model() {
    let config = tempfile::NamedTempFile::new().expect("a file");
    let text =
        "[profile p]\nregion = eu-south-2\naws_access_key_id = a\naws_secret_access_key = b\n";
    std::fs::write(config.path(), text).expect("a file");
    let path = config.path().to_str().expect("text");
    let env = [("AWS_PROFILE", "p"), ("AWS_CONFIG_FILE", path)];
    let resolved = with_env(&Settings::new("bedrock/m"), &env).expect("a profile");
    assert_eq!(
        url(&resolved),
        "https://bedrock-runtime.eu-south-2.amazonaws.com/"
    );
    assert!(
        matches!(resolved.credential, Credential::Aws { region, .. } if region == "eu-south-2")
    );
}

#[test]
fn a_server_of_ones_own_needs_no_key() {
    let settings = Settings {
        endpoint: Some("http://gpu.local/v1".into()),
        ..Settings::new("openai/m")
    };
    let resolved = with_env(&settings, &[]).expect("no key is needed");
    assert!(!resolved.address.is_loopback());
}

#[test]
fn what_is_wrong_is_said_in_one_line() {
    let token = Settings {
        api_key: Some(Secret::new("t")),
        ..Settings::new("vertex/g")
    };
    let endpoint = Settings {
        endpoint: Some("localhost:80".into()),
        ..Settings::new("ollama/m")
    };
    let location = Settings {
        location: Some("evil.example/".into()),
        ..Settings::new("vertex/g")
    };
    for (settings, expected) in [
        (
            Settings::new("gpt-5"),
            "model `gpt-5` names no provider: write provider/model, for example openai/gpt-5",
        ),
        (
            Settings::new("openai/"),
            "model `openai/` names no provider: write provider/model, for example openai/gpt-5",
        ),
        (
            Settings::new("acme/m"),
            "no model provider `acme`: there are vertex, openai, anthropic, bedrock, gemini and ollama; write provider/model, for example openai/gpt-5",
        ),
        (
            Settings::new("openai/gpt-5"),
            "openai needs a key: set OPENAI_API_KEY",
        ),
        (
            token,
            "vertex with an access token needs a project: set GCP_PROJECT",
        ),
        (
            endpoint,
            "the model endpoint `localhost:80` is no http or https URL",
        ),
        (
            location,
            "`evil.example/` is no name of a project, location or region",
        ),
    ] {
        let error = with_env(&settings, &[]).expect_err(expected);
        assert_eq!(error.to_string(), expected);
    }
}

#[test]
fn a_secret_does_not_show_itself() {
    let settings = Settings {
        api_key: Some(Secret::new("sk-hidden")),
        ..Settings::new("openai/m")
    };
    assert!(!format!("{settings:?}").contains("hidden"));
}

/// spec: HUB-4
#[test]
fn models_that_are_known_to_call_tools_are_told_from_others() {
    let own = [("OPENAI_BASE_URL", "http://127.0.0.1:8000/v1")];
    for (model, env, calls) in [
        ("openai/gpt-5", &[("OPENAI_API_KEY", "k")][..], true),
        ("openai/own", &own, false),
        ("anthropic/claude-x", &[("ANTHROPIC_API_KEY", "k")], true),
        ("vertex/gemini-2.5-flash", &[], true),
        (
            "bedrock/amazon.nova-pro-v1:0",
            &[("BEDROCK_API_KEY", "k")],
            true,
        ),
        ("ollama/llama3.2:1b", &[], false),
    ] {
        let resolved = with_env(&Settings::new(model), env).expect("nothing is missing");
        assert_eq!(resolved.calls_tools(), calls, "{model}");
    }
}

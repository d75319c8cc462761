use std::sync::{
    Arc, Mutex as StdMutex,
    atomic::{AtomicUsize, Ordering},
};
use std::time::Duration;

use base64::{Engine, engine::general_purpose::STANDARD};
use bytes::Bytes;
use http::{Request, Response};
use reqsign_core::{CommandExecute, CommandOutput, HttpSend, Result, time::Timestamp};

use super::super::source::{Role, Sso, WebIdentity};
use super::*;

/// A service that gives a temporary key, and remembers what it was asked.
#[derive(Clone, Debug)]
struct Service {
    asked: Arc<StdMutex<Vec<Request<Bytes>>>>,
    status: u16,
    body: String,
}

impl Service {
    fn giving(status: u16, body: impl Into<String>) -> Self {
        Self {
            asked: Arc::default(),
            status,
            body: body.into(),
        }
    }

    fn asked(&self) -> Vec<Request<Bytes>> {
        self.asked.lock().expect("no panic").clone()
    }
}

impl HttpSend for Service {
    async fn http_send(&self, request: Request<Bytes>) -> Result<Response<Bytes>> {
        self.asked.lock().expect("no panic").push(request);
        let response = Response::builder().status(self.status);
        Ok(response.body(self.body.clone().into()).expect("a response"))
    }
}

fn assumed(action: &str, lifetime: Duration) -> String {
    let until = (Timestamp::now() + lifetime).format_rfc3339_zulu();
    format!(
        "<{action}Response xmlns=\"https://sts.amazonaws.com/doc/2011-06-15/\"><{action}Result><Credentials>\
         <AccessKeyId>ASIAASSUMEDROLEKEY00</AccessKeyId><SecretAccessKey>assumed</SecretAccessKey>\
         <SessionToken>session+token</SessionToken><Expiration>{until}</Expiration></Credentials>\
         </{action}Result></{action}Response>"
    )
}

fn base() -> Source {
    Source::Keys(Keys {
        id: "AKIABASE".into(),
        secret: Secret::new("base"),
        session: None,
    })
}

fn role() -> Source {
    let role = Role {
        arn: "arn:aws:iam::123456789012:role/Audit".into(),
        session_name: None,
        external_id: Some("e1".into()),
        duration_s: Some(900),
    };
    Source::Role(role, Box::new(base()))
}

fn credentials(source: &Source, context: Context) -> AwsCredentials {
    AwsCredentials::new(source, "eu-west-1".into(), context)
}

/// The request that an API key is.
fn request(api_key: &str) -> String {
    let encoded = api_key
        .strip_prefix("bedrock-api-key-")
        .expect("the prefix");
    let request = STANDARD.decode(encoded).expect("Base64");
    String::from_utf8(request).expect("a URL")
}

#[tokio::test]
async fn a_role_is_assumed_with_the_keys_of_its_source_once_while_it_is_good() {
    let service = Service::giving(200, assumed("AssumeRole", Duration::from_secs(900)));
    let context = Context::new().with_http_send(service.clone());
    let credentials = credentials(&role(), context);
    let (one, two) = tokio::join!(credentials.api_key(), credentials.api_key());
    for key in [one, two] {
        let request = request(&key.expect("a key"));
        assert!(
            request.contains("X-Amz-Credential=ASIAASSUMEDROLEKEY00%2F")
                && request.contains("%2Feu-west-1%2Fbedrock%2Faws4_request")
                && request.contains("X-Amz-Security-Token=session%2Btoken"),
            "{request}"
        );
    }
    let asked = service.asked();
    assert_eq!(asked.len(), 1, "the role is kept");
    let uri = asked[0].uri().to_string();
    assert!(
        uri.starts_with("https://sts.eu-west-1.amazonaws.com/?Action=AssumeRole&")
            && uri.contains("RoleSessionName=agenthub")
            && uri.contains("ExternalId=e1")
            && uri.contains("DurationSeconds=900"),
        "{uri}"
    );
    let signed = asked[0].headers()["authorization"].to_str().expect("text");
    assert!(
        signed.starts_with("AWS4-HMAC-SHA256 Credential=AKIABASE/")
            && signed.contains("/eu-west-1/sts/aws4_request"),
        "{signed}"
    );
}

#[tokio::test]
async fn a_role_that_is_about_to_expire_is_assumed_again() {
    let service = Service::giving(200, assumed("AssumeRole", Duration::from_secs(60)));
    let context = Context::new().with_http_send(service.clone());
    let credentials = credentials(&role(), context);
    for _ in 0..2 {
        credentials.api_key().await.expect("a key");
    }
    assert_eq!(service.asked().len(), 2);
}

#[tokio::test]
async fn a_refusal_and_a_service_that_is_away_are_told_apart() {
    let denied = "<ErrorResponse><Error><Type>Sender</Type><Code>AccessDenied</Code>\
                  <Message>not authorized to perform sts:AssumeRole</Message></Error></ErrorResponse>";
    let context = |service| Context::new().with_http_send(service);
    let refused = credentials(&role(), context(Service::giving(403, denied)));
    let error = refused.api_key().await.expect_err("it is refused");
    assert!(matches!(error, ModelError::Unauthorized(_)), "{error:?}");
    let away = credentials(&role(), context(Service::giving(503, "")));
    let error = away.api_key().await.expect_err("it is away");
    assert!(matches!(error, ModelError::Unavailable(_)), "{error:?}");
}

#[tokio::test]
async fn a_web_identity_sends_its_token_and_is_signed_by_nobody() {
    let service = Service::giving(
        200,
        assumed("AssumeRoleWithWebIdentity", Duration::from_secs(900)),
    );
    let token = tempfile::NamedTempFile::new().expect("a file");
    std::fs::write(token.path(), "the.token").expect("a file");
    let identity = WebIdentity {
        role_arn: "arn:aws:iam::123456789012:role/Web".into(),
        token_file: token.path().to_owned(),
        session_name: Some("pod".into()),
    };
    let context = super::super::context().expect("a context");
    let context = context.with_http_send(service.clone());
    let credentials = credentials(&Source::WebIdentity(identity), context);
    request(&credentials.api_key().await.expect("a key"));
    let asked = service.asked();
    let what = format!("{} {:?}", asked[0].uri(), asked[0].body());
    assert!(
        what.contains("the.token") && what.contains("RoleSessionName=pod"),
        "{what}"
    );
    assert_eq!(asked[0].headers().get("authorization"), None);
}

/// A program that prints keys, and counts how often it ran.
#[derive(Clone, Debug, Default)]
struct Printing(Arc<AtomicUsize>);

impl CommandExecute for Printing {
    async fn command_execute(&self, program: &str, args: &[&str]) -> Result<CommandOutput> {
        assert_eq!((program, args), ("/opt/tool", &["--for", "me"][..]));
        self.0.fetch_add(1, Ordering::SeqCst);
        let keys = r#"{"Version": 1, "AccessKeyId": "AKIAPRINTED", "SecretAccessKey": "printed"}"#;
        Ok(CommandOutput {
            status: 0,
            stdout: keys.into(),
            stderr: Vec::new(),
        })
    }
}

#[tokio::test]
async fn a_program_prints_the_keys() {
    let printing = Printing::default();
    let context = Context::new().with_command_execute(printing.clone());
    let credentials = credentials(&Source::Process("/opt/tool --for me".into()), context);
    for _ in 0..2 {
        let request = request(&credentials.api_key().await.expect("a key"));
        assert!(request.contains("AKIAPRINTED"), "{request}");
    }
    assert_eq!(printing.0.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn real_programs_and_files_are_run_and_read() {
    let folder = tempfile::tempdir().expect("a folder");
    let keys = folder.path().join("keys.json");
    let text = r#"{"Version": 1, "AccessKeyId": "AKIAFILE", "SecretAccessKey": "file"}"#;
    std::fs::write(&keys, text).expect("a file");
    let of = |command: String| {
        let context = super::super::context().expect("a context");
        credentials(&Source::Process(command), context)
    };
    let printed = of(format!("cat {}", keys.display())).api_key().await;
    assert!(request(&printed.expect("a key")).contains("AKIAFILE"));
    for command in ["cat /nowhere/keys.json", "/nowhere/tool"] {
        let error = of(command.to_owned()).api_key().await;
        let error = error.expect_err("it fails");
        assert!(matches!(error, ModelError::Unauthorized(_)), "{error:?}");
        assert!(error.to_string().contains("nowhere"), "{error}");
    }
}

#[tokio::test]
async fn a_login_that_is_over_is_said_with_the_way_out() {
    let sso = Sso {
        start_url: "https://my.awsapps.com/start".into(),
        region: "eu-west-1".into(),
        account: "123456789012".into(),
        role: "Reader".into(),
    };
    let context = Context::new().with_env(reqsign_core::StaticEnv {
        home_dir: Some("/nowhere".into()),
        ..Default::default()
    });
    let error = credentials(&Source::Sso(sso), context).api_key().await;
    let error = error.expect_err("nobody logged in").to_string();
    assert!(error.contains("aws sso login"), "{error}");
}

//! Identities over the whole system: every RPC and every route with every kind of credential, and the commands that issue tokens.

mod ambiguous;
mod audit;
mod commands;
mod every_call;
mod huge;
mod lost;
mod quotas;
mod refusals;
mod secrets;
mod streams;
mod tasks;

use std::{
    fs,
    time::{Duration, Instant},
};

use tonic::{
    Code, Request, Status,
    client::Grpc,
    codegen::http::uri::PathAndQuery,
    transport::{Channel, Endpoint},
};
use tonic_prost::ProstCodec;

use crate::{
    harness::{Finished, PATIENCE, Process, System, free_address, until_known},
    http::send,
};

/// A system whose hub has its files in a folder, where tokens are issued beside it.
struct Guarded {
    system: System,
    up: Process,
    http: String,
}

impl Guarded {
    fn start(command: &str) -> Self {
        Self::start_in(command, &[])
    }

    /// The same in a folder with these files.
    fn start_in(command: &str, files: &[(&str, &str)]) -> Self {
        let mut system = System::bare(free_address());
        for (name, text) in files {
            fs::write(system.folder().join(name), text).expect("it is written");
        }
        let (up, http) = system.serve_anywhere(&[command]);
        Self { system, http, up }
    }

    /// A token with its id, which the hub knows.
    fn issue(&self, args: &[&str]) -> (String, String) {
        let issued = self.write_token(args);
        until_known(args[0], |whoami| self.run_as(&issued.0, whoami));
        issued
    }

    /// The same, which the hub may not have read yet.
    fn write_token(&self, args: &[&str]) -> (String, String) {
        let args = [&["tokens", "issue", "--json"], args].concat();
        let issued = &self.system.json(&args)[0];
        let text = |key: &str| issued[key].as_str().expect("text").to_owned();
        (text("token"), text("id"))
    }

    /// Runs a command with a token in a file.
    fn run_as(&self, token: &str, args: &[&str]) -> Finished {
        let file = self.system.folder().join(format!("{}.token", token.len()));
        fs::write(&file, token).expect("it is written");
        let file = file.to_str().expect("a path").to_owned();
        self.system
            .run(&[args, &["--token-file", &file]].concat(), "")
    }

    async fn channel(&self) -> Channel {
        let endpoint = Endpoint::from_shared(self.system.hub()).expect("a URL");
        endpoint.connect().await.expect("the hub listens")
    }
}

/// The status with which a call with an empty message ends, or OK once it is answered.
async fn call(channel: &Channel, path: &str, token: Option<&str>) -> Code {
    let mut grpc = Grpc::new(channel.clone());
    grpc.ready().await.expect("it is connected");
    let mut request = Request::new(tokio_stream::once(()));
    request.set_timeout(Duration::from_secs(10));
    if let Some(token) = token {
        let header = format!("Bearer {token}").parse().expect("a header");
        request.metadata_mut().insert("authorization", header);
    }
    let path: PathAndQuery = path.parse().expect("a path");
    let codec = ProstCodec::<(), ()>::default();
    let answered = async {
        let answer = grpc.streaming(request, path, codec).await?;
        let mut answer = answer.into_inner();
        // A stream that was opened may have nothing to say.
        let first = tokio::time::timeout(Duration::from_millis(300), answer.message()).await;
        first.unwrap_or(Ok(None)).map(drop)
    };
    match answered.await {
        Ok(()) => Code::Ok,
        Err(status) => Status::code(&status),
    }
}

fn request(http: &str, method: &str, path: &str, token: Option<&str>) -> (u16, String) {
    let header = token.map(|token| format!("Authorization: Bearer {token}\r\n"));
    let headers = format!(
        "Content-Type: application/json\r\nOrigin: http://{http}\r\n{}",
        header.unwrap_or_default()
    );
    let answer = send(http, method, path, &headers, "{}").expect("an answer");
    (answer.status, path.to_owned())
}

const WHO_AM_I: &str = "/agenthub.Access/WhoAmI";

/// Waits until a call with a token, or with none, gets an answer that fits.
async fn until_answered(
    channel: &Channel,
    token: Option<&str>,
    what: &str,
    fits: impl Fn(Code) -> bool,
) {
    let begun = Instant::now();
    loop {
        let code = call(channel, WHO_AM_I, token).await;
        if fits(code) {
            return;
        }
        assert!(begun.elapsed() < PATIENCE, "still not {what}: {code:?}");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

async fn until_refused(channel: &Channel, tokens: &[&String]) {
    for token in tokens {
        let is_refused = |code| code == Code::Unauthenticated;
        until_answered(channel, Some(token), "refused", is_refused).await;
    }
}

//! The outside world of `reqsign`: files, programs, and HTTP with the client that is there anyway.

use std::{process::Stdio, time::Duration};

use http::{Request, Response};
use reqsign_core::{
    CommandExecute, CommandOutput, Context, Error, FileRead, HttpSend, OsEnv, Result,
};
use reqwest::{Client, redirect::Policy};
use tokio::{process::Command, task::spawn_blocking, time::timeout};

/// Deadline of connecting. A machine that is no instance of AWS has nobody at the address of the metadata service.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(2);

/// Deadline of a request, and of a program that prints credentials.
const DEADLINE: Duration = Duration::from_secs(30);

/// The most bytes of an answer. Credentials are a few kilobytes.
const MAX_BYTES: usize = 1024 * 1024;

/// All of it, for providers of credentials.
///
/// # Errors
///
/// TLS cannot be set up.
pub(in crate::providers) fn context() -> reqwest::Result<Context> {
    crate::providers::install_tls();
    let client = || {
        Client::builder()
            .connect_timeout(CONNECT_TIMEOUT)
            .timeout(DEADLINE)
            .redirect(Policy::none())
    };
    let http = Http {
        services: client().build()?,
        nearby: client().no_proxy().build()?,
    };
    Ok(Context::new()
        .with_env(OsEnv)
        .with_file_read(Files)
        .with_command_execute(Programs)
        .with_http_send(http))
}

#[derive(Debug)]
struct Http {
    services: Client,
    /// Endpoints of containers and instances, which no proxy reaches. They alone are without TLS.
    nearby: Client,
}

impl HttpSend for Http {
    async fn http_send(&self, request: Request<bytes::Bytes>) -> Result<Response<bytes::Bytes>> {
        let is_nearby = request.uri().scheme_str() == Some("http");
        let client = if is_nearby {
            &self.nearby
        } else {
            &self.services
        };
        // What is said of a failure has no URL, which may be signed.
        let failed = |error: reqwest::Error| {
            Error::unexpected(format!("no answer: {}", error.without_url())).set_retryable(true)
        };
        let request = reqwest::Request::try_from(request).map_err(failed)?;
        let mut response = client.execute(request).await.map_err(failed)?;
        let mut answer = Response::new(bytes::Bytes::new());
        *answer.status_mut() = response.status();
        *answer.headers_mut() = std::mem::take(response.headers_mut());
        let mut body = Vec::new();
        while let Some(chunk) = response.chunk().await.map_err(failed)? {
            if body.len() + chunk.len() > MAX_BYTES {
                return Err(Error::unexpected("an answer of more than 1 MiB"));
            }
            body.extend_from_slice(&chunk);
        }
        *answer.body_mut() = body.into();
        Ok(answer)
    }
}

#[derive(Debug)]
struct Files;

impl FileRead for Files {
    async fn file_read(&self, path: &str) -> Result<Vec<u8>> {
        let path = path.to_owned();
        let read = spawn_blocking(move || std::fs::read(&path).map_err(|e| format!("{path}: {e}")));
        match read.await {
            Ok(read) => read.map_err(Error::config_invalid),
            Err(_) => Err(Error::unexpected("reading a file broke off")),
        }
    }
}

#[derive(Debug)]
struct Programs;

impl CommandExecute for Programs {
    async fn command_execute(&self, program: &str, args: &[&str]) -> Result<CommandOutput> {
        let mut command = Command::new(program);
        command.args(args).stdin(Stdio::null()).kill_on_drop(true);
        match timeout(DEADLINE, command.output()).await {
            Ok(Ok(output)) => Ok(CommandOutput {
                status: output.status.code().unwrap_or(-1),
                stdout: output.stdout,
                stderr: output.stderr,
            }),
            Ok(Err(error)) => Err(Error::config_invalid(format!("{program}: {error}"))),
            Err(_) => Err(Error::unexpected(format!("{program} took more than 30 s"))),
        }
    }
}

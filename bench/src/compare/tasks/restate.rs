//! Restate from npm: its server, and services of its JavaScript SDK: one answers at once, one calls it three times. The server stores
//! requests, answers and calls.

use std::{
    env, fs,
    net::SocketAddr,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    time::Duration,
};

use anyhow::{Context as _, bail};
use reqwest::header::CONTENT_TYPE;
use serde_json::json;
use tokio::time::{Instant, sleep, timeout};

use super::{Request, TEXT_BYTES, request, text};
use crate::compare::{
    programs::{Programs, found},
    server::{Server, free},
};

/// The packages with their versions, and the service.
const PACKAGES: &str = include_str!("../../../restate/package.json");
const SERVICE: &str = include_str!("../../../restate/service.mjs");

/// Folder of the installation, relative to that of this program, and files in it.
const FOLDER: &str = "../restate";
const MANIFEST: &str = "package.json";
const SCRIPT: &str = "service.mjs";
const INSTALLED: &str = "node_modules";
/// Written by npm when all packages are installed.
const COMPLETE: &str = "node_modules/.package-lock.json";

/// The server's program in the package of its platform.
const SERVER: &str = "bin/restate-server";
const SCOPE: &str = "node_modules/@restatedev";
const PLATFORM: &str = "restate-server-";

/// Timeout of npm.
const INSTALL: Duration = Duration::from_secs(300);

/// Timeout of the registration of the service.
const START: Duration = Duration::from_secs(30);
const AGAIN: Duration = Duration::from_millis(50);

/// The installed programs.
#[derive(Clone, Debug)]
pub(in crate::compare) struct RestateProgram {
    server: PathBuf,
    node: PathBuf,
    folder: PathBuf,
}

impl RestateProgram {
    /// Installs missing packages. `None` without Node, or if the installation fails, which is printed.
    pub(in crate::compare) async fn install(programs: &Programs) -> Option<Self> {
        let (Some(node), Some(npm)) = (found("node"), found("npm")) else {
            eprintln!("Node is not installed here: the rows of Restate are left out");
            return None;
        };
        match installed(&programs.own, &npm).await {
            Ok((server, folder)) => Some(Self {
                server,
                node,
                folder,
            }),
            Err(error) => {
                eprintln!("Restate cannot be installed, its rows are left out: {error:#}");
                None
            }
        }
    }

    /// The server's program.
    pub(in crate::compare) fn server(&self) -> &Path {
        &self.server
    }

    /// Starts the server.
    async fn start(&self, ports: Ports, folder: &Path) -> anyhow::Result<Server> {
        let mut command = without_settings(&self.server);
        command
            .arg("--base-dir")
            .arg(folder.join("data"))
            .args(["--no-logo", "--log-filter", "warn"])
            .args(["--bind-ip", "127.0.0.1", "--listen-mode", "tcp"])
            .env("RESTATE_BIND_ADDRESS", ports.node.to_string())
            .env("RESTATE_INGRESS__BIND_ADDRESS", ports.ingress.to_string())
            .env("RESTATE_ADMIN__BIND_ADDRESS", ports.admin.to_string())
            .env("DO_NOT_TRACK", "1");
        Server::start(command, ports.ingress, folder).await
    }
}

/// Content type of all bodies.
const JSON: &str = "application/json";

/// Addresses of the server.
#[derive(Clone, Copy, Debug)]
struct Ports {
    node: SocketAddr,
    ingress: SocketAddr,
    admin: SocketAddr,
}

/// The service, and a client that invokes it over HTTP.
#[derive(Debug)]
pub(in crate::compare) struct RestateService {
    client: reqwest::Client,
    url: String,
    _service: Server,
}

impl RestateService {
    /// Starts a server and a service, and registers the service.
    ///
    /// # Errors
    ///
    /// One of them does not start, or the server refuses the service.
    pub(in crate::compare) async fn start(
        program: &RestateProgram,
        folder: &Path,
    ) -> anyhow::Result<(Server, Self)> {
        let ports = Ports {
            node: free()?,
            ingress: free()?,
            admin: free()?,
        };
        let server = program.start(ports, folder).await?;
        let address = free()?;
        let mut service = without_settings(&program.node);
        service
            .arg(program.folder.join(SCRIPT))
            .arg(address.port().to_string())
            .env("RESTATE_LOGGING", "ERROR");
        let logs = folder.join("service");
        fs::create_dir(&logs)?;
        let service = Server::start(service, address, &logs).await?;
        let client = reqwest::Client::builder().no_proxy().build()?;
        let this = Self {
            client,
            url: format!("http://{}", ports.ingress),
            _service: service,
        };
        this.register(ports.admin, address).await?;
        Ok((server, this))
    }

    /// Registers the service with the server.
    async fn register(&self, admin: SocketAddr, service: SocketAddr) -> anyhow::Result<()> {
        let url = format!("http://{admin}/deployments");
        let body = json!({"uri": format!("http://{service}")}).to_string();
        let began = Instant::now();
        loop {
            let request = self.client.post(&url).header(CONTENT_TYPE, JSON);
            let answer = request.body(body.clone()).timeout(START).send().await;
            match answer.and_then(reqwest::Response::error_for_status) {
                Ok(_) => return Ok(()),
                Err(error) if began.elapsed() > START => {
                    return Err(error).context("Restate does not take the service");
                }
                Err(_) => sleep(AGAIN).await,
            }
        }
    }

    /// An invocation of the handler that answers at once.
    pub(super) fn request(&self) -> Request {
        self.invoke("Work/answer")
    }

    /// An invocation of the handler that calls it three times, one after the other.
    pub(in crate::compare) fn chain(&self) -> Request {
        self.invoke("Chain/run")
    }

    fn invoke(&self, handler: &str) -> Request {
        let (client, url) = (self.client.clone(), format!("{}/{handler}", self.url));
        let body = json!(text('q')).to_string();
        request(move || {
            let request = client.post(&url).header(CONTENT_TYPE, JSON);
            let asking = request.body(body.clone()).send();
            async move {
                let answer = asking.await?.error_for_status()?.bytes().await?;
                let answer: String = serde_json::from_slice(&answer)?;
                match answer.len() {
                    TEXT_BYTES => Ok(()),
                    bytes => bail!("Restate: an answer has {bytes} bytes"),
                }
            }
        })
    }
}

/// Installs missing packages. Returns the server's program and the folder.
async fn installed(own: &Path, npm: &Path) -> anyhow::Result<(PathBuf, PathBuf)> {
    let folder = own.parent().context("where this program is")?.join(FOLDER);
    fs::create_dir_all(&folder)?;
    let folder = folder.canonicalize()?;
    fs::write(folder.join(SCRIPT), SERVICE)?;
    let manifest = folder.join(MANIFEST);
    let is_same = fs::read_to_string(&manifest).is_ok_and(|text| text == PACKAGES);
    let is_complete = is_same && folder.join(COMPLETE).is_file();
    if is_complete && let Some(server) = server(&folder) {
        return Ok((server, folder));
    }
    let packages = folder.join(INSTALLED);
    if packages.exists() {
        fs::remove_dir_all(packages)?;
    }
    fs::write(&manifest, PACKAGES)?;
    eprintln!(
        "installing Restate into {}, which takes a minute",
        folder.display()
    );
    // The packages need no build; their scripts only count installations.
    let installing = tokio::process::Command::new(npm)
        .args(["install", "--ignore-scripts", "--no-audit", "--no-fund"])
        .current_dir(&folder)
        .stdin(Stdio::null())
        .kill_on_drop(true)
        .output();
    let output = timeout(INSTALL, installing).await;
    let output = output.context("npm does not come to an end")??;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        bail!("npm ends with {}: {}", output.status, said.trim());
    }
    let server = server(&folder).context("there is no server for this platform")?;
    Ok((server, folder))
}

/// The server's program for this platform.
fn server(folder: &Path) -> Option<PathBuf> {
    let packages = fs::read_dir(folder.join(SCOPE)).ok()?;
    let ours = packages.flatten().filter(|package| {
        let name = package.file_name();
        name.to_string_lossy().starts_with(PLATFORM)
    });
    let mut servers = ours.map(|package| package.path().join(SERVER));
    servers.find(|server| server.is_file())
}

/// A program without Restate settings from the environment.
fn without_settings(program: &Path) -> Command {
    let mut command = Command::new(program);
    for (name, _) in env::vars_os() {
        if name.to_string_lossy().starts_with("RESTATE_") {
            command.env_remove(name);
        }
    }
    command
}

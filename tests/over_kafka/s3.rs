//! Claim checks in an S3 that fails at times and is slow.

use std::{
    fs,
    path::PathBuf,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use hyper::{Request, Response, body::Incoming, server::conn::http1, service::service_fn};
use hyper_util::rt::TokioIo;
use s3s::{
    auth::SimpleAuth,
    service::{S3Service, S3ServiceBuilder},
};
use s3s_fs::FileSystem;
use tokio::{net::TcpListener, runtime::Runtime, task::JoinSet, time::sleep};

use super::{
    WORK, WORKFLOW,
    stage::{KEY, Stage},
};
use crate::{
    canaries::planted::{Canary, stay_home},
    harness::get,
    workflows::{begun, written},
};

const SECRET: &str = "a-secret-of-tests";

/// Every third request is answered with 503.
const FAILS: usize = 3;

/// Time before each answer.
const SLOWNESS: Duration = Duration::from_millis(50);

/// A server that speaks S3, with one bucket in a folder.
struct Server {
    url: String,
    requests: Arc<AtomicUsize>,
    folder: tempfile::TempDir,
    _runtime: Runtime,
}

impl Server {
    fn start() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        fs::create_dir(folder.path().join("bucket")).expect("a bucket");
        let files = FileSystem::new(folder.path()).expect("a file system");
        let mut service = S3ServiceBuilder::new(files);
        service.set_auth(SimpleAuth::from_single("tests", SECRET));
        let service = service.build();
        let runtime = Runtime::new().expect("threads");
        let listener = runtime.block_on(TcpListener::bind("127.0.0.1:0"));
        let listener = listener.expect("a port");
        let url = format!("http://{}", listener.local_addr().expect("an address"));
        let requests = Arc::<AtomicUsize>::default();
        let counted = Arc::clone(&requests);
        runtime.spawn(async move {
            let mut connections = JoinSet::new();
            while let Ok((socket, _)) = listener.accept().await {
                let (service, counted) = (service.clone(), Arc::clone(&counted));
                connections.spawn(async move {
                    let answering = service_fn(|request| answer(&service, &counted, request));
                    let socket = TokioIo::new(socket);
                    // A client may close it in the middle.
                    let _ = http1::Builder::new()
                        .serve_connection(socket, answering)
                        .await;
                });
            }
        });
        Self {
            url,
            requests,
            folder,
            _runtime: runtime,
        }
    }

    /// Its settings, as every program of AWS has them.
    fn environment(&self) -> Vec<(&'static str, PathBuf)> {
        let settings = [
            ("AWS_ENDPOINT_URL", &*self.url),
            ("AWS_ALLOW_HTTP", "true"),
            ("AWS_REGION", "us-east-1"),
            ("AWS_ACCESS_KEY_ID", "tests"),
            ("AWS_SECRET_ACCESS_KEY", SECRET),
        ];
        settings.map(|(name, value)| (name, value.into())).into()
    }
}

async fn answer(
    s3: &S3Service,
    requests: &AtomicUsize,
    request: Request<Incoming>,
) -> Result<Response<s3s::Body>, String> {
    sleep(SLOWNESS).await;
    let number = requests.fetch_add(1, Ordering::Relaxed);
    if number.is_multiple_of(FAILS) {
        let failed = Response::builder().status(503).body(s3s::Body::empty());
        return failed.map_err(|error| error.to_string());
    }
    let answer = s3.call(request.map(s3s::Body::from)).await;
    answer.map_err(|error| format!("{error:?}"))
}

/// spec: EXE-7.1, EXE-7.2
#[test]
fn inputs_and_outputs_are_in_an_s3_that_fails_at_times_and_is_slow() {
    let server = Server::start();
    let settings = "claims = 's3://bucket/some/prefix'";
    let mut environment = server.environment();
    environment.push(("AGENTHUB_LOG", PathBuf::from("trace")));
    let (stage, up) = Stage::start_with(WORK, "tasks", settings, environment);
    let bridge = stage.bridge("s3");
    let file = written(&stage.system, "count.yaml", WORKFLOW);
    let run = begun(&stage.system, &file, "{}");
    let ended = stage.ended(&run);
    assert_eq!(
        ended["state"],
        "completed",
        "{ended}\n{}\n{}",
        up.said(),
        bridge.said()
    );
    let counted = stage.agent.counted();
    assert_eq!(counted.begun.len(), 4, "each step was asked for once");
    let entries = |folder: PathBuf| {
        let entries = fs::read_dir(folder).expect("objects");
        entries.map(|entry| entry.expect("it is read"))
    };
    let days = entries(server.folder.path().join("bucket/some/prefix"));
    let objects = days.flat_map(|day| entries(day.path()));
    let names = objects.map(|object| object.file_name());
    let (records, contents): (Vec<_>, Vec<_>) =
        names.partition(|name| name.to_string_lossy().starts_with("record-"));
    assert_eq!(records.len(), 5, "a result for each step");
    assert!(contents.len() >= 9, "{contents:?}");
    assert!(server.requests.load(Ordering::Relaxed) > FAILS);
    assert!(!stage.system.folder().join("data/claims").exists());

    // Issue 25: the keys of the store and of the agent are in no log, journal or metric.
    let said = [up.said(), bridge.said(), get(&stage.http, "/metrics")].concat();
    assert!(said.contains("TRACE"), "everything is logged");
    let canaries = [Canary::new(SECRET, &[]), Canary::new(KEY, &["key"])];
    stay_home(&canaries, &said, stage.system.folder());
}

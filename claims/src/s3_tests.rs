//! Tests on the API of S3: a server in this process, with faults in front of it, or the one that `AGENTHUB_TEST_S3` names.

use std::{
    collections::VecDeque,
    convert::Infallible,
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};

use bytes::Bytes;
use futures_util::{StreamExt, stream};
use http::{Request, Response, StatusCode};
use http_body_util::{BodyExt, StreamBody, combinators::UnsyncBoxBody};
use hyper::{
    body::{Frame, Incoming},
    server::conn::http1,
    service::service_fn,
};
use hyper_util::rt::TokioIo;
use object_store::{aws::AmazonS3Builder, path::Path};
use s3s::{auth::SimpleAuth, service::S3ServiceBuilder};
use s3s_fs::FileSystem;
use tokio::{net::TcpListener, sync::Notify, task::JoinSet};

use crate::{
    ClaimError, ClaimStore,
    contract::{count, keeps_its_promises, text},
    opening::Opened,
    retry_after::remote,
};

const SECRET: &str = "a-secret-of-tests";

/// What the server does instead of answering a request.
#[derive(Clone, Copy, Debug)]
enum Fault {
    /// Answers with this status and header.
    Status(u16, Option<u64>),
    /// Closes the connection without an answer.
    Cut,
    /// Closes the connection in the middle of the answer.
    CutAnswer,
    /// Never answers.
    Hang,
}

/// A server that speaks S3, over a folder.
struct Server {
    store: ClaimStore,
    faults: Arc<Mutex<VecDeque<Fault>>>,
    folder: tempfile::TempDir,
    _tasks: JoinSet<()>,
}

impl Server {
    async fn start() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        std::fs::create_dir(folder.path().join("bucket")).expect("a bucket");
        let mut service =
            S3ServiceBuilder::new(FileSystem::new(folder.path()).expect("a file system"));
        service.set_auth(SimpleAuth::from_single("tests", SECRET));
        let service = service.build();
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("an address");
        let faults = Arc::new(Mutex::new(VecDeque::new()));
        let mut tasks = JoinSet::new();
        let script = faults.clone();
        tasks.spawn(async move {
            let mut connections = JoinSet::new();
            while let Ok((socket, _)) = listener.accept().await {
                let (script, s3) = (script.clone(), service.clone());
                connections.spawn(async move {
                    let answering = service_fn(|request| answer(&script, &s3, request));
                    // A connection that is cut ends with an error.
                    let _ = http1::Builder::new()
                        .serve_connection(TokioIo::new(socket), answering)
                        .await;
                });
            }
        });
        let store = store(&format!("http://{address}"));
        Self {
            store,
            faults,
            folder,
            _tasks: tasks,
        }
    }

    fn fail(&self, faults: &[Fault]) {
        self.faults.lock().expect("no panic").extend(faults);
    }

    fn faults_left(&self) -> usize {
        self.faults.lock().expect("no panic").len()
    }
}

fn store(endpoint: &str) -> ClaimStore {
    let settings = AmazonS3Builder::new()
        .with_endpoint(endpoint)
        .with_bucket_name("bucket")
        .with_region("us-east-1")
        .with_access_key_id("tests")
        .with_secret_access_key(SECRET);
    let options = crate::retry_after::options().with_allow_http(true);
    let objects = remote!(settings, options).expect("a store");
    ClaimStore::from(Opened {
        objects,
        url: "s3://bucket/some/prefix/".into(),
        prefix: Path::from("some/prefix"),
        folder: None,
    })
}

type Answer = Response<UnsyncBoxBody<Bytes, Box<dyn std::error::Error + Send + Sync>>>;

async fn answer(
    script: &Mutex<VecDeque<Fault>>,
    s3: &s3s::service::S3Service,
    request: Request<Incoming>,
) -> Result<Answer, Box<dyn std::error::Error + Send + Sync>> {
    let fault = script.lock().expect("no panic").pop_front();
    match fault {
        None => {
            let answer = s3.call(request.map(s3s::Body::from)).await;
            let answer = answer.map_err(|error| format!("{error:?}"))?;
            Ok(answer.map(|body| body.map_err(Into::into).boxed_unsync()))
        }
        Some(Fault::Status(status, pause)) => {
            let mut answer = Response::builder().status(status);
            if let Some(pause) = pause {
                answer = answer.header("retry-after", pause);
            }
            let body = http_body_util::Empty::new().map_err(|never: Infallible| match never {});
            Ok(answer.body(body.boxed_unsync())?)
        }
        Some(Fault::Cut) => Err("cut".into()),
        Some(Fault::Hang) => std::future::pending().await,
        Some(Fault::CutAnswer) => {
            let answer = s3.call(request.map(s3s::Body::from)).await;
            let (head, body) = answer.map_err(|error| format!("{error:?}"))?.into_parts();
            let whole = BodyExt::collect(body)
                .await
                .map_err(|error| format!("{error:?}"))?;
            let mut half = whole.to_bytes();
            half.truncate(half.len() / 2);
            let frames = stream::iter([Ok(Frame::data(half)), Err("cut".into())]);
            Ok(Response::from_parts(
                head,
                StreamBody::new(frames).boxed_unsync(),
            ))
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn s3_keeps_its_promises() {
    let server = Server::start().await;
    keeps_its_promises(&server.store).await;
}

/// Runs on `AGENTHUB_TEST_S3` (`s3://bucket/prefix`) and the settings of AWS in the environment; the prefix has to be empty.
#[tokio::test(flavor = "multi_thread")]
async fn a_real_s3_keeps_its_promises() {
    let Ok(url) = std::env::var("AGENTHUB_TEST_S3") else {
        return;
    };
    let url = format!("{url}/{}", uuid::Uuid::new_v4());
    let store = ClaimStore::open(&url).expect("a store");
    keeps_its_promises(&store).await;
}

#[tokio::test]
async fn transient_failures_are_tried_again() {
    let server = Server::start().await;
    for fault in [
        Fault::Status(500, None),
        Fault::Status(503, None),
        Fault::Status(429, None),
        Fault::Cut,
    ] {
        server.fail(&[fault, fault]);
        let claim = server.store.put("kept".into(), &text()).await;
        let claim = claim.expect("it is put after all").to_string();
        server.fail(&[fault, fault]);
        let got = server.store.get(&claim, 100).await;
        assert_eq!(got.expect("it is read after all"), "kept", "{fault:?}");
        assert_eq!(server.faults_left(), 0);
    }
    assert_eq!(count(&server.store).await, 1);
}

#[tokio::test]
async fn an_answer_that_breaks_off_is_read_to_its_end() {
    let server = Server::start().await;
    let content = Bytes::from(vec![b'x'; 100_000]);
    let claim = server.store.put(content.clone(), &text()).await;
    let claim = claim.expect("it is put").to_string();
    server.fail(&[Fault::CutAnswer]);
    let got = server.store.get(&claim, 100_000).await;
    assert_eq!(got.expect("it is read after all"), content);
    assert_eq!(server.faults_left(), 0);
}

#[tokio::test]
async fn parts_of_a_stream_are_tried_again() {
    let server = Server::start().await;
    server.fail(&[Fault::Cut, Fault::Status(503, None)]);
    let chunk = Bytes::from(vec![b'x'; 3 << 20]);
    let chunks = stream::iter(vec![Ok::<_, ()>(chunk); 3]);
    let claim = server.store.put_stream(chunks, &text(), 64 << 20).await;
    let claim = claim.expect("it is put after all").to_string();
    let got = server.store.get(&claim, 64 << 20).await;
    assert_eq!(got.expect("it is there").len(), 9 << 20);
    assert_eq!(count(&server.store).await, 1);
}

#[tokio::test]
async fn a_stream_that_fails_leaves_no_parts() {
    let server = Server::start().await;
    let chunks = (0..4).map(|n| match n {
        0..3 => Ok(Bytes::from(vec![b'x'; 3 << 20])),
        _ => Err("cut"),
    });
    let chunks = stream::iter(chunks);
    let put = server.store.put_stream(chunks, &text(), 64 << 20).await;
    put.expect_err("it fails");
    let files = std::fs::read_dir(server.folder.path()).expect("a folder");
    let files: Vec<_> = files
        .map(|file| file.expect("a file").file_name())
        .collect();
    assert_eq!(files, ["bucket"]);
}

#[tokio::test]
async fn a_store_is_left_alone_as_long_as_it_asks() {
    let server = Server::start().await;
    server.fail(&[Fault::Status(429, Some(1))]);
    let started = Instant::now();
    let put = server.store.put("kept".into(), &text()).await;
    put.expect("it is put after all");
    assert!(started.elapsed() >= Duration::from_secs(1));
}

#[tokio::test]
async fn a_pause_that_is_too_long_is_an_error_at_once() {
    let server = Server::start().await;
    server.fail(&[Fault::Status(503, Some(3_600))]);
    let put = server.store.put("kept".into(), &text()).await;
    let error = put.expect_err("it is given up");
    assert!(error.is_retryable(), "{error:?}");
    assert!(format!("{error:?}").contains("3600"), "{error:?}");
}

#[tokio::test]
async fn a_store_that_hangs_is_given_up_at_the_deadline() {
    let server = Server::start().await;
    server.fail(&[Fault::Hang]);
    let hurried = server
        .store
        .clone()
        .with_deadline(Duration::from_millis(200));
    let error = hurried.put("kept".into(), &text()).await;
    let error = error.expect_err("it is given up");
    assert!(
        matches!(error, ClaimError::TooSlow { .. }) && error.is_retryable(),
        "{error:?}"
    );
    let put = server.store.put("kept".into(), &text()).await;
    put.expect("the next one is put");
}

#[tokio::test]
async fn a_wrong_secret_is_said_and_not_told() {
    let server = Server::start().await;
    let claim = server.store.put("kept".into(), &text()).await;
    let claim = claim.expect("it is put").to_string();
    server.fail(&[Fault::Status(StatusCode::FORBIDDEN.as_u16(), None)]);
    let error = server.store.get(&claim, 100).await;
    let error = error.expect_err("it is refused");
    assert!(
        matches!(error, ClaimError::Denied { .. }) && !error.is_retryable(),
        "{error:?}"
    );
    assert!(error.to_string().contains("credentials"), "{error}");
    let told = format!("{error:?} {:?}", server.store);
    assert!(!told.contains(SECRET), "{told}");
}

#[tokio::test]
async fn a_cancelled_put_leaves_nothing_half() {
    let server = Server::start().await;
    let (content_type, is_waiting) = (text(), Notify::new());
    let chunks = stream::repeat_with(|| Ok::<_, ()>(Bytes::from(vec![1; 3 << 20])))
        .take(3)
        .chain(stream::once(async {
            is_waiting.notify_one();
            std::future::pending().await
        }));
    tokio::select! {
        put = server.store.put_stream(chunks, &content_type, 64 << 20) => panic!("{put:?}"),
        () = is_waiting.notified() => {}
    }
    assert_eq!(count(&server.store).await, 0);
}

//! Failure of a hub that panicked while changing its state.

use std::panic::{AssertUnwindSafe, catch_unwind};

use tonic::{service::Routes, transport::Channel};
use tonic_health::pb::{
    HealthCheckRequest, health_check_response::ServingStatus, health_client::HealthClient,
};

use super::{super::Hub, *};
use crate::{Server, hub::Failure, log::Entry, settings::Storage};

/// promise 11
#[tokio::test]
async fn a_panic_that_leaves_the_state_half_changed_ends_the_hub() {
    let folder = tempfile::tempdir().expect("a folder");
    let settings = Settings {
        storage: Storage::Folder(folder.path().to_owned()),
        ..Settings::default()
    };
    let any = "127.0.0.1:0".parse().expect("an address");
    let server = Server::start(settings.clone(), any, Routes::default()).await;
    let server = server.expect("a free port");
    let hub = server.hub().clone();
    let first = StreamRequest {
        call: Call::SubscribeToMessages,
        agent: "reader".into(),
        filter: Filter::kinds(&[EventKind::Message]),
        after: String::new(),
        observes: None,
        recent: 0,
    };
    let session = hub.open_stream(&Caller::anonymous(), first).await;
    let session = session.expect("it is opened");
    let before = hub.core().last();
    assert!(!hub.has_failed());
    let panicked = catch_unwind(AssertUnwindSafe(|| {
        let mut core = hub.core();
        let entry = Entry::Unregistered { agent: "a".into() };
        core.record(&Caller::anonymous(), entry, Now::read());
        panic!("half of it is done");
    }));
    assert!(panicked.is_err());

    assert_eq!(hub.failed().await, Failure::Panic);
    let url = format!("http://{}", server.address());
    let channel = Channel::from_shared(url).expect("a URL");
    let mut health = HealthClient::new(channel.connect().await.expect("it listens"));
    let watched = health.watch(HealthCheckRequest::default()).await;
    let mut watched = watched.expect("it is served").into_inner();
    loop {
        let said = watched.message().await.expect("it goes on");
        if said.expect("it goes on").status() == ServingStatus::NotServing {
            break;
        }
    }
    // No second panic, and no half of the change in the log.
    drop((session, health, watched));
    server.shutdown().await;
    drop(hub);
    let again = Hub::start(settings).expect("the folder is free");
    assert_eq!(again.core().last(), before);
}

/// A panic elsewhere does not affect users of the state.
#[tokio::test]
async fn a_panic_elsewhere_is_none_of_the_hub() {
    let hub = Hub::start(Settings::default()).expect("it needs no folder");
    struct Cleaning(Hub);
    impl Drop for Cleaning {
        fn drop(&mut self) {
            drop(self.0.core());
        }
    }
    let cleaning = Cleaning(hub.clone());
    let panicked = catch_unwind(AssertUnwindSafe(move || {
        let _cleaning = cleaning;
        panic!("nothing is locked");
    }));
    assert!(panicked.is_err());
    assert!(!hub.has_failed());
    drop(hub.core());
}

//! A Cortex of its own, with TLS on both of its addresses.

use super::{Scene, https};
use crate::harness::{System, certificates::SERVER, eventually, free_address};

/// Issue 25, TLS: the addresses of a Cortex of its own are as the hub's.
#[tokio::test(flavor = "multi_thread")]
async fn a_cortex_of_its_own_serves_both_addresses_with_tls() {
    let scene = Scene::start_as(&["broker"]).await;
    scene.issue("root", "admin");
    scene.issue("alice", "user");
    let (grpc, http) = (free_address(), free_address());
    let serve = [
        "cortex",
        "--token-file",
        "root.token",
        "--grpc",
        &grpc,
        "--http",
        &http,
    ];
    let cortex = scene.start_client(&[&serve[..], &SERVER].concat());
    let line = cortex.line_with("is connected to");
    assert!(line.contains(&format!("HTTP: https://{http}")), "{line}");
    let at = format!("https://{grpc}");
    let list = ["runs", "list", "--cortex", &at];
    let listed = scene.run(&[&list[..], &["--token-file", "alice.token"]].concat(), "");
    assert_eq!(listed.code, Some(0), "{listed:?}");
    let nobody = scene.run(&list, "");
    assert_eq!(nobody.code, Some(1), "{nobody:?}");
    let plain = format!("http://{grpc}");
    let plain = scene.run(&["runs", "list", "--cortex", &plain], "");
    assert!(plain.stderr.contains("https://"), "{plain:?}");
    let token = std::fs::read_to_string(scene.system.folder().join("alice.token"));
    let header = super::authorization(Some(&token.expect("a token")));
    let runs = ("GET", "/v1/runs");
    let answer = https(&http, &scene.nobody(), runs, &header, "").await;
    assert_eq!(answer.status, 200, "{answer:?}");
    let answer = https(&http, &scene.nobody(), runs, "", "").await;
    assert_eq!(answer.status, 401, "{answer:?}");
}

/// Beyond loopback nobody is let in without identities, TLS or not.
#[test]
fn doors_beyond_loopback_need_identities() {
    let system = System::bare(free_address());
    system.make_certificates();
    let _hub = system.start_broker();
    eventually("the hub is there", || {
        (system.run(&["agents", "list"], "").code == Some(0)).then_some(())
    });
    for args in [
        &["cortex", "--grpc", "0.0.0.0:0"][..],
        &["cortex", "--http", "0.0.0.0:0"],
        &["mcp", "--http", "0.0.0.0:0"],
    ] {
        let refused = system.run(&[args, &SERVER].concat(), "");
        assert_eq!(refused.code, Some(1), "{args:?}: {refused:?}");
        assert!(
            refused.stderr.contains("--insecure"),
            "{args:?}: {refused:?}"
        );
        let half = system.run(&[args, &["--tls-cert", "certs/server.pem"]].concat(), "");
        assert!(half.stderr.contains("--tls-key"), "{args:?}: {half:?}");
    }
}

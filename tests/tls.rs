//! TLS with real processes: certificates of `certs dev`, every kind of command, contexts (issue 25).

use std::{fs, path::PathBuf, process::Command};

use crate::harness::{
    Finished, Process, System,
    certificates::{self, CLIENT_CA, SERVER},
    free_address,
};

/// A hub with TLS, for clients with certificates, and the files of `certs dev`.
struct Secure {
    system: System,
    url: String,
    http: String,
    up: Process,
}

impl Secure {
    /// Starts everything with TLS, with these flags beside.
    fn up(flags: &[&str]) -> Self {
        let (grpc, http) = (free_address(), free_address());
        let system = System::bare(grpc.clone());
        let policy = "[access.principals.writer]\nroles = [\"admin\"]\n";
        fs::write(system.folder().join("agenthub.toml"), policy).expect("it is written");
        system.make_certificates();
        let required = ["--require-client-cert"];
        let serve = [
            &system.up_at(&http)[..],
            &required,
            &SERVER,
            &CLIENT_CA,
            flags,
        ]
        .concat();
        let up = Process::start(system.folder(), "", &serve);
        up.line("the banner");
        Self {
            url: format!("https://{grpc}"),
            system,
            http: format!("https://{http}"),
            up,
        }
    }

    /// Runs a command with these variables beside the hub's address.
    fn run(&self, environment: &[(&str, &str)], args: &[&str], input: &str) -> Finished {
        let owned: Vec<(&str, PathBuf)> = environment
            .iter()
            .map(|(name, value)| (*name, PathBuf::from(value)))
            .collect();
        let environment: Vec<(&str, &PathBuf)> =
            owned.iter().map(|(name, value)| (*name, value)).collect();
        let process = Process::start_in(&environment, self.system.folder(), &self.url, args);
        process.finish(input)
    }
}

/// The files of a client, for the environment.
const WRITER: [(&str, &str); 3] = [
    ("AGENTHUB_CA", "certs/ca.pem"),
    ("AGENTHUB_CERT", "certs/writer.pem"),
    ("AGENTHUB_KEY", "certs/writer.key"),
];

#[test]
fn commands_work_with_tls_as_without() {
    let hub = Secure::up(&[]);
    let echo = format!("{}/agents/agent_echo", hub.http);
    for (args, input, part) in [
        (&["agents", "list"][..], "", "agent_echo"),
        (&["chat"], "echo \"over TLS\"\n", "over TLS"),
        (&["runs", "list"], "", "over TLS"),
        (&["tasks", "list"], "", "completed"),
        (&["mailboxes", "list"], "", ""),
        (&["agents", "outside"], "", "no agents added"),
        (
            &["publish", "--to", "agent_echo", "--wait", "hello"],
            "",
            "hello",
        ),
        (&["a2a", "call", &echo, "good day"], "", "good day"),
        (&["agents", "show", "cortex"], "", "cortex"),
    ] {
        let done = hub.run(&WRITER, args, input);
        assert_eq!(done.code, Some(0), "{args:?}: {done:?}");
        assert!(done.stdout.contains(part), "{args:?}: {done:?}");
        let done = hub.run(&[], &[args, &certificates::WRITER].concat(), input);
        assert_eq!(done.code, Some(0), "{args:?}: {done:?}");
    }
    // An agent in a process of its own.
    let owned = WRITER.map(|(name, value)| (name, PathBuf::from(value)));
    let environment = owned.each_ref().map(|(name, value)| (*name, value));
    let args = ["agent", "echo", "--name", "agent_other"];
    let agent = Process::start_in(&environment, hub.system.folder(), &hub.url, &args);
    agent.line("it is connected");
    let args = ["publish", "--to", "agent_other", "--wait", "echo \"you\""];
    let done = hub.run(&WRITER, &args, "");
    assert!(done.stdout.contains("you"), "{done:?}");

    let args = ["a2a", "card", &echo, "--json"];
    let card = hub.run(&WRITER, &args, "").stdout;
    assert!(
        card.contains(&echo) && !card.contains("http://"),
        "all addresses are of TLS: {card}"
    );
}

#[test]
fn failures_name_the_reason_and_what_to_do() {
    let hub = Secure::up(&[]);
    let ca = ("AGENTHUB_CA", "certs/ca.pem");
    let plain = hub.url.replace("https", "http");
    for (environment, part) in [
        (&[][..], "--ca FILE"),
        (&[ca], "--cert FILE"),
        (&[ca, ("AGENTHUB_CERT", "certs/writer.pem")], "--key"),
        (&[("AGENTHUB_CA", "certs/none.pem")], "certs/none.pem"),
        (&[("AGENTHUB_HUB", &*plain)], "use https://"),
    ] {
        for args in [&["agents", "list"][..], &["runs", "list"]] {
            let failed = hub.run(environment, args, "");
            assert_eq!(failed.code, Some(1), "{failed:?}");
            assert!(failed.stderr.contains(part), "{part}: {failed:?}");
        }
    }
    drop(hub.up);
    let (system, _hub) = System::broker();
    let url = format!("https://{}", system.grpc());
    let failed = Process::start(system.folder(), &url, &["agents", "list"]).finish("");
    assert!(failed.stderr.contains("http://"), "{failed:?}");
}

/// Runs of workflows in processes of their own inherit the certificates of `up`.
#[test]
fn executors_of_their_own_speak_tls() {
    let hub = Secure::up(&[&["--executors", "processes"][..], &certificates::WRITER].concat());
    let workflow = hub.system.folder().join("echo.yaml");
    let text =
        "name: echo\nsteps:\n  say:\n    agent: agent_echo\n    text: over TLS\noutput: ${say}\n";
    fs::write(&workflow, text).expect("it is written");
    let done = hub.run(&WRITER, &["workflow", "run", "echo.yaml"], "");
    assert!(done.stdout.contains("over TLS"), "{done:?}");
}

#[test]
fn a_context_names_a_hub_and_all_it_takes() {
    let hub = Secure::up(&[]);
    let config = [("XDG_CONFIG_HOME", "config"), ("AGENTHUB_HUB", "")];
    let run = |args: &[&str]| hub.run(&config, args, "");
    let add = ["context", "add", "office", "--hub", &hub.url];
    let added = run(&[&add[..], &certificates::WRITER].concat());
    assert_eq!(added.code, Some(0), "{added:?}");
    let again = run(&add);
    assert!(again.stderr.contains("--force"), "{again:?}");

    let list = ["agents", "list"];
    assert_eq!(run(&list).code, Some(1), "it is not used yet");
    let with = run(&["agents", "list", "--hub-context", "office"]);
    assert!(with.stdout.contains("agent_echo"), "{with:?}");
    let named = [&config[..], &[("AGENTHUB_CONTEXT", "office")]].concat();
    let with = hub.run(&named, &list, "");
    assert!(with.stdout.contains("agent_echo"), "{with:?}");

    assert_eq!(run(&["context", "use", "office"]).code, Some(0));
    assert!(run(&list).stdout.contains("agent_echo"));
    assert!(run(&["context", "list"]).stdout.contains("* office"));
    // The certificates of a context are not for another hub.
    let other = run(&["agents", "list", "--hub", &hub.url]);
    assert!(other.stderr.contains("--ca"), "{other:?}");
    assert_eq!(run(&["context", "remove", "office"]).code, Some(0));
    assert_eq!(run(&list).code, Some(1));
    let unknown = run(&["context", "use", "office"]);
    assert!(unknown.stderr.contains("no context"), "{unknown:?}");
}

/// Issue 25, downgrade and renegotiation: TLS 1.2 clients that ask for a renegotiation get none, and older versions no connection, on either address.
#[test]
fn openssl_neither_renegotiates_nor_downgrades() {
    let hub = Secure::up(&[]);
    let openssl = |address: &str, version: &str, input: &str| {
        let (_, address) = address.split_once("://").expect("a URL");
        // What is typed comes after the handshake, and the answer to it before the end of the input.
        let typed = match input {
            "" => ":".to_owned(),
            input => format!("sleep 1; printf '{input}'; sleep 2"),
        };
        let script = format!(
            "{{ {typed}; }} | timeout 60 openssl s_client -connect {address} {version} -CAfile certs/ca.pem -cert certs/writer.pem \
             -key certs/writer.key 2>&1"
        );
        let mut command = Command::new("sh");
        let command = command.args(["-c", &script]);
        let said = command.current_dir(hub.system.folder()).output();
        String::from_utf8_lossy(&said.expect("openssl runs").stdout).into_owned()
    };
    for address in [&hub.http, &hub.url] {
        let said = openssl(address, "-tls1_2", "");
        assert!(said.contains("Verify return code: 0 (ok)"), "{said}");
        assert!(!said.contains("Cipher is (NONE)"), "{said}");
        let said = openssl(address, "-tls1_2", "R\\n");
        let (_, after) = said.split_once("RENEGOTIATING").expect("it asked");
        assert!(!after.contains("verify return"), "{said}");
        for version in ["-tls1_1", "-tls1"] {
            let said = openssl(address, &format!("{version} -cipher ALL:@SECLEVEL=0"), "");
            assert!(said.contains("Cipher is (NONE)"), "{said}");
        }
    }
}

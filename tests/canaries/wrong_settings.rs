//! Errors of wrong settings, and help texts, name no secret.

use std::{fs, path::PathBuf};

use nix::sys::signal::Signal;

use super::planted::{Canary, files, stay_home};
use crate::harness::{Process, System, eventually, free_address};

/// The secret of all of these.
const SECRET: &str = "misplaced-canary-4e81b07d";

/// A key whose middle is no base64.
const BAD_KEY: &str =
    "-----BEGIN PRIVATE KEY-----\nmisplaced-canary-4e81b07d\n-----END PRIVATE KEY-----\n";

/// A wrong way to say a secret: a file of the settings, the value of a variable, or a file beside.
struct Wrong {
    settings: &'static str,
    variables: &'static [(&'static str, &'static str)],
    /// A file with its text.
    file: (&'static str, &'static str),
    args: &'static [&'static str],
}

const UP: &[&str] = &[
    "up",
    "--json",
    "--no-chat",
    "--grpc",
    "127.0.0.1:0",
    "--http",
    "127.0.0.1:0",
];

const WRONG: Wrong = Wrong {
    settings: "",
    variables: &[],
    file: ("unused", ""),
    args: UP,
};

/// Each of them is refused.
const REFUSED: &[Wrong] = &[
    // The file breaks off, or a value is of another kind, on the line of the secret.
    Wrong {
        settings: "[model]\napi_key = \"misplaced-canary-4e81b07d\n",
        ..WRONG
    },
    Wrong {
        settings: "[model]\napi_key = misplaced-canary-4e81b07d\n",
        ..WRONG
    },
    Wrong {
        settings: "[model]\napi_key = [\"misplaced-canary-4e81b07d\"]\n",
        ..WRONG
    },
    Wrong {
        settings: "[model]\napi_key = { key = \"misplaced-canary-4e81b07d\" }\n",
        ..WRONG
    },
    Wrong {
        settings: "model = 'misplaced-canary-4e81b07d'\n",
        ..WRONG
    },
    Wrong {
        settings: "journal = [\"host=db password=misplaced-canary-4e81b07d\"]\n",
        ..WRONG
    },
    Wrong {
        settings: "journal = \"host=127.0.0.1 port=9 user=a password=misplaced-canary-4e81b07d dbname=b connect_timeout=2\"\n",
        ..WRONG
    },
    Wrong {
        settings: "journal = \"host=127.0.0.1 password=misplaced-canary-4e81b07d nonsense\"\n",
        ..WRONG
    },
    Wrong {
        settings: "journal = \"postgres://a:misplaced-canary-4e81b07d@127.0.0.1:9/b?connect_timeout=2\"\n",
        ..WRONG
    },
    Wrong {
        variables: &[(
            "AGENTHUB_JOURNAL",
            "host=127.0.0.1 port=9 user=a password=misplaced-canary-4e81b07d dbname=b connect_timeout=2",
        )],
        ..WRONG
    },
    // A secret where its name belongs.
    Wrong {
        settings: "[kafka]\nservers = '127.0.0.1:9'\nsecurity = 'sasl_plaintext'\nusername = 'a'\npassword = 'misplaced-canary-4e81b07d'\n",
        ..WRONG
    },
    Wrong {
        settings: "[bridge.auth.writer]\nkind = 'bearer'\ntoken = 'misplaced-canary-4e81b07d'\n",
        ..WRONG
    },
    Wrong {
        settings: "[mcp.web]\nurl = 'https://a:misplaced-canary-4e81b07d@example.com/mcp'\n",
        ..WRONG
    },
    Wrong {
        settings: "[a2a]\npush_key = 'misplaced-canary-4e81b07d'\n",
        ..WRONG
    },
    Wrong {
        settings: "[access.oidc.corp]\nissuer = 'https://id.example'\naudience = 'hub'\nclient_id = 'a'\nclient_secret = 'misplaced-canary-4e81b07d'\n",
        ..WRONG
    },
    // What a name leads to is no key.
    Wrong {
        settings: "[a2a]\npush_key_env = 'PUSH_KEY'\n",
        variables: &[("PUSH_KEY", "misplaced-canary-4e81b07d")],
        ..WRONG
    },
    Wrong {
        settings: "[a2a]\ncard_key_file = 'bad.key'\n",
        file: ("bad.key", BAD_KEY),
        ..WRONG
    },
    Wrong {
        args: &[
            "up",
            "--json",
            "--grpc",
            "127.0.0.1:0",
            "--http",
            "127.0.0.1:0",
            "--tls-cert",
            "bad.key",
            "--tls-key",
            "bad.key",
        ],
        file: ("bad.key", BAD_KEY),
        ..WRONG
    },
    Wrong {
        args: &["agents", "list", "--token-file", "bad.token"],
        file: ("bad.token", "misplaced-canary-4e81b07d\nand more\n"),
        ..WRONG
    },
    Wrong {
        args: &["agents", "list"],
        variables: &[("AGENTHUB_TOKEN", "misplaced-canary-4e81b07d\u{e9}")],
        ..WRONG
    },
    Wrong {
        args: &["agents", "list"],
        variables: &[("AGENTHUB_TOKEN", "misplaced-canary-4e81b07d")],
        ..WRONG
    },
    Wrong {
        args: &["agents", "list"],
        variables: &[(
            "AGENTHUB_HUB",
            "http://a:misplaced-canary-4e81b07d@127.0.0.1:9",
        )],
        ..WRONG
    },
    // A file of tokens or of a policy that somebody has spoiled.
    Wrong {
        settings: "[access]\ntokens = 'spoiled.json'\n",
        file: (
            "spoiled.json",
            "{\"tokens\": [\"misplaced-canary-4e81b07d\"]}",
        ),
        ..WRONG
    },
];

fn start(system: &System, wrong: &Wrong) -> Process {
    let write = |name: &str, text: &str| {
        fs::write(system.folder().join(name), text).expect("it is written");
    };
    write("agenthub.toml", wrong.settings);
    write(wrong.file.0, wrong.file.1);
    let owned: Vec<(&str, PathBuf)> = wrong
        .variables
        .iter()
        .map(|(name, value)| (*name, PathBuf::from(value)))
        .collect();
    let environment: Vec<(&str, &PathBuf)> =
        owned.iter().map(|(name, value)| (*name, value)).collect();
    let args = [wrong.args, &["--log", "trace"]].concat();
    Process::start_in(&environment, system.folder(), "http://127.0.0.1:9", &args)
}

/// Issue 25: none is found in errors.
#[test]
fn an_error_of_wrong_settings_does_not_quote_a_secret() {
    let mut out = Vec::new();
    for wrong in REFUSED {
        let system = System::bare(free_address());
        let done = start(&system, wrong).finish("");
        let at = (wrong.settings, wrong.variables, wrong.args);
        assert_ne!(done.code, Some(0), "{at:?}: {done:?}");
        assert!(!done.stderr.is_empty(), "{at:?}: {done:?}");
        if format!("{done:?}").contains(SECRET) {
            out.push(format!("{at:?}: {done:?}"));
        }
    }
    assert!(out.is_empty(), "{out:#?}");
}

/// Address at which no Kafka listens.
#[cfg(feature = "kafka")]
const AWAY: &str = "127.0.0.1:19";

/// A Kafka that is away, with a login, from the programs that call it.
#[cfg(feature = "kafka")]
#[test]
fn the_login_of_a_kafka_that_is_away_is_named_nowhere() {
    let system = System::bare(free_address());
    let settings = "[kafka]\nservers = '127.0.0.1:19'\nsecurity = 'sasl_plaintext'\nmechanism = 'scram-sha-256'\nusername = 'a'\npassword = 'env:KAFKA_PASSWORD'\n\
        [bridge.auth.writer]\nkind = 'bearer'\ntoken = 'env:BRIDGE_TOKEN'\n";
    let mut said = String::new();
    for args in [
        &["connect", "kafka", "--json", "--messages", "orders=orders"][..],
        &["bridge", "--json", "--a2a", "http://127.0.0.1:9"],
        UP,
    ] {
        let away = Wrong {
            settings,
            variables: &[("KAFKA_PASSWORD", SECRET), ("BRIDGE_TOKEN", SECRET)],
            args: &[],
            ..WRONG
        };
        let wrong = Wrong {
            args: Box::leak(args.to_vec().into_boxed_slice()),
            ..away
        };
        let process = start(&system, &wrong);
        eventually("it has called Kafka", || {
            process.said().contains(AWAY).then_some(())
        });
        process.signal(Signal::SIGTERM);
        said += &format!("{:?}", process.wait());
    }
    stay_home(&[Canary::new(SECRET, &[])], &said, system.folder());
}

/// Help texts show no value of the environment.
#[test]
fn help_shows_no_value_of_the_environment() {
    let system = System::bare(free_address());
    for name in [
        "AGENTHUB_TOKEN",
        "AGENTHUB_JOURNAL",
        "AGENTHUB_MODEL",
        "AGENTHUB_KEY",
        "OPENAI_API_KEY",
        "AWS_SECRET_ACCESS_KEY",
    ] {
        for args in [
            &["--help"][..],
            &["up", "--help"],
            &["agent", "run", "--help"],
            &["bridge", "--help"],
            &["executor", "--help"],
            &["cortex", "--help"],
            &["mcp", "--help"],
            &["completions", "bash"],
        ] {
            let secret = PathBuf::from(SECRET);
            let shown = Process::start_in(&[(name, &secret)], system.folder(), "", args).finish("");
            assert_eq!(shown.code, Some(0), "{args:?}: {shown:?}");
            assert!(!format!("{shown:?}").contains(SECRET), "{name} in {args:?}");
        }
    }
    assert!(files(system.folder()).is_empty());
}

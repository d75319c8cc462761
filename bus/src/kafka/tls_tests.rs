//! TLS and logins on the real Kafka that `scripts/services` has started in the folder that `AGENTHUB_TEST_KAFKA_FOLDER` names.

use std::{
    env, fs,
    path::{Path, PathBuf},
};

use super::*;
use crate::contract;

/// A server with TLS.
struct Server(PathBuf);

impl Server {
    /// `None` if there is none.
    fn find() -> Option<Self> {
        let folder = PathBuf::from(env::var_os("AGENTHUB_TEST_KAFKA_FOLDER")?);
        let has_tls = folder.join("login-address").exists();
        has_tls.then_some(Self(folder))
    }

    /// The password of the user that may log in.
    fn password(&self) -> String {
        let password = fs::read_to_string(self.0.join("login-password"));
        password
            .expect("scripts/services has written it")
            .trim()
            .to_owned()
    }

    /// Settings for the address in this file, and a certificate to trust.
    fn settings(&self, address: &str, ca: &str) -> Settings {
        let address = fs::read_to_string(self.0.join(address)).expect("an address");
        Settings {
            tls: Some(Tls {
                ca: Some(self.0.join(ca)),
                client: None,
            }),
            ..Settings::new(address.trim())
        }
    }

    /// Settings that are right but for the password.
    fn login(&self, mechanism: Mechanism, password: &Path) -> Settings {
        let login = Sasl {
            mechanism,
            username: "agenthub".to_owned(),
            password: Secret::File(password.to_owned()),
        };
        Settings {
            sasl: Some(login),
            ..self.settings("login-address", "login.pem")
        }
    }
}

/// A file with a password.
fn file(password: &str) -> PathBuf {
    let path = env::temp_dir().join(format!("agenthub-test-{}", uuid::Uuid::new_v4()));
    fs::write(&path, password).expect("it is written");
    path
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_kafka_with_tls_and_logins_keeps_the_promises_of_a_bus() {
    let Some(server) = Server::find() else {
        return;
    };
    let password = file(&format!("{}\n", server.password()));
    let connect = async |mechanism| {
        let bus = KafkaBus::connect(server.login(mechanism, &password)).await;
        bus.expect("the login is right")
    };
    let scram = connect(Mechanism::ScramSha512).await;
    let plain = connect(Mechanism::Plain).await;
    tokio::join!(
        contract::keeps_its_promises(&scram, &scram),
        contract::publishes(&plain, &plain),
    );
    fs::remove_file(&password).expect("it is there");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_wrong_login_or_certificate_is_refused_with_what_to_look_at() {
    let Some(server) = Server::find() else {
        return;
    };
    let (right, wrong) = (file(&server.password()), file("guess"));
    let login = |mechanism, password| server.login(mechanism, password);
    let elsewhere = |tls: &str| Settings {
        tls: server.settings("address", tls).tls,
        ..login(Mechanism::Plain, &right)
    };
    let by_name = |settings: Settings| Settings {
        servers: settings.servers.replace("127.0.0.1", "localhost"),
        ..settings
    };
    let refused: [(Settings, &str); 7] = [
        (login(Mechanism::Plain, &wrong), "do not take the login"),
        (
            login(Mechanism::ScramSha512, &wrong),
            "do not take the login",
        ),
        (
            login(Mechanism::ScramSha256, &right),
            "mechanisms: PLAIN,SCRAM-SHA-512",
        ),
        (elsewhere("expired.pem"), "certificate is not trusted"),
        (
            server.settings("expired-address", "expired.pem"),
            "it has expired",
        ),
        (
            by_name(login(Mechanism::Plain, &right)),
            "is for another name",
        ),
        (elsewhere("none.pem"), "kafka.ca"),
    ];
    for (settings, why) in refused {
        let error = KafkaBus::connect(settings.clone()).await.map(drop);
        let Err(BusError::Refused(said)) = error else {
            panic!("{settings:?} gives {error:?}");
        };
        assert!(said.contains(why), "{said}");
    }
    let no_login = Settings {
        sasl: None,
        ..login(Mechanism::Plain, &right)
    };
    let no_tls = Settings {
        tls: None,
        ..no_login.clone()
    };
    let to_plaintext = server.settings("address", "login.pem");
    let unavailable = [
        (no_login, "may want TLS or a login"),
        (no_tls, "may want TLS or a login"),
        (to_plaintext, "speak no TLS at this port"),
    ];
    let errors = unavailable.map(|(settings, why)| async move {
        let error = KafkaBus::connect(settings).await.map(drop);
        let said = error.expect_err("it cannot be").to_string();
        assert!(said.contains(why), "{said}");
    });
    futures_util::future::join_all(errors).await;
    for password in [right, wrong] {
        fs::remove_file(password).expect("it is there");
    }
}

//! The first contact with the servers, and what stands against it.

use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use rdkafka::{
    ClientContext,
    error::KafkaError,
    producer::{FutureProducer, Producer as _},
    types::RDKafkaErrorCode as Code,
};
use tokio::{task::spawn_blocking, time::Instant};

use super::settings::ANSWER;
use crate::BusError;

/// Time after which the client is looked at while it tries to reach a server.
const LOOK: Duration = Duration::from_millis(500);

/// Interval at which the log repeats a complaint that does not end: the library makes several a second.
const REPEAT: Duration = Duration::from_secs(30);

/// Words of the library for a connection that the server has closed: which of them depends on where it notices.
const CLOSED: [&str; 4] = [
    "Broken pipe",
    "reset by peer",
    "closed by peer",
    "Disconnected",
];

/// The last complaint of a client about its connections: the library tells callers only that there was no answer.
#[derive(Clone, Debug, Default)]
pub(super) struct Complaints(Arc<Mutex<Said>>);

#[derive(Debug, Default)]
struct Said {
    last: Option<(Code, String)>,
    /// The complaints that were logged within the last interval.
    logged: Vec<(Instant, Code)>,
}

impl Complaints {
    fn lock(&self) -> MutexGuard<'_, Said> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Said {
    /// True if a complaint of this kind is not in the log yet, or has not been for long.
    fn is_news(&mut self, code: Code, now: Instant) -> bool {
        self.logged
            .retain(|(at, _)| now.duration_since(*at) < REPEAT);
        let is_news = self.logged.iter().all(|(_, logged)| *logged != code);
        if is_news {
            self.logged.push((now, code));
        }
        is_news
    }
}

impl ClientContext for Complaints {
    fn error(&self, error: KafkaError, reason: &str) {
        let Some(code) = error.rdkafka_error_code() else {
            tracing::warn!(%error, reason, "a connection to Kafka");
            return;
        };
        let mut said = self.lock();
        if said.is_news(code, Instant::now()) {
            tracing::warn!(%error, reason, "a connection to Kafka");
        }
        // That all servers are down is said after the reason for it.
        if code != Code::AllBrokersDown || said.last.is_none() {
            said.last = Some((code, reason.to_owned()));
        }
    }
}

/// Waits until a server answers, 10 s at most.
///
/// # Errors
///
/// [`BusError::Unavailable`] if none does, and [`BusError::Refused`] if none will: the login or a certificate is wrong.
pub(super) async fn reach(
    producer: &FutureProducer<Complaints>,
    complaints: &Complaints,
) -> Result<(), BusError> {
    let deadline = Instant::now() + ANSWER;
    loop {
        let looking = producer.clone();
        let look = spawn_blocking(move || looking.client().fetch_metadata(None, LOOK).map(drop));
        let error = match look.await {
            Ok(Ok(())) => return Ok(()),
            Ok(Err(error)) => error.to_string(),
            Err(error) => error.to_string(),
        };
        let complaint = complaints.lock().last.clone();
        match complaint {
            Some((code, reason)) if lasts(code) => {
                return Err(BusError::Refused(in_words(code, &reason)));
            }
            _ if Instant::now() < deadline => {}
            Some((code, reason)) => return Err(BusError::Unavailable(in_words(code, &reason))),
            None => return Err(BusError::Unavailable(error)),
        }
    }
}

/// True for complaints that nothing but another setting ends.
fn lasts(code: Code) -> bool {
    matches!(
        code,
        Code::Authentication
            | Code::SaslAuthenticationFailed
            | Code::UnsupportedSASLMechanism
            | Code::SSL
    )
}

/// The complaint, and what to do about it.
fn in_words(code: Code, reason: &str) -> String {
    let said = said(reason);
    match code {
        Code::SSL if said.contains("certificate verify failed") => {
            "the servers' certificate is not trusted: it has expired, is for another name than that in kafka.servers, or is not signed by a certificate of kafka.ca".to_owned()
        }
        Code::SSL => format!("TLS with the servers fails ({said}): look at kafka.security, kafka.certificate and kafka.key"),
        _ if lasts(code) => format!(
            "the servers do not take the login ({said}): look at kafka.username, kafka.password, kafka.mechanism and kafka.security"
        ),
        _ if said.contains("PLAINTEXT broker") => {
            "the servers speak no TLS at this port: look at the port and at kafka.security".to_owned()
        }
        // Of a connection that the server has closed, not much else is said.
        _ if code == Code::AllBrokersDown || CLOSED.iter().any(|words| said.contains(words)) => {
            format!("the servers close each connection ({said}): they may want TLS or a login, look at kafka.security")
        }
        _ => said.to_owned(),
    }
}

/// A reason without the name of the connection before it, and the library's state behind it.
fn said(reason: &str) -> &str {
    let said = reason
        .split_once("/bootstrap: ")
        .map_or(reason, |(_, said)| said);
    said.rsplit_once(" (after ").map_or(said, |(said, _)| said)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_complaint_says_what_to_look_at() {
        let check = |code, reason, expected| assert_eq!(in_words(code, reason), expected);
        check(
            Code::Authentication,
            "sasl_ssl://h:1/bootstrap: SASL authentication error: Authentication failed: Invalid username or password (after 302ms in state AUTH_REQ)",
            "the servers do not take the login (SASL authentication error: Authentication failed: Invalid username or password): \
             look at kafka.username, kafka.password, kafka.mechanism and kafka.security",
        );
        check(
            Code::SSL,
            "ssl://h:1/bootstrap: SSL handshake failed: no certificate (after 7ms in state SSL_HANDSHAKE)",
            "TLS with the servers fails (SSL handshake failed: no certificate): look at kafka.security, kafka.certificate and kafka.key",
        );
        check(
            Code::BrokerTransportFailure,
            "ssl://h:1/bootstrap: Disconnected: SSL connection closed by peer (after 3ms in state APIVERSION_QUERY)",
            "the servers close each connection (Disconnected: SSL connection closed by peer): they may want TLS or a login, look at kafka.security",
        );
        check(
            Code::BrokerTransportFailure,
            "h:1/bootstrap: Connect to ipv4#h:1 failed: Connection refused (after 0ms in state CONNECT, 1 identical error(s) suppressed)",
            "Connect to ipv4#h:1 failed: Connection refused",
        );
    }

    #[test]
    fn a_complaint_that_does_not_end_is_logged_at_an_interval() {
        let mut said = Said::default();
        let began = Instant::now();
        let mut is_news = |code, seconds| said.is_news(code, began + Duration::from_secs(seconds));
        assert!(is_news(Code::BrokerTransportFailure, 0));
        assert!(is_news(Code::AllBrokersDown, 0));
        for second in 1..30 {
            assert!(!is_news(Code::BrokerTransportFailure, second), "{second}");
        }
        assert!(is_news(Code::BrokerTransportFailure, 30));
        assert!(!is_news(Code::BrokerTransportFailure, 31));
    }

    #[test]
    fn the_reason_stays_when_all_servers_are_down_for_it() {
        let complaints = Complaints::default();
        let complain = |code, reason| complaints.error(KafkaError::Global(code), reason);
        complain(Code::AllBrokersDown, "all down");
        complain(Code::SSL, "no TLS");
        complain(Code::AllBrokersDown, "all down");
        let last = complaints.lock().last.clone();
        assert_eq!(last, Some((Code::SSL, "no TLS".to_owned())));
    }
}

//! Failures of TLS, in words that say what to do.

use std::{error::Error as StdError, io};

use rustls::{AlertDescription, CertificateError, Error, PeerIncompatible};

use super::ClientTls;

/// The reason why a client's TLS failed, and what to do about it; `None` if the error is none of TLS.
pub fn explain(error: &(dyn StdError + 'static), tls: &ClientTls) -> Option<String> {
    let mut next = Some(error);
    while let Some(error) = next {
        if let Some(error) = error.downcast_ref() {
            return Some(of_tls(error, tls));
        }
        if let Some(error) = error.downcast_ref::<super::Error>() {
            return Some(error.to_string());
        }
        // An error of I/O leaves out, as its source, the error that it is made of.
        let made_of = error.downcast_ref().and_then(io::Error::get_ref);
        if let Some(alert) = made_of.and_then(|made_of| worded(&made_of.to_string())) {
            return Some(of_alert(alert, tls));
        }
        next = match made_of {
            Some(made_of) => Some(made_of),
            None => error.source(),
        };
    }
    tls.take_alert().map(|alert| of_alert(alert, tls))
}

/// The alert of which HTTP/2 passes on the words alone.
fn worded(text: &str) -> Option<AlertDescription> {
    let alerts = (0..=u8::MAX).map(AlertDescription::from);
    alerts
        .into_iter()
        .find(|alert| text == Error::AlertReceived(*alert).to_string())
}

/// The reason with a hint: who speaks TLS at the other end closes a connection without, and what it says of that may come too late to be read.
pub fn hinted(url: &str, reason: String) -> String {
    let is_plain = !url.starts_with("https://");
    match is_plain && reason.contains("connection closed") && !reason.contains("https://") {
        true => format!("{reason}; if TLS is spoken there, use https://"),
        false => reason,
    }
}

fn of_tls(error: &Error, tls: &ClientTls) -> String {
    match error {
        Error::InvalidCertificate(fault) => of_certificate(fault, tls),
        Error::AlertReceived(alert) => of_alert(*alert, tls),
        Error::InvalidMessage(_) => {
            "what answers there speaks no TLS: is it an http:// address?".to_owned()
        }
        Error::PeerIncompatible(why) => of_peer(why),
        Error::NoApplicationProtocol => OTHER_PORT.to_owned(),
        other => other.to_string(),
    }
}

const OTHER_PORT: &str = "what answers there speaks TLS, but not gRPC: is it the hub's HTTP port?";

fn of_certificate(fault: &CertificateError, tls: &ClientTls) -> String {
    use CertificateError::{
        Expired, ExpiredContext, InvalidPurpose, InvalidPurposeContext, NotValidForName,
        NotValidForNameContext, NotValidYet, NotValidYetContext, UnknownIssuer,
    };
    match fault {
        UnknownIssuer => match tls.has_ca() {
            false => "its certificate comes from a CA that this system does not trust: name the hub's CA with --ca FILE or AGENTHUB_CA".to_owned(),
            true => "its certificate comes from another CA than those of --ca (AGENTHUB_CA): is that the CA of this hub?".to_owned(),
        },
        NotValidForName => "its certificate is for another name: call it by a name in its certificate".to_owned(),
        NotValidForNameContext { expected, presented } => {
            let wanted = expected.to_str();
            match presented.is_empty() {
                true => format!("its certificate is not for {wanted}: it has no names at all"),
                false => format!(
                    "its certificate is not for {wanted}, but for {}: call it by one of these, or give it a certificate with that name",
                    presented.join(", ")
                ),
            }
        }
        Expired | ExpiredContext { .. } => "its certificate has expired (or the clock here is wrong): it needs a renewed one".to_owned(),
        NotValidYet | NotValidYetContext { .. } => "its certificate is not valid yet: is the clock here right?".to_owned(),
        InvalidPurpose | InvalidPurposeContext { .. } => "its certificate is not one for servers".to_owned(),
        other => format!("its certificate is not accepted: {other}"),
    }
}

fn of_alert(alert: AlertDescription, tls: &ClientTls) -> String {
    use AlertDescription::{
        AccessDenied, BadCertificate, CertificateExpired, CertificateRequired, CertificateRevoked,
        CertificateUnknown, DecryptError, HandshakeFailure, NoApplicationProtocol, ProtocolVersion,
        UnknownCA, UnsupportedCertificate,
    };
    match alert {
        CertificateRequired => WANTS_ONE.to_owned(),
        // TLS 1.2 has no alert of its own for a certificate that is missing.
        HandshakeFailure if !tls.has_identity() => format!("the hub refused the handshake; perhaps {WANTS_ONE}"),
        CertificateExpired => "the hub says that the client certificate (--cert) has expired: renew it".to_owned(),
        UnknownCA => "the client certificate (--cert) comes from a CA that the hub does not trust: the hub's --client-ca has to name it".to_owned(),
        AccessDenied => "the client certificate (--cert) names nobody: it needs one SPIFFE id or a common name".to_owned(),
        BadCertificate | CertificateRevoked | CertificateUnknown | DecryptError | UnsupportedCertificate => {
            format!("the hub does not accept the client certificate (--cert): {alert:?}")
        }
        NoApplicationProtocol => OTHER_PORT.to_owned(),
        ProtocolVersion => "the other side does not speak TLS 1.2 or later".to_owned(),
        other => format!("the other side ended TLS: {other:?}"),
    }
}

const WANTS_ONE: &str = "the hub wants a client certificate: name one with --cert FILE and --key FILE, or AGENTHUB_CERT and AGENTHUB_KEY";

fn of_peer(why: &PeerIncompatible) -> String {
    match why {
        PeerIncompatible::ServerDoesNotSupportTls12Or13 => {
            "the other side does not speak TLS 1.2 or later".to_owned()
        }
        other => format!("the other side speaks another kind of TLS: {other:?}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, thiserror::Error)]
    #[error("transport")]
    struct Outer(#[source] io::Error);

    fn explained(error: Error, tls: &ClientTls) -> String {
        let outer = Outer(io::Error::new(io::ErrorKind::InvalidData, error));
        explain(&outer, tls).expect("it is one of TLS")
    }

    #[test]
    fn each_reason_says_what_to_do() {
        let bare = ClientTls::new();
        let whole = ClientTls::new().ca("ca").identity("c", "k");
        let unknown = || Error::InvalidCertificate(CertificateError::UnknownIssuer);
        assert!(explained(unknown(), &bare).contains("with --ca"));
        assert!(explained(unknown(), &whole).contains("is that the CA of this hub"));
        let alert = |alert| Error::AlertReceived(alert);
        for (error, tls, part) in [
            (
                alert(AlertDescription::CertificateRequired),
                &bare,
                "--cert",
            ),
            (alert(AlertDescription::HandshakeFailure), &bare, "--cert"),
            (
                alert(AlertDescription::HandshakeFailure),
                &whole,
                "HandshakeFailure",
            ),
            (alert(AlertDescription::UnknownCA), &whole, "--client-ca"),
            (alert(AlertDescription::CertificateExpired), &whole, "renew"),
            (
                Error::InvalidCertificate(CertificateError::Expired),
                &whole,
                "expired",
            ),
            (
                Error::InvalidMessage(rustls::InvalidMessage::InvalidContentType),
                &bare,
                "http://",
            ),
            (Error::NoApplicationProtocol, &bare, "HTTP port"),
        ] {
            let said = explained(error, tls);
            assert!(said.contains(part), "{said}");
        }
    }

    /// HTTP/2 makes copies of errors, which are words alone.
    #[test]
    fn an_alert_is_known_by_its_words() {
        let words = Error::AlertReceived(AlertDescription::CertificateRequired).to_string();
        let outer = Outer(io::Error::new(io::ErrorKind::InvalidData, words));
        let said = explain(&outer, &ClientTls::new()).expect("it is one of TLS");
        assert!(said.contains("--cert"), "{said}");
    }

    #[test]
    fn a_connection_that_is_closed_at_once_may_have_been_one_for_tls() {
        let closed = || "transport error: connection closed".to_owned();
        assert!(hinted("http://h:1", closed()).ends_with("use https://"));
        assert_eq!(hinted("https://h:1", closed()), closed());
        let refused = "tcp connect error".to_owned();
        assert_eq!(hinted("http://h:1", refused.clone()), refused);
    }

    #[test]
    fn other_errors_are_left_alone() {
        let refused = Outer(io::ErrorKind::ConnectionRefused.into());
        assert_eq!(explain(&refused, &ClientTls::new()), None);
    }
}

//! Flags by which a program on this machine reaches the hub, for commands that are suggested.

use std::path::Path;

use crate::settings::Settings;

/// The files that a hub's callers name. Those that this process does not know are in capital letters.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Reaching {
    /// The CA of the hub's certificate, with TLS.
    pub(crate) ca: Option<String>,
    /// A client's certificate and its key, if the hub lets nobody in without one.
    pub(crate) certificate: Option<[String; 2]>,
    /// Callers show a token.
    pub(crate) needs_token: bool,
}

impl Reaching {
    /// Needs of a hub of these settings towards its callers.
    pub(crate) fn to(settings: &Settings, is_open: bool) -> Self {
        let Some(cert) = &settings.tls.cert else {
            return Self {
                needs_token: !is_open,
                ..Self::default()
            };
        };
        let own = &settings.client;
        let named = |of_client: &Option<std::path::PathBuf>, beside: &str, unknown: &str| {
            let beside = cert.with_file_name(beside);
            let found = of_client.as_deref().or_else(|| existing(&beside));
            found.map_or_else(|| unknown.to_owned(), |file| file.display().to_string())
        };
        let certificate = settings.tls.require_client_cert.unwrap_or_default();
        Self {
            ca: Some(named(&own.ca, "ca.pem", "CA.pem")),
            certificate: certificate.then(|| {
                [
                    named(&own.cert, "client.pem", "CLIENT.pem"),
                    named(&own.key, "client.key", "CLIENT.key"),
                ]
            }),
            // Who shows a certificate needs no token.
            needs_token: !is_open && !certificate,
        }
    }

    /// Flags of commands, each with a space before it.
    pub(crate) fn flags(&self) -> String {
        let ca = self.ca.iter().map(|ca| format!(" --ca {ca}"));
        let certificate = self.certificate.iter();
        let certificate = certificate.map(|[cert, key]| format!(" --cert {cert} --key {key}"));
        let token = self.needs_token.then(|| " --token-file TOKEN".to_owned());
        ca.chain(certificate).chain(token).collect()
    }

    /// Those of grpcurl.
    pub(crate) fn grpcurl(&self) -> String {
        let ca = match &self.ca {
            Some(ca) => format!(" -cacert {ca}"),
            None => " -plaintext".to_owned(),
        };
        let certificate = self.certificate.iter();
        let certificate = certificate.map(|[cert, key]| format!(" -cert {cert} -key {key}"));
        let token = self
            .needs_token
            .then(|| " -H \"authorization: Bearer $(cat TOKEN)\"".to_owned());
        [ca].into_iter().chain(certificate).chain(token).collect()
    }
}

fn existing(file: &Path) -> Option<&Path> {
    Some(file).filter(|file| file.is_file())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(settings: &str, is_open: bool, flags: &str) {
        let settings = Settings::of_text(settings).expect("right");
        assert_eq!(Reaching::to(&settings, is_open).flags(), flags);
    }

    #[test]
    fn flags_name_what_the_hub_takes() {
        let folder = tempfile::tempdir().expect("a folder");
        let at = folder.path().display();
        let tls = format!("[tls]\ncert = '{at}/server.pem'\nkey = '{at}/server.key'\n");
        check("", true, "");
        check("", false, " --token-file TOKEN");
        check(&tls, false, " --ca CA.pem --token-file TOKEN");
        let strict = format!("{tls}client_ca = '{at}/ca.pem'\nrequire_client_cert = true\n");
        check(
            &strict,
            false,
            " --ca CA.pem --cert CLIENT.pem --key CLIENT.key",
        );
        for name in ["ca.pem", "client.pem", "client.key"] {
            std::fs::write(folder.path().join(name), "").expect("written");
        }
        let with = format!(" --ca {at}/ca.pem --cert {at}/client.pem --key {at}/client.key");
        check(&strict, false, &with);
        check(&tls, true, &format!(" --ca {at}/ca.pem"));
        let named = format!("{tls}[client]\nca = 'other.pem'\n");
        check(&named, true, " --ca other.pem");
    }
}

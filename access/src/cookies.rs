//! Cookies by which a browser names its session.

use http::{HeaderMap, HeaderValue, header};

use crate::SessionId;

/// Name of the cookie on a server without TLS.
const PLAIN: &str = "agenthub";

/// Name on one with TLS: browsers take it from nobody but this very host, over TLS, for all of its paths.
const SECURE: &str = "__Host-agenthub";

/// Cookies of a server's sessions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SessionCookies {
    /// Browsers reach the server over TLS.
    pub is_secure: bool,
}

impl SessionCookies {
    /// The session that a request names.
    pub fn read(self, headers: &HeaderMap) -> Option<&str> {
        cookie(headers, self.name())
    }

    /// The header that gives a session to a browser. No script sees it, and the browser sends it for pages of this server alone.
    pub fn begin(self, session: &SessionId) -> HeaderValue {
        self.header(session.secret(), "")
    }

    /// The header that takes it away again.
    pub fn end(self) -> HeaderValue {
        self.header("", "; Max-Age=0")
    }

    fn header(self, value: &str, age: &str) -> HeaderValue {
        let name = self.name();
        let secure = if self.is_secure { "; Secure" } else { "" };
        let text = format!("{name}={value}; Path=/; HttpOnly; SameSite=Strict{secure}{age}");
        let mut header = HeaderValue::try_from(text).expect("printable characters");
        header.set_sensitive(true);
        header
    }

    fn name(self) -> &'static str {
        match self.is_secure {
            true => SECURE,
            false => PLAIN,
        }
    }
}

/// The value of a cookie; `None` if there are several, as one of them is somebody else's.
pub fn cookie<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    let lines = headers.get_all(header::COOKIE).into_iter();
    let mut found = lines
        .filter_map(|line| line.to_str().ok())
        .flat_map(|line| line.split(';'))
        .filter_map(|cookie| cookie.trim().split_once('='))
        .filter(|(found, _)| *found == name);
    let (_, value) = found.next()?;
    found.next().is_none().then_some(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(is_secure: bool, lines: &[&str]) -> Option<String> {
        let mut headers = HeaderMap::new();
        for line in lines {
            headers.append(header::COOKIE, line.parse().expect("a header"));
        }
        let cookies = SessionCookies { is_secure };
        cookies.read(&headers).map(str::to_owned)
    }

    /// Issue 25: a cookie for the page (HttpOnly, SameSite).
    #[test]
    fn a_session_is_given_to_this_host_alone_and_read_as_it_was_given() {
        let id = crate::sessions::Sessions::default().begin(&crate::Admitted::nobody(), 0);
        let id = id.expect("randomness");
        let given = |is_secure| {
            let header = SessionCookies { is_secure }.begin(&id);
            assert!(header.is_sensitive());
            header.to_str().expect("text").to_owned()
        };
        let plain = given(false);
        assert!(
            plain.ends_with("; Path=/; HttpOnly; SameSite=Strict"),
            "{plain}"
        );
        let secure = given(true);
        assert!(secure.starts_with("__Host-agenthub="), "{secure}");
        assert!(secure.ends_with("; Path=/; HttpOnly; SameSite=Strict; Secure"));
        let (pair, _) = secure.split_once(';').expect("attributes");
        assert_eq!(read(true, &["a=b", pair]).as_deref(), Some(id.secret()));
        let end = SessionCookies { is_secure: true }.end();
        assert!(end.to_str().expect("text").ends_with("Max-Age=0"));
    }

    #[test]
    fn a_cookie_that_another_may_have_set_is_none() {
        assert_eq!(read(false, &["x=1; agenthub=a; y"]).as_deref(), Some("a"));
        assert_eq!(read(true, &["agenthub=a"]), None);
        assert_eq!(read(false, &["agenthub=a; agenthub=b"]), None);
        assert_eq!(read(false, &["agenthub=a", "agenthub=b"]), None);
        assert_eq!(read(false, &["agenthub"]), None);
    }
}

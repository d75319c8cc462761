//! Logging in and out: with a token, or with an issuer elsewhere. A browser gets the id of a session; the token stays here.

mod attempts;

use std::{
    net::{IpAddr, Ipv4Addr, SocketAddr},
    sync::{Arc, Mutex, PoisonError},
    time::Instant,
};

use agenthub_access::{Admitted, Credential, Identities};
use agenthub_oidc::Logins;
use agenthub_proto::{
    browser::host,
    retry_after::{self, whole_seconds},
};
use axum::{
    Extension, Router,
    extract::{ConnectInfo, Form, Path, Query, State},
    http::{HeaderMap, HeaderValue, StatusCode, header},
    response::{IntoResponse, Redirect, Response},
    routing::{get, post},
};
use maud::{Markup, html};
use serde::Deserialize;

use self::attempts::Attempts;
use crate::{
    elements::segment,
    live::wants_events,
    shell::{self, Section},
    trouble::Trouble,
};

/// Maximum length of a token that is pasted.
const MAX_TOKEN: usize = 16 * 1024;

/// Maximum size of the form.
const MAX_FORM: usize = 64 * 1024;

/// Cookie that tells whether who comes back from an issuer is who was sent there.
const WAY_COOKIE: &str = "agenthub-login";

/// Log-ins of a server. Clones are the same.
#[derive(Clone, Debug)]
pub struct Login(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    identities: Identities,
    logins: Logins,
    /// The server's public address, if it is not that of the requests.
    public_url: Option<String>,
    attempts: Mutex<Attempts>,
}

impl Login {
    /// Log-ins with the tokens that these identities know, and with issuers elsewhere.
    pub fn new(identities: Identities, logins: Logins, public_url: Option<String>) -> Self {
        Self(Arc::new(Inner {
            identities,
            logins,
            public_url,
            attempts: Mutex::default(),
        }))
    }

    pub(crate) fn router(self) -> Router {
        Router::new()
            .route("/ui/login", get(show).post(with_token))
            .route("/ui/login/with/{issuer}", get(leave_for))
            .route("/ui/login/back", get(come_back))
            .route("/ui/logout", post(log_out))
            .layer(axum::extract::DefaultBodyLimit::max(MAX_FORM))
            .with_state(self)
    }

    /// Begins a session, and leads to where it was wanted.
    fn begin(&self, admitted: &Admitted, answer: Response) -> Response {
        let identities = &self.0.identities;
        match identities.begin_session(admitted) {
            Ok(session) => with_cookie(answer, identities.cookies().begin(&session)),
            Err(error) => {
                Trouble::new(StatusCode::SERVICE_UNAVAILABLE, error.to_string()).into_response()
            }
        }
    }

    fn session<'a>(&self, headers: &'a HeaderMap) -> Option<&'a str> {
        self.0.identities.cookies().read(headers)
    }

    fn is_logged_in(&self, headers: &HeaderMap) -> bool {
        let session = self.session(headers);
        let admitted = session.map(|id| self.0.identities.authenticate(Credential::Session(id)));
        self.0.identities.is_open() || admitted.is_some_and(|admitted| admitted.is_ok())
    }

    /// The address that an issuer leads back to.
    fn way_back(&self, headers: &HeaderMap) -> Result<String, Trouble> {
        let unknown = || Trouble::new(StatusCode::BAD_REQUEST, "The request names no host.");
        let base = match &self.0.public_url {
            Some(url) => url.trim_end_matches('/').to_owned(),
            None => {
                let scheme = match self.0.identities.cookies().is_secure {
                    true => "https",
                    false => "http",
                };
                format!("{scheme}://{}", host(headers).ok_or_else(unknown)?)
            }
        };
        Ok(format!("{base}/ui/login/back"))
    }

    fn attempts(&self) -> std::sync::MutexGuard<'_, Attempts> {
        let attempts = self.0.attempts.lock();
        attempts.unwrap_or_else(PoisonError::into_inner)
    }
}

/// The page that was asked for.
#[derive(Debug, Default, Deserialize)]
struct Wanted {
    #[serde(default)]
    next: String,
}

/// A page of this server; everything else is the first one.
fn page_here(next: &str) -> &str {
    let is_page = next == "/" || next.starts_with("/ui/") || next.starts_with("/?");
    let is_plain = next.bytes().all(|b| b.is_ascii_graphic() && b != b'\\');
    let is_login = next.starts_with("/ui/login") || next.starts_with("/ui/logout");
    match is_page && is_plain && !is_login && next.len() <= 2_048 {
        true => next,
        false => "/",
    }
}

async fn show(
    State(login): State<Login>,
    Query(wanted): Query<Wanted>,
    headers: HeaderMap,
) -> Response {
    // A page whose login has ended is led here, and asks for its stream: it is told so, and asks no more.
    if wants_events(&headers) {
        let ended = "You are not logged in any more.";
        return Trouble::new(StatusCode::UNAUTHORIZED, ended).into_response();
    }
    let next = page_here(&wanted.next);
    match login.is_logged_in(&headers) {
        true => Redirect::to(next).into_response(),
        false => form(&login, next, None).into_response(),
    }
}

#[derive(Deserialize)]
struct Given {
    token: String,
    #[serde(default)]
    next: String,
}

async fn with_token(
    State(login): State<Login>,
    peer: Option<Extension<ConnectInfo<SocketAddr>>>,
    Form(given): Form<Given>,
) -> Response {
    let (now, peer) = (Instant::now(), address(peer));
    let next = page_here(&given.next).to_owned();
    let checked = login.attempts().check(peer, now);
    if let Err(wait) = checked {
        let seconds = whole_seconds(wait);
        let why = format!("Too many attempts have failed: try again in {seconds} s.");
        let page = form(&login, &next, Some(&why));
        let mut answer = (StatusCode::TOO_MANY_REQUESTS, page).into_response();
        retry_after::ask(answer.headers_mut(), wait);
        return answer;
    }
    let token = given.token.trim();
    let admitted = match token.len() <= MAX_TOKEN && token.bytes().all(|b| b.is_ascii_graphic()) {
        true => {
            let header = format!("Bearer {token}");
            let credential = Credential::Authorization(&header);
            let admitted = login.0.identities.authenticate(credential);
            admitted.map_err(|denied| denied.to_string())
        }
        false => Err("that is no token".to_owned()),
    };
    match admitted {
        Ok(admitted) => login.begin(&admitted, Redirect::to(&next).into_response()),
        Err(why) => {
            login.attempts().failed(peer, now);
            (StatusCode::FORBIDDEN, form(&login, &next, Some(&why))).into_response()
        }
    }
}

/// Leads to an issuer.
async fn leave_for(
    State(login): State<Login>,
    Path(issuer): Path<String>,
    Query(wanted): Query<Wanted>,
    headers: HeaderMap,
) -> Result<Response, Trouble> {
    let back = login.way_back(&headers)?;
    let begun = login
        .0
        .logins
        .begin(&issuer, &back, page_here(&wanted.next));
    let begun = begun.await.map_err(|error| not_now(&error.to_string()))?;
    let answer = Redirect::to(&begun.location).into_response();
    Ok(with_cookie(answer, way_cookie(&login, &begun.traveller)))
}

#[derive(Deserialize)]
struct Answered {
    #[serde(default)]
    state: String,
    #[serde(default)]
    code: String,
    #[serde(default)]
    error: String,
    iss: Option<String>,
}

/// Takes who comes back from an issuer.
async fn come_back(
    State(login): State<Login>,
    Query(answered): Query<Answered>,
    headers: HeaderMap,
) -> Result<Response, Trouble> {
    let name = way_name(&login);
    let traveller = agenthub_access::cookie(&headers, name).unwrap_or_default();
    let came = login.0.logins.finish(agenthub_oidc::Answer {
        state: &answered.state,
        code: &answered.code,
        error: &answered.error,
        issuer: answered.iss.as_deref(),
        traveller,
    });
    let came = came.await.map_err(|error| not_now(&error.to_string()))?;
    // The browser sends the cookie of the session for links of this server alone, and it comes from another one. This page is of here.
    let page = html! {
        meta http-equiv="refresh" content={ "0;url=" (came.next) };
        p { "You are logged in. " a href=(came.next) { "Go on" } }
    };
    let page = shell::page(Section::None, "Logged in", &page, None).into_response();
    let page = with_cookie(page, way_cookie(&login, ""));
    Ok(login.begin(&came.admitted, page))
}

async fn log_out(State(login): State<Login>, headers: HeaderMap) -> Response {
    let identities = &login.0.identities;
    if let Some(session) = login.session(&headers) {
        identities.end_session(session);
    }
    with_cookie(
        Redirect::to("/ui/login").into_response(),
        identities.cookies().end(),
    )
}

fn form(login: &Login, next: &str, why: Option<&str>) -> Markup {
    let content = html! {
        h1 { "Log in" }
        p { "AgentHub is where AI agents hand each other work. This hub shows itself to those whom it knows." }
        @if let Some(why) = why { p.notice.bad role="alert" data-field="token" { (why) } }
        @for issuer in login.0.logins.names() {
            p { a href={ "/ui/login/with/" (segment(issuer)) "?next=" (segment(next)) } { "Log in with " (issuer) } }
        }
        form.login method="post" action="/ui/login" {
            input type="hidden" name="next" value=(next);
            label { span { "Token" } input type="password" name="token" required autocomplete="off" autofocus; }
            button { "Log in" }
        }
        p.about { "A token says who you are. Whoever runs the hub makes one, on its machine: " code { "agenthub tokens issue NAME --role user" } }
    };
    shell::page(Section::None, "Log in", &content, None)
}

fn not_now(why: &str) -> Trouble {
    Trouble::new(
        StatusCode::BAD_REQUEST,
        format!("You are not logged in: {why}"),
    )
}

fn address(peer: Option<Extension<ConnectInfo<SocketAddr>>>) -> IpAddr {
    peer.map_or(IpAddr::V4(Ipv4Addr::UNSPECIFIED), |Extension(peer)| {
        peer.0.ip()
    })
}

fn way_name(login: &Login) -> &'static str {
    match login.0.identities.cookies().is_secure {
        true => "__Host-agenthub-login",
        false => WAY_COOKIE,
    }
}

/// It has to come along when another server leads back here, so it is Lax.
fn way_cookie(login: &Login, value: &str) -> HeaderValue {
    let name = way_name(login);
    let secure = match login.0.identities.cookies().is_secure {
        true => "; Secure",
        false => "",
    };
    let age = if value.is_empty() { 0 } else { 600 };
    let text = format!("{name}={value}; Path=/; HttpOnly; SameSite=Lax; Max-Age={age}{secure}");
    let mut header = HeaderValue::try_from(text).expect("printable characters");
    header.set_sensitive(true);
    header
}

fn with_cookie(mut answer: Response, cookie: HeaderValue) -> Response {
    answer.headers_mut().append(header::SET_COOKIE, cookie);
    answer
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nobody_is_led_elsewhere_after_logging_in() {
        for next in ["/", "/ui/tasks?agent=x", "/ui/agents/a%20b", "/?x"] {
            assert_eq!(page_here(next), next);
        }
        for next in [
            "",
            "https://evil.example/",
            "//evil.example/",
            "/\\evil.example",
            "/ui/\\evil",
            "/ui/a b",
            "/ui/a\nb",
            "javascript:alert(1)",
            "/ui/login?next=/",
            "/ui/logout",
            "/v1/runs",
            &format!("/ui/{}", "x".repeat(3_000)),
        ] {
            assert_eq!(page_here(next), "/", "{next}");
        }
    }
}

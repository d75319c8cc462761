//! Screens that are kept up to date.

mod sent;

use std::{convert::Infallible, future::ready, sync::Arc, time::Duration};

use axum::{
    extract::State,
    http::{HeaderMap, header},
    response::{
        IntoResponse, Response, Sse,
        sse::{Event, KeepAlive},
    },
    routing::{MethodRouter, get},
};
use futures_util::stream;
use maud::{Markup, PreEscaped, Render, html};
use tokio::time::{Instant, sleep_until};

use self::sent::Sent;
use crate::{
    Pages,
    backend::Backend,
    elements::visible_markup,
    place::Place,
    shell::{self, Section},
    trouble::Trouble,
};

/// Interval at which a screen is looked at. What is shown is at most that old.
pub(crate) const LOOK: Duration = Duration::from_millis(900);

/// Id of the piece that says what is wrong.
const TROUBLE: &str = "trouble";

/// Interval of beats on a stream without news. `page.js` takes a hub that is silent for longer for lost.
const HEARTBEAT: Duration = Duration::from_secs(5);

/// A screen as it is now.
#[derive(Debug)]
pub(crate) struct Screen {
    pub(crate) title: String,
    pub(crate) above: Markup,
    /// The part that is kept up to date, piece by piece.
    pub(crate) now: Vec<Piece>,
    pub(crate) below: Markup,
    /// Position from which on a page that lost its stream is told what it missed; empty if it is told all.
    pub(crate) position: String,
}

/// A part of a screen that is sent again when it has changed. Clones share the content.
#[derive(Clone, Debug)]
pub(crate) struct Piece {
    /// Id of the element, one of its own on the page.
    pub(crate) id: String,
    pub(crate) content: Arc<str>,
}

impl Piece {
    pub(crate) fn new(id: impl Into<String>, content: Markup) -> Self {
        Self {
            id: id.into(),
            content: visible_markup(content).into_string().into(),
        }
    }
}

impl Render for Piece {
    fn render(&self) -> Markup {
        html! { div.piece id=(self.id) { (PreEscaped(&self.content)) } }
    }
}

impl Screen {
    pub(crate) fn new(title: impl Into<String>, now: Markup) -> Self {
        Self::of(title, vec![Piece::new("now", now)])
    }

    /// A screen of these pieces.
    pub(crate) fn of(title: impl Into<String>, now: Vec<Piece>) -> Self {
        Self {
            title: title.into(),
            above: html! {},
            now,
            below: html! {},
            position: String::new(),
        }
    }

    /// The screen where a look fails: as it was, with the trouble at its end, or the trouble alone where that is the answer.
    fn troubled(mut self, trouble: &Trouble) -> Self {
        match trouble.is_refusal() {
            true => self.now.clear(),
            false => self.now.retain(|piece| piece.id != TROUBLE),
        }
        self.now.push(Piece::new(TROUBLE, trouble.notice()));
        self
    }

    /// With this above, which is not kept up to date.
    pub(crate) fn above(mut self, above: Markup) -> Self {
        self.above = above;
        self
    }

    /// With this below, which is not kept up to date.
    pub(crate) fn below(mut self, below: Markup) -> Self {
        self.below = below;
        self
    }
}

/// A screen that keeps what it has read from one look to the next.
pub(crate) trait Look: Send + 'static {
    /// The screen as it is now.
    fn look(&mut self) -> impl Future<Output = Result<Screen, Trouble>> + Send;

    /// Waits until there may be something else to see, which is `due` at the latest unless it stays as it is.
    fn wait(&mut self, due: Instant) -> impl Future<Output = ()> + Send {
        sleep_until(due)
    }
}

/// A screen that is drawn anew for each look.
struct Drawn<D> {
    backend: Backend,
    place: Place,
    draw: D,
}

impl<D, F> Look for Drawn<D>
where
    D: Fn(Backend, Place) -> F + Send + Sync + 'static,
    F: Future<Output = Result<Screen, Trouble>> + Send + 'static,
{
    fn look(&mut self) -> impl Future<Output = Result<Screen, Trouble>> + Send {
        (self.draw)(self.backend.clone(), self.place.clone())
    }
}

/// The route of a screen that `draw` draws.
pub(crate) fn screen<D, F>(section: Section, draw: D) -> MethodRouter<Pages>
where
    D: Fn(Backend, Place) -> F + Clone + Send + Sync + 'static,
    F: Future<Output = Result<Screen, Trouble>> + Send + 'static,
{
    followed(section, move |backend, place| Drawn {
        backend,
        place,
        draw: draw.clone(),
    })
}

/// The route of a screen that `begin` begins to look at.
pub(crate) fn followed<B, L>(section: Section, begin: B) -> MethodRouter<Pages>
where
    B: Fn(Backend, Place) -> L + Clone + Send + Sync + 'static,
    L: Look,
{
    get(
        async move |State(pages): State<Pages>,
                    headers: HeaderMap,
                    place: Place,
                    backend: Result<Backend, Trouble>| {
            let backend = match backend {
                Ok(backend) => backend,
                Err(trouble) if wants_events(&headers) => return ended(&trouble),
                Err(trouble) => return trouble.into_response(),
            };
            let (url, viewer) = (place.url.clone(), backend.viewer().clone());
            let mut look = begin(backend.clone(), place);
            if wants_events(&headers) {
                return follow(&pages, backend, look);
            }
            match look.look().await {
                Err(trouble) => trouble.into_response(),
                Ok(screen) => shell::live(section, &url, &screen, &viewer).into_response(),
            }
        },
    )
}

pub(crate) fn wants_events(headers: &HeaderMap) -> bool {
    let accepted = headers.get(header::ACCEPT).and_then(|a| a.to_str().ok());
    accepted.is_some_and(|a| a.contains("text/event-stream"))
}

/// A stream that says what is wrong, and ends: its page comes back after a while.
fn ended(trouble: &Trouble) -> Response {
    let event = Event::default().data(trouble.notice().into_string());
    Sse::new(stream::once(ready(Ok::<_, Infallible>(event)))).into_response()
}

/// A stream of the screen: as it is, and then what has changed of it.
fn follow<L: Look>(pages: &Pages, backend: Backend, look: L) -> Response {
    let room = match pages.room() {
        Ok(room) => room,
        Err(trouble) => return ended(&trouble),
    };
    let closing = pages.0.closing.clone();
    let screen = Screen::of("", Vec::new());
    let state = (look, screen, Sent::default(), Instant::now(), room);
    let events = stream::unfold(state, move |state| {
        let (mut look, mut screen, mut sent, mut due, room) = state;
        let (closing, backend) = (closing.clone(), backend.clone());
        let next = async move {
            loop {
                look.wait(due).await;
                let seen = look.look().await;
                screen = seen.unwrap_or_else(|trouble| screen.troubled(&trouble));
                due = Instant::now() + LOOK;
                let waiting = shell::waiting(backend.waiting().await);
                if let Some(news) = sent.news(&screen.now, waiting) {
                    let event = Event::default().id(&screen.position).data(news);
                    return (Ok::<_, Infallible>(event), (look, screen, sent, due, room));
                }
            }
        };
        async move { closing.run_until_cancelled(next).await }
    });
    Sse::new(events)
        .keep_alive(
            KeepAlive::new()
                .interval(HEARTBEAT)
                .event(Event::default().event("beat").data("-")),
        )
        .into_response()
}

#[cfg(test)]
mod tests {
    use axum::http::StatusCode;

    use super::*;

    #[test]
    fn a_look_that_fails_takes_nothing_away_unless_there_is_nothing_any_more() {
        let ids = |screen: &Screen| -> Vec<String> {
            screen.now.iter().map(|piece| piece.id.clone()).collect()
        };
        let screen = Screen::new("", html! { "shown" }).troubled(&Trouble::late());
        assert_eq!(ids(&screen), ["now", TROUBLE]);
        let screen = screen.troubled(&Trouble::late());
        assert_eq!(ids(&screen), ["now", TROUBLE]);
        let later = Trouble::new(StatusCode::TOO_MANY_REQUESTS, "a quota is used up");
        let screen = screen.troubled(&later);
        assert_eq!(ids(&screen), ["now", TROUBLE]);
        let gone = Trouble::new(StatusCode::NOT_FOUND, "it is gone");
        assert_eq!(ids(&screen.troubled(&gone)), [TROUBLE]);
    }
}

//! The frame around every screen: head, navigation, and the place that is kept up to date.

use agenthub_access::Action;
use maud::{DOCTYPE, Markup, html};

use crate::{elements::visible_markup, live::Screen, viewer::Viewer};

/// The screens, as the navigation has them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Section {
    Overview,
    Chat,
    Agents,
    Tasks,
    Runs,
    Teams,
    Mailboxes,
    Events,
    /// None of them.
    None,
}

impl Section {
    /// Those that the navigation shows: path and name.
    const SHOWN: [(Self, &'static str, &'static str); 8] = [
        (Self::Overview, "/", "Overview"),
        (Self::Chat, "/ui/chat", "Chat"),
        (Self::Agents, "/ui/agents", "Agents"),
        (Self::Tasks, "/ui/tasks", "Tasks"),
        (Self::Runs, "/ui/runs", "Runs"),
        (Self::Teams, "/ui/teams", "Teams"),
        (Self::Mailboxes, "/ui/mailboxes", "Mailboxes"),
        (Self::Events, "/ui/events", "Events"),
    ];

    /// The section that an address belongs to.
    pub(crate) fn of(path: &str) -> Self {
        let is_of = |start: &str| {
            path == start
                || start != "/"
                    && path
                        .strip_prefix(start)
                        .is_some_and(|rest| rest.starts_with('/'))
        };
        let found = Self::SHOWN.into_iter().find(|(_, start, _)| is_of(start));
        match found {
            Some((section, ..)) => section,
            None if is_of("/ui/letters") => Self::Mailboxes,
            None if is_of("/ui/start") => Self::Runs,
            None => Self::None,
        }
    }

    /// Its path and name, if it is not the first page.
    pub(crate) fn link(self) -> Option<(&'static str, &'static str)> {
        let found = Self::SHOWN
            .into_iter()
            .find(|(section, ..)| *section == self);
        found
            .map(|(_, path, name)| (path, name))
            .filter(|(path, _)| *path != "/")
    }

    /// True if it shows anything to that viewer.
    fn is_for(self, viewer: &Viewer) -> bool {
        match self {
            Self::Chat => viewer.may(&Action::Chat),
            Self::Agents => viewer.may(&Action::SeeDirectory),
            Self::Runs => viewer.may(&Action::Runs),
            Self::Mailboxes | Self::Teams => viewer.may(&Action::Operate),
            Self::Events => viewer.may(&Action::SeeEvents),
            Self::Overview | Self::Tasks | Self::None => true,
        }
    }
}

/// Settings of htmx: no style within a page, and what somebody has opened stays open when its screen changes.
const HTMX: &str =
    r#"{"includeIndicatorCSS": false, "morphIgnore": ["data-htmx-powered", "open"]}"#;

/// A page whose screen is kept up to date from `url`. What is not, such as a form that somebody fills in, stands above or below.
pub(crate) fn live(section: Section, url: &str, screen: &Screen, viewer: &Viewer) -> Markup {
    let content = html! {
        (screen.above)
        div id="screen" role=[(section == Section::Chat).then_some("log")] hx-sse:connect=(url) hx-trigger="none" hx-swap="innerMorph" hx-config="sse.reconnectMaxDelay:2000" {
            @for piece in &screen.now { (piece) }
        }
        (screen.below)
    };
    page(section, &screen.title, &content, Some(viewer))
}

/// The way to what waits for a yes or a no; nothing where nothing does.
pub(crate) fn waiting(number: usize) -> Markup {
    html! {
        @if number > 0 { a.waiting href="/#approvals" { "Waiting for you (" (number) ")" } }
    }
}

/// A page. Without a viewer it links to no screen.
pub(crate) fn page(
    section: Section,
    title: &str,
    content: &Markup,
    viewer: Option<&Viewer>,
) -> Markup {
    visible_markup(html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                meta name="htmx-config" content=(HTMX);
                title { (title) " · AgentHub" }
                link rel="icon" href="/ui/assets/icon.svg";
                link rel="stylesheet" href="/ui/assets/page.css";
                script src="/ui/assets/htmx.min.js" defer {}
                script src="/ui/assets/hx-sse.min.js" defer {}
                script src="/ui/assets/page.js" defer {}
            }
            body {
                a.skip href="#main" { "To the content" }
                header {
                    a.brand href="/" { "AgentHub" }
                    nav aria-label="Screens" {
                        @for (shown, path, name) in Section::SHOWN {
                            @if viewer.is_some_and(|viewer| shown.is_for(viewer)) {
                                a href=(path) aria-current=[(shown == section).then_some("page")] { (name) }
                            }
                        }
                    }
                    @if let Some(name) = viewer.and_then(Viewer::name) {
                        form.who method="post" action="/ui/logout" { span { (name) } button { "Log out" } }
                    }
                    span #waiting { @if let Some(viewer) = viewer { (waiting(viewer.waiting())) } }
                    span #connection role="status" {}
                }
                main #main { (content) }
            }
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_shows_characters_that_nobody_sees() {
        let content = html! { p { "a\u{202e}b" } };
        let page = page(Section::Chat, "c\u{1b}", &content, None).into_string();
        assert!(page.contains("<p>a⟪U+202E⟫b</p>"), "{page}");
        assert!(page.contains("<title>c␦ · AgentHub</title>"), "{page}");
    }

    #[test]
    fn every_address_belongs_to_a_section() {
        for (path, section) in [
            ("/", Section::Overview),
            ("/ui/agents/agent_echo/ask", Section::Agents),
            ("/ui/agents", Section::Agents),
            ("/ui/agentsx", Section::None),
            ("/ui/letters/1/drop", Section::Mailboxes),
            ("/ui/none", Section::None),
        ] {
            assert_eq!(Section::of(path), section, "{path}");
        }
        assert_eq!(Section::Tasks.link(), Some(("/ui/tasks", "Tasks")));
        assert_eq!(Section::Overview.link(), None);
    }
}

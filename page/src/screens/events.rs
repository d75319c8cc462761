//! Events of the hub: the latest, and those that happen.

mod choices;
mod latest;
mod row;

use std::time::Duration;

use agenthub_proto::{
    agenthub::{AgentEvent, SubscribeToAgentEventsRequest},
    grpc::Messages,
};
use bytes::Bytes;
use futures_util::future::{OptionFuture, join};
use maud::{Markup, html};
use prost::Message as _;
use tokio::time::{Instant, sleep_until, timeout, timeout_at};

use self::{choices::Choices, latest::Latest};
use crate::{
    backend::Backend,
    hub::Hub,
    live::{Look, Screen},
    place::Place,
    trouble::Trouble,
};

/// Records of the log among which the latest events are looked for when somebody comes; and when some of them are chosen, or a page comes back.
const RECENT: u32 = 300;
const RECENT_CHOSEN: u32 = 2_000;

/// The most events of which the numbers are told.
const COUNTED: u32 = 2_300;

/// The kind of changes of the directory.
const AGENTS: &str = "agent_card";

/// The most time for the latest events when somebody comes.
const FIRST: Duration = Duration::from_millis(500);

/// Time in which the next event of those that there are is read. Once it is over, there are no more for now.
const NEXT: Duration = Duration::from_millis(20);

/// Events that come within this time are read together, within the other one.
const TOGETHER: Duration = Duration::from_millis(100);
const READ: Duration = Duration::from_millis(20);

/// The same where few of them may be chosen.
const NEXT_CHOSEN: Duration = Duration::from_millis(80);

/// The same as [`NEXT`] between two reads: others come with the next one.
const NEXT_TOGETHER: Duration = Duration::from_millis(1);

/// The events that somebody watches.
pub(crate) struct Watching {
    backend: Backend,
    place: Place,
    coming: Option<Messages>,
    latest: Latest,
    /// Kinds, topics and agents to choose from; `None` until they are counted.
    choices: Option<Choices>,
    trouble: Option<Trouble>,
}

impl Watching {
    pub(crate) fn new(backend: Backend, place: Place) -> Self {
        Self {
            backend,
            place,
            coming: None,
            latest: Latest::default(),
            choices: None,
            trouble: None,
        }
    }

    /// True if some kind or agent is chosen.
    fn is_chosen(&self) -> bool {
        ["kind", "agent"].map(|name| self.place.query(name)) != ["", ""]
    }

    /// Begins to watch.
    async fn subscribe(&mut self) -> Result<Messages, Trouble> {
        let request = self.request();
        self.backend.hub().agent_events(request).await
    }

    /// Asks for what is behind the last event that was seen, or for the latest.
    fn request(&self) -> SubscribeToAgentEventsRequest {
        let (kind, of) = (self.place.query("kind"), self.place.query("agent"));
        let last = self.latest.last();
        let after = match last.as_str() {
            "" => self.place.last_event(),
            last => last,
        };
        SubscribeToAgentEventsRequest {
            // An id of its own, which has no mail.
            agent_id: format!("{}.events", self.backend.hub().agent_id()),
            event_types: (!kind.is_empty())
                .then(|| kind.to_owned())
                .into_iter()
                .collect(),
            observe: true,
            observed_agent_id: of.to_owned(),
            recent: match (after, kind, of) {
                ("", "", "") => RECENT,
                _ => RECENT_CHOSEN,
            },
            after: after.to_owned(),
        }
    }

    /// Takes the events that are there.
    async fn take(&mut self, most: Duration, next: Duration) -> Result<(), Trouble> {
        let until = Instant::now() + most;
        while let Ok(event) = timeout(next, self.next()).await {
            self.latest.take(event?);
            if Instant::now() > until {
                break;
            }
        }
        Ok(())
    }

    async fn next(&mut self) -> Result<Bytes, Trouble> {
        loop {
            let Some(coming) = &mut self.coming else {
                self.coming = Some(self.subscribe().await?);
                continue;
            };
            match coming.next().await? {
                Some(event) => return Ok(event),
                None => self.coming = None,
            }
        }
    }

    /// Takes what comes until a time.
    async fn watch(&mut self, due: Instant) -> Result<(), Trouble> {
        while let Ok(event) = timeout_at(due, self.next()).await {
            self.latest.take(event?);
            sleep_until(due.min(Instant::now() + TOGETHER)).await;
            self.take(READ, NEXT_TOGETHER).await?;
        }
        Ok(())
    }
}

impl Look for Watching {
    async fn look(&mut self) -> Result<Screen, Trouble> {
        if let Some(trouble) = self.trouble.take() {
            return Err(trouble);
        }
        if self.coming.is_none() {
            let is_first = self.latest.is_empty();
            // A page that comes back has its choices.
            let is_new = self.choices.is_none() && self.place.last_event().is_empty();
            let counting = is_new.then(|| count(self.backend.hub().clone(), self.request()));
            self.coming = Some(self.subscribe().await?);
            let next = match self.is_chosen() {
                true => NEXT_CHOSEN,
                false => NEXT,
            };
            let (taken, counted) = join(self.take(FIRST, next), OptionFuture::from(counting)).await;
            taken?;
            // Without the numbers there is still the list.
            self.choices = counted.and_then(Result::ok).or(self.choices.take());
            if is_first {
                self.latest.forget_passed();
            }
        }
        let is_empty = self.latest.is_empty();
        let nothing = match (self.is_chosen(), self.place.query("kind")) {
            (_, AGENTS) => "No agent has come or gone since this hub was started.",
            (true, _) => "None of the latest events is of these.",
            (false, _) => "Nothing has happened yet.",
        };
        let events = self.latest.draw();
        let now = html! {
            @if is_empty { p.nothing { (nothing) " What happens appears here by itself: ask an agent for something on another tab." } }
            (events)
        };
        let above = above(&self.place, self.choices.as_ref());
        let mut screen = Screen::new("Events", now).above(above);
        // Behind the oldest that is shown, so that a page that comes back has these as well.
        screen.position = self.latest.first().to_owned();
        Ok(screen)
    }

    async fn wait(&mut self, due: Instant) {
        // The first look begins to watch.
        if self.coming.is_none() {
            return sleep_until(due).await;
        }
        if let Err(trouble) = self.watch(due).await {
            self.trouble = Some(trouble);
            self.coming = None;
            sleep_until(due).await;
        }
    }
}

/// Counts the latest events, whatever `chosen` chooses of them.
async fn count(hub: Hub, chosen: SubscribeToAgentEventsRequest) -> Result<Choices, Trouble> {
    let request = SubscribeToAgentEventsRequest {
        event_types: Vec::new(),
        observed_agent_id: String::new(),
        recent: RECENT_CHOSEN,
        after: String::new(),
        ..chosen
    };
    let mut choices = Choices::default();
    let mut events = hub.agent_events(request).await?;
    let until = Instant::now() + FIRST;
    for number in 0..COUNTED {
        // The first one may take its time; behind the last one nothing comes.
        let due = match number {
            0 => until,
            _ => until.min(Instant::now() + NEXT),
        };
        let Ok(event) = timeout_at(due, events.next()).await else {
            break;
        };
        let Some(event) = event? else { break };
        if let Ok(event) = AgentEvent::decode(event) {
            choices.count(&event);
        }
    }
    Ok(choices)
}

fn above(place: &Place, choices: Option<&Choices>) -> Markup {
    let (kind, of) = (place.query("kind"), place.query("agent"));
    html! {
        h1 { "Events" }
        p.about { "Whatever happens at the hub is an event: a message, a new task, a change of one, an artifact, an agent that comes or goes. The latest stand first." }
        @if let Some(choices) = choices { (choices.drawn(kind, of)) }
        @if kind == AGENTS { p.about { "Who came and went is not written down: of this hub's time since its start, the latest 256 are there." } }
        details id="other-choice" {
            summary { "Another agent or topic" }
            form.filter action="/ui/events" method="get" role="search" {
                label { span { "Kind or topic" } input type="search" name="kind" value=(kind) placeholder="any"; }
                label { span { "From or to agent" } input type="search" name="agent" value=(of) placeholder="all"; }
                button { "Watch" }
            }
        }
    }
}

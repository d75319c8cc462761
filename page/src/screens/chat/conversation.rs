//! A conversation that is open: each turn is read once, and of those that are at work what has come since.

use std::time::Duration;

use agenthub_proto::cortex::{ListRunsRequest, Run};
use agenthub_terminal::listing::refusal::Refusal;
use axum::http::StatusCode;
use futures_util::future::{join_all, select_all};
use maud::html;
use tokio::time::{Instant, sleep, sleep_until};

use super::{
    conversations::{conversations, title},
    form,
    turn::Turn,
};
use crate::{
    backend::Backend,
    elements::segment,
    feed::Feed,
    live::{Look, Piece, Screen},
    place::Place,
    screens::waits::Absences,
    trouble::Trouble,
};

/// The most turns of a conversation that are shown.
const TURNS: u32 = 50;

/// The latest turns, which are asked for to see whether there are others.
const LATEST: u32 = 4;

/// The shortest time between two looks while an answer grows.
const BRISK: Duration = Duration::from_millis(200);

/// The most times that a conversation without turns is looked for again.
const LISTED: u32 = 5;

/// A conversation as far as it was read.
pub(crate) struct Conversation {
    backend: Backend,
    place: Place,
    turns: Vec<Followed>,
    has_earlier: bool,
    looked: Option<Instant>,
}

/// A turn and its frames.
struct Followed {
    turn: Turn,
    feed: Feed,
    /// It drawn, once nothing of it changes any more.
    drawn: Option<Piece>,
}

impl Conversation {
    pub(crate) fn new(backend: Backend, place: Place) -> Self {
        Self {
            backend,
            place,
            turns: Vec::new(),
            has_earlier: false,
            looked: None,
        }
    }

    /// Takes in which turns there are, and how those stand that are not over.
    async fn refresh(&mut self) -> Result<(), Trouble> {
        let size = match self.turns.is_empty() {
            true => TURNS,
            false => LATEST,
        };
        let mut latest = self.list(size).await?;
        let is_known = |run: &Run| self.turns.iter().any(|known| known.turn.run.id == run.id);
        if size == LATEST && latest.iter().all(|run| !is_known(run)) {
            latest = self.list(TURNS).await?;
        }
        let ids: Vec<String> = latest.iter().map(|run| run.id.clone()).collect();
        for run in latest.into_iter().rev() {
            match self
                .turns
                .iter_mut()
                .find(|known| known.turn.run.id == run.id)
            {
                Some(known) => known.turn.run = run,
                None => self.turns.push(Followed {
                    feed: Feed::new(run.id.clone()),
                    turn: Turn::new(run),
                    drawn: None,
                }),
            }
        }
        for open in self.turns.iter_mut().filter(|known| !known.turn.is_over()) {
            if !ids.contains(&open.turn.run.id) {
                open.turn.run = self.backend.run(&open.turn.run.id).await?;
            }
        }
        Ok(())
    }

    /// Waits for the first turn, which may be listed a moment after it was begun.
    async fn find(&mut self) -> Result<(), Trouble> {
        for _ in 0..LISTED {
            if !self.turns.is_empty() {
                return Ok(());
            }
            sleep(BRISK).await;
            self.refresh().await?;
        }
        match self.turns.is_empty() {
            false => Ok(()),
            true => Err(Trouble::new(
                StatusCode::NOT_FOUND,
                "There is no such conversation, or it is another one's.",
            )),
        }
    }

    async fn list(&mut self, page_size: u32) -> Result<Vec<Run>, Trouble> {
        let request = ListRunsRequest {
            thread_id: self.place.path("thread").to_owned(),
            mode: "chat".into(),
            page_size,
            ..ListRunsRequest::default()
        };
        let page = self.backend.runs(request).await?;
        if page_size == TURNS {
            self.has_earlier = !page.next_page_token.is_empty();
        }
        Ok(page.runs)
    }
}

impl Followed {
    /// Takes in what has come since.
    async fn catch_up(&mut self, backend: &Backend) -> Result<(), Trouble> {
        let turn = &mut self.turn;
        // Of a run that was not begun there are no frames yet.
        match self.feed.take(backend, |frame| turn.take(&frame)).await {
            Err(trouble) if trouble.is_not_found() => {}
            other => other?,
        }
        if !turn.run.task_id.is_empty() && (turn.task.is_none() || turn.is_over()) {
            // What is forgotten has no files any more.
            turn.task = backend.hub().task(&turn.run.task_id, 0).await.ok();
        }
        let waited_for = turn.handed.iter().filter(|handed| handed.is_waited_for());
        let waited_for = waited_for.map(|handed| handed.agent.clone());
        let absences = match turn.is_over() {
            true => Absences::default(),
            false => Absences::among(backend, waited_for).await,
        };
        for handed in &mut turn.handed {
            handed.absence = absences.get(&handed.agent).cloned();
            if handed.is_unread() {
                handed.task = backend.hub().task(&handed.task_id, 0).await.ok();
            }
            if handed.is_undecided()
                && let Ok(steps) = backend.steps(&handed.asked_in).await
            {
                handed.refusals = Some(steps.iter().filter_map(Refusal::of).collect());
            }
            handed.approval = match &handed.asks {
                None => None,
                Some((run, id)) => {
                    let run = backend.run(run).await.unwrap_or_default();
                    run.approvals
                        .into_iter()
                        .find(|approval| approval.id == *id)
                }
            };
        }
        Ok(())
    }

    fn drawn(&mut self) -> Piece {
        if let Some(drawn) = &self.drawn {
            return drawn.clone();
        }
        let piece = Piece::new(format!("turn-{}", self.turn.run.id), self.turn.drawn());
        if self.feed.is_over() && self.turn.is_settled(jiff::Timestamp::now()) {
            self.drawn = Some(piece.clone());
            // Only what is drawn is needed from here on.
            let run = std::mem::take(&mut self.turn.run);
            self.turn = Turn::new(Run {
                id: run.id,
                ended_at: run.ended_at,
                ..Run::default()
            });
        }
        piece
    }
}

impl Look for Conversation {
    async fn look(&mut self) -> Result<Screen, Trouble> {
        let is_first = self.looked.replace(Instant::now()).is_none();
        self.refresh().await?;
        if is_first {
            self.find().await?;
        }
        let backend = &self.backend;
        let open = self.turns.iter_mut().filter(|known| known.drawn.is_none());
        for caught_up in join_all(open.map(|open| open.catch_up(backend))).await {
            caught_up?;
        }
        let thread = self.place.path("thread");
        let head = html! {
            h1 { "Chat" }
            @if self.has_earlier { p { "Earlier turns are among the " a href={ "/ui/runs?thread=" (segment(thread)) } { "runs" } "." } }
        };
        let first = self.turns.first().filter(|_| !self.has_earlier);
        let title = match is_first {
            true => Some(title(&self.backend, thread, first.map(|first| &first.turn.run)).await?),
            // A page that is open has it.
            false => None,
        };
        let mut pieces = vec![Piece::new("head", head)];
        pieces.extend(self.turns.iter_mut().map(Followed::drawn));
        let Some(title) = title else {
            return Ok(Screen::of("Chat", pieces));
        };
        let screen = Screen::of(format!("{} – Chat", title.words), pieces);
        Ok(screen.below(html! {
            (form(thread, ""))
            p { a href="/ui/chat" { "A new conversation, with examples" } }
            (conversations(&self.backend, thread).await?)
        }))
    }

    async fn wait(&mut self, due: Instant) {
        let brisk = self.looked.map_or(due, |looked| looked + BRISK);
        let open = self.turns.iter_mut().filter(|known| !known.turn.is_over());
        let coming: Vec<_> = open
            .map(|open| {
                let Followed { turn, feed, .. } = open;
                Box::pin(async move {
                    if let Some(frame) = feed.wait(due).await {
                        turn.take(&frame);
                    }
                })
            })
            .collect();
        match coming.is_empty() {
            true => sleep_until(due).await,
            false => {
                select_all(coming).await;
            }
        }
        sleep_until(brisk.min(due)).await;
    }
}

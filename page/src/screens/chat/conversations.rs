//! The latest conversations, by their titles.

use agenthub_proto::cortex::{ListRunsRequest, ListRunsResponse, Run};
use agenthub_terminal::listing::state::run as run_state;
use futures_util::future::try_join_all;
use maud::{Markup, html};

use crate::{
    backend::Backend,
    elements::{segment, state, time},
    titles::Title,
    trouble::Trouble,
};

/// Conversations that can be gone on with, and the most turns that are looked at to find them.
const CONVERSATIONS: usize = 20;
const LOOKED_AT: u32 = 100;

/// Turns of a conversation that are read together to find the first one, and the most such pages.
const PAGE: u32 = 200;
const MAX_PAGES: usize = 2;

/// Titles that are read at the same time.
const AT_ONCE: usize = 4;

/// A conversation in the list.
#[derive(Debug)]
struct Listed<'a> {
    title: Title,
    latest: &'a Run,
}

/// The latest conversations as links; `here` is the one that is shown.
pub(super) async fn conversations(backend: &Backend, here: &str) -> Result<Markup, Trouble> {
    let latest = backend.runs(chats("", LOOKED_AT)).await?;
    let is_all = latest.next_page_token.is_empty();
    let threads = threads(&latest.runs);
    let read = async |run: &Run| {
        let first = match is_all {
            true => latest
                .runs
                .iter()
                .rfind(|turn| turn.thread_id == run.thread_id),
            false => None,
        };
        title(backend, &run.thread_id, first).await
    };
    let mut titles = Vec::new();
    for some in threads.chunks(AT_ONCE) {
        titles.extend(try_join_all(some.iter().map(|run| read(run))).await?);
    }
    let listed = threads.into_iter().zip(titles);
    let listed = listed.map(|(latest, title)| Listed { title, latest });
    Ok(drawn(&listed.collect::<Vec<_>>(), here))
}

/// The title of a conversation; `first` is its first turn, if that is known.
pub(super) async fn title(
    backend: &Backend,
    thread: &str,
    first: Option<&Run>,
) -> Result<Title, Trouble> {
    let principal = backend.viewer().name().unwrap_or_default();
    if let Some(title) = backend.titles().known(principal, thread) {
        return Ok(title);
    }
    let (title, is_first) = match first {
        Some(first) => (Title::of(first), true),
        None => {
            let (earliest, is_first) = earliest(thread, |request| backend.runs(request)).await?;
            (Title::of(&earliest), is_first)
        }
    };
    if is_first {
        backend.titles().keep(principal, thread, &title);
    }
    Ok(title)
}

/// The earliest of the turns of a conversation that are looked at, and true if it is the first.
async fn earliest<F>(
    thread: &str,
    mut list: impl FnMut(ListRunsRequest) -> F,
) -> Result<(Run, bool), Trouble>
where
    F: Future<Output = Result<ListRunsResponse, Trouble>>,
{
    let mut earliest = None;
    let mut request = chats(thread, PAGE);
    for _ in 0..MAX_PAGES {
        let page = list(request.clone()).await?;
        earliest = page.runs.into_iter().next_back().or(earliest);
        if page.next_page_token.is_empty() {
            let is_first = earliest.is_some();
            return Ok((earliest.unwrap_or_default(), is_first));
        }
        request.page_token = page.next_page_token;
    }
    Ok((earliest.unwrap_or_default(), false))
}

fn chats(thread: &str, page_size: u32) -> ListRunsRequest {
    ListRunsRequest {
        thread_id: thread.to_owned(),
        mode: "chat".into(),
        page_size,
        ..ListRunsRequest::default()
    }
}

/// The latest turn of each conversation, latest first.
fn threads(latest: &[Run]) -> Vec<&Run> {
    let mut threads: Vec<&Run> = Vec::new();
    for run in latest {
        if threads.len() < CONVERSATIONS
            && threads.iter().all(|known| known.thread_id != run.thread_id)
        {
            threads.push(run);
        }
    }
    threads
}

fn drawn(listed: &[Listed<'_>], here: &str) -> Markup {
    let is_twice = |title: &Title| {
        let same = |other: &&Listed<'_>| other.title.words == title.words;
        listed.iter().filter(same).count() > 1
    };
    html! {
        h2 { "Conversations" }
        @if listed.is_empty() { p.nothing { "None yet. The first begins with what you say above; each can be gone on with later." } }
        @else {
            nav.conversations aria-label="Conversations" {
                ul {
                    @for Listed { title, latest } in listed {
                        li {
                            a href={ "/ui/chat/" (segment(&latest.thread_id)) } aria-current=[(latest.thread_id == here).then_some("page")] {
                                (title.words)
                                @if is_twice(title) { ", begun " (time(title.begun.as_ref())) }
                            }
                            " " (time(latest.created_at.as_ref()))
                            // The list is as the page was opened: only what does not change any more is said as it is.
                            @if latest.ended_at.is_some() { " " (state(&run_state(latest))) } @else { ", at work when this page was opened" }
                        }
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use agenthub_proto::wkt::Timestamp;

    use super::*;

    fn turn(thread: &str, objective: &str, seconds: i64) -> Run {
        Run {
            thread_id: thread.into(),
            objective: objective.into(),
            state: "completed".into(),
            created_at: Some(Timestamp { seconds, nanos: 0 }),
            ended_at: Some(Timestamp { seconds, nanos: 1 }),
            ..Run::default()
        }
    }

    #[test]
    fn each_conversation_stands_once_with_its_latest_turn() {
        let latest = [turn("t", "b", 3), turn("u", "c", 2), turn("t", "a", 1)];
        let objectives: Vec<&str> = threads(&latest).iter().map(|run| &*run.objective).collect();
        assert_eq!(objectives, ["b", "c"]);
    }

    #[tokio::test]
    async fn only_the_first_turn_is_taken_for_the_first() {
        let pages = async |count: usize| {
            let mut read = 0;
            let list = |_| {
                read += 1;
                let page = ListRunsResponse {
                    runs: vec![turn("t", &format!("page {read}"), 1)],
                    next_page_token: if read < count {
                        "on".into()
                    } else {
                        String::new()
                    },
                };
                async { Ok(page) }
            };
            let (run, is_first) = earliest("t", list).await.expect("it is read");
            (run.objective, is_first, read)
        };
        let last = format!("page {MAX_PAGES}");
        assert_eq!(pages(MAX_PAGES).await, (last.clone(), true, MAX_PAGES));
        assert_eq!(pages(MAX_PAGES + 1).await, (last, false, MAX_PAGES));
    }

    #[test]
    fn conversations_that_began_alike_are_told_apart_by_their_beginnings() {
        let latest = [
            turn("t", "more", 30),
            turn("u", "less", 40),
            turn("v", "it", 50),
        ];
        let listed = |twice: &str| {
            let firsts = [
                turn("t", "say it", 1),
                turn("u", twice, 2),
                turn("v", "other", 3),
            ];
            let listed = firsts.iter().zip(&latest);
            let listed = listed.map(|(first, latest)| Listed {
                title: Title::of(first),
                latest,
            });
            drawn(&listed.collect::<Vec<_>>(), "t").into_string()
        };
        let alike = listed("say it");
        assert_eq!(alike.matches("say it, begun <time").count(), 2, "{alike}");
        assert!(
            !alike.contains("other, begun") && alike.contains(">completed<"),
            "{alike}"
        );
        assert!(!listed("say that").contains("begun"));
    }
}

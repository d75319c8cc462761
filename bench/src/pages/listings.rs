//! Times of pages with few agents and tasks, with more, and with many: what grows with their number shows in the ratios.

use std::time::Duration;

use super::{
    browser::{self, Browser},
    figures::{Figure, Goal},
    filling::{self, TOGETHER, WORKER},
    millis,
};

/// Pages of a listing that are followed.
const FOLLOWED: usize = 10;

/// Times that each is asked for.
const ASKED: usize = 10;

/// The only listing that looks at more than it shows.
const BY_WORD: &str = "agents by a word";

/// Times of what is shown.
struct Shown {
    what: &'static str,
    slowest: Duration,
    /// Of its first page, which is as long with few as with many.
    fastest_first: Duration,
}

/// Times of all pages.
pub(super) struct Times(Vec<Shown>);

impl Times {
    /// Asks for pages, where there are this many tasks.
    pub(super) async fn measure(browser: &Browser, tasks: usize) -> anyhow::Result<Self> {
        let late = tasks / TOGETHER * TOGETHER - TOGETHER;
        let pages = [
            ("the overview", "/".to_owned()),
            ("agents", "/ui/agents".to_owned()),
            ("agents that are here", "/ui/agents?state=here".to_owned()),
            (BY_WORD, "/ui/agents?q=agent7".to_owned()),
            ("tasks", "/ui/tasks".to_owned()),
            ("failed tasks", "/ui/tasks?state=failed".to_owned()),
            (
                "failed tasks of an agent",
                format!("/ui/tasks?agent={WORKER}&state=failed"),
            ),
            ("tasks at work", "/ui/tasks?state=working".to_owned()),
            ("tasks of an agent", format!("/ui/tasks?agent={WORKER}")),
            (
                "tasks of a request",
                format!("/ui/tasks?context={}", filling::context(TOGETHER)),
            ),
            (
                "an early task, with its request",
                format!("/ui/tasks/{}", filling::task(TOGETHER + 1)),
            ),
            (
                "a late task, with its request",
                format!("/ui/tasks/{}", filling::task(late)),
            ),
            ("mailboxes", "/ui/mailboxes".to_owned()),
            ("an agent", "/ui/agents/agent7".to_owned()),
            ("events", "/ui/events".to_owned()),
        ];
        let mut times = Vec::new();
        for (what, path) in pages {
            let mut shown = Shown {
                what,
                slowest: Duration::ZERO,
                fastest_first: Duration::MAX,
            };
            for _ in 0..ASKED {
                let mut next = Some(path.clone());
                for followed in 0..FOLLOWED {
                    let Some(url) = next else { break };
                    let (took, page) = browser.get(&url).await?;
                    shown.slowest = shown.slowest.max(took);
                    if followed == 0 {
                        shown.fastest_first = shown.fastest_first.min(took);
                    }
                    next = browser::next_page(&page);
                }
            }
            times.push(shown);
        }
        Ok(Self(times))
    }

    /// The figures of these times, beside those of fewer agents and tasks.
    pub(super) fn figures(&self, fewer: &[(String, Self)]) -> Vec<Figure> {
        let mut figures = Vec::new();
        for (n, many) in self.0.iter().enumerate() {
            let what = many.what;
            let goal = Goal::Below(100.0, "ms");
            let slowest = millis(many.slowest);
            figures.push(Figure::new(&format!("{what}, the slowest"), slowest, goal));
            for (number, few) in fewer {
                let Some(few) = few.0.get(n) else { continue };
                let ratio = many.fastest_first.as_secs_f64() / few.fastest_first.as_secs_f64();
                let name = format!("{what}, the first page, ÷ that with {number}");
                let goal = match what == BY_WORD {
                    // Each agent is looked at, of which no more are to be shown than these.
                    true => Goal::Any,
                    false => Goal::Below(2.0, "×"),
                };
                figures.push(Figure::new(&name, ratio, goal));
            }
        }
        figures
    }
}

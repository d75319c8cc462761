//! Walks over tasks in portions: others have their turn between two holds of the lock.

use super::Hub;
use crate::tasks::{Content, Page, Tasks};

/// Portions scanned per request; the caller continues with the token.
pub(super) const PORTIONS: usize = 64;

impl Hub {
    /// The tasks of a page that begins at `before`, and the token to continue.
    pub(super) async fn page<Token: Copy>(
        &self,
        mut before: Option<Token>,
        mut list: impl FnMut(&Tasks, Option<Token>) -> Page<Token>,
    ) -> (Vec<Content>, Option<Token>) {
        let mut contents = Vec::new();
        for _ in 0..PORTIONS {
            let portion = list(&self.core().state.tasks, before);
            // Returns what was found before it exceeds one answer.
            let is_enough = portion.is_full || !portion.tasks.is_empty() && portion.next.is_some();
            before = portion.next;
            contents.extend(portion.tasks);
            if is_enough || before.is_none() {
                break;
            }
            tokio::task::yield_now().await;
        }
        (contents, before)
    }

    /// The number of tasks of all pages, as far as this many portions go.
    pub(super) async fn total<Token>(
        &self,
        portions: usize,
        mut count: impl FnMut(&Tasks, Option<Token>) -> (u32, Option<Token>),
    ) -> u32 {
        let mut total = 0;
        let mut before = None;
        for _ in 0..portions {
            let (more, next) = count(&self.core().state.tasks, before);
            total += more;
            before = next;
            if before.is_none() {
                break;
            }
            tokio::task::yield_now().await;
        }
        total
    }
}

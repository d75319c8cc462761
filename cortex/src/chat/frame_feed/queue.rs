//! Frames that wait to be shown: within bounds, and with a mark where something is missing.

use std::{
    collections::VecDeque,
    sync::{Mutex, MutexGuard, PoisonError},
};

use tokio::sync::Notify;

use crate::frame::Frame;

/// Items that wait at most, but for the last ones. Text that has no place is joined to text before it.
pub(super) const MAX_WAITING: usize = 256;

/// The longest text that others are joined to, in bytes.
const MAX_JOINED: usize = 256 * 1024;

/// A frame on its way.
#[derive(Debug, PartialEq)]
pub(super) enum Item {
    Frame(Frame),
    /// A frame that was shown by another process: it only counts.
    Past,
    /// Number of frames that had no place.
    Missing(u64),
}

/// Frames that wait between a turn, which never waits, and who shows it.
#[derive(Debug, Default)]
pub(super) struct Queue {
    waiting: Mutex<Waiting>,
    changed: Notify,
}

#[derive(Debug, Default)]
struct Waiting {
    items: VecDeque<Item>,
    /// A piece of the text was left out, so that no further piece fits until the text begins anew.
    is_torn: bool,
    /// No frame follows.
    is_closed: bool,
}

impl Queue {
    /// Puts this behind what waits. Where there is no room it is left out, and counted.
    pub(super) fn push(&self, item: Item) {
        {
            let mut waiting = self.lock();
            if waiting.is_closed {
                return;
            }
            waiting.push(item);
        }
        self.changed.notify_one();
    }

    /// Puts these behind what waits, whether or not there is room. Nothing follows.
    pub(super) fn close(&self, last: Vec<Frame>) {
        {
            let mut waiting = self.lock();
            if !waiting.is_closed {
                waiting.items.extend(last.into_iter().map(Item::Frame));
                waiting.is_closed = true;
            }
        }
        self.changed.notify_one();
    }

    /// The next; none once nothing follows.
    pub(super) async fn next(&self) -> Option<Item> {
        loop {
            {
                let mut waiting = self.lock();
                if let Some(item) = waiting.items.pop_front() {
                    return Some(item);
                }
                if waiting.is_closed {
                    return None;
                }
            }
            self.changed.notified().await;
        }
    }

    fn lock(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Waiting {
    fn push(&mut self, item: Item) {
        let has_room = self.items.len() < MAX_WAITING;
        match (self.items.back_mut(), item) {
            (_, Item::Frame(Frame::Delta { append: true, .. })) if self.is_torn => self.miss(),
            (_, item) if has_room => {
                if let Item::Frame(Frame::Delta { append: false, .. }) = item {
                    self.is_torn = false;
                }
                self.items.push_back(item);
            }
            (
                Some(Item::Frame(Frame::Delta { text, .. })),
                Item::Frame(Frame::Delta {
                    text: more,
                    append: true,
                }),
            ) if text.len() + more.len() <= MAX_JOINED => text.push_str(&more),
            // What it replaces is shown to nobody.
            (
                Some(Item::Frame(last @ Frame::Delta { .. })),
                Item::Frame(new @ Frame::Delta { append: false, .. }),
            ) => *last = new,
            (_, item) => {
                self.is_torn |= matches!(item, Item::Frame(Frame::Delta { .. }));
                self.miss();
            }
        }
    }

    fn miss(&mut self) {
        match self.items.back_mut() {
            Some(Item::Missing(count)) => *count += 1,
            _ => self.items.push_back(Item::Missing(1)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn delta(text: &str, append: bool) -> Item {
        Item::Frame(Frame::Delta {
            text: text.to_owned(),
            append,
        })
    }

    async fn all(queue: &Queue) -> Vec<Item> {
        queue.close(Vec::new());
        let mut items = Vec::new();
        while let Some(item) = queue.next().await {
            items.push(item);
        }
        items
    }

    #[tokio::test]
    async fn what_has_no_room_is_left_out_and_counted_where_it_is_missing() {
        let queue = Queue::default();
        for _ in 0..MAX_WAITING + 10 {
            queue.push(Item::Past);
        }
        queue.next().await;
        queue.next().await;
        queue.push(Item::Frame(Frame::Start));
        let items = all(&queue).await;
        assert_eq!(items.len(), MAX_WAITING);
        let last = [Item::Missing(10), Item::Frame(Frame::Start)];
        assert_eq!(items[MAX_WAITING - 2..], last);
    }

    #[tokio::test]
    async fn text_that_has_no_room_is_joined_to_what_waits() {
        let queue = Queue::default();
        for number in 0..MAX_WAITING + 10 {
            queue.push(delta("x", number > 0));
        }
        let items = all(&queue).await;
        assert_eq!(items.len(), MAX_WAITING);
        assert_eq!(items[MAX_WAITING - 1], delta(&"x".repeat(11), true));
    }

    #[tokio::test]
    async fn text_that_is_withdrawn_is_never_gone_on_with() {
        let queue = Queue::default();
        for number in 0..MAX_WAITING {
            queue.push(delta("x", number > 0));
        }
        queue.push(delta("y", false));
        queue.push(delta("z", true));
        let items = all(&queue).await;
        assert_eq!(items.len(), MAX_WAITING);
        assert_eq!(items[MAX_WAITING - 1], delta("yz", false));

        let queue = Queue::default();
        for _ in 0..MAX_WAITING {
            queue.push(Item::Past);
        }
        queue.push(delta("y", false));
        queue.next().await;
        queue.next().await;
        queue.push(delta("z", true));
        queue.push(delta("new", false));
        let items = all(&queue).await;
        let last = [Item::Missing(2), delta("new", false)];
        assert_eq!(items[items.len() - 2..], last);
    }

    #[tokio::test]
    async fn the_last_ones_always_have_room() {
        let queue = Queue::default();
        for _ in 0..2 * MAX_WAITING {
            queue.push(Item::Past);
        }
        queue.close(vec![Frame::Start]);
        queue.push(Item::Past);
        let items = all(&queue).await;
        assert_eq!(items.last(), Some(&Item::Frame(Frame::Start)));
    }
}

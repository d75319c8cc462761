//! Notes that repeat: one at once, then one line with their number for a window that doubles while they go on. So a caller who is refused a
//! million times leaves a few lines, and cannot fill the disk or push older lines out of it.

use std::{
    collections::HashMap,
    time::{Duration, Instant},
};

use super::line::{Entry, Source};

/// First window.
const SHORTEST: Duration = Duration::from_secs(1);

/// Longest window.
const LONGEST: Duration = Duration::from_secs(60);

/// Maximum number of windows, and of notes that wait to be written.
const MOST: usize = 4096;

/// Attributes in which notes are alike. Those of refusals say nothing of the resource, which the caller chooses.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Key {
    principal: String,
    namespace: String,
    source: Source,
    action: String,
    allowed: bool,
    resource: Option<String>,
}

/// Notes alike, since the last line of them.
#[derive(Debug)]
struct Window {
    ends: Instant,
    length: Duration,
    count: u64,
    last: Entry,
}

/// Notes that are not written yet.
#[derive(Debug, Default)]
pub(super) struct Repeats {
    ready: Vec<(Entry, u64)>,
    windows: HashMap<Key, Window>,
    lost: u64,
}

impl Repeats {
    /// Adds a note.
    pub(super) fn add(&mut self, entry: Entry, now: Instant) {
        let key = Key {
            principal: entry.principal.clone(),
            namespace: entry.namespace.clone(),
            source: entry.source,
            action: entry.action.clone(),
            allowed: entry.allowed,
            resource: entry.allowed.then(|| entry.resource.clone()),
        };
        if let Some(window) = self.windows.get_mut(&key) {
            window.count += 1;
            window.last = entry;
            return;
        }
        if self.windows.len() >= MOST || self.ready.len() >= MOST {
            self.lost += 1;
            return;
        }
        let window = Window {
            ends: now + SHORTEST,
            length: SHORTEST,
            count: 0,
            last: entry.clone(),
        };
        self.windows.insert(key, window);
        self.ready.push((entry, 1));
    }

    /// Counts notes that could not be written.
    pub(super) fn lose(&mut self, count: u64) {
        self.lost += count;
    }

    /// Takes what is to be written now, each with its number.
    pub(super) fn due(&mut self, now: Instant) -> Vec<(Entry, u64)> {
        let mut due = std::mem::take(&mut self.ready);
        self.windows.retain(|_, window| {
            if window.ends > now {
                return true;
            }
            if window.count == 0 {
                return false;
            }
            due.push((window.last.clone(), std::mem::take(&mut window.count)));
            window.length = (window.length * 2).min(LONGEST);
            window.ends = now + window.length;
            true
        });
        self.add_lost(&mut due);
        due
    }

    /// Takes everything, at the end.
    pub(super) fn rest(&mut self) -> Vec<(Entry, u64)> {
        let mut rest = std::mem::take(&mut self.ready);
        let windows = self.windows.drain().map(|(_, window)| window);
        rest.extend(windows.filter(|w| w.count > 0).map(|w| (w.last, w.count)));
        self.add_lost(&mut rest);
        rest
    }

    fn add_lost(&mut self, due: &mut Vec<(Entry, u64)>) {
        if self.lost > 0 {
            let rule = "more came than is written, or the disk took none";
            let lost = Entry::of_audit("audit.lost", String::new(), rule);
            due.push((lost, std::mem::take(&mut self.lost)));
        }
    }

    /// Time until something is due; `None` while nothing is.
    pub(super) fn wait(&self, now: Instant) -> Option<Duration> {
        if !self.ready.is_empty() {
            return Some(Duration::ZERO);
        }
        let ends = self.windows.values().map(|window| window.ends).min()?;
        Some(ends.saturating_duration_since(now))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn denied(principal: &str, resource: &str) -> Entry {
        Entry {
            principal: principal.to_owned(),
            resource: resource.to_owned(),
            allowed: false,
            ..Entry::of_audit("call", String::new(), "no rule")
        }
    }

    /// Issue 25: an attacker cannot fill the disk.
    #[test]
    fn a_million_refusals_in_an_hour_are_less_than_a_hundred_lines() {
        let (mut repeats, begin) = (Repeats::default(), Instant::now());
        let mut lines = 0;
        let mut counted = 0;
        for second in 0..3600 {
            let now = begin + Duration::from_secs(second);
            for at in 0..300 {
                repeats.add(denied("eve", &at.to_string()), now);
            }
            for (_, count) in repeats.due(now) {
                lines += 1;
                counted += count;
            }
        }
        counted += repeats.rest().iter().map(|(_, count)| count).sum::<u64>();
        assert_eq!(counted, 3600 * 300, "each is counted");
        assert!(lines < 100, "{lines}");
    }

    #[test]
    fn the_first_is_written_at_once_and_the_next_ones_after_a_second_with_the_last_resource() {
        let (mut repeats, now) = (Repeats::default(), Instant::now());
        repeats.add(denied("eve", "a"), now);
        repeats.add(denied("mallory", "a"), now);
        repeats.add(denied("eve", "b"), now);
        assert_eq!(repeats.wait(now), Some(Duration::ZERO));
        let first = repeats.due(now);
        assert_eq!(
            first,
            [(denied("eve", "a"), 1), (denied("mallory", "a"), 1)]
        );
        assert_eq!(repeats.wait(now), Some(SHORTEST));
        assert_eq!(repeats.due(now + SHORTEST), [(denied("eve", "b"), 1)]);
        let later = now + SHORTEST * 4;
        assert!(repeats.due(later).is_empty());
        assert_eq!(repeats.wait(later), None, "nothing is remembered for ever");
    }

    #[test]
    fn allowed_ones_of_other_resources_are_lines_of_their_own() {
        let (mut repeats, now) = (Repeats::default(), Instant::now());
        for resource in ["a", "b", "a"] {
            let entry = Entry {
                allowed: true,
                ..denied("alice", resource)
            };
            repeats.add(entry, now);
        }
        assert_eq!(repeats.due(now).len(), 2);
    }

    #[test]
    fn more_than_fits_is_counted() {
        let (mut repeats, now) = (Repeats::default(), Instant::now());
        for at in 0..MOST + 7 {
            repeats.add(denied(&at.to_string(), ""), now);
        }
        let due = repeats.due(now);
        assert_eq!(due.len(), MOST + 1);
        let (lost, count) = due.last().expect("the last says it");
        assert_eq!((lost.action.as_str(), *count), ("audit.lost", 7));
    }
}

//! Attempts at the steps of a plan in numbers, and those of them that are shown where there are many.

use std::collections::{BTreeMap, BTreeSet};

use agenthub_sdk::runs::{
    StepId,
    workflow_step::{FALLBACK, WorkflowStep},
};

use super::StepView;

/// The attempts at a step of the plan.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct StepCounts {
    /// All of them.
    pub(crate) attempts: u32,
    /// Those that have not ended.
    pub(crate) open: u32,
    /// Beginning of the first one.
    pub(crate) begun_at: Option<u64>,
    /// The latest end.
    pub(crate) ended_at: Option<u64>,
    /// Items of the loop that the step is; none of others.
    pub(crate) items: ItemCounts,
}

/// Items of a loop.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct ItemCounts {
    /// All of them, as far as they are known.
    pub(crate) known: u64,
    pub(crate) done: u64,
    pub(crate) failed: u64,
    pub(crate) cancelled: u64,
    pub(crate) working: u64,
}

/// Standing of an item.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Item {
    Working,
    Done,
    Failed,
    Cancelled,
}

impl Item {
    fn of(view: &StepView) -> Self {
        match &*view.state {
            _ if view.ended_at.is_none() => Self::Working,
            "completed" | "reused" | "skipped" => Self::Done,
            "cancelled" => Self::Cancelled,
            _ => Self::Failed,
        }
    }
}

/// The counts of all steps of a plan, kept as attempts begin and end.
#[derive(Debug, Default)]
pub(super) struct Counting {
    steps: BTreeMap<String, Counted>,
}

#[derive(Debug, Default)]
struct Counted {
    counts: StepCounts,
    items: BTreeMap<u64, Item>,
    /// Items that are one step each. A fallback of such a one is its work, too.
    single: BTreeSet<u64>,
}

impl Counting {
    /// The loop has so many items.
    pub(super) fn items(&mut self, plan_step: &str, count: u64) {
        let counted = self.steps.entry(plan_step.to_owned()).or_default();
        counted.counts.items.known = counted.counts.items.known.max(count);
    }

    /// An attempt began; one that was told at its end has ended as well.
    pub(super) fn begun(&mut self, view: &StepView) {
        let counted = self.steps.entry(view.plan_step.clone()).or_default();
        let counts = &mut counted.counts;
        counts.attempts += 1;
        counts.open += 1;
        let first = counts
            .begun_at
            .map_or(view.begun_at, |at| at.min(view.begun_at));
        counts.begun_at = Some(first);
        match view.ended_at {
            None => counted.put(view),
            Some(_) => self.ended(view),
        }
    }

    /// An attempt ended.
    pub(super) fn ended(&mut self, view: &StepView) {
        let counted = self.steps.entry(view.plan_step.clone()).or_default();
        counted.counts.open = counted.counts.open.saturating_sub(1);
        counted.counts.ended_at = counted.counts.ended_at.max(view.ended_at);
        counted.put(view);
    }

    pub(super) fn all(&self) -> BTreeMap<String, StepCounts> {
        let steps = self.steps.iter();
        steps
            .map(|(step, counted)| (step.clone(), counted.counts))
            .collect()
    }
}

impl Counted {
    fn put(&mut self, view: &StepView) {
        let Some((number, part)) = item_of(view) else {
            return;
        };
        if part.is_empty() {
            self.single.insert(number);
        }
        let is_fallback = part == FALLBACK && self.single.contains(&number);
        let is_whole = part.is_empty() || is_fallback;
        let before = self.items.get(&number).copied();
        let now = match (is_whole, before) {
            (true, _) => Item::of(view),
            // A step of an item is at work for it until the item is told to have ended.
            (false, before) => before.unwrap_or(Item::Working),
        };
        self.items.insert(number, now);
        let counts = &mut self.counts.items;
        if let Some(before) = before {
            *counts.of(before) -= 1;
        }
        *counts.of(now) += 1;
        counts.known = counts.known.max(self.items.len() as u64);
    }
}

impl ItemCounts {
    fn of(&mut self, item: Item) -> &mut u64 {
        match item {
            Item::Working => &mut self.working,
            Item::Done => &mut self.done,
            Item::Failed => &mut self.failed,
            Item::Cancelled => &mut self.cancelled,
        }
    }
}

/// The item of a loop that an attempt is about, and the part of it; empty if it is all of its work.
fn item_of(view: &StepView) -> Option<(u64, &str)> {
    let id = StepId::new(&*view.step);
    let name = WorkflowStep::of(&id)?.name;
    let length = name.len();
    let name = view.step.get(..length)?;
    let within = name.strip_prefix(&*view.plan_step)?.strip_prefix('/')?;
    let (number, part) = within.split_once('/').unwrap_or((within, ""));
    Some((number.parse().ok()?, part))
}

/// At most so many attempts of each step of the plan, in the order in which they began: those that failed, as far as they take half of the room, those
/// that are out, and the latest.
pub(in crate::runs) fn selected(all: &[StepView], most: usize) -> Vec<&StepView> {
    let mut of_step: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    for (at, view) in all.iter().enumerate() {
        of_step.entry(&view.plan_step).or_default().push(at);
    }
    let mut shown = BTreeSet::new();
    for attempts in of_step.into_values() {
        if attempts.len() <= most {
            shown.extend(attempts);
            continue;
        }
        let such = |is_such: fn(&StepView) -> bool| {
            let found = attempts.iter().rev().copied();
            found.filter(move |at| is_such(&all[*at]))
        };
        let failed = such(|view| view.ended_at.is_some() && Item::of(view) == Item::Failed);
        let mut of_this: BTreeSet<usize> = failed.take(most.div_ceil(2)).collect();
        let out = such(|view| view.ended_at.is_none());
        for at in out.chain(such(|_| true)) {
            if of_this.len() == most {
                break;
            }
            of_this.insert(at);
        }
        shown.extend(of_this);
    }
    shown.into_iter().map(|at| &all[at]).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;
    use crate::runs::steps::StepKind;

    fn view(step: &str, plan_step: &str, state: &str, begun_at: u64) -> StepView {
        StepView {
            step: step.to_owned(),
            attempt: 1,
            kind: StepKind::Agent,
            agent: String::new(),
            state: state.to_owned(),
            begun_at,
            ended_at: (state != "working").then_some(begun_at + 5),
            task_id: String::new(),
            request: Value::Null,
            result: Value::Null,
            error: String::new(),
            plan_step: plan_step.to_owned(),
        }
    }

    fn counts(counting: &Counting, step: &str) -> [u64; 4] {
        let items = counting.all()[step].items;
        [items.known, items.done, items.failed, items.working]
    }

    /// Issue 26, runs: how many items of a loop are done, while it goes on.
    #[test]
    fn items_of_a_loop_are_counted_once_however_often_they_are_tried() {
        let mut counting = Counting::default();
        counting.items("send", 500);
        for (step, state) in [("send/0", "working"), ("send/1", "working")] {
            counting.begun(&view(step, "send", state, 1));
        }
        assert_eq!(counts(&counting, "send"), [500, 0, 0, 2]);
        counting.ended(&view("send/0", "send", "completed", 1));
        counting.ended(&view("send/1", "send", "failed", 1));
        assert_eq!(counts(&counting, "send"), [500, 1, 1, 0]);
        assert_eq!(counting.all()["send"].open, 0);
        counting.begun(&view("send/1/try-2", "send", "working", 7));
        assert_eq!(counts(&counting, "send"), [500, 1, 0, 1]);
        counting.ended(&view("send/1/try-2", "send", "completed", 7));
        // One that stands from an earlier run begins and ends at once.
        counting.begun(&view("send/2", "send", "reused", 8));
        assert_eq!(counts(&counting, "send"), [500, 3, 0, 0]);
        let all = counting.all()["send"];
        assert_eq!((all.attempts, all.open), (4, 0));
        assert_eq!((all.begun_at, all.ended_at), (Some(1), Some(13)));
    }

    /// Issue 26, runs: what was called back has not failed.
    #[test]
    fn an_item_that_was_called_back_is_no_failure() {
        let mut counting = Counting::default();
        counting.items("send", 9);
        for (step, state) in [
            ("send/0", "completed"),
            ("send/1", "cancelled"),
            ("send/2", "failed"),
        ] {
            counting.begun(&view(step, "send", state, 1));
        }
        counting.begun(&view("send/3", "send", "working", 1));
        counting.ended(&view("send/3", "send", "cancelled", 1));
        assert_eq!(counts(&counting, "send"), [9, 1, 1, 0]);
        assert_eq!(counting.all()["send"].items.cancelled, 2);
    }

    #[test]
    fn an_item_whose_fallback_did_its_work_is_done() {
        let mut counting = Counting::default();
        counting.begun(&view("send/3", "send", "failed", 1));
        assert_eq!(counts(&counting, "send"), [1, 0, 1, 0]);
        counting.begun(&view("send/3/fallback", "send", "working", 2));
        assert_eq!(counts(&counting, "send"), [1, 0, 0, 1]);
        counting.ended(&view("send/3/fallback", "send", "completed", 2));
        assert_eq!(counts(&counting, "send"), [1, 1, 0, 0]);
        // A step of this name within an item of several steps is none.
        counting.begun(&view("pack/0/fallback", "pack", "completed", 1));
        assert_eq!(counts(&counting, "pack"), [1, 0, 0, 1]);
    }

    #[test]
    fn an_item_of_several_steps_is_done_when_it_is_told_to_be() {
        let mut counting = Counting::default();
        for step in ["pack/0/wrap", "pack/0/send", "pack/10/wrap"] {
            counting.begun(&view(step, "pack", "completed", 1));
        }
        assert_eq!(counts(&counting, "pack"), [2, 0, 0, 2]);
        counting.begun(&view("pack/0", "pack", "completed", 1));
        assert_eq!(counts(&counting, "pack"), [2, 1, 0, 1]);
        counting.begun(&view("draft", "draft", "completed", 1));
        counting.begun(&view("turn-7", "", "completed", 1));
        assert_eq!(counts(&counting, "draft"), [0; 4]);
        assert_eq!(counting.all()[""].attempts, 1);
    }

    /// Issue 26, cost: what is shown of a step is bounded, and has what people look for.
    #[test]
    fn of_many_attempts_those_that_failed_or_are_out_and_the_latest_are_shown() {
        let all: Vec<StepView> = (0..100)
            .map(|n| {
                let state = match n {
                    1..=30 => "failed",
                    40 | 41 => "working",
                    _ => "completed",
                };
                view(&format!("send/{n}"), "send", state, n)
            })
            .chain([view("end", "end", "completed", 200)])
            .collect();
        let shown = selected(&all, 10);
        let names: Vec<&str> = shown.iter().map(|view| &*view.step).collect();
        assert_eq!(
            names,
            [
                "send/26", "send/27", "send/28", "send/29", "send/30", "send/40", "send/41",
                "send/97", "send/98", "send/99", "end"
            ]
        );
        assert_eq!(selected(&all, 100).len(), 101);
    }
}

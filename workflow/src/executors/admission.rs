//! Choice of the runs that begin, of those that wait.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use agenthub_sdk::runs::RunId;

/// Tasks by which runs are related.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Family {
    /// Task of the run; empty if its message names none.
    pub(super) task: String,
    /// Task of the run that waits for this one; empty if none does.
    pub(super) parent: String,
}

/// Runs that wait to be executed, oldest first, and the places that runs in hand take. A run that waits for a run within it lends that one its
/// place: so there is always room for runs within runs, and those that wait do not count.
///
/// Each call takes time that grows with the logarithm of the number of runs.
#[derive(Debug)]
pub(super) struct Admission {
    /// Runs at work at once.
    most: usize,
    /// Runs in hand that do not wait for one within them.
    used: usize,
    waiting: BTreeMap<u64, (RunId, Family)>,
    numbers: HashMap<RunId, u64>,
    next: u64,
    in_hand: HashMap<RunId, Family>,
    /// By task, if anything is known of it.
    tasks: HashMap<String, Relatives>,
    /// The oldest of the runs that wait within each run that could lend its place.
    on_loan: BTreeSet<u64>,
}

/// Runs of one task, and those within them.
#[derive(Debug, Default)]
struct Relatives {
    /// Runs of the task that are in hand.
    in_hand: BTreeSet<RunId>,
    /// Runs within them that are in hand.
    children: usize,
    /// Runs within them that wait.
    waiting: BTreeSet<u64>,
    /// That of them which may begin on loan.
    offered: Option<u64>,
}

impl Admission {
    /// An empty queue, for `most` runs at work at once.
    pub(super) fn new(most: usize) -> Self {
        Self {
            most,
            used: 0,
            waiting: BTreeMap::new(),
            numbers: HashMap::new(),
            next: 0,
            in_hand: HashMap::new(),
            tasks: HashMap::new(),
            on_loan: BTreeSet::new(),
        }
    }

    /// True if the run waits or is in hand.
    pub(super) fn knows(&self, run: &RunId) -> bool {
        self.numbers.contains_key(run) || self.in_hand.contains_key(run)
    }

    /// Runs that wait.
    pub(super) fn len(&self) -> usize {
        self.waiting.len()
    }

    /// Adds a run behind the others, unless it is known.
    pub(super) fn push(&mut self, run: RunId, family: Family) {
        if self.knows(&run) {
            return;
        }
        let number = self.next;
        self.next += 1;
        if !family.parent.is_empty() {
            let parent = self.tasks.entry(family.parent.clone()).or_default();
            parent.waiting.insert(number);
            self.offer(&family.parent);
        }
        self.numbers.insert(run.clone(), number);
        self.waiting.insert(number, (run, family));
    }

    /// Puts the runs that wait in the order of these, and drops the others. `family` is asked for those that are not known; a run without one
    /// waits until it is looked for again.
    pub(super) fn arrange(&mut self, found: Vec<(RunId, Option<Family>)>) {
        let mut known: HashMap<RunId, Family> = HashMap::new();
        for number in self.numbers.drain().map(|(_, number)| number) {
            if let Some((run, family)) = self.waiting.remove(&number) {
                known.insert(run, family);
            }
        }
        self.on_loan.clear();
        for relatives in self.tasks.values_mut() {
            relatives.waiting.clear();
            relatives.offered = None;
        }
        self.tasks.retain(|_, relatives| !relatives.is_empty());
        for (run, family) in found {
            if let Some(family) = known.remove(&run).or(family) {
                self.push(run, family);
            }
        }
    }

    /// Takes the next run that may begin in hand.
    pub(super) fn begin(&mut self) -> Option<RunId> {
        let number = match self.used < self.most {
            true => *self.waiting.first_key_value()?.0,
            false => *self.on_loan.first()?,
        };
        let (run, family) = self.waiting.remove(&number)?;
        self.numbers.remove(&run);
        if let Some(parent) = self.tasks.get_mut(&family.parent) {
            parent.waiting.remove(&number);
        }
        self.enter(&run, family);
        Some(run)
    }

    fn enter(&mut self, run: &RunId, family: Family) {
        if !family.parent.is_empty() {
            let parent = self.tasks.entry(family.parent.clone()).or_default();
            parent.children += 1;
            if parent.children == 1 {
                self.used -= parent.in_hand.len();
            }
            self.offer(&family.parent);
        }
        let own = self.tasks.entry(family.task.clone()).or_default();
        own.in_hand.insert(run.clone());
        if own.children == 0 {
            self.used += 1;
        }
        self.offer(&family.task);
        self.in_hand.insert(run.clone(), family);
    }

    /// Lets go of a run in hand.
    pub(super) fn leave(&mut self, run: &RunId) {
        let Some(family) = self.in_hand.remove(run) else {
            return;
        };
        if let Some(own) = self.tasks.get_mut(&family.task) {
            own.in_hand.remove(run);
            if own.children == 0 {
                self.used -= 1;
            }
            self.offer(&family.task);
        }
        if !family.parent.is_empty()
            && let Some(parent) = self.tasks.get_mut(&family.parent)
        {
            parent.children -= 1;
            if parent.children == 0 {
                self.used += parent.in_hand.len();
            }
            self.offer(&family.parent);
        }
    }

    /// Runs in hand that wait for this one, or for one that does.
    pub(super) fn ancestors(&self, run: &RunId) -> Vec<RunId> {
        let mut found = Vec::new();
        let mut next = self.in_hand.get(run);
        while let Some(relatives) = next.and_then(|family| self.tasks.get(&family.parent)) {
            let before = found.len();
            for run in &relatives.in_hand {
                // Messages may name each other's tasks in a circle.
                if !found.contains(run) {
                    found.push(run.clone());
                }
            }
            next = found.get(before).and_then(|run| self.in_hand.get(run));
        }
        found
    }

    /// Offers the place of a run to the oldest of those that wait within it, if it is in hand and has not lent its place yet.
    fn offer(&mut self, task: &str) {
        let Some(relatives) = self.tasks.get_mut(task) else {
            return;
        };
        if let Some(before) = relatives.offered.take() {
            self.on_loan.remove(&before);
        }
        if relatives.is_empty() {
            self.tasks.remove(task);
            return;
        }
        if !relatives.in_hand.is_empty() && relatives.children == 0 {
            relatives.offered = relatives.waiting.first().copied();
            self.on_loan.extend(relatives.offered);
        }
    }
}

impl Relatives {
    fn is_empty(&self) -> bool {
        self.in_hand.is_empty() && self.children == 0 && self.waiting.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn family(task: &str, parent: &str) -> Family {
        Family {
            task: task.to_owned(),
            parent: parent.to_owned(),
        }
    }

    /// A queue in which the runs of these tasks, each with its parent, are in hand.
    fn queue(in_hand: &[(&str, &str)], most: usize) -> Admission {
        let mut queue = Admission::new(most);
        for (task, parent) in in_hand {
            queue.enter(&RunId::new(*task), family(task, parent));
        }
        queue
    }

    fn begun(queue: &mut Admission) -> Vec<String> {
        std::iter::from_fn(|| queue.begin())
            .map(|run| run.to_string())
            .collect()
    }

    /// The tasks, with their parents, that begin.
    fn begin(waiting: &[(&str, &str)], in_hand: &[(&str, &str)], most: usize) -> Vec<String> {
        let mut queue = queue(in_hand, most);
        for (task, parent) in waiting {
            queue.push(RunId::new(*task), family(task, parent));
        }
        begun(&mut queue)
    }

    #[test]
    fn as_many_begin_as_there_is_room_for_oldest_first() {
        let waiting = [("a", ""), ("b", ""), ("c", "")];
        assert_eq!(begin(&waiting, &[], 2), ["a", "b"]);
        assert_eq!(begin(&waiting, &[("x", "")], 2), ["a"]);
        assert!(begin(&waiting, &[("x", ""), ("y", "")], 2).is_empty());
    }

    #[test]
    fn a_run_that_waits_for_one_within_it_lends_its_place_once() {
        let within = [("a", ""), ("x1", "x"), ("x2", "x")];
        assert_eq!(begin(&within, &[("x", "")], 1), ["x1"]);
        assert!(begin(&within, &[("x", ""), ("x0", "x")], 1).is_empty());
        assert_eq!(begin(&within, &[("x", ""), ("x0", "x")], 2), ["a"]);
        let deep = [("x11", "x1")];
        assert_eq!(begin(&deep, &[("x", ""), ("x1", "x")], 1), ["x11"]);
    }

    #[test]
    fn a_place_that_was_lent_is_lent_again_once_it_is_given_back() {
        let mut queue = queue(&[("x", "")], 1);
        for (task, parent) in [("a", ""), ("x1", "x"), ("x2", "x")] {
            queue.push(RunId::new(task), family(task, parent));
        }
        assert_eq!(begun(&mut queue), ["x1"]);
        queue.leave(&RunId::new("x1"));
        assert_eq!(begun(&mut queue), ["x2"]);
        queue.leave(&RunId::new("x2"));
        assert!(begun(&mut queue).is_empty());
        queue.leave(&RunId::new("x"));
        assert_eq!(begun(&mut queue), ["a"]);
        queue.leave(&RunId::new("a"));
        assert!(queue.tasks.is_empty() && queue.used == 0, "{queue:?}");
    }

    #[test]
    fn those_that_wait_for_a_run_are_found_up_to_the_first() {
        let in_hand = [("x", ""), ("x1", "x"), ("x11", "x1"), ("y", "gone")];
        let queue = queue(&in_hand, 9);
        let ancestors = |run: &str| {
            let found = queue.ancestors(&RunId::new(run)).into_iter();
            found.map(|run| run.to_string()).collect::<Vec<_>>()
        };
        assert_eq!(ancestors("x11"), ["x1", "x"]);
        assert!(ancestors("x").is_empty() && ancestors("y").is_empty());
        let circle = self::queue(&[("a", "b"), ("b", "a")], 9);
        assert_eq!(circle.ancestors(&RunId::new("a")).len(), 2);
    }

    #[test]
    fn a_run_whose_parent_is_elsewhere_counts_like_any() {
        assert!(begin(&[("c", "gone")], &[("x", "")], 1).is_empty());
        assert_eq!(begin(&[("c", "gone")], &[], 1), ["c"]);
    }

    #[test]
    fn a_run_of_no_task_lends_nobody_its_place() {
        let waiting = [("a", ""), ("b", ""), ("c", "")];
        assert!(begin(&waiting, &[("", "")], 1).is_empty());
        assert_eq!(begin(&[("", ""), ("a", ""), ("b", "")], &[], 2), ["", "a"]);
    }

    #[test]
    fn what_is_found_has_the_order_of_the_journal_and_the_others_are_gone() {
        let mut queue = Admission::new(9);
        for task in ["b", "gone", "c"] {
            queue.push(RunId::new(task), family(task, ""));
        }
        let unknown = |task: &str| (RunId::new(task), Some(family(task, "")));
        let found = ["a", "b", "c"].map(unknown);
        let unread = (RunId::new("unread"), None);
        queue.arrange(found.into_iter().chain([unread]).collect());
        assert_eq!(begun(&mut queue), ["a", "b", "c"]);
    }

    /// Whatever the bound, runs within runs come to their end: one of those at work is always one that waits for nobody.
    #[test]
    fn runs_within_runs_never_wait_for_room_in_a_circle() {
        for depth in 1..8 {
            let chain: Vec<String> = (0..=depth).map(|n| format!("r{n}")).collect();
            let mut in_hand: Vec<(&str, &str)> = vec![(&chain[0], "")];
            for pair in chain.windows(2) {
                let waiting = [("other", ""), (&*pair[1], &*pair[0])];
                assert_eq!(begin(&waiting, &in_hand, 1), [&*pair[1]]);
                in_hand.push((&pair[1], &pair[0]));
            }
        }
    }
}

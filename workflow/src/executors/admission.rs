//! Choice of the runs that begin, of those that wait.

use std::collections::{BTreeSet, HashMap};

use agenthub_sdk::runs::RunId;

/// Tasks by which runs are related.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Family {
    /// Task of the run; empty if its message names none.
    pub(super) task: String,
    /// Task of the run that waits for this one; empty if none does.
    pub(super) parent: String,
}

/// The runs of `waiting`, oldest first, that begin while those of `in_hand` are executed, `most` at once. A run that waits for a run within it
/// lends it its place: so there is always room for runs within runs, and those that wait do not count.
pub(super) fn admitted<'a>(
    waiting: &'a [(RunId, Family)],
    in_hand: impl IntoIterator<Item = &'a Family>,
    most: usize,
) -> Vec<&'a RunId> {
    let in_hand: Vec<&Family> = in_hand.into_iter().collect();
    let mut tasks: BTreeSet<&str> = in_hand.iter().map(|family| &*family.task).collect();
    // For each run that waits for others, their number.
    let mut lenders: HashMap<&str, usize> = HashMap::new();
    for family in &in_hand {
        if !family.parent.is_empty() {
            *lenders.entry(&family.parent).or_default() += 1;
        }
    }
    let is_lent = |lenders: &HashMap<&str, usize>, task: &str| lenders.contains_key(task);
    let at_work = |family: &&&Family| !is_lent(&lenders, &family.task);
    let mut used = in_hand.iter().filter(at_work).count();
    let mut begin = Vec::new();
    for (run, family) in waiting {
        let is_child = !family.parent.is_empty();
        let lends =
            is_child && tasks.contains(&*family.parent) && !is_lent(&lenders, &family.parent);
        if !lends && used >= most {
            continue;
        }
        used += usize::from(!lends);
        tasks.insert(&family.task);
        if is_child {
            *lenders.entry(&family.parent).or_default() += 1;
        }
        begin.push(run);
    }
    begin
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

    /// The tasks, with their parents, that begin.
    fn begin(waiting: &[(&str, &str)], in_hand: &[(&str, &str)], most: usize) -> Vec<String> {
        let waiting: Vec<_> = waiting
            .iter()
            .map(|(task, parent)| (RunId::new(*task), family(task, parent)))
            .collect();
        let in_hand: Vec<_> = in_hand.iter().map(|(t, p)| family(t, p)).collect();
        let begin = admitted(&waiting, &in_hand, most);
        begin.into_iter().map(ToString::to_string).collect()
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

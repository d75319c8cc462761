//! Order of steps by their dependencies.

use std::collections::{BTreeMap, BTreeSet};

use super::StepName;

/// Dependencies of each step. Unknown names are omitted.
pub(super) type Needs = BTreeMap<StepName, BTreeSet<StepName>>;

/// The longest chain of dependent steps, in order.
///
/// # Errors
///
/// A cycle, its first step repeated at the end.
pub(super) fn longest_chain(needs: &Needs) -> Result<Vec<&StepName>, Vec<&StepName>> {
    let mut needed_by: BTreeMap<&StepName, Vec<&StepName>> = BTreeMap::new();
    let mut open: BTreeMap<&StepName, usize> = BTreeMap::new();
    for (name, needed) in needs {
        let there = needed.iter().filter(|other| needs.contains_key(*other));
        open.insert(name, there.clone().count());
        for other in there {
            needed_by.entry(other).or_default().push(name);
        }
    }
    let mut free: Vec<&StepName> = open
        .iter()
        .filter(|(_, n)| **n == 0)
        .map(|(s, _)| *s)
        .collect();
    // For each step the length of the longest chain that ends with it, and its predecessor.
    let mut rows: BTreeMap<&StepName, (usize, Option<&StepName>)> = BTreeMap::new();
    while let Some(name) = free.pop() {
        let length = rows.entry(name).or_insert((1, None)).0;
        open.remove(name);
        for after in needed_by.get(name).into_iter().flatten().copied() {
            let row = rows.entry(after).or_insert((1, None));
            if row.0 <= length {
                *row = (length + 1, Some(name));
            }
            let left = open.get_mut(after).expect("it waits for this one");
            *left -= 1;
            if *left == 0 {
                free.push(after);
            }
        }
    }
    match open.keys().next() {
        Some(stuck) => Err(cycle(needs, &open, stuck)),
        None => Ok(row(&rows)),
    }
}

fn row<'n>(rows: &BTreeMap<&'n StepName, (usize, Option<&'n StepName>)>) -> Vec<&'n StepName> {
    let last = rows.iter().max_by_key(|(_, (length, _))| *length);
    let last = last.map(|(name, _)| *name);
    let before = |name: &&'n StepName| rows.get(*name).and_then(|(_, before)| *before);
    let mut row: Vec<_> = std::iter::successors(last, before).collect();
    row.reverse();
    row
}

/// Finds a cycle: every stuck step depends on another stuck one, so following dependencies leads back.
fn cycle<'n>(
    needs: &'n Needs,
    stuck: &BTreeMap<&'n StepName, usize>,
    first: &'n StepName,
) -> Vec<&'n StepName> {
    let mut path = vec![first];
    let mut name = first;
    loop {
        let needed = needs.get(name).into_iter().flatten();
        let mut needed = needed.filter(|other| stuck.contains_key(*other));
        name = needed.next().expect("what is stuck needs what is stuck");
        let again = path.iter().position(|other| *other == name);
        path.push(name);
        if let Some(at) = again {
            return path.split_off(at);
        }
    }
}

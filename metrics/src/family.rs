//! Instruments by labels whose values come from outside, with a bound.

use std::{
    collections::BTreeMap,
    sync::{Arc, PoisonError, RwLock},
};

/// Value of every label of what has no series of its own, as there are too many.
const OTHERS: &str = "other";

/// The most characters of a label's value.
const MAX_LABEL: usize = 128;

/// Instruments by the values of labels. At most a given number of combinations have one of their own; all others share one, whose labels are
/// `other`. Looking an instrument up takes a lock for reading; who uses it often keeps it.
#[derive(Debug)]
pub struct Family<M> {
    most: usize,
    new: fn() -> M,
    series: RwLock<BTreeMap<Vec<String>, Arc<M>>>,
}

impl<M> Family<M> {
    /// An empty family.
    pub const fn new(most: usize, new: fn() -> M) -> Self {
        Self {
            most,
            new,
            series: RwLock::new(BTreeMap::new()),
        }
    }

    /// The instrument of these labels.
    pub fn of(&self, labels: &[&str]) -> Arc<M> {
        let labels: Vec<String> = labels.iter().map(|label| shortened(label)).collect();
        let found = {
            let series = self.series.read().unwrap_or_else(PoisonError::into_inner);
            series.get(&labels).cloned()
        };
        if let Some(found) = found {
            return found;
        }
        let mut series = self.series.write().unwrap_or_else(PoisonError::into_inner);
        let labels = match series.len() < self.most || series.contains_key(&labels) {
            true => labels,
            false => vec![OTHERS.to_owned(); labels.len()],
        };
        Arc::clone(
            series
                .entry(labels)
                .or_insert_with(|| Arc::new((self.new)())),
        )
    }

    /// All instruments with their labels.
    pub fn all(&self) -> Vec<(Vec<String>, Arc<M>)> {
        let series = self.series.read().unwrap_or_else(PoisonError::into_inner);
        let series = series.iter();
        series
            .map(|(labels, one)| (labels.clone(), Arc::clone(one)))
            .collect()
    }
}

fn shortened(label: &str) -> String {
    label.chars().take(MAX_LABEL).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Counter;

    #[test]
    fn beyond_the_bound_all_share_one() {
        let family: Family<Counter> = Family::new(3, Counter::default);
        for agent in 0..1_000 {
            family.of(&["answer", &format!("agent {agent}")]).inc();
        }
        let all = family.all();
        assert_eq!(all.len(), 4);
        let others = all.iter().find(|(labels, _)| labels[0] == OTHERS);
        let (labels, others) = others.expect("what has no series is counted together");
        assert_eq!((labels[1].as_str(), others.get()), (OTHERS, 997));
        assert_eq!(all.iter().map(|(_, one)| one.get()).sum::<u64>(), 1_000);
    }

    #[test]
    fn a_long_name_is_shortened() {
        let family: Family<Counter> = Family::new(3, Counter::default);
        family.of(&[&"é".repeat(1_000)]).inc();
        assert_eq!(family.all()[0].0[0].chars().count(), MAX_LABEL);
    }
}

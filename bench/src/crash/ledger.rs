//! The checker: compares the hub's promises with the observations. Pure, so that tests can show that it detects
//! violations.

use std::collections::{BTreeSet, HashMap, HashSet};

use super::operation::Operation;

/// Problems of one kind that are described; all are counted.
const EXAMPLES: usize = 5;

/// A context, and the witnesses that must see its operations.
#[derive(Clone, Debug)]
pub(crate) struct Context {
    pub(crate) witnesses: Vec<Witness>,
}

/// An observer of the effects of operations.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Witness {
    pub(crate) name: &'static str,
    /// True if first observations must be in the order of the operations.
    pub(crate) in_order: bool,
}

/// All observations.
#[derive(Debug)]
pub(crate) struct Ledger {
    contexts: Vec<Page>,
    /// Publishes that the hub refused, or whose result is unknown.
    unsettled: u64,
    /// Clients that the hub has disconnected for good.
    turned_away: u64,
    /// Redeliveries, which at-least-once permits.
    redelivered: u64,
    reordered: u64,
    duplicates: u64,
    examples: HashMap<Kind, Vec<String>>,
}

/// Kind of a problem.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Kind {
    Unsettled,
    Duplicate,
    Reordered,
    Remark,
}

#[derive(Debug)]
struct Page {
    acknowledged: BTreeSet<u64>,
    sights: Vec<Sights>,
}

#[derive(Debug)]
struct Sights {
    witness: Witness,
    /// The marks under which each operation was seen.
    seen: HashMap<u64, HashSet<String>>,
    latest: u64,
}

/// The final verdict.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Verdict {
    /// Publishes that the hub has accepted.
    pub(crate) acknowledged: u64,
    /// Accepted operations that a witness never saw.
    pub(crate) lost: u64,
    /// Effects beyond the first.
    pub(crate) duplicates: u64,
    /// First observations after that of a later operation.
    pub(crate) reordered: u64,
    pub(crate) redelivered: u64,
    pub(crate) unsettled: u64,
    pub(crate) turned_away: u64,
    /// Descriptions of the first problems.
    pub(crate) examples: Vec<String>,
}

impl Verdict {
    /// True if every promise was kept. False for a run in which nothing was accepted.
    pub(crate) fn is_good(&self) -> bool {
        self.acknowledged > 0
            && self.lost == 0
            && self.duplicates == 0
            && self.reordered == 0
            && self.turned_away == 0
    }
}

impl Ledger {
    pub(crate) fn new(contexts: &[Context]) -> Self {
        let page = |context: &Context| Page {
            acknowledged: BTreeSet::new(),
            sights: context
                .witnesses
                .iter()
                .map(|witness| Sights {
                    witness: *witness,
                    seen: HashMap::new(),
                    latest: 0,
                })
                .collect(),
        };
        Self {
            contexts: contexts.iter().map(page).collect(),
            unsettled: 0,
            turned_away: 0,
            redelivered: 0,
            reordered: 0,
            duplicates: 0,
            examples: HashMap::new(),
        }
    }

    /// Records that the hub has accepted an operation.
    pub(crate) fn acknowledged(&mut self, operation: Operation) {
        if let Some(page) = self.contexts.get_mut(operation.context) {
            page.acknowledged.insert(operation.number);
        }
    }

    /// Records that the hub refused an operation, or that its result is unknown.
    pub(crate) fn unsettled(&mut self, operation: Operation, why: &str) {
        self.unsettled += 1;
        self.example(
            Kind::Unsettled,
            format!("{operation} was not accepted: {why}"),
        );
    }

    /// Records a client that was disconnected for good, which a crash does not justify.
    pub(crate) fn turned_away(&mut self, why: &str) {
        self.turned_away += 1;
        self.example(Kind::Remark, format!("a client was turned away: {why}"));
    }

    /// Records an observation of an operation under a mark. The same mark again is a redelivery; another mark is
    /// another effect. Returns whether it is the first observation.
    pub(crate) fn seen(&mut self, operation: Operation, witness: usize, mark: &str) -> bool {
        let Some(sights) = self
            .contexts
            .get_mut(operation.context)
            .and_then(|page| page.sights.get_mut(witness))
        else {
            return false;
        };
        let Witness { name, in_order } = sights.witness;
        let marks = sights.seen.entry(operation.number).or_default();
        if marks.contains(mark) {
            self.redelivered += 1;
            return false;
        }
        marks.insert(mark.to_owned());
        if marks.len() > 1 {
            self.duplicates += 1;
            let known = format!("{marks:?}");
            self.example(
                Kind::Duplicate,
                format!("{operation} has several effects at {name}: {known}"),
            );
            return false;
        }
        let latest = sights.latest;
        sights.latest = latest.max(operation.number);
        if in_order && operation.number < latest {
            self.reordered += 1;
            self.example(
                Kind::Reordered,
                format!("{operation} came to {name} for the first time after number {latest}"),
            );
        }
        true
    }

    /// Number of accepted operations that a witness has not seen yet.
    pub(crate) fn outstanding(&self) -> u64 {
        let lost = self.contexts.iter().map(|page| page.missing().count());
        lost.sum::<usize>() as u64
    }

    pub(crate) fn verdict(&self) -> Verdict {
        let mut examples: Vec<String> = self.examples.values().flatten().cloned().collect();
        examples.sort_unstable();
        let lost = self.contexts.iter().enumerate().flat_map(|(n, page)| {
            page.missing().map(move |(number, names)| {
                let operation = Operation { context: n, number };
                let names = names.join(" and ");
                format!("{operation} was accepted and never came to {names}")
            })
        });
        examples.extend(lost.take(EXAMPLES));
        Verdict {
            acknowledged: self
                .contexts
                .iter()
                .map(|page| page.acknowledged.len() as u64)
                .sum(),
            lost: self.outstanding(),
            duplicates: self.duplicates,
            reordered: self.reordered,
            redelivered: self.redelivered,
            unsettled: self.unsettled,
            turned_away: self.turned_away,
            examples,
        }
    }

    /// Adds a remark about a problem that is detected elsewhere.
    pub(crate) fn remark(&mut self, text: String) {
        self.example(Kind::Remark, text);
    }

    fn example(&mut self, kind: Kind, text: String) {
        let examples = self.examples.entry(kind).or_default();
        if examples.len() < EXAMPLES {
            examples.push(text);
        }
    }
}

impl Page {
    /// Accepted operations that some witness has not seen, with these witnesses.
    fn missing(&self) -> impl Iterator<Item = (u64, Vec<&'static str>)> + '_ {
        self.acknowledged.iter().filter_map(|number| {
            let missed = self.sights.iter().filter(|s| !s.seen.contains_key(number));
            let names: Vec<_> = missed.map(|s| s.witness.name).collect();
            (!names.is_empty()).then_some((*number, names))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const INBOX: Witness = Witness {
        name: "inbox",
        in_order: true,
    };
    const AUDIT: Witness = Witness {
        name: "audit",
        in_order: false,
    };

    fn ledger() -> Ledger {
        let context = Context {
            witnesses: vec![INBOX, AUDIT],
        };
        Ledger::new(&[context.clone(), context])
    }

    fn operation(number: u64) -> Operation {
        Operation { context: 1, number }
    }

    /// Accepts an operation and lets all witnesses see it.
    fn pass(ledger: &mut Ledger, number: u64) {
        ledger.acknowledged(operation(number));
        for witness in [0, 1] {
            ledger.seen(operation(number), witness, &format!("p{number}"));
        }
    }

    #[test]
    fn a_good_run_is_good() {
        let mut ledger = ledger();
        (1..=3).for_each(|n| pass(&mut ledger, n));
        let verdict = ledger.verdict();
        assert_eq!(verdict.acknowledged, 3);
        assert!(verdict.is_good(), "{verdict:?}");
    }

    #[test]
    fn a_run_without_any_publish_shows_nothing() {
        assert!(!ledger().verdict().is_good());
    }

    #[test]
    fn what_one_witness_misses_is_lost() {
        let mut ledger = ledger();
        pass(&mut ledger, 1);
        ledger.acknowledged(operation(2));
        ledger.seen(operation(2), 0, "p2");
        assert_eq!(ledger.outstanding(), 1);
        let verdict = ledger.verdict();
        assert_eq!((verdict.lost, verdict.is_good()), (1, false));
        assert_eq!(
            verdict.examples,
            ["operation-1-2 was accepted and never came to audit"]
        );
    }

    #[test]
    fn what_was_never_accepted_is_not_lost() {
        let mut ledger = ledger();
        pass(&mut ledger, 1);
        ledger.unsettled(operation(2), "no");
        ledger.seen(operation(3), 0, "p3");
        assert!(ledger.verdict().is_good());
    }

    #[test]
    fn a_client_that_is_turned_away_spoils_the_run() {
        let mut ledger = ledger();
        pass(&mut ledger, 1);
        ledger.turned_away("no");
        assert!(!ledger.verdict().is_good());
    }

    #[test]
    fn the_same_delivery_again_is_no_duplicate_but_a_second_event_is() {
        let mut ledger = ledger();
        pass(&mut ledger, 1);
        assert!(!ledger.seen(operation(1), 0, "p1"));
        let verdict = ledger.verdict();
        assert_eq!((verdict.redelivered, verdict.is_good()), (1, true));

        assert!(!ledger.seen(operation(1), 1, "p7"));
        let verdict = ledger.verdict();
        assert_eq!((verdict.duplicates, verdict.is_good()), (1, false));
    }

    #[test]
    fn first_sights_out_of_order_count_where_order_is_promised() {
        let mut ledger = ledger();
        ledger.acknowledged(operation(1));
        ledger.acknowledged(operation(2));
        for witness in [0, 1] {
            ledger.seen(operation(2), witness, "p2");
            ledger.seen(operation(1), witness, "p1");
        }
        ledger.seen(operation(1), 0, "p1");
        let verdict = ledger.verdict();
        assert_eq!((verdict.reordered, verdict.is_good()), (1, false));
    }
}

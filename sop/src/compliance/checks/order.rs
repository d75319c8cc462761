//! Check of the order and number of calls.

use super::{
    super::{Transcript, Verdict, nothing_done},
    CheckResult, Checked,
    calls::Calls,
    ended,
    names::Target,
    orders::Order,
};

/// Characters of a task that are quoted.
const LONGEST_QUOTATION: usize = 120;

/// The finding, and whether nothing that happens later could change it.
pub(super) struct OrderFinding {
    pub(super) holds: bool,
    pub(super) is_lasting: bool,
    pub(super) evidence: String,
    /// The call that shows it.
    pub(super) call: Option<usize>,
}

impl Order {
    /// Checks whether it was so.
    pub(super) fn check(&self, transcript: &Transcript) -> Checked {
        let seen = match self.look(transcript) {
            Ok(seen) => seen,
            Err(checked) => return checked,
        };
        let state = transcript.state.as_str();
        if !seen.is_lasting && state == "working" {
            let evidence = format!("{} so far; the run is not over", seen.evidence);
            return Checked::Decided(CheckResult::not_checked(evidence));
        }
        if !seen.is_lasting && !seen.holds && state != "completed" {
            let ended = ended(transcript);
            let evidence = format!("{}; the run {ended} before that could be", seen.evidence);
            return Checked::Decided(CheckResult::not_checked(evidence));
        }
        let call = seen.call.and_then(|at| transcript.calls.get(at));
        // A call that gave something was made, whatever became of the rest.
        let is_shown = match seen.holds {
            true => call.is_some_and(|call| call.state == "completed" && !call.gave_nothing),
            false => seen.is_lasting,
        };
        if let Some(why) = nothing_done::why(transcript).filter(|_| !is_shown) {
            let evidence = format!("{}; {why}", seen.evidence);
            return Checked::Decided(CheckResult::not_checked(evidence));
        }
        let verdict = match seen.holds {
            true => Verdict::Kept,
            false => Verdict::Broken,
        };
        let mut found = CheckResult::new(verdict, seen.evidence);
        if let Some(call) = call
            && let Some(passage) = transcript.passage(call.passage)
        {
            let line = passage.text.lines().next().unwrap_or_default();
            let line: String = line.chars().take(LONGEST_QUOTATION).collect();
            found.quotation = Some(line).filter(|line| !line.trim().is_empty());
            found.source = Some(passage.title.clone());
        }
        Checked::Decided(found)
    }

    fn look(&self, transcript: &Transcript) -> Result<OrderFinding, Checked> {
        let calls = Calls(transcript);
        Ok(match self {
            Self::All(targets) => {
                let missing: Vec<&Target> =
                    targets.iter().filter(|t| calls.count(t) == 0).collect();
                match missing.is_empty() {
                    true => OrderFinding::yes(calls.counted(targets), calls.first(&targets[0]))
                        .lasting(),
                    false => OrderFinding::no(calls.never(&missing)),
                }
            }
            Self::Any(targets) => {
                let called: Vec<&Target> = targets.iter().filter(|t| calls.count(t) > 0).collect();
                match called.first() {
                    Some(target) => {
                        let called: Vec<Target> = called.iter().copied().cloned().collect();
                        OrderFinding::yes(calls.counted(&called), calls.first(target)).lasting()
                    }
                    None => OrderFinding::no(calls.never(&targets.iter().collect::<Vec<_>>())),
                }
            }
            Self::None(targets) => {
                let called: Vec<Target> = targets
                    .iter()
                    .filter(|t| calls.count(t) > 0)
                    .cloned()
                    .collect();
                match called.first() {
                    Some(target) => OrderFinding::bad(calls.counted(&called), calls.first(target)),
                    None => {
                        OrderFinding::yes(calls.never(&targets.iter().collect::<Vec<_>>()), None)
                    }
                }
            }
            Self::NoAgents => match transcript.calls.iter().position(|c| c.agent.is_some()) {
                Some(at) => OrderFinding::bad(calls.all(), Some(at)),
                None => OrderFinding::yes("no agent was called".to_owned(), None),
            },
            Self::NoTools => match transcript.calls.iter().position(|c| c.agent.is_none()) {
                Some(at) => OrderFinding::bad(calls.all(), Some(at)),
                // Whether agents are meant as well, only a model can tell.
                None if !transcript.calls.is_empty() => {
                    return Err(Checked::Left(Some(calls.all())));
                }
                None => OrderFinding::yes("nothing was called".to_owned(), None),
            },
            Self::For(target) => match calls.count(target) {
                0 => OrderFinding::no(calls.never(&[target])),
                _ => {
                    let note = calls.counted(std::slice::from_ref(target));
                    return Err(Checked::Left(Some(note)));
                }
            },
            Self::First(target) => calls.is_first(target)?,
            Self::Before(first, then) => calls.is_before(first, then)?,
            Self::After(then, first) => calls.is_after(then, first)?,
            Self::NotBefore(first, then) => match (calls.first(first), calls.first(then)) {
                (None, _) => OrderFinding::yes(calls.never(&[first]), None),
                (Some(_), None) => return Err(Checked::Left(Some(calls.never(&[then])))),
                (Some(a), Some(b)) => {
                    let is_before = transcript.calls[a].turn < transcript.calls[b].turn;
                    let evidence = calls.order(first, then);
                    match is_before {
                        true => OrderFinding::bad(evidence, Some(a)),
                        false => OrderFinding::yes(evidence, Some(b)).lasting(),
                    }
                }
            },
            Self::Times(target, least, most) => {
                let count = calls.count(target);
                let evidence = match count {
                    0 => calls.never(&[target]),
                    _ => calls.counted(std::slice::from_ref(target)),
                };
                let first = calls.first(target);
                match (count < *least, count > *most) {
                    (true, _) => OrderFinding {
                        call: first,
                        ..OrderFinding::no(evidence)
                    },
                    (_, true) => OrderFinding::bad(evidence, first),
                    _ if *most == u64::MAX => OrderFinding::yes(evidence, first).lasting(),
                    _ => OrderFinding::yes(evidence, first),
                }
            }
            Self::With(handing) => handing.look(transcript)?,
        })
    }
}

impl OrderFinding {
    pub(super) fn yes(evidence: String, call: Option<usize>) -> Self {
        Self {
            holds: true,
            is_lasting: false,
            evidence,
            call,
        }
    }

    /// The condition that does not hold yet.
    pub(super) fn no(evidence: String) -> Self {
        Self {
            holds: false,
            ..Self::yes(evidence, None)
        }
    }

    /// The condition that does not hold, whatever follows.
    pub(super) fn bad(evidence: String, call: Option<usize>) -> Self {
        Self {
            holds: false,
            ..Self::yes(evidence, call).lasting()
        }
    }

    pub(super) fn lasting(self) -> Self {
        Self {
            is_lasting: true,
            ..self
        }
    }
}

//! The calls of a run: how often, in which order, and in words.

use agenthub_sdk::runs::tool_loop::FIND_AGENTS;

use super::{
    super::{Call, PassageKind, Transcript},
    CheckResult, Checked,
    names::Target,
    order::OrderFinding,
};

/// The calls of a run.
pub(super) struct Calls<'a>(pub(super) &'a Transcript);

impl Calls<'_> {
    pub(super) fn of<'b>(&'b self, target: &'b Target) -> impl Iterator<Item = (usize, &'b Call)> {
        let calls = self.0.calls.iter().enumerate();
        calls.filter(|(_, call)| call.tool == target.tool)
    }

    pub(super) fn count(&self, target: &Target) -> u64 {
        self.of(target).count() as u64
    }

    pub(super) fn first(&self, target: &Target) -> Option<usize> {
        self.of(target).next().map(|(at, _)| at)
    }

    /// `critic was called twice, writer once`.
    pub(super) fn counted(&self, targets: &[Target]) -> String {
        let counted = targets.iter().map(|target| {
            let name = &target.name;
            format!("{name} was called {}", often(self.count(target)))
        });
        counted.collect::<Vec<_>>().join(", ")
    }

    /// All that was called, in words.
    pub(super) fn all(&self) -> String {
        let mut names: Vec<(&str, u64)> = Vec::new();
        for call in &self.0.calls {
            match names.iter_mut().find(|(name, _)| *name == call.name()) {
                Some((_, count)) => *count += 1,
                None => names.push((call.name(), 1)),
            }
        }
        let names: Vec<String> = names
            .iter()
            .map(|(name, count)| match count {
                1 => (*name).to_owned(),
                n => format!("{name} ({n} times)"),
            })
            .collect();
        match names.is_empty() {
            true => "nothing was called".to_owned(),
            false => format!("called: {}", names.join(", ")),
        }
    }

    pub(super) fn never(&self, targets: &[&Target]) -> String {
        let names: Vec<&str> = targets.iter().map(|target| &*target.name).collect();
        let tools: Vec<&str> = targets.iter().map(|target| &*target.tool).collect();
        let refused = self
            .0
            .passages
            .iter()
            .filter(|p| p.what == PassageKind::NotCalled);
        let was_wanted = refused.into_iter().any(|p| {
            tools
                .iter()
                .any(|tool| p.title == format!("a call to {tool} that did not go out"))
        });
        let is_absent = |tool: &&str| self.0.tools.get(*tool).is_some_and(|known| known.is_absent);
        let absent: Vec<&str> = targets
            .iter()
            .filter(|target| is_absent(&&*target.tool))
            .map(|target| &*target.name)
            .collect();
        let wanted = match (was_wanted, absent.is_empty()) {
            (true, _) => " (it was tried, but did not go out)".to_owned(),
            (false, true) => String::new(),
            (false, false) => format!(" ({} was not there)", absent.join(", ")),
        };
        format!(
            "{} was never called{wanted}; {}",
            names.join(", "),
            self.all()
        )
    }

    pub(super) fn order(&self, first: &Target, then: &Target) -> String {
        let at = |target: &Target| match self.first(target) {
            Some(at) => format!("{} in call {}", target.name, at + 1),
            None => format!("{} never", target.name),
        };
        let turn = |target: &Target| self.first(target).map(|at| self.0.calls[at].turn);
        let together = match turn(first).is_some() && turn(first) == turn(then) {
            true => ", at the same time",
            false => "",
        };
        format!("first called: {}, {}{together}", at(first), at(then))
    }

    pub(super) fn is_first(&self, target: &Target) -> Result<OrderFinding, Checked> {
        let Some(at) = self.first(target) else {
            return Ok(OrderFinding::no(self.never(&[target])));
        };
        let turn = self.0.calls[at].turn;
        let is_other = |call: &&Call| call.tool != target.tool && call.tool != FIND_AGENTS;
        let others = || self.0.calls.iter().filter(is_other);
        let earlier = others().find(|call| call.turn < turn);
        if let Some(earlier) = earlier {
            let evidence = format!("{} was called before {}", earlier.name(), target.name);
            // Whether a tool of its own counts where agents are meant, only a model can tell.
            let is_clear = !target.is_agent || others().any(|c| c.turn < turn && c.agent.is_some());
            return match is_clear {
                true => Ok(OrderFinding::bad(
                    format!("{evidence}; {}", self.all()),
                    Some(at),
                )),
                false => Err(Checked::Left(Some(evidence))),
            };
        }
        if let Some(other) = others().find(|call| call.turn == turn) {
            let name = other.name();
            let evidence = format!(
                "{} and {name} were called first, at the same time",
                target.name
            );
            return Err(Checked::Left(Some(evidence)));
        }
        Ok(OrderFinding::yes(format!("{} was called first", target.name), Some(at)).lasting())
    }

    pub(super) fn is_before(&self, first: &Target, then: &Target) -> Result<OrderFinding, Checked> {
        match (self.first(first), self.first(then)) {
            (None, None) if self.0.is_over() => {
                Err(Checked::Left(Some(self.never(&[first, then]))))
            }
            (None, None) => Ok(OrderFinding::no(self.never(&[first, then]))),
            (Some(at), None) => {
                let evidence = format!(
                    "{}, {} never",
                    self.counted(std::slice::from_ref(first)),
                    then.name
                );
                match self.0.is_over() {
                    true => {
                        let evidence = format!("{evidence}: there is no order to see");
                        Err(Checked::Decided(CheckResult::not_checked(evidence)))
                    }
                    false => Ok(OrderFinding::yes(evidence, Some(at))),
                }
            }
            (None, Some(at)) => Ok(OrderFinding::bad(self.never(&[first]), Some(at))),
            (Some(a), Some(b)) => {
                let is_before = self.0.calls[a].turn < self.0.calls[b].turn;
                let evidence = self.order(first, then);
                Ok(match is_before {
                    true => OrderFinding::yes(evidence, Some(a)).lasting(),
                    false => OrderFinding::bad(evidence, Some(b)),
                })
            }
        }
    }

    pub(super) fn is_after(&self, then: &Target, first: &Target) -> Result<OrderFinding, Checked> {
        match (self.first(then), self.first(first)) {
            (Some(a), Some(b)) => {
                let is_after = self.0.calls[a].turn > self.0.calls[b].turn;
                let evidence = self.order(first, then);
                Ok(match is_after {
                    true => OrderFinding::yes(evidence, Some(a)).lasting(),
                    false => OrderFinding::bad(evidence, Some(a)),
                })
            }
            _ if self.0.is_over() => Err(Checked::Left(Some(self.order(first, then)))),
            _ => Ok(OrderFinding::no(self.order(first, then))),
        }
    }
}

pub(super) fn often(count: u64) -> String {
    match count {
        1 => "once".to_owned(),
        2 => "twice".to_owned(),
        n => format!("{n} times"),
    }
}

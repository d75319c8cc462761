//! The graph form: each step names those that it depends on.

use std::collections::{BTreeMap, BTreeSet};

use agenthub_documents::meant;
use indexmap::IndexMap;

use crate::{
    building::{self, Form, named},
    file,
    finding::{At, Finding, within},
    model::{Graph, Need, Step, Work},
};

/// The steps of a file or of a loop, with what each depends on.
pub(crate) fn steps(
    steps: &file::Steps,
    at: &At,
    taken: &mut BTreeSet<String>,
    findings: &mut Vec<Finding>,
) -> Vec<Step> {
    let written = named(steps, at, taken, findings);
    let mut made: IndexMap<String, Step> = IndexMap::new();
    for one in &written {
        let mut step = building::step(one, Form::Graph, findings);
        if let Some(inner) = &one.step.steps {
            let inner = self::steps(inner, &within(&one.at, "steps"), taken, findings);
            step.work = Work::Steps(Graph {
                steps: inner,
                result: None,
            });
        }
        made.entry(one.name.clone()).or_insert(step);
    }
    for one in &written {
        let on = one.step.depends_on.iter().flatten().enumerate();
        let on = on.map(|(index, on)| {
            let at = within(&within(&one.at, "depends_on"), index);
            (at, on.clone(), Need::on(on), one.name.clone())
        });
        let branch = |field: &str, names: &Option<file::Names>, answer: bool| {
            let names = names.iter().flat_map(file::Names::all).enumerate();
            let is_one = |names: &file::Names| matches!(names, file::Names::One(_));
            let is_one = one
                .step
                .then
                .as_ref()
                .filter(|_| answer)
                .is_some_and(is_one)
                || one
                    .step
                    .r#else
                    .as_ref()
                    .filter(|_| !answer)
                    .is_some_and(is_one);
            names
                .map(|(index, name)| {
                    let at = within(&one.at, field);
                    let at = if is_one { at } else { within(&at, index) };
                    let need = Need::branch(&one.name, answer);
                    (at, name.clone(), need, name.clone())
                })
                .collect::<Vec<_>>()
        };
        let then = branch("then", &one.step.then, true);
        let r#else = branch("else", &one.step.r#else, false);
        for (at, named, need, of) in on.chain(then).chain(r#else).collect::<Vec<_>>() {
            if !made.contains_key(&named) {
                findings.push(unknown(&named, at, made.keys().map(String::as_str)));
                continue;
            }
            if let Some(step) = made.get_mut(&of)
                && !step.needs.contains(&need)
            {
                step.needs.push(need);
            }
        }
    }
    let mut made: Vec<Step> = made.into_values().collect();
    mark_ways(&mut made);
    made
}

/// Marks the ways from the decisions that name a step: their answers, and the steps behind them that it depends on, as where branches meet.
fn mark_ways(steps: &mut [Step]) {
    let behind: BTreeMap<String, BTreeSet<String>> = steps
        .iter()
        .filter(|step| matches!(step.work, Work::Decide { .. }))
        .map(|decision| (decision.name.clone(), behind(&decision.name, steps)))
        .collect();
    for step in steps {
        let naming = step.needs.iter().filter(|need| need.branch.is_some());
        let naming: Vec<String> = naming.map(|need| need.step.clone()).collect();
        for need in &mut step.needs {
            let is_behind = |decision: &String| {
                let behind = behind.get(decision);
                behind.is_some_and(|behind| behind.contains(&need.step))
            };
            need.is_way = need.branch.is_some() || naming.iter().any(is_behind);
        }
    }
}

/// The steps that depend on a step, and those that depend on these.
fn behind(name: &str, steps: &[Step]) -> BTreeSet<String> {
    let mut behind = BTreeSet::new();
    let mut from = vec![name.to_owned()];
    while let Some(on) = from.pop() {
        for step in steps {
            let waits = step.needs.iter().any(|need| need.step == on);
            if waits && behind.insert(step.name.clone()) {
                from.push(step.name.clone());
            }
        }
    }
    behind
}

/// A name that no step has.
pub(crate) fn unknown<'n>(
    name: &str,
    at: At,
    known: impl IntoIterator<Item = &'n str> + Clone,
) -> Finding {
    let message = format!("there is no step `{name}` here");
    let help = match meant(name, known.clone()) {
        Some(meant) => format!("did you mean `{meant}`?"),
        None => {
            let known: Vec<&str> = known.into_iter().take(16).collect();
            match known.is_empty() {
                true => "there are no steps that can be named here".to_owned(),
                false => format!("steps: {}", agenthub_documents::choice(&known)),
            }
        }
    };
    Finding::at(at, message, help)
}

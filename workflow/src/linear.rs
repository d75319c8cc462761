//! The linear form: the file names the first step, and each step the one behind it.

mod decided;

use std::collections::{BTreeMap, BTreeSet};

use indexmap::IndexMap;

use crate::{
    building::{self, Form, Kind, Written, named},
    file::File,
    finding::{At, Finding, within},
    graph::unknown,
    model::{BranchTime, Graph, Lane, Need, Step, Work},
};

pub(crate) use self::decided::with_decided;

/// The steps of a file, with what each depends on.
pub(crate) fn steps(file: &File, first: &str, findings: &mut Vec<Finding>) -> Vec<Step> {
    let at = vec!["steps".to_owned()];
    let written = named(&file.steps, &at, &mut BTreeSet::new(), findings);
    let mut walk = Walk {
        made: IndexMap::new(),
        written: IndexMap::new(),
        visited: BTreeSet::new(),
        findings,
    };
    for one in &written {
        let step = building::step(one, Form::Linear, walk.findings);
        walk.made.entry(one.name.clone()).or_insert(step);
        walk.written.entry(one.name.clone()).or_insert(one);
    }
    walk.chain(first, &vec!["start_step".to_owned()], Vec::new(), &[]);
    // Without a first step, the way through the others is not known.
    let has_first = walk.written.contains_key(first);
    for one in &written {
        if has_first && !walk.visited.contains(&one.name) {
            let message = format!("the step `{}` is never reached", one.name);
            let help = "name it in `next_step` of another step, or remove it";
            walk.findings
                .push(Finding::at(one.at.clone(), message, help).key());
        }
    }
    walk.made.into_values().collect()
}

/// The way through the steps, from the first one on.
struct Walk<'f> {
    made: IndexMap<String, Step>,
    written: IndexMap<String, &'f Written>,
    visited: BTreeSet<String>,
    findings: &'f mut Vec<Finding>,
}

impl Walk<'_> {
    /// Goes from a step to the last one behind it, or to one of `stops`. Returns what comes behind the end depends on.
    fn chain(&mut self, first: &str, from: &At, entry: Vec<Need>, stops: &[String]) -> Vec<Need> {
        let (mut name, mut from, mut entry) = (first.to_owned(), from.clone(), entry);
        loop {
            if stops.contains(&name) {
                return entry;
            }
            let Some(written) = self.written.get(&name).copied() else {
                let known: Vec<&str> = self.written.keys().map(String::as_str).collect();
                let finding = unknown(&name, from, known);
                self.findings.push(finding);
                return entry;
            };
            let is_new = self.visited.insert(name.clone());
            let (step, at) = (&written.step, &written.at);
            let next = step.next_step.clone();
            let stops_here: Vec<String> = stops.iter().chain(&next).cloned().collect();
            let kind = Kind::of(step);
            if !matches!(kind, Kind::Parallel | Kind::ForkJoin) || !is_new {
                self.needs(&name, entry.clone());
            }
            if !is_new {
                // What is behind it was gone through before.
                return Vec::new();
            }
            let tails = match kind {
                Kind::Decide => {
                    let branches = [
                        (step.if_true_step.as_ref(), "if_true_step", true),
                        (step.if_false_step.as_ref(), "if_false_step", false),
                    ];
                    let mut tails = Vec::new();
                    for (target, field, answer) in branches {
                        let entry = vec![Need::branch(&name, answer)];
                        match target {
                            Some(target) => {
                                let from = within(at, field);
                                tails.extend(self.chain(target, &from, entry, &stops_here));
                            }
                            None => tails.extend(entry),
                        }
                    }
                    tails
                }
                Kind::Parallel => {
                    let members = step.parallel_steps.iter().flatten().enumerate();
                    let mut tails = Vec::new();
                    for (index, member) in members {
                        let from = within(&within(at, "parallel_steps"), index);
                        tails.extend(self.chain(member, &from, entry.clone(), &stops_here));
                        let lane = step.max_parallelism.map(|most| Lane {
                            group: name.clone(),
                            most: most as usize,
                        });
                        if let Some(made) = self.made.get_mut(member) {
                            made.lane = lane;
                        }
                    }
                    self.needs(&name, tails);
                    vec![Need::on(&name)]
                }
                Kind::ForkJoin => {
                    let tails = self.fork(&name, written, &entry);
                    self.needs(&name, tails);
                    vec![Need::on(&name)]
                }
                Kind::Loop => {
                    self.body(&name, written);
                    vec![Need::on(&name)]
                }
                _ => vec![Need::on(&name)],
            };
            let Some(next) = next else { return tails };
            (from, name, entry) = (within(at, "next_step"), next, tails);
        }
    }

    /// Goes through the branches of a fork. Its output has theirs, under their names.
    fn fork(&mut self, name: &str, written: &Written, entry: &[Need]) -> Vec<Need> {
        let Some(config) = &written.step.fork_join_config else {
            return Vec::new();
        };
        let at = within(&within(&written.at, "fork_join_config"), "branches");
        let (mut tails, mut names) = (Vec::new(), BTreeMap::new());
        for (branch, inner) in &config.branches {
            let before = self.visited.clone();
            let at = within(&within(&at, branch), "steps");
            let ends = self.sequence(&inner.steps, &at, entry.to_vec());
            names.extend(ends.iter().map(|end| (end.step.clone(), branch.clone())));
            tails.extend(ends);
            let seconds = inner.timeout_seconds.or(config.branch_timeout_seconds);
            let Some(seconds) = seconds else { continue };
            for step in self.visited.difference(&before) {
                if let Some(made) = self.made.get_mut(step) {
                    made.branch.get_or_insert_with(|| BranchTime {
                        branch: format!("{name}/{branch}"),
                        timeout_ms: seconds * 1_000,
                    });
                }
            }
        }
        if let Some(made) = self.made.get_mut(name) {
            made.work = Work::Join(names);
        }
        tails
    }

    /// Goes through listed steps, one after the other.
    fn sequence(&mut self, steps: &[String], at: &At, entry: Vec<Need>) -> Vec<Need> {
        let mut entry = entry;
        for (index, step) in steps.iter().enumerate() {
            entry = self.chain(step, &within(at, index), entry, &steps[index + 1..]);
        }
        entry
    }

    /// Moves the steps of a loop into it.
    fn body(&mut self, name: &str, written: &Written) {
        let Some(config) = &written.step.loop_config else {
            return;
        };
        let before = self.visited.clone();
        let at = within(&within(&written.at, "loop_config"), "loop_body");
        self.sequence(&config.loop_body, &at, Vec::new());
        let inner: Vec<String> = self.visited.difference(&before).cloned().collect();
        let mut steps: Vec<Step> = Vec::new();
        for step in self.made.keys().cloned().collect::<Vec<_>>() {
            if inner.contains(&step) {
                steps.extend(self.made.shift_remove(&step));
            }
        }
        if let Some(made) = self.made.get_mut(name) {
            made.work = Work::Steps(Graph {
                steps,
                result: config.loop_body.last().cloned(),
            });
        }
    }

    fn needs(&mut self, step: &str, needs: Vec<Need>) {
        if let Some(made) = self.made.get_mut(step) {
            for need in needs {
                if !made.needs.contains(&need) {
                    made.needs.push(need);
                }
            }
        }
    }
}

//! Values that steps read: which steps that makes them wait for, and which are not there to be read.

use std::collections::{BTreeMap, BTreeSet};

use agenthub_documents::meant;

use crate::{
    expression::Expression,
    finding::{At, Finding, within},
    graph::unknown,
    model::{Call, Graph, Step, Work, contain, ordered},
    reference::{Reference, Source},
    template::{Insert, Template},
};

/// A value that is read at one place.
#[derive(Clone, Debug)]
struct Use {
    at: At,
    /// As it is written, if that is part of a text.
    snippet: Option<String>,
    read: Read,
    /// True where it goes to an agent.
    may_be_secret: bool,
}

#[derive(Clone, Debug)]
enum Read {
    Reference(Reference),
    /// A name in an expression, with its fields.
    Name(String),
    /// A step, by `steps["…"]` in an expression.
    Step(String),
}

fn of_template(template: &Template, at: &At) -> Vec<Use> {
    let inserts = template.inserts().into_iter();
    inserts
        .flat_map(|(path, insert)| {
            let at: At = at.iter().chain(&path).cloned().collect();
            let snippet = Some(insert.text());
            match insert {
                Insert::Reference(reference) => vec![Use {
                    at,
                    snippet,
                    read: Read::Reference(reference.clone()),
                    may_be_secret: false,
                }],
                Insert::Expression(expression) => of_expression(expression, &at, snippet),
            }
        })
        .collect()
}

fn of_expression(expression: &Expression, at: &At, snippet: Option<String>) -> Vec<Use> {
    let names = expression.names().into_iter().map(Read::Name);
    let text = expression.to_string();
    let steps = text.match_indices("steps").filter_map(|(at, word)| {
        let rest = &text[at + word.len()..];
        let name = match rest.chars().next()? {
            '.' => rest[1..]
                .split(|c: char| !c.is_ascii_alphanumeric() && c != '_')
                .next()?,
            '[' => {
                let quote = rest[1..].chars().next().filter(|c| "\"'".contains(*c))?;
                rest[2..].split(quote).next()?
            }
            _ => return None,
        };
        Some(Read::Step(name.to_owned()))
    });
    let reads: Vec<Read> = names.chain(steps).collect();
    let of = |read| Use {
        at: at.clone(),
        snippet: snippet.clone(),
        read,
        may_be_secret: false,
    };
    reads.into_iter().map(of).collect()
}

fn of_call(call: &Call) -> Vec<Use> {
    let text = call.text.iter();
    let text = text.flat_map(|text| of_template(text, &within(&call.at, "text")));
    let input = call.input.iter();
    let input = input.flat_map(|input| of_template(input, &call.input_at));
    let to_agent = |one: Use| Use {
        may_be_secret: call.plan.is_none(),
        ..one
    };
    text.chain(input).map(to_agent).collect()
}

/// Values that the work of a step reads, for each item of a loop.
fn of_work(step: &Step) -> Vec<Use> {
    match &step.work {
        Work::Call(call) => of_call(call),
        Work::Approve {
            text,
            input,
            input_at,
        } => {
            let mut uses = of_template(text, &within(&step.at, "approve"));
            uses.extend(of_template(input, input_at));
            uses
        }
        Work::Event {
            matching,
            matching_at,
            ..
        } => of_template(matching, matching_at),
        Work::Decide { condition, at } => of_expression(condition, at, None),
        Work::Wait(_) | Work::Join(_) | Work::Steps(_) => Vec::new(),
    }
}

/// Names that can be read at one place.
#[derive(Clone, Copy)]
struct Around<'a> {
    /// The steps of the same list.
    own: &'a BTreeSet<String>,
    /// The steps around the loop.
    outer: &'a BTreeSet<String>,
    /// The loops that the steps of other lists are in.
    elsewhere: &'a BTreeMap<String, String>,
    is_in_loop: bool,
}

/// The steps in an order in which they can go on, each with what it reads, and what they read of the steps around them.
pub(crate) fn settled(steps: Vec<Step>, findings: &mut Vec<Finding>) -> Graph {
    let elsewhere = loops(&steps, None);
    let (graph, _) = settle(steps, &BTreeSet::new(), &elsewhere, false, findings);
    graph
}

/// The loop that each step within a loop is in.
fn loops(steps: &[Step], of: Option<&str>) -> BTreeMap<String, String> {
    let mut all = BTreeMap::new();
    for step in steps {
        all.extend(of.map(|of| (step.name.clone(), of.to_owned())));
        if let Work::Steps(inner) = &step.work {
            all.extend(loops(&inner.steps, Some(&step.name)));
        }
    }
    all
}

fn settle(
    steps: Vec<Step>,
    outer: &BTreeSet<String>,
    elsewhere: &BTreeMap<String, String>,
    is_in_loop: bool,
    findings: &mut Vec<Finding>,
) -> (Graph, BTreeSet<String>) {
    let own: BTreeSet<String> = steps.iter().map(|step| step.name.clone()).collect();
    let mut read_outside = BTreeSet::new();
    let mut settled = Vec::new();
    for mut step in steps {
        let around = Around {
            own: &own,
            outer,
            elsewhere,
            is_in_loop,
        };
        let within_loop = Around {
            is_in_loop: is_in_loop || step.each.is_some(),
            ..around
        };
        let mut reads = BTreeSet::new();
        let mut before = Vec::new();
        before.extend(
            step.when
                .iter()
                .flat_map(|when| of_expression(when, &within(&step.at, "when"), None)),
        );
        before.extend(
            step.each
                .iter()
                .flat_map(|each| of_template(&each.items, &each.at)),
        );
        for one in &before {
            around.check(one, Some(&step.name), &mut reads, findings);
        }
        for one in &of_work(&step) {
            within_loop.check(one, Some(&step.name), &mut reads, findings);
        }
        // What takes the step back may read its output as well.
        for one in step.compensate.iter().flat_map(of_call) {
            within_loop.check(&one, None, &mut reads, findings);
        }
        reads.remove(&step.name);
        if let Work::Steps(inner) = step.work {
            let mut around: BTreeSet<String> = outer.union(&own).cloned().collect();
            around.remove(&step.name);
            let result = inner.result;
            let (inner, outside) = settle(inner.steps, &around, elsewhere, true, findings);
            reads.extend(outside);
            step.work = Work::Steps(Graph { result, ..inner });
        }
        let (inside, outside): (BTreeSet<_>, BTreeSet<_>) =
            reads.into_iter().partition(|name| own.contains(name));
        read_outside.extend(outside);
        let is_needed = |name: &String| step.needs.iter().any(|need| need.step == *name);
        step.reads = inside.into_iter().filter(|name| !is_needed(name)).collect();
        settled.push(step);
    }
    let paths: BTreeMap<String, At> = settled
        .iter()
        .map(|step| (step.name.clone(), step.at.clone()))
        .collect();
    let (mut steps, cycles) = ordered(settled);
    for cycle in cycles {
        let at = cycle.first().and_then(|first| paths.get(first)).cloned();
        let message = format!("steps wait for one another: {}", cycle.join(" → "));
        let help = "let one of them do without the other";
        findings.push(Finding::at(at.unwrap_or_default(), message, help).key());
    }
    contain(&mut steps);
    let graph = Graph {
        steps,
        result: None,
    };
    (graph, read_outside)
}

/// Words of other languages, which are no steps.
fn other_word(name: &str) -> Option<(&'static str, &'static str)> {
    Some(match name {
        "input" | "inputs" => (
            "the input is read as `workflow.input`",
            "write `workflow.input.PATH`",
        ),
        "null" | "nil" | "undefined" => (
            "nothing is written `none` in expressions",
            "write `none`, or `is defined` to ask if a value is there",
        ),
        "secret" => (
            "a secret can't be read here",
            "secrets can stand in `text` and `input` of steps for agents, as `${secret.NAME}`",
        ),
        "item" | "index" => (
            "the item of a loop is read as `loop.item`, its number as `loop.index`",
            "write `loop.` before it",
        ),
        _ => return None,
    })
}

impl Around<'_> {
    fn check(
        &self,
        one: &Use,
        of: Option<&str>,
        reads: &mut BTreeSet<String>,
        findings: &mut Vec<Finding>,
    ) {
        let fault = |message: String, help: String| {
            let finding = Finding::at(one.at.clone(), message, help);
            match &one.snippet {
                Some(snippet) => finding.snippet(snippet),
                None => finding,
            }
        };
        let (step, field) = match &one.read {
            Read::Reference(reference) => match &reference.source {
                Source::Input => return,
                Source::Secret(name) => {
                    if !one.may_be_secret {
                        let message = format!("the secret `{name}` can't be read here");
                        let help = "secrets can stand in `text` and `input` of steps for agents";
                        findings.push(fault(message, help.to_owned()));
                    }
                    return;
                }
                Source::Loop => ("loop", reference.path.first().map(String::as_str)),
                Source::Step(step, _) => (step.as_str(), None),
            },
            Read::Name(name) => {
                let mut parts = name.split('.');
                let first = parts.next().unwrap_or_default();
                let field = parts.next();
                match (first, field) {
                    ("workflow", None | Some("input")) | ("steps", _) => return,
                    ("workflow", Some(field)) => {
                        let message = format!("there is no `workflow.{field}`");
                        findings.push(fault(message, "write `workflow.input`".to_owned()));
                        return;
                    }
                    _ => {}
                }
                let is_known = matches!(field, None | Some("output" | "state" | "error"));
                if first != "loop" && self.is_step(first) && !is_known {
                    let field = field.unwrap_or_default();
                    let message =
                        format!("a step has no `{field}`: it has `output`, `state` and `error`");
                    let help = match meant(field, ["output", "state", "error"]) {
                        Some(meant) => format!("did you mean `{first}.{meant}`?"),
                        None => format!("write `{first}.output.{field}`"),
                    };
                    findings.push(fault(message, help));
                    return;
                }
                (first, field)
            }
            Read::Step(step) => (step.as_str(), None),
        };
        if step == "loop" {
            self.check_loop(field, &fault, findings);
        } else if Some(step) == of {
            let help = "a step's output is there for the steps behind it";
            findings.push(fault(
                format!("the step `{step}` reads itself"),
                help.to_owned(),
            ));
        } else if self.is_step(step) {
            reads.insert(step.to_owned());
        } else if let Some(of) = self.elsewhere.get(step) {
            let message = format!("`{step}` is in the loop `{of}` and has an output for each item");
            findings.push(fault(message, format!("read `{of}.output.iterations`")));
        } else {
            let known: Vec<&str> = self.own.union(self.outer).map(String::as_str).collect();
            let finding = unknown(step, one.at.clone(), known);
            let finding = match other_word(step) {
                Some((message, help)) => Finding {
                    message: message.to_owned(),
                    help: help.to_owned(),
                    ..finding
                },
                None => finding,
            };
            findings.push(Finding {
                snippet: one.snippet.clone(),
                ..finding
            });
        }
    }

    fn check_loop(
        &self,
        field: Option<&str>,
        fault: &impl Fn(String, String) -> Finding,
        findings: &mut Vec<Finding>,
    ) {
        let help =
            "there are `loop.item`, `loop.index`, `loop.count`, `loop.is_first` and `loop.is_last`";
        match field {
            _ if !self.is_in_loop => {
                let message = "there is no loop around this".to_owned();
                let help =
                    "`loop` can be read in a step with `for_each`, and in the steps of a loop";
                findings.push(fault(message, help.to_owned()));
            }
            Some("item" | "index" | "count" | "total" | "is_first" | "is_last") | None => {}
            Some(field) => {
                findings.push(fault(
                    format!("there is no `loop.{field}`"),
                    help.to_owned(),
                ));
            }
        }
    }

    fn is_step(&self, name: &str) -> bool {
        self.own.contains(name) || self.outer.contains(name)
    }
}

/// Checks what the workflow's output reads.
pub(crate) fn check_output(output: &Template, graph: &Graph, findings: &mut Vec<Finding>) {
    let own: BTreeSet<String> = graph.steps.iter().map(|step| step.name.clone()).collect();
    let around = Around {
        own: &own,
        outer: &BTreeSet::new(),
        elsewhere: &loops(&graph.steps, None),
        is_in_loop: false,
    };
    for one in of_template(output, &vec!["output".to_owned()]) {
        around.check(&one, None, &mut BTreeSet::new(), findings);
    }
}

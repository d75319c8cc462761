//! Makes steps of what the file says of each, whichever form it has. How steps follow one another is added by [`linear`](crate::linear) and
//! [`graph`](crate::graph).

mod kind;
mod literal;
mod naming;
mod nested;

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value};

use self::{kind::check_fields, literal::check_literals};
use crate::{
    file::{self, Duration, ExecutionMode, JoinPolicy, JoinWord, LoopError, OnItemFailure, Others},
    finding::{At, Finding, within},
    model::{Call, Each, Join, Retry, Step, Work},
    template::{Template, condition, template},
};

pub(crate) use self::{
    kind::{Form, Kind},
    naming::{Written, named},
    nested::is_unread,
};

/// Items of a loop, at most, if the file does not say.
const MAX_ITEMS: u32 = 1_000;

/// A step without what it depends on, and without the steps of a loop.
pub(crate) fn step(written: &Written, form: Form, findings: &mut Vec<Finding>) -> Step {
    let Written { name, at, step } = written;
    let kind = Kind::of(step);
    check_fields(step, kind, form, at, findings);
    check_literals(step, at, findings);
    let work = work(step, kind, form, at, findings);
    let when = step.when.as_ref();
    let when = when.and_then(|text| condition(text, &within(at, "when"), findings));
    let compensate = step.compensate.as_ref().map(|written| {
        let at = within(at, "compensate");
        let agent = written.agent.clone().unwrap_or_default();
        let call = WrittenCall {
            agent,
            agent_field: "agent",
            skill: written.skill.clone().unwrap_or_default(),
            text: written.text.as_deref(),
            input: written.input.as_ref().map(|input| ("input", input)),
        };
        call.read(&at, findings)
    });
    Step {
        name: name.clone(),
        at: at.clone(),
        needs: Vec::new(),
        join: join(step, kind, at, findings),
        others: match kind {
            // All branches are waited for before it is decided whether enough have completed.
            Kind::ForkJoin => Others::Wait,
            _ => step.others.unwrap_or_default(),
        },
        reads: BTreeSet::new(),
        when,
        each: each(step, kind, at, findings),
        work,
        retry: retry(step.retry.as_ref()),
        timeout_ms: timeout(step.timeout.as_ref(), at, findings),
        on_failure: step.on_failure.unwrap_or_default(),
        fallback: step.fallback.clone(),
        compensate,
        lane: None,
        branch: None,
        is_contained: false,
    }
}

/// A time in which something can be done.
pub(crate) fn timeout(
    time: Option<&Duration>,
    of: &At,
    findings: &mut Vec<Finding>,
) -> Option<u64> {
    let ms = time.map(Duration::ms);
    if ms == Some(0) {
        let help = "write a time such as `30s`, or leave it out";
        let message = "in a `timeout` of 0 nothing can be done";
        findings.push(Finding::at(within(of, "timeout"), message, help));
    }
    ms
}

/// Request to an agent, as it is written.
struct WrittenCall<'f> {
    agent: String,
    agent_field: &'f str,
    skill: String,
    text: Option<&'f str>,
    input: Option<(&'f str, &'f Map<String, Value>)>,
}

impl WrittenCall<'_> {
    fn read(self, at: &At, findings: &mut Vec<Finding>) -> Call {
        if self.agent.is_empty() && self.skill.is_empty() {
            let help = "write `agent: …`, `skill: …`, or both";
            findings.push(Finding::at(at.clone(), "nobody is asked here", help).key());
        }
        let text = self.text.map(|text| {
            let text = Value::String(text.to_owned());
            template(&text, &within(at, "text"), findings)
        });
        let input_at = within(at, self.input.map_or("input", |(field, _)| field));
        let input = self.input.map(|(_, input)| {
            let input = Value::Object(input.clone());
            template(&input, &input_at, findings)
        });
        Call {
            agent_at: within(at, self.agent_field),
            at: at.clone(),
            input_at,
            agent: self.agent,
            skill: self.skill,
            text,
            input,
            plan: None,
        }
    }
}

/// Work that is put in by the form, or is not known as the file is wrong.
fn nothing() -> Work {
    Work::Join(BTreeMap::new())
}

fn work(step: &file::Step, kind: Kind, form: Form, at: &At, findings: &mut Vec<Finding>) -> Work {
    let input = match (&step.input, &step.input_mapping) {
        (Some(input), _) => Some(("input", input)),
        (None, Some(input)) => Some(("input_mapping", input)),
        (None, None) => None,
    };
    match kind {
        Kind::Call => {
            let agent = step.agent.clone().or_else(|| step.agent_name.clone());
            let call = WrittenCall {
                agent: agent.unwrap_or_default(),
                agent_field: match step.agent {
                    Some(_) => "agent",
                    None => "agent_name",
                },
                skill: step.skill.clone().unwrap_or_default(),
                text: step.text.as_deref(),
                input,
            };
            Work::Call(call.read(at, findings))
        }
        Kind::Plan => Work::Call(nested::call(step, input, at, findings)),
        Kind::Event => {
            let Some(filter) = &step.wait_for else {
                return Work::Join(BTreeMap::new());
            };
            let matching = Value::Object(filter.matching.clone().unwrap_or_default());
            let matching_at = within(&within(at, "wait_for"), "match");
            Work::Event {
                event: filter.event.clone(),
                from: filter.from.clone().unwrap_or_default(),
                matching: template(&matching, &matching_at, findings),
                matching_at,
            }
        }
        Kind::Wait => Work::Wait(step.wait.as_ref().map_or(0, Duration::ms)),
        Kind::Approve => {
            let text = Value::String(step.approve.clone().unwrap_or_default());
            let text = template(&text, &within(at, "approve"), findings);
            let input_at = within(at, input.map_or("input", |(field, _)| field));
            let input = match input {
                Some((_, input)) => template(&Value::Object(input.clone()), &input_at, findings),
                None => Template::Object(Vec::new()),
            };
            Work::Approve {
                text,
                input,
                input_at,
            }
        }
        Kind::Decide => {
            let (field, text) = match (&step.r#if, &step.condition) {
                (Some(text), _) => (within(at, "if"), Some(text)),
                (None, Some(condition)) => {
                    let at = within(&within(at, "condition"), "expression");
                    (at, Some(&condition.expression))
                }
                (None, None) => (at.clone(), None),
            };
            let Some(text) = text else {
                let help = match form {
                    Form::Graph => "add `if: …`",
                    Form::Linear => "add `condition: { expression: … }`",
                };
                findings.push(Finding::at(field, "a decision has no condition", help).key());
                return nothing();
            };
            let has_branch = step.then.is_some()
                || step.r#else.is_some()
                || step.if_true_step.is_some()
                || step.if_false_step.is_some();
            if !has_branch {
                let help = "name the steps that go on in `then` or `else`";
                findings.push(
                    Finding::at(at.clone(), "nothing follows from this decision", help).key(),
                );
            }
            match condition(text, &field, findings) {
                Some(condition) => Work::Decide {
                    condition,
                    at: field,
                },
                None => nothing(),
            }
        }
        // Their steps are put in by the form.
        Kind::Parallel | Kind::ForkJoin | Kind::Loop | Kind::Body => nothing(),
    }
}

fn join(step: &file::Step, kind: Kind, at: &At, findings: &mut Vec<Finding>) -> Join {
    if let (Kind::ForkJoin, Some(config)) = (kind, &step.fork_join_config) {
        let at = within(at, "fork_join_config");
        let branches = config.branches.len() as u32;
        return match (config.join_policy, config.n_required) {
            (Some(JoinPolicy::Any), _) => Join::AtLeast(1),
            (Some(JoinPolicy::Majority), _) => Join::AtLeast(branches / 2 + 1),
            (Some(JoinPolicy::NOfM), Some(n)) if n <= branches => Join::AtLeast(n),
            (Some(JoinPolicy::NOfM), Some(n)) => {
                let message = format!("{n} branches must complete, and there are {branches}");
                let help = format!("it is at most {branches}");
                findings.push(Finding::at(within(&at, "n_required"), message, help));
                Join::Merge
            }
            (Some(JoinPolicy::NOfM), None) => {
                let message = "`n_of_m` does not say how many";
                findings.push(Finding::at(
                    within(&at, "join_policy"),
                    message,
                    "add `n_required: …`",
                ));
                Join::Merge
            }
            (Some(JoinPolicy::All) | None, _) => Join::Merge,
        };
    }
    let needed = step.depends_on.as_ref().map_or(0, Vec::len) as u32;
    match step.join {
        None => Join::Merge,
        Some(file::Join::Word(JoinWord::All)) => Join::All,
        Some(file::Join::Word(JoinWord::Any)) => Join::AtLeast(1),
        Some(file::Join::AtLeast(n)) if n > needed => {
            let message = format!("{n} steps must complete, and `depends_on` has {needed}");
            let help = format!("it is at most {needed}");
            findings.push(Finding::at(within(at, "join"), message, help));
            Join::Merge
        }
        Some(file::Join::AtLeast(n)) => Join::AtLeast(n),
    }
}

fn each(step: &file::Step, kind: Kind, at: &At, findings: &mut Vec<Finding>) -> Option<Each> {
    let parallel = |n: Option<u32>| n.unwrap_or(1) as usize;
    if let (Kind::Loop, Some(config)) = (kind, &step.loop_config) {
        let at = within(&within(at, "loop_config"), "collection");
        let is_parallel = config.execution_mode == Some(ExecutionMode::Parallel);
        let on_failure = match config.on_error {
            None | Some(LoopError::Stop) => OnItemFailure::Fail,
            Some(LoopError::Continue) => OnItemFailure::Continue,
            Some(LoopError::Collect) => OnItemFailure::Collect,
        };
        return Some(Each {
            items: template(&config.collection, &at, findings),
            at,
            parallel: match is_parallel {
                true => config.max_parallelism.unwrap_or(16) as usize,
                false => 1,
            },
            most: config.max_iterations.unwrap_or(MAX_ITEMS) as usize,
            is_cut: config.max_iterations.is_some(),
            on_failure,
        });
    }
    if kind == Kind::Loop {
        let help = "add `loop_config: { collection: …, loop_body: […] }`";
        findings.push(Finding::at(at.clone(), "a loop has no `loop_config`", help).key());
    }
    let items = step.for_each.as_ref()?;
    let at = within(at, "for_each");
    if !matches!(items, Value::Array(_) | Value::String(_)) {
        let help = "write a list, or a reference such as `${workflow.input.files}`";
        findings.push(Finding::at(at.clone(), "`for_each` takes a list", help));
    }
    let items = template(items, &at, findings);
    if let Template::Plain(Value::String(text)) = &items {
        let help = format!("write `${{{text}}}` for the value, or a list");
        findings.push(Finding::at(
            at.clone(),
            "`for_each` takes a list; this is a text",
            help,
        ));
    }
    let most = step.max_items.unwrap_or(MAX_ITEMS) as usize;
    if let Template::List(items) = &items
        && items.len() > most
    {
        let message = format!(
            "the list has {} items, and at most {most} are done",
            items.len()
        );
        let help = format!("shorten it, or raise `max_items` (at most {MAX_ITEMS})");
        findings.push(Finding::at(at.clone(), message, help));
    }
    Some(Each {
        items,
        at,
        parallel: parallel(step.parallel),
        most,
        is_cut: false,
        on_failure: step.on_item_failure.unwrap_or_default(),
    })
}

fn retry(retry: Option<&file::Retry>) -> Retry {
    let default = Retry::default();
    let Some(retry) = retry else { return default };
    Retry {
        attempts: retry.attempts.max(1),
        pause_ms: retry.pause.as_ref().map_or(default.pause_ms, Duration::ms),
        backoff: retry.backoff.unwrap_or(default.backoff),
        max_pause_ms: retry
            .max_pause
            .as_ref()
            .map_or(default.max_pause_ms, Duration::ms),
        jitter: retry.jitter.unwrap_or(default.jitter),
    }
}

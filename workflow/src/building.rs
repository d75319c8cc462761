//! Makes steps of what the file says of each, whichever form it has. How steps follow one another is added by [`linear`](crate::linear) and
//! [`graph`](crate::graph).

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use crate::{
    file::{self, Duration, ExecutionMode, JoinPolicy, JoinWord, LoopError, OnFailure, StepType},
    finding::{At, Finding, within},
    model::{Call, Each, Join, Retry, Step, Work},
    template::{Template, condition, template},
};

/// Names of steps that mean something else: in references, or `undo` before the steps of compensations.
const RESERVED: [&str; 7] = [
    "workflow",
    "loop",
    "steps",
    "input",
    "objective",
    "thread",
    "undo",
];

/// Items of a loop, at most, if the file does not say.
const MAX_ITEMS: u32 = 1_000;

/// The form of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    Graph,
    Linear,
}

/// A step as the file has it, with its path.
#[derive(Clone, Debug)]
pub(crate) struct Written {
    pub(crate) name: String,
    pub(crate) at: At,
    pub(crate) step: file::Step,
}

/// The steps of a list or mapping, each with its name. Steps without a usable name are findings.
pub(crate) fn named(
    steps: &file::Steps,
    at: &At,
    taken: &mut BTreeSet<String>,
    findings: &mut Vec<Finding>,
) -> Vec<Written> {
    let mut written = Vec::new();
    for (key, step) in steps.all() {
        let at = within(at, &key);
        let Some(name) = step.id.clone() else {
            let help = "give it a name of its own: `id: …`";
            findings.push(Finding::at(at, "a step has no `id`", help).key());
            continue;
        };
        let is_map = matches!(steps, file::Steps::Map(_));
        let place = match is_map && name == key {
            true => Finding::at(at.clone(), "", "").key(),
            false => Finding::at(within(&at, "id"), "", ""),
        };
        if is_map && name != key {
            let message = format!("the step `{key}` has another `id`: `{name}`");
            let help = format!("leave `id` out, or write `id: {key}`");
            findings.push(Finding {
                message,
                help,
                ..place.clone()
            });
        }
        let is_name = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b"_-".contains(&b);
        let begins = name.bytes().next().is_some_and(|b| b.is_ascii_lowercase());
        if !begins || name.len() > 64 || !name.bytes().all(is_name) {
            let message = format!("`{name}` is no name for a step");
            let help = "a name is 1 to 64 of a-z, 0-9, `_` and `-`, and begins with a letter";
            let help = help.to_owned();
            findings.push(Finding {
                message,
                help,
                ..place.clone()
            });
        } else if RESERVED.contains(&name.as_str()) {
            let message = format!("`{name}` is no name for a step: it means something else");
            let help = "choose another name".to_owned();
            findings.push(Finding {
                message,
                help,
                ..place.clone()
            });
        }
        if !taken.insert(name.clone()) {
            let message = format!("there are two steps `{name}`");
            let help = "give each a name of its own, in loops as well".to_owned();
            findings.push(Finding {
                message,
                help,
                ..place
            });
        }
        written.push(Written { name, at, step });
    }
    if written.len() > file::MAX_STEPS {
        let message = format!("there are {} steps", written.len());
        let help = format!("at most {} are allowed", file::MAX_STEPS);
        findings.push(Finding::at(at.clone(), message, help).key());
    }
    written
}

/// Kind of a step, by its fields.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Call,
    Wait,
    Approve,
    Decide,
    Parallel,
    Loop,
    ForkJoin,
    Body,
}

impl Kind {
    fn words(self) -> &'static str {
        match self {
            Self::Call => "a step of an agent",
            Self::Wait => "a wait",
            Self::Approve => "an approval",
            Self::Decide => "a decision",
            Self::Parallel => "a `parallel`",
            Self::Loop | Self::Body => "a loop",
            Self::ForkJoin => "a `fork_join`",
        }
    }

    /// The kind of a step; call if nothing says so.
    pub(crate) fn of(step: &file::Step) -> Self {
        match step.r#type {
            Some(StepType::Conditional) => return Self::Decide,
            Some(StepType::Parallel) => return Self::Parallel,
            Some(StepType::Loop) => return Self::Loop,
            Some(StepType::ForkJoin) => return Self::ForkJoin,
            Some(StepType::Agent) => return Self::Call,
            None => {}
        }
        match step {
            step if step.r#if.is_some() => Self::Decide,
            step if step.wait.is_some() => Self::Wait,
            step if step.approve.is_some() => Self::Approve,
            step if step.steps.is_some() => Self::Body,
            step if step.parallel_steps.is_some() => Self::Parallel,
            step if step.loop_config.is_some() => Self::Loop,
            step if step.fork_join_config.is_some() => Self::ForkJoin,
            step if step.condition.is_some() => Self::Decide,
            _ => Self::Call,
        }
    }
}

/// The fields of a step that are there, by what they belong to.
fn misplaced(step: &file::Step, kind: Kind, form: Form) -> Vec<(&'static str, String)> {
    use Kind::{Approve, Body, Call, Decide, ForkJoin, Loop, Parallel, Wait};
    let any = [Call, Wait, Approve, Decide, Parallel, Loop, ForkJoin, Body];
    let of: [(&'static str, bool, &[Kind]); 25] = [
        ("agent", step.agent.is_some(), &[Call]),
        ("agent_name", step.agent_name.is_some(), &[Call]),
        ("skill", step.skill.is_some(), &[Call]),
        ("text", step.text.is_some(), &[Call]),
        ("input", step.input.is_some(), &[Call, Approve]),
        (
            "input_mapping",
            step.input_mapping.is_some(),
            &[Call, Approve],
        ),
        ("wait", step.wait.is_some(), &[Wait]),
        ("approve", step.approve.is_some(), &[Approve]),
        ("if", step.r#if.is_some(), &[Decide]),
        ("then", step.then.is_some(), &[Decide]),
        ("else", step.r#else.is_some(), &[Decide]),
        (
            "for_each",
            step.for_each.is_some(),
            &[Call, Wait, Approve, Body],
        ),
        ("steps", step.steps.is_some(), &[Body]),
        ("condition", step.condition.is_some(), &[Decide]),
        ("if_true_step", step.if_true_step.is_some(), &[Decide]),
        ("if_false_step", step.if_false_step.is_some(), &[Decide]),
        ("parallel_steps", step.parallel_steps.is_some(), &[Parallel]),
        (
            "max_parallelism",
            step.max_parallelism.is_some(),
            &[Parallel],
        ),
        ("loop_config", step.loop_config.is_some(), &[Loop]),
        (
            "fork_join_config",
            step.fork_join_config.is_some(),
            &[ForkJoin],
        ),
        ("retry", step.retry.is_some(), &[Call]),
        ("timeout", step.timeout.is_some(), &[Call, Approve]),
        ("fallback", step.fallback.is_some(), &[Call]),
        ("compensate", step.compensate.is_some(), &[Call]),
        (
            "on_failure",
            step.on_failure.is_some(),
            &[Call, Wait, Approve, Loop, Body],
        ),
    ];
    let mut wrong: Vec<(&'static str, String)> = of
        .into_iter()
        .filter(|(_, is_there, kinds)| *is_there && !kinds.contains(&kind))
        .map(|(field, _, kinds)| {
            let words: Vec<&str> = any
                .iter()
                .filter(|k| kinds.contains(k))
                .map(|k| k.words())
                .collect();
            (field, format!("it belongs to {}", words.join(", ")))
        })
        .collect();
    let linear = [
        ("next_step", step.next_step.is_some()),
        ("condition", step.condition.is_some()),
        ("if_true_step", step.if_true_step.is_some()),
        ("if_false_step", step.if_false_step.is_some()),
        ("parallel_steps", step.parallel_steps.is_some()),
        ("loop_config", step.loop_config.is_some()),
        ("fork_join_config", step.fork_join_config.is_some()),
    ];
    let graph = [
        ("depends_on", step.depends_on.is_some()),
        ("join", step.join.is_some()),
        ("others", step.others.is_some()),
        ("if", step.r#if.is_some()),
        ("then", step.then.is_some()),
        ("else", step.r#else.is_some()),
        ("steps", step.steps.is_some()),
    ];
    let (others, why) = match form {
        Form::Graph => (
            linear.as_slice(),
            "it is of the form with `start_step`, which this file does not have: use `depends_on`, `if` or `for_each`",
        ),
        Form::Linear => (
            graph.as_slice(),
            "it is of the form without `start_step`: use `next_step`, `conditional` or `loop`",
        ),
    };
    for (field, is_there) in others {
        if *is_there && !wrong.iter().any(|(other, _)| other == field) {
            wrong.push((field, why.to_owned()));
        }
    }
    wrong
}

/// A step without what it depends on, and without the steps of a loop.
pub(crate) fn step(written: &Written, form: Form, findings: &mut Vec<Finding>) -> Step {
    let Written { name, at, step } = written;
    let kind = Kind::of(step);
    for (field, help) in misplaced(step, kind, form) {
        let message = format!("`{field}` is not for {}", kind.words());
        findings.push(Finding::at(within(at, field), message, help).key());
    }
    with_what_it_belongs_to(step, kind, at, findings);
    let work = work(step, kind, at, findings);
    let when = step.when.as_ref();
    let when = when.and_then(|text| condition(text, &within(at, "when"), findings));
    let compensate = step.compensate.as_ref().map(|call| {
        let at = within(at, "compensate");
        let agent = call.agent.clone().unwrap_or_default();
        let asked = Asked {
            agent,
            agent_field: "agent",
            skill: call.skill.clone().unwrap_or_default(),
            text: call.text.as_deref(),
            input: call.input.as_ref().map(|input| ("input", input)),
        };
        asked.call(&at, findings)
    });
    Step {
        name: name.clone(),
        at: at.clone(),
        needs: Vec::new(),
        join: join(step, kind, at, findings),
        others: step.others.unwrap_or_default(),
        reads: BTreeSet::new(),
        when,
        each: each(step, kind, at, findings),
        work,
        retry: retry(step.retry.as_ref()),
        timeout_ms: step.timeout.as_ref().map(Duration::ms),
        on_failure: step.on_failure.unwrap_or_default(),
        fallback: step.fallback.clone(),
        compensate,
        lane: None,
        is_contained: false,
    }
}

/// Fields that mean nothing without another one.
fn with_what_it_belongs_to(step: &file::Step, kind: Kind, at: &At, findings: &mut Vec<Finding>) {
    let is_loop = step.for_each.is_some() || kind == Kind::Loop;
    let pairs = [
        ("parallel", step.parallel.is_some(), "for_each", is_loop),
        ("max_items", step.max_items.is_some(), "for_each", is_loop),
        (
            "on_item_failure",
            step.on_item_failure.is_some(),
            "for_each",
            is_loop,
        ),
        ("steps", step.steps.is_some(), "for_each", is_loop),
        (
            "join",
            step.join.is_some(),
            "depends_on",
            step.depends_on.is_some(),
        ),
        ("others", step.others.is_some(), "join", step.join.is_some()),
    ];
    for (field, is_there, of, is_other_there) in pairs {
        if is_there && !is_other_there {
            let message = format!("`{field}` means nothing without `{of}`");
            let help = format!("add `{of}`, or leave `{field}` out");
            findings.push(Finding::at(within(at, field), message, help).key());
        }
    }
    if step.agent.is_some() && step.agent_name.is_some() {
        let message = "`agent` and `agent_name` are the same";
        findings.push(Finding::at(within(at, "agent_name"), message, "keep one of them").key());
    }
    if step.input.is_some() && step.input_mapping.is_some() {
        let message = "`input` and `input_mapping` are the same";
        findings.push(Finding::at(within(at, "input_mapping"), message, "keep one of them").key());
    }
}

/// Request to an agent, as it is written.
struct Asked<'f> {
    agent: String,
    agent_field: &'f str,
    skill: String,
    text: Option<&'f str>,
    input: Option<(&'f str, &'f Map<String, Value>)>,
}

impl Asked<'_> {
    fn call(self, at: &At, findings: &mut Vec<Finding>) -> Call {
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
        }
    }
}

fn work(step: &file::Step, kind: Kind, at: &At, findings: &mut Vec<Finding>) -> Work {
    let input = match (&step.input, &step.input_mapping) {
        (Some(input), _) => Some(("input", input)),
        (None, Some(input)) => Some(("input_mapping", input)),
        (None, None) => None,
    };
    match kind {
        Kind::Call => {
            let agent = step.agent.clone().or_else(|| step.agent_name.clone());
            let asked = Asked {
                agent: agent.unwrap_or_default(),
                agent_field: match step.agent {
                    Some(_) => "agent",
                    None => "agent_name",
                },
                skill: step.skill.clone().unwrap_or_default(),
                text: step.text.as_deref(),
                input,
            };
            Work::Call(asked.call(at, findings))
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
                let help = "add `condition: { expression: … }`";
                findings.push(Finding::at(field, "a decision has no condition", help).key());
                return Work::Join;
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
                None => Work::Join,
            }
        }
        // Their steps are put in by the form.
        Kind::Parallel | Kind::ForkJoin | Kind::Loop | Kind::Body => Work::Join,
    }
}

fn join(step: &file::Step, kind: Kind, at: &At, findings: &mut Vec<Finding>) -> Join {
    if let (Kind::ForkJoin, Some(config)) = (kind, &step.fork_join_config) {
        let at = within(at, "fork_join_config");
        let branches = config.branches.len() as u32;
        return match (config.join_policy, config.n_required) {
            (Some(JoinPolicy::Any), _) => Join::AtLeast(1),
            (Some(JoinPolicy::NOfM), Some(n)) if n <= branches => Join::AtLeast(n),
            (Some(JoinPolicy::NOfM), Some(n)) => {
                let message = format!("{n} branches must complete, and there are {branches}");
                let help = format!("it is at most {branches}");
                findings.push(Finding::at(within(&at, "n_required"), message, help));
                Join::All
            }
            (Some(JoinPolicy::NOfM), None) => {
                let message = "`n_of_m` does not say how many";
                findings.push(Finding::at(
                    within(&at, "join_policy"),
                    message,
                    "add `n_required: …`",
                ));
                Join::All
            }
            (Some(JoinPolicy::All) | None, _) => Join::All,
        };
    }
    let needed = step.depends_on.as_ref().map_or(0, Vec::len) as u32;
    match step.join {
        None | Some(file::Join::Word(JoinWord::All)) => Join::All,
        Some(file::Join::Word(JoinWord::Any)) => Join::AtLeast(1),
        Some(file::Join::AtLeast(n)) if n > needed => {
            let message = format!("{n} steps must complete, and `depends_on` has {needed}");
            let help = format!("it is at most {needed}");
            findings.push(Finding::at(within(at, "join"), message, help));
            Join::All
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
            None | Some(LoopError::Stop) => OnFailure::Fail,
            Some(LoopError::Continue | LoopError::Collect) => OnFailure::Continue,
        };
        return Some(Each {
            items: template(&config.collection, &at, findings),
            at,
            parallel: match is_parallel {
                true => config.max_parallelism.unwrap_or(16) as usize,
                false => 1,
            },
            most: config.max_iterations.unwrap_or(MAX_ITEMS) as usize,
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
    Some(Each {
        items: template(items, &at, findings),
        at,
        parallel: parallel(step.parallel),
        most: step.max_items.unwrap_or(MAX_ITEMS) as usize,
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

//! Kinds of steps, by their fields, and fields that mean nothing where they stand.

use crate::{
    file::{self, StepType},
    finding::{At, Finding, within},
};

/// The form of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    Graph,
    Linear,
}

/// Kind of a step, by its fields.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Call,
    Plan,
    Wait,
    Event,
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
            Self::Plan => "a workflow in a step",
            Self::Wait => "a wait",
            Self::Event => "a wait for an event",
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
            step if step.workflow.is_some() => Self::Plan,
            step if step.wait.is_some() => Self::Wait,
            step if step.wait_for.is_some() => Self::Event,
            step if step.approve.is_some() => Self::Approve,
            step if step.steps.is_some() => Self::Body,
            step if step.parallel_steps.is_some() => Self::Parallel,
            step if step.loop_config.is_some() => Self::Loop,
            step if step.fork_join_config.is_some() => Self::ForkJoin,
            step if step.condition.is_some() => Self::Decide,
            // Its condition is missing, or misspelt.
            step if step.then.is_some() || step.r#else.is_some() => Self::Decide,
            _ => Self::Call,
        }
    }
}

/// Fields that are not for a step of this kind, not of the file's form, or mean nothing without another one.
pub(super) fn check_fields(
    step: &file::Step,
    kind: Kind,
    form: Form,
    at: &At,
    findings: &mut Vec<Finding>,
) {
    for (field, help) in misplaced(step, kind, form) {
        let message = format!("`{field}` is not for {}", kind.words());
        findings.push(Finding::at(within(at, field), message, help).key());
    }
    check_companions(step, kind, at, findings);
}

/// The fields of a step that are there, by what they belong to.
fn misplaced(step: &file::Step, kind: Kind, form: Form) -> Vec<(&'static str, String)> {
    use Kind::{Approve, Body, Call, Decide, Event, ForkJoin, Loop, Parallel, Plan, Wait};
    let any = [
        Call, Plan, Wait, Event, Approve, Decide, Parallel, Loop, ForkJoin, Body,
    ];
    let of: [(&'static str, bool, &[Kind]); 27] = [
        ("agent", step.agent.is_some(), &[Call]),
        ("agent_name", step.agent_name.is_some(), &[Call]),
        ("skill", step.skill.is_some(), &[Call]),
        ("text", step.text.is_some(), &[Call]),
        ("input", step.input.is_some(), &[Call, Plan, Approve]),
        (
            "input_mapping",
            step.input_mapping.is_some(),
            &[Call, Plan, Approve],
        ),
        ("workflow", step.workflow.is_some(), &[Plan]),
        ("wait_for", step.wait_for.is_some(), &[Event]),
        ("wait", step.wait.is_some(), &[Wait]),
        ("approve", step.approve.is_some(), &[Approve]),
        ("if", step.r#if.is_some(), &[Decide]),
        ("then", step.then.is_some(), &[Decide]),
        ("else", step.r#else.is_some(), &[Decide]),
        (
            "for_each",
            step.for_each.is_some(),
            &[Call, Plan, Wait, Event, Approve, Body],
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
        ("retry", step.retry.is_some(), &[Call, Plan]),
        (
            "timeout",
            step.timeout.is_some(),
            &[Call, Plan, Event, Approve],
        ),
        ("fallback", step.fallback.is_some(), &[Call]),
        ("compensate", step.compensate.is_some(), &[Call, Plan]),
        (
            "on_failure",
            step.on_failure.is_some(),
            &[Call, Plan, Wait, Event, Approve, Loop, Body],
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

/// Fields that mean nothing without another one.
fn check_companions(step: &file::Step, kind: Kind, at: &At, findings: &mut Vec<Finding>) {
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

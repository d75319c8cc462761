//! Words that people use for what has other names on the wire.

/// A mode of runs.
pub(crate) fn mode(mode: &str) -> &str {
    match mode {
        "app" => "planned by Cortex",
        "chat" | "chat_turn" => "chat",
        "proxied_chat" => "chat with an agent",
        "tool_loop" => "agent with tools",
        "orchestrator" => "orchestrator",
        other => other,
    }
}

/// The modes that can be chosen: name on the wire, and words.
pub(crate) const MODES: [(&str, &str); 4] = [
    ("app", "planned by Cortex"),
    ("chat", "chat"),
    ("workflow", "workflow"),
    ("tool_loop", "agent with tools"),
];

/// The states of runs that can be chosen, as on the wire.
pub(crate) const RUN_STATES: [&str; 7] = [
    "submitted",
    "working",
    "awaiting-approval",
    "cancelling",
    "completed",
    "failed",
    "cancelled",
];

/// The states of steps that can be chosen, as on the wire.
pub(crate) const STEP_STATES: [&str; 8] = [
    "working",
    "awaiting-approval",
    "completed",
    "reused",
    "skipped",
    "failed",
    "refused",
    "cancelled",
];

/// The states of tasks that can be chosen, as [`state`] says them; what is completed by how much of it was done.
pub(crate) const TASK_STATES: [&str; 10] = [
    "submitted",
    "working",
    "input-required",
    "auth-required",
    "completed",
    IN_PART,
    NOTHING_DONE,
    "failed",
    "cancelled",
    "rejected",
];

/// The state of what is completed and lacks a part, and of that of which nothing was done.
pub(crate) const IN_PART: &str = "completed, in part";
pub(crate) const NOTHING_DONE: &str = "completed, nothing done";

/// A state of runs that can be chosen. What is completed is not chosen by how much of it was done.
pub(crate) fn run_choice(label: &str) -> String {
    match label {
        "completed" => "completed, all of it or less".to_owned(),
        label => state(label),
    }
}

/// A kind of tasks: those that are runs are called as these are, others by their skill.
pub(crate) fn task_kind(kind: &str) -> &str {
    match kind {
        "orchestrate" => mode("app"),
        "workflow_run" => mode("workflow"),
        "chat_request" => mode("chat"),
        skill => skill,
    }
}

/// A state of a task, a run or a step, with what stands behind its first word.
pub(crate) fn state(words: &str) -> String {
    // Nothing is completed of which nothing was done.
    if let Some(nothing) = words.strip_prefix("completed, nothing ") {
        return format!("nothing {nothing}");
    }
    let (first, rest) = match words.find([',', ' ']) {
        Some(end) => words.split_at(end),
        None => (words, ""),
    };
    let first = match first {
        "input-required" => "waits for an answer",
        "auth-required" => "waits for a login",
        "awaiting-approval" => "waits for approval",
        "not-reached" => "not reached",
        "cancelling" => "being cancelled",
        "unspecified" => "unknown",
        other => other,
    };
    format!("{first}{rest}")
}

/// A kind of the frames of a run.
pub(crate) fn frame(kind: &str) -> &str {
    match kind {
        "start" => "Began",
        "phase" => "Now",
        "plan_update" => "Plan",
        "handoff" => "Work handed over",
        "delta" => "Answer so far",
        "tool_call" => "Tool called",
        "tool_result" => "Tool answered",
        "message" => "Answer",
        "step" => "Step",
        "approval" => "Approval",
        "warning" => "Warning",
        "metrics" => "Used",
        "error" => "Failed",
        "complete" => "Over",
        other => other,
    }
}

/// A kind of the events of a run's journal.
pub(crate) fn journal(kind: &str) -> &str {
    match kind {
        "started" => "The run began",
        "observed" => "Something was heard",
        "noted" => "A note",
        "step-begun" => "A step began",
        "progressed" => "A step went on",
        "step-ended" => "A step ended",
        "stopping" => "The run is decided",
        "ended" => "The run is over",
        other => other,
    }
}

/// The kinds of events of the hub that can be chosen: name on the wire, and words.
pub(crate) const EVENTS: [(&str, &str); 5] = [
    ("message", "messages"),
    ("task", "new tasks"),
    ("status_update", "changes of tasks"),
    ("artifact", "artifacts"),
    ("agent_card", "agents that come and go"),
];

/// A phase of a run.
pub(crate) fn phase(phase: &str) -> &str {
    match phase {
        "planning" => "making a plan",
        "analysis" => "thinking about what to do",
        "generation" => "having it made",
        "qa" => "having it reviewed",
        "finalization" => "putting the results together",
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn states_keep_what_stands_behind_them() {
        assert_eq!(state("completed, in part"), "completed, in part");
        assert_eq!(state("completed, nothing made"), "nothing made");
        assert_eq!(state("input-required"), "waits for an answer");
        assert_eq!(state("unheard-of"), "unheard-of");
    }

    /// Issue 26: a run and its task are called the same.
    #[test]
    fn a_task_that_is_a_run_is_of_the_kind_of_the_run() {
        for (task, run) in [
            ("orchestrate", "app"),
            ("workflow_run", "workflow"),
            ("chat_request", "chat"),
        ] {
            assert_eq!(task_kind(task), mode(run));
        }
        assert_eq!(task_kind("content.write"), "content.write");
    }
}

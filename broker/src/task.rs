//! May this task change to that state, by this caller?

use agenthub_proto::a2a::{Role, TaskState};

use crate::{Error, id::AgentId, routing::Parties};

/// State of a task before a change.
#[derive(Clone, Debug)]
pub(crate) struct Standing {
    pub(crate) state: TaskState,
    pub(crate) parties: Parties,
    /// True if it ended so recently that its assignee may still send.
    pub(crate) is_fresh: bool,
}

/// An agent's way of reporting the end of its tasks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Manner {
    /// Reports states, or subscribes to tasks: its messages do not end a task.
    Reports,
    /// Is only known to answer.
    Answers,
}

/// Effect of an accepted status.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// The task changes; with `claims`, the caller becomes its assignee.
    Change { claims: bool },
    /// The same terminal state again: no effect, and no notification.
    Repeated,
}

/// Effect of an accepted message of the task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Extension {
    /// Added to the history.
    Join,
    /// Added to the history as the answer: the task is completed, because its agent sends no status.
    Answer { claims: bool },
    /// Delivered, but not part of the task: it comes from a third agent.
    Pass,
}

/// Checks that `caller` may report the state `next`.
///
/// The assignee may report any transition of the life cycle, the requester only a cancellation. Without an assignee,
/// the first agent to report becomes the assignee.
///
/// # Errors
///
/// [`Error::PermissionDenied`] for a third agent, [`Error::FailedPrecondition`] for an invalid transition,
/// [`Error::InvalidArgument`] without a state.
pub(crate) fn report(task: &Standing, next: TaskState, caller: &AgentId) -> Result<Step, Error> {
    if next == TaskState::Unspecified {
        return Err(Error::InvalidArgument(
            "update.status.state is required".to_owned(),
        ));
    }
    let Parties {
        requester,
        assignee,
    } = &task.parties;
    let is_assignee = assignee.as_ref() == Some(caller);
    let claims = assignee.is_none() && (caller != requester || caller.is_empty());
    let may = is_assignee || claims || (caller == requester && next == TaskState::Cancelled);
    if !may {
        return Err(Error::PermissionDenied(match assignee {
            _ if caller == requester => format!(
                "\"{caller}\" asked for this task: it may cancel it, but not report {}",
                next.label()
            ),
            Some(assignee) => format!(
                "\"{caller}\" is neither the assignee \"{assignee}\" nor the requester of this task"
            ),
            None => format!("\"{caller}\" may not report on this task"),
        }));
    }
    if task.state.is_terminal() {
        if task.state == next {
            return Ok(Step::Repeated);
        }
        return Err(Error::FailedPrecondition(format!(
            "the task has ended ({}): it cannot become {}",
            task.state.label(),
            next.label()
        )));
    }
    if next == TaskState::Submitted && task.state != TaskState::Submitted {
        return Err(Error::FailedPrecondition(format!(
            "a task that is {} cannot become submitted again",
            task.state.label()
        )));
    }
    Ok(Step::Change { claims })
}

/// Effect of a message from `caller` with this role on an existing task.
///
/// # Errors
///
/// [`Error::FailedPrecondition`] for a task that has ended, unless its assignee may still send.
pub(crate) fn extend(
    task: &Standing,
    role: Role,
    caller: &AgentId,
    manner: Manner,
) -> Result<Extension, Error> {
    let Parties {
        requester,
        assignee,
    } = &task.parties;
    let is_assignee = assignee.as_ref() == Some(caller);
    if task.state.is_terminal() {
        if is_assignee && task.is_fresh {
            return Ok(Extension::Join);
        }
        return Err(Error::FailedPrecondition(format!(
            "the task has ended ({}); send the message without this task_id, or with another, to start a new one",
            task.state.label()
        )));
    }
    let claims = assignee.is_none() && caller != requester && role == Role::Agent;
    if (is_assignee || claims)
        && caller != requester
        && role == Role::Agent
        && task.state == TaskState::Submitted
        && manner == Manner::Answers
    {
        return Ok(Extension::Answer { claims });
    }
    if is_assignee || caller == requester {
        return Ok(Extension::Join);
    }
    Ok(Extension::Pass)
}

/// Checks that `caller` may add an artifact. Returns whether it becomes the assignee by that.
///
/// # Errors
///
/// [`Error::PermissionDenied`] for anyone but the assignee, [`Error::FailedPrecondition`] once the task has ended and
/// the time for late artifacts is over.
pub(crate) fn add_artifact(task: &Standing, caller: &AgentId) -> Result<bool, Error> {
    let Parties {
        requester,
        assignee,
    } = &task.parties;
    let claims = assignee.is_none() && caller != requester;
    if assignee.as_ref() != Some(caller) && !claims {
        return Err(Error::PermissionDenied(format!(
            "only the assignee adds artifacts to this task, not \"{caller}\""
        )));
    }
    if task.state.is_terminal() && !task.is_fresh {
        return Err(Error::FailedPrecondition(format!(
            "the task has ended ({}): it takes no more artifacts",
            task.state.label()
        )));
    }
    Ok(claims)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const STATES: [TaskState; 8] = [
        TaskState::Submitted,
        TaskState::Working,
        TaskState::Completed,
        TaskState::Failed,
        TaskState::Cancelled,
        TaskState::InputRequired,
        TaskState::Rejected,
        TaskState::AuthRequired,
    ];

    fn standing(state: TaskState, assignee: Option<&str>) -> Standing {
        Standing {
            state,
            parties: Parties {
                requester: "asker".into(),
                assignee: assignee.map(AgentId::from),
            },
            is_fresh: false,
        }
    }

    fn check(
        state: TaskState,
        assignee: Option<&str>,
        next: TaskState,
        caller: &str,
        expect: &Result<Step, &str>,
    ) {
        let got = report(&standing(state, assignee), next, &caller.into());
        match (got, expect) {
            (Ok(step), Ok(expected)) => assert_eq!(&step, expected),
            (Err(error), Err(part)) => assert!(error.to_string().contains(part), "{error}"),
            (got, _) => panic!("{state:?} -> {next:?} by {caller}: {got:?}, not {expect:?}"),
        }
    }

    #[test]
    fn the_life_cycle() {
        use TaskState::{Cancelled, Completed, Failed, InputRequired, Submitted, Working};
        let change = Ok(Step::Change { claims: false });
        let worker = Some("worker");
        check(Submitted, worker, Working, "worker", &change);
        check(Working, worker, Working, "worker", &change);
        check(Working, worker, InputRequired, "worker", &change);
        check(InputRequired, worker, Completed, "worker", &change);
        check(Working, worker, Cancelled, "asker", &change);
        check(
            Working,
            worker,
            Submitted,
            "worker",
            &Err("cannot become submitted"),
        );
        check(
            Completed,
            worker,
            Working,
            "worker",
            &Err("has ended (completed)"),
        );
        check(
            Failed,
            worker,
            Completed,
            "worker",
            &Err("has ended (failed)"),
        );
        check(Completed, worker, Completed, "worker", &Ok(Step::Repeated));
        check(
            Working,
            worker,
            TaskState::Unspecified,
            "worker",
            &Err("required"),
        );
    }

    #[test]
    fn only_its_two_parties_change_a_task() {
        use TaskState::{Cancelled, Completed, Submitted, Working};
        check(
            Working,
            Some("worker"),
            Completed,
            "stranger",
            &Err("neither the assignee"),
        );
        check(
            Working,
            Some("worker"),
            Cancelled,
            "stranger",
            &Err("neither the assignee"),
        );
        check(
            Working,
            Some("worker"),
            Completed,
            "asker",
            &Err("may cancel it"),
        );
        check(
            Submitted,
            None,
            Working,
            "anyone",
            &Ok(Step::Change { claims: true }),
        );
        check(Submitted, None, Working, "asker", &Err("may cancel it"));
    }

    #[test]
    fn an_answer_completes_the_task_of_an_agent_without_statuses() {
        let extend = |state, assignee, role, caller: &str| {
            extend(
                &standing(state, assignee),
                role,
                &caller.into(),
                Manner::Answers,
            )
        };
        use TaskState::{Submitted, Working};
        assert_eq!(
            extend(Submitted, Some("worker"), Role::Agent, "worker"),
            Ok(Extension::Answer { claims: false })
        );
        assert_eq!(
            extend(Submitted, None, Role::Agent, "worker"),
            Ok(Extension::Answer { claims: true })
        );
        assert_eq!(
            extend(Working, Some("worker"), Role::Agent, "worker"),
            Ok(Extension::Join)
        );
        assert_eq!(
            extend(Submitted, Some("worker"), Role::User, "asker"),
            Ok(Extension::Join)
        );
        assert_eq!(
            extend(Working, Some("worker"), Role::Agent, "stranger"),
            Ok(Extension::Pass)
        );
        let worker = AgentId::from("worker");
        let submitted = standing(Submitted, Some("worker"));
        assert_eq!(
            super::extend(&submitted, Role::Agent, &worker, Manner::Reports),
            Ok(Extension::Join),
            "its status will say what becomes of it"
        );
    }

    #[test]
    fn what_the_assignee_still_sends_is_taken_for_a_while() {
        let fresh = Standing {
            is_fresh: true,
            ..standing(TaskState::Completed, Some("worker"))
        };
        let stale = standing(TaskState::Completed, Some("worker"));
        assert_eq!(
            extend(&fresh, Role::Agent, &"worker".into(), Manner::Answers),
            Ok(Extension::Join)
        );
        assert!(extend(&fresh, Role::User, &"asker".into(), Manner::Answers).is_err());
        assert!(extend(&stale, Role::Agent, &"worker".into(), Manner::Answers).is_err());
        assert_eq!(add_artifact(&fresh, &"worker".into()), Ok(false));
        assert!(add_artifact(&stale, &"worker".into()).is_err());
        assert!(add_artifact(&fresh, &"asker".into()).is_err());
    }

    proptest! {
        #[test]
        fn nothing_follows_a_terminal_state(from in 0usize..8, to in 0usize..8, caller in prop::sample::select(vec!["asker", "worker", "stranger", ""])) {
            let (from, to) = (STATES[from], STATES[to]);
            prop_assume!(from.is_terminal());
            let step = report(&standing(from, Some("worker")), to, &caller.into());
            let changes = matches!(step, Ok(Step::Change { .. }));
            prop_assert!(!changes);
        }
    }
}

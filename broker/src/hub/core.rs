//! The state behind the hub's lock: the log, its fold, and connected peers.

use std::{
    collections::HashSet,
    sync::Arc,
    time::{Duration, SystemTime},
};

use agenthub_access::Identities;
use agenthub_proto::{
    a2a::{Message, Role, TaskState, TaskStatus},
    agenthub::{
        AgentEvent, AgentEventMetadata, Cancel, TaskStatusUpdateEvent, agent_event::Payload,
    },
    event::timestamp,
    trace::TraceContext,
};
use tokio::time::Instant;

use super::{
    cancelling::Cancelling, enders::Enders, giving_up::GivingUp, latest_cards::LatestCards,
    orphans::Orphans, pending::Pending, probes::Probes, sessions::Sessions, sweep::Sweep,
};
use crate::{
    Caller,
    access::HUB,
    dedupe::Known,
    event_id,
    id::{AgentId, MailboxId, OrderKey, TaskId},
    log::{Commits, Entry, EventLog, Position, Published, Record},
    presence::{Online, Presence},
    routing::Route,
    settings::Settings,
    state::{Delivering, State},
};

/// The current time, by both clocks.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Now {
    pub(crate) instant: Instant,
    pub(crate) time: SystemTime,
}

impl Now {
    pub(crate) fn read() -> Self {
        Self {
            instant: Instant::now(),
            time: SystemTime::now(),
        }
    }

    /// Seconds since 1970.
    pub(crate) fn unix_seconds(self) -> u64 {
        let since = self.time.duration_since(SystemTime::UNIX_EPOCH);
        since.unwrap_or_default().as_secs()
    }
}

#[derive(Debug)]
pub(crate) struct Core {
    pub(crate) settings: Settings,
    pub(crate) log: Box<dyn EventLog>,
    pub(super) commits: Commits,
    pub(crate) state: State,
    /// Deliveries that wait for their records to be durable.
    pub(super) held: Pending,

    pub(crate) presence: Presence,
    pub(super) online: Online,
    pub(super) latest_cards: LatestCards,
    pub(crate) sessions: Sessions,
    pub(crate) probes: Probes,
    pub(crate) metrics: Arc<crate::metrics::Metrics>,
    pub(super) giving_up: GivingUp,
    /// Time of the last record of delivery attempts.
    pub(super) tries_told: Option<Instant>,
    pub(super) unused: Sweep<MailboxId>,
    pub(super) away: Sweep<AgentId>,
    pub(super) enders: Enders,
    /// Agents that have reported states of their tasks.
    pub(super) reporting: HashSet<AgentId>,
    pub(super) cancelling: Cancelling,
    pub(super) orphans: Orphans,
    /// Identities of those who call; none while nobody needs one.
    pub(super) identities: Option<Identities>,
    /// Whole tasks are recorded until then though no subscription takes them: one that has just ended is resumed.
    pub(super) tasks_taken_until: Instant,
}

/// Time within which a subscription that ended is resumed without a gap. A client tries at least every few seconds.
pub(super) const RESUMED_WITHIN: Duration = Duration::from_secs(60);

impl Core {
    /// A hub with this state, which continues this log.
    pub(crate) fn new(
        settings: Settings,
        metrics: Arc<crate::metrics::Metrics>,
        log: Box<dyn EventLog>,
        state: State,
    ) -> Self {
        let mut tasks_taken_until = Instant::now();
        if log.next_position() > Position(1) {
            // The subscriptions of the last life come back.
            tasks_taken_until += RESUMED_WITHIN;
        }
        Self {
            commits: log.commits(),
            orphans: Orphans::left(&state.tasks),
            state,
            held: Pending::default(),
            presence: Presence::new(settings.presence_lease),
            online: Online::default(),
            latest_cards: LatestCards::default(),
            sessions: Sessions::default(),
            probes: Probes::default(),
            log,
            settings,
            metrics,
            giving_up: GivingUp::default(),
            tries_told: None,
            unused: Sweep::default(),
            away: Sweep::default(),
            enders: Enders::default(),
            reporting: HashSet::new(),
            cancelling: Cancelling::default(),
            identities: None,
            tasks_taken_until,
        }
    }

    /// Appends an entry to the log and applies it. Its event is delivered once durable.
    pub(crate) fn record(&mut self, caller: &Caller, entry: Entry, now: Now) {
        let record = self.next_record(caller, entry.order(), entry, now);
        self.state.apply(&record, now.instant);
        if let Some((task, state)) = ended(&record.entry) {
            self.metrics.task_ended(state);
            self.cancelling.ended(task);
            self.note_orphans(task);
        }
        self.hold_record(&record, now);
        self.log.append(record);
    }

    /// Builds the next record.
    pub(super) fn next_record(
        &self,
        caller: &Caller,
        order: OrderKey,
        entry: Entry,
        now: Now,
    ) -> Record {
        let record = Record {
            position: self.log.next_position(),
            time: now.time,
            namespace: caller.namespace.clone(),
            principal: caller.principal.clone(),
            order,
            entry,
        };
        tracing::trace!(position = record.position.0, principal = record.principal, namespace = record.namespace, order = %record.order, "recorded");
        record
    }

    /// Last durable position.
    pub(crate) fn safe(&self) -> Position {
        self.commits.latest().position().unwrap_or(Position(0))
    }

    /// Last assigned position.
    pub(crate) fn last(&self) -> Position {
        Position(self.log.next_position().0 - 1)
    }

    pub(super) fn delivering(&self, position: Option<Position>, now: Now) -> Delivering {
        Delivering {
            position,
            since: now.instant,
            mailboxes: self.state.mailboxes.count(),
            changes: self.state.mailboxes.snapshots.happened(),
            age: Duration::ZERO,
            is_replayed: false,
        }
    }

    /// Logs an event and delivers it. Returns its position.
    pub(crate) fn record_event(&mut self, caller: &Caller, mut draft: Draft, now: Now) -> String {
        let position = self.log.id().token(self.log.next_position());
        draft.event.position.clone_from(&position);
        self.metrics.events.inc();
        self.record(caller, Entry::Published(draft.sealed()), now);
        position
    }

    /// Ends a task on behalf of the hub, with a reason for both parties. No effect on a task that has ended.
    pub(crate) fn end_task(&mut self, task: &TaskId, state: TaskState, reason: &str, now: Now) {
        self.complete(task, state, Message::new(Role::Agent, reason), now);
        self.stop_work(task, reason);
    }

    /// Ends a task with a last message, for both parties. No effect on a task that has ended.
    pub(crate) fn complete(&mut self, task: &TaskId, state: TaskState, said: Message, now: Now) {
        let Some(entry) = self.state.tasks.get(task) else {
            return;
        };
        let parties = entry.parties();
        let mut to = vec![parties.requester.clone()];
        to.extend(parties.assignee.filter(|a| *a != parties.requester));
        self.complete_and_tell(task, state, said, to, now);
    }

    pub(super) fn complete_and_tell(
        &mut self,
        task: &TaskId,
        state: TaskState,
        said: Message,
        mut to: Vec<AgentId>,
        now: Now,
    ) {
        let Some(entry) = self.state.tasks.get(task).filter(|t| !t.is_terminal()) else {
            return;
        };
        let context_id = entry.context().to_owned();
        let update = TaskStatusUpdateEvent {
            task_id: task.to_string(),
            context_id: context_id.clone(),
            status: Some(TaskStatus {
                state: state.into(),
                update: Some(Message {
                    context_id,
                    task_id: task.to_string(),
                    ..said
                }),
                timestamp: Some(timestamp(now.time)),
            }),
            r#final: true,
            metadata: None,
        };
        let routing = AgentEventMetadata {
            from_agent_id: String::new(),
            event_type: format!("task_{}", state.label()),
            ..Default::default()
        };
        to.retain(|a| !a.is_empty());
        let draft = Draft {
            event: event(Payload::StatusUpdate(update), Some(routing), now),
            route: Route::To(to.into_iter().map(Into::into).collect()),
            assignee: None,
            passes_by: false,
            key: None,
        };
        self.record_event(&hub(), draft, now);
    }

    /// Tells the assignee's instances, ahead of their mailboxes' order, that a task has ended.
    pub(crate) fn stop_work(&mut self, task: &TaskId, reason: &str) {
        let Some(assignee) = self
            .state
            .tasks
            .get(task)
            .and_then(|t| t.assignee().cloned())
        else {
            return;
        };
        let cancel = Cancel {
            task_id: task.to_string(),
            reason: reason.to_owned(),
        };
        self.sessions.cancel(&assignee, &cancel);
    }
}

/// The task that this entry ends, and its state then.
fn ended(entry: &Entry) -> Option<(&str, TaskState)> {
    let Entry::Published(published) = entry else {
        return None;
    };
    let Some(Payload::StatusUpdate(update)) = &published.event.payload else {
        return None;
    };
    let status = update.status.as_ref()?;
    let state = status.state();
    state.is_terminal().then_some((&*update.task_id, state))
}

/// An event before it is logged, with its routing.
#[derive(Debug)]
pub(crate) struct Draft {
    pub(crate) event: Box<AgentEvent>,
    pub(crate) route: Route,
    pub(crate) assignee: Option<AgentId>,
    pub(crate) passes_by: bool,
    pub(crate) key: Option<Known>,
}

impl Draft {
    fn sealed(self) -> Published {
        Published {
            event: Arc::new(self.event.into()),
            route: self.route,
            assignee: self.assignee,
            passes_by: self.passes_by,
            key: self.key,
        }
    }
}

/// The hub as the author of an event.
pub(crate) fn hub() -> Caller {
    Caller::unrestricted(HUB)
}

/// An event with id, time and trace; the log assigns its position.
pub(crate) fn event(
    payload: Payload,
    routing: Option<AgentEventMetadata>,
    now: Now,
) -> Box<AgentEvent> {
    let trace = TraceContext::parse_or_start(routing.as_ref().map_or("", |r| &r.traceparent));
    let time = timestamp(now.time);
    Box::new(AgentEvent {
        event_id: event_id::of(&payload, &time),
        timestamp: Some(time),
        payload: Some(payload),
        trace_id: trace.trace_id(),
        span_id: trace.span_id(),
        tracestate: routing
            .as_ref()
            .map(|r| r.tracestate.clone())
            .unwrap_or_default(),
        routing,
        position: String::new(),
    })
}

//! One request across agents: its tasks, each below the one that led to it, with the time that each took as a bar.
//!
//! The hub finds the tasks of a request by their context, which they share; when each began is in the journals of the runs that asked for them.

use std::collections::{BTreeMap, BTreeSet};

use agenthub_proto::{
    a2a::Task,
    agenthub::ListTasksRequest,
    cortex::{ListRunsRequest, Run, StepAttempt},
    wkt::Timestamp,
};
use agenthub_terminal::listing::state::task as task_state;
use maud::{Markup, html};

use crate::{
    backend::Backend,
    elements::{Cell, Row, agent, id_link, kind, state, table, words_for},
    trouble::Trouble,
};

/// The most tasks above one that are followed to the request.
const MAX_DEPTH: usize = 16;

/// Tasks of a page of the hub's list, and the most of such pages.
const PAGE: i32 = 100;
const PAGES: usize = 5;

/// The most runs whose steps are asked for.
const MAX_RUNS: u32 = 30;

/// Width of the whole time, in the units of a bar.
const WIDTH: i64 = 1_000;

/// Classes of the levels, of which the deepest are indented alike.
const DEPTHS: [&str; DEEPEST + 1] = ["d0", "d1", "d2", "d3", "d4", "d5", "d6", "d7", "d8"];

/// The deepest level that is indented.
const DEEPEST: usize = 8;

/// A task of a request.
#[derive(Clone, Debug, Default, PartialEq)]
struct TaskRow {
    task: Task,
    depth: usize,
    /// Beginning and end, in milliseconds, as far as they are known.
    begun: Option<i64>,
    ended: Option<i64>,
}

/// The tasks of the request that this one belongs to, and all others of its context.
#[derive(Default)]
pub(super) struct Request {
    rows: Vec<TaskRow>,
    pub(super) others: Vec<Task>,
}

impl Request {
    /// # Errors
    ///
    /// The hub does not answer. Without Cortex there are no times.
    pub(super) async fn of(backend: &Backend, task: &Task) -> Result<Self, Trouble> {
        let mut root = task.clone();
        for _ in 0..MAX_DEPTH {
            let parent = root.metadata_str("parent_task_id");
            match (parent, backend.hub().task(parent, 1).await) {
                ("", _) | (_, Err(_)) => break,
                (_, Ok(parent)) => root = parent,
            }
        }
        let mut known = vec![root.clone()];
        let contexts = BTreeSet::from([&root.context_id, &task.context_id]);
        for context in contexts.into_iter().filter(|context| !context.is_empty()) {
            known.extend(of_context(backend, context).await?);
        }
        known.push(task.clone());
        let mut seen = BTreeSet::new();
        known.retain(|task| seen.insert(task.id.clone()));
        let times = times(backend, &root.context_id).await;
        let rows = tree(&root.id, &known, &times);
        let in_tree: BTreeSet<&str> = rows.iter().map(|row| row.task.id.as_str()).collect();
        known.retain(|other| !in_tree.contains(other.id.as_str()) && other.id != task.id);
        Ok(Self {
            rows,
            others: known,
        })
    }

    /// Beginning of a task, if a journal says so.
    pub(super) fn begun(&self, task: &str) -> Option<Timestamp> {
        let row = self.rows.iter().find(|row| row.task.id == task)?;
        let begun = row.begun?;
        Some(Timestamp {
            seconds: begun.div_euclid(1_000),
            nanos: (begun.rem_euclid(1_000) * 1_000_000) as i32,
        })
    }

    /// The bars; nothing for a task that neither led to others nor was led to.
    pub(super) fn drawn(&self, task: &str) -> Markup {
        if self.rows.len() < 2 {
            return html! {};
        }
        let rows: Vec<Row> = self
            .rows
            .iter()
            .map(|row| drawn(row, task, span(&self.rows)))
            .collect();
        html! {
            h2 { "The request across agents" }
            (table(&["Task", "State", "Agent", "Kind", "After", "Took", "When"], &rows, ""))
        }
    }
}

async fn of_context(backend: &Backend, context: &str) -> Result<Vec<Task>, Trouble> {
    let mut request = ListTasksRequest {
        context_id: context.to_owned(),
        page_size: PAGE,
        ..ListTasksRequest::default()
    };
    let mut found = Vec::new();
    for _ in 0..PAGES {
        let page = backend.hub().tasks(request.clone()).await?;
        found.extend(page.tasks);
        if page.next_page_token.is_empty() {
            break;
        }
        request.page_token = page.next_page_token;
    }
    Ok(found)
}

type Times = BTreeMap<String, (Option<i64>, Option<i64>)>;

/// Begin and end of the tasks of a conversation, by the journals of its runs.
async fn times(backend: &Backend, thread: &str) -> Times {
    let request = ListRunsRequest {
        thread_id: thread.to_owned(),
        page_size: MAX_RUNS,
        ..ListRunsRequest::default()
    };
    let mut times = Times::new();
    if thread.is_empty() {
        return times;
    }
    let Ok(runs) = backend.runs(request).await else {
        return times;
    };
    for run in &runs.runs {
        let steps = backend.steps(&run.id).await.unwrap_or_default();
        note(&mut times, run, &steps);
    }
    times
}

fn note(times: &mut Times, run: &Run, steps: &[StepAttempt]) {
    for step in steps.iter().filter(|step| !step.task_id.is_empty()) {
        let time = (
            millis(step.begun_at.as_ref()),
            millis(step.ended_at.as_ref()),
        );
        times.insert(step.task_id.clone(), time);
    }
    // A run knows when it began to be done, the one that asked when it was asked for.
    let own = (
        millis(run.created_at.as_ref()),
        millis(run.ended_at.as_ref()),
    );
    times.entry(run.task_id.clone()).or_insert(own);
}

fn millis(time: Option<&Timestamp>) -> Option<i64> {
    time.map(|time| time.seconds * 1_000 + i64::from(time.nanos) / 1_000_000)
}

/// The tasks from the root on, each behind the one that led to it, and those of one task in the order in which they began.
fn tree(root: &str, known: &[Task], times: &Times) -> Vec<TaskRow> {
    let mut children: BTreeMap<&str, Vec<&Task>> = BTreeMap::new();
    for task in known {
        children
            .entry(task.metadata_str("parent_task_id"))
            .or_default()
            .push(task);
    }
    let time = |task: &Task| {
        let (begun, ended) = times.get(&task.id).copied().unwrap_or_default();
        let status = task.status.clone().unwrap_or_default();
        let changed = status
            .state()
            .is_terminal()
            .then(|| millis(status.timestamp.as_ref()))
            .flatten();
        (begun, ended.or(changed))
    };
    let mut rows = Vec::new();
    let mut placed = BTreeSet::new();
    let mut stack: Vec<(&Task, usize)> = known
        .iter()
        .filter(|task| task.id == root)
        .map(|task| (task, 0))
        .collect();
    while let Some((task, depth)) = stack.pop() {
        if !placed.insert(task.id.as_str()) {
            continue;
        }
        let (begun, ended) = time(task);
        rows.push(TaskRow {
            task: task.clone(),
            depth,
            begun,
            ended,
        });
        let mut below = children.get(task.id.as_str()).cloned().unwrap_or_default();
        below.sort_by_key(|task| std::cmp::Reverse((time(task), task.id.clone())));
        stack.extend(below.into_iter().map(|task| (task, depth + 1)));
    }
    rows
}

/// From the first beginning to the last end.
fn span(rows: &[TaskRow]) -> Option<(i64, i64)> {
    let first = rows
        .iter()
        .filter_map(|row| row.begun.or(row.ended))
        .min()?;
    let last = rows
        .iter()
        .filter_map(|row| row.ended.or(row.begun))
        .max()?;
    Some((first, last.max(first + 1)))
}

/// Left edge and width of a bar.
fn bar(row: &TaskRow, (first, last): (i64, i64)) -> Option<(i64, i64)> {
    let begun = row.begun.or(row.ended)?;
    let ended = row.ended.unwrap_or(last).max(begun);
    let at = |time: i64| (time - first) * WIDTH / (last - first);
    Some((at(begun).min(WIDTH - 4), (at(ended) - at(begun)).max(4)))
}

fn drawn(row: &TaskRow, task: &str, span: Option<(i64, i64)>) -> Row {
    let bar = span.and_then(|span| bar(row, span));
    let after = span.zip(row.begun).map(|((first, _), begun)| begun - first);
    let took = row.begun.zip(row.ended).map(|(begun, ended)| ended - begun);
    let words = task_state(&row.task);
    let drawn_bar = html! {
        @if let Some((x, width)) = bar {
            svg.bar viewBox={ "0 0 " (WIDTH) " 12" } preserveAspectRatio="none" aria-hidden="true" {
                rect class=(kind(&words)) x=(x) y="1" width=(width) height="10" {}
            }
        }
    };
    Row::new([
        Cell::new(id_link("/ui/tasks/", &row.task.id)).class(DEPTHS[row.depth.min(DEEPEST)]),
        Cell::new(state(&words)),
        Cell::new(agent(row.task.assignee())),
        Cell::new(html! { code { (crate::words::task_kind(row.task.task_type())) } }),
        Cell::number(html! { @if let Some(after) = after { (words_for(after.into())) } }),
        Cell::number(html! { @if let Some(took) = took { (words_for(took.into())) } }),
        Cell::new(drawn_bar).class("when"),
    ])
    .current(row.task.id == task)
}

#[cfg(test)]
mod tests {
    use agenthub_proto::{
        a2a::{TaskState, TaskStatus},
        json,
    };
    use serde_json::json;

    use super::*;

    fn task(id: &str, parent: &str) -> Task {
        Task {
            id: id.into(),
            metadata: Some(json::to_struct(&json!({ "parent_task_id": parent }))),
            status: Some(TaskStatus {
                state: TaskState::Completed.into(),
                update: None,
                timestamp: Some(Timestamp {
                    seconds: 9,
                    nanos: 0,
                }),
            }),
            ..Task::default()
        }
    }

    #[test]
    fn each_task_stands_below_the_one_that_led_to_it_in_the_order_of_time() {
        let known = [
            task("late", "root"),
            task("leaf", "early"),
            task("root", ""),
            task("early", "root"),
            task("else", ""),
        ];
        let times = Times::from([
            ("root".into(), (Some(0), Some(1_000))),
            ("early".into(), (Some(100), Some(300))),
            ("late".into(), (Some(500), None)),
            ("leaf".into(), (Some(150), Some(200))),
        ]);
        let rows = tree("root", &known, &times);
        let found: Vec<(&str, usize)> = rows.iter().map(|row| (&*row.task.id, row.depth)).collect();
        assert_eq!(found, [("root", 0), ("early", 1), ("leaf", 2), ("late", 1)]);
        assert_eq!(rows[3].ended, Some(9_000), "as its status says");
    }

    #[test]
    fn tasks_that_lead_to_each_other_are_shown_once() {
        let known = [task("a", "b"), task("b", "a")];
        assert_eq!(tree("a", &known, &Times::new()).len(), 2);
    }

    #[test]
    fn a_bar_is_as_long_as_its_part_of_the_time() {
        let row = |begun, ended| TaskRow {
            begun,
            ended,
            ..TaskRow::default()
        };
        let span = (1_000, 3_000);
        assert_eq!(bar(&row(Some(1_000), Some(3_000)), span), Some((0, 1_000)));
        assert_eq!(bar(&row(Some(2_000), Some(2_500)), span), Some((500, 250)));
        assert_eq!(
            bar(&row(Some(2_000), None), span),
            Some((500, 500)),
            "it is at work"
        );
        assert_eq!(
            bar(&row(None, Some(3_000)), span),
            Some((996, 4)),
            "only its end is known"
        );
        assert_eq!(bar(&row(None, None), span), None);
    }
}

//! The tasks of the hub, latest change first.

use agenthub_proto::{
    a2a::{Part, Task, TaskState},
    agenthub::{ListTasksRequest, TaskExtent},
};
use agenthub_terminal::listing::state::task as task_state;
use axum::http::StatusCode;
use maud::{Markup, html};
use serde_json::{Map, Value};

use super::waits::Waits;
use crate::{
    backend::{Backend, CORTEX},
    clients::A_PERSON,
    elements::{Cell, Row, agent, id_link, line, next, segment, short, table, time},
    live::Screen,
    place::Place,
    trouble::Trouble,
    words,
};

/// Tasks on a page.
const PAGE: i32 = 50;

/// Type of the tasks that are workflows, which Cortex starts for people.
const WORKFLOW: &str = "workflow_run";

/// Characters of a reason.
const REASON: usize = 160;

pub(super) async fn draw(backend: Backend, place: Place) -> Result<Screen, Trouble> {
    let (by, context, wanted) = (
        place.query("agent"),
        place.query("context"),
        place.query("state"),
    );
    let (states, extents) = match wanted {
        "" => (Vec::new(), Vec::new()),
        label => {
            let unknown = || {
                Trouble::new(
                    StatusCode::BAD_REQUEST,
                    format!("No task has the state {label:?}."),
                )
            };
            let (state, extent) = chosen(label).ok_or_else(unknown)?;
            (vec![state.into()], vec![extent.into()])
        }
    };
    let request = ListTasksRequest {
        agent_id: by.to_owned(),
        context_id: context.to_owned(),
        states,
        extents,
        page_size: PAGE,
        page_token: place.query("page").to_owned(),
        ..Default::default()
    };
    let found = backend.hub().tasks(request).await?;
    let waits = Waits::of_tasks(&backend, &found.tasks).await;
    let above = html! {
        h1 { "Tasks" }
        form.filter action="/ui/tasks" method="get" role="search" {
            label { span { "Agent" } input type="search" name="agent" value=(by); }
            @if !context.is_empty() { label { span { "Conversation" } input type="search" name="context" value=(context); } }
            label {
                span { "State" }
                select name="state" {
                    option value="" { "any" }
                    @for label in words::TASK_STATES { option value=(label) selected[label == wanted] { (words::state(label)) } }
                }
            }
            button { "Find" }
        }
    };
    let now = html! {
        (listed(&found.tasks, &waits, "No task fits."))
        (next("/ui/tasks", &[("agent", by), ("context", context), ("state", wanted)], &found.next_page_token))
    };
    Ok(Screen::new("Tasks", now).above(above))
}

/// State and extent that a choice stands for. The extent counts for completed tasks alone.
fn chosen(label: &str) -> Option<(TaskState, TaskExtent)> {
    Some(match label {
        words::IN_PART => (TaskState::Completed, TaskExtent::Part),
        words::NOTHING_DONE => (TaskState::Completed, TaskExtent::Nothing),
        label => (TaskState::from_label(label)?, TaskExtent::Whole),
    })
}

/// Tasks as a table.
pub(super) fn listed(tasks: &[Task], waits: &Waits, nothing: &str) -> Markup {
    let rows: Vec<Row> = tasks.iter().map(|task| row(task, waits)).collect();
    table(
        &[
            "What", "State", "Changed", "Asked by", "Done by", "Kind", "Task",
        ],
        &rows,
        nothing,
    )
}

fn row(task: &Task, waits: &Waits) -> Row {
    let status = task.status.clone().unwrap_or_default();
    let said = status.update.as_ref().map(|update| update.text());
    let is_bad = matches!(status.state(), TaskState::Failed | TaskState::Rejected);
    let why = said.filter(|said| is_bad && !said.trim().is_empty());
    let what = html! {
        a href={ "/ui/tasks/" (segment(&task.id)) } { (line(&words(task), 80)) }
        @if let Some(why) = why { p.why { (line(&why, REASON)) } }
    };
    Row::new([
        Cell::words(what),
        Cell::new(waits.state(&task.id, &task_state(task))),
        Cell::new(time(status.timestamp.as_ref())),
        Cell::new(asker(task)),
        Cell::new(agent(task.assignee())),
        Cell::new(words::task_kind(task.task_type())),
        Cell::new(id_link("/ui/tasks/", &task.id)),
    ])
}

/// The request: the words, the name of the workflow, or a short form of the data.
pub(super) fn words(task: &Task) -> String {
    let Some(first) = task.history.first() else {
        return format!("Task {}", short(&task.id));
    };
    let said = first.text();
    let data = first
        .content
        .iter()
        .find_map(Part::as_data)
        .unwrap_or_default();
    match (said.trim(), data) {
        ("", Value::Object(fields)) if fields.is_empty() => format!("Task {}", short(&task.id)),
        ("", Value::Object(fields)) => match fields.get("workflow").map(|file| &file["name"]) {
            Some(Value::String(name)) => format!("workflow {name}"),
            _ => of_data(&fields),
        },
        ("", _) => format!("Task {}", short(&task.id)),
        (said, _) => said.to_owned(),
    }
}

/// Names and values, the shortest first, as they tell most in little room.
fn of_data(fields: &Map<String, Value>) -> String {
    let mut told: Vec<String> = fields
        .iter()
        .filter(|(_, value)| !value.is_null())
        .map(|(name, value)| match value {
            Value::String(words) => format!("{name}: {}", line(words, 40)),
            other => format!("{name}: {}", line(&other.to_string(), 40)),
        })
        .collect();
    told.sort_by_key(String::len);
    told.join(", ")
}

/// Requester of a task. What an agent asks of itself, somebody asked of it; so it is with workflows that Cortex starts for people.
pub(super) fn asker(task: &Task) -> Markup {
    let is_first = task.metadata_str("parent_task_id").is_empty();
    let is_own = match (task.requester(), task.task_type()) {
        ("", _) => false,
        (CORTEX, WORKFLOW) => is_first,
        (requester, _) => requester == task.assignee(),
    };
    html! {
        @match (task.on_behalf_of(), is_own) {
            ("", true) => (A_PERSON),
            (principal, true) => (principal),
            _ => (agent(task.requester())),
        }
    }
}

#[cfg(test)]
mod tests {
    use agenthub_proto::{
        a2a::{Message, Role, TaskStatus},
        json,
    };
    use serde_json::json;

    use super::*;

    fn asked(content: Vec<Part>) -> Task {
        let message = Message {
            content,
            ..Message::new(Role::User, "")
        };
        Task {
            id: "t".into(),
            history: vec![message],
            ..Task::default()
        }
    }

    /// Issue 26, tasks: a row says what was asked, also where data was.
    #[test]
    fn a_task_is_called_by_its_words_its_workflow_or_its_data() {
        assert_eq!(words(&asked(vec![Part::text("do it")])), "do it");
        let workflow = json!({"workflow": {"name": "invitations", "steps": {}}, "input": {}});
        assert_eq!(
            words(&asked(vec![Part::data(&workflow)])),
            "workflow invitations"
        );
        let brief = json!({"writerBrief": "Coffee", "n": 1, "none": null});
        assert_eq!(
            words(&asked(vec![Part::data(&brief)])),
            "n: 1, writerBrief: Coffee"
        );
        assert_eq!(
            words(&Task {
                id: "t".into(),
                ..Task::default()
            }),
            "Task t"
        );
    }

    /// Issue 26, *Done when*: a list of tasks says of those that failed why.
    #[test]
    fn a_task_that_failed_says_why_in_its_row() {
        let mut task = asked(vec![Part::text("do it")]);
        let status = |state: TaskState| TaskStatus {
            state: state.into(),
            update: Some(Message::new(Role::Agent, "there is no <x>")),
            timestamp: None,
        };
        task.status = Some(status(TaskState::Failed));
        let shown = listed(std::slice::from_ref(&task), &Waits::default(), "").into_string();
        assert!(
            shown.contains("<p class=\"why\">there is no &lt;x&gt;</p>"),
            "{shown}"
        );
        task.status = Some(status(TaskState::Completed));
        let shown = listed(&[task], &Waits::default(), "").into_string();
        assert!(!shown.contains("why"), "{shown}");
    }

    /// Issue 26, tasks: what stands in the list as a state can be chosen as one.
    #[test]
    fn each_state_that_is_told_can_be_chosen() {
        for label in words::TASK_STATES {
            let (state, extent) = chosen(label).unwrap_or_else(|| panic!("{label}"));
            let undone = match extent {
                TaskExtent::Nothing => json!({"partial": true, "undone": "all"}),
                TaskExtent::Part => json!({"partial": true}),
                _ => json!({}),
            };
            let mut update = Message::new(Role::Agent, "");
            update.content.push(Part::data(&undone));
            let task = Task {
                status: Some(TaskStatus {
                    state: state.into(),
                    update: Some(update),
                    timestamp: None,
                }),
                ..Task::default()
            };
            assert_eq!(task_state(&task), label);
        }
        assert_eq!(chosen("whatever"), None);
    }

    #[test]
    fn what_cortex_asks_of_itself_a_person_asked() {
        let of = |requester: &str| {
            let metadata = json!({"requester": requester, "assignee": "cortex"});
            let task = Task {
                metadata: Some(json::to_struct(&metadata)),
                ..Task::default()
            };
            asker(&task).into_string()
        };
        assert_eq!(of("cortex"), "a person");
        assert!(of("writer").contains("/ui/agents/writer"));
    }
}

//! A turn of a conversation: what was said, who was asked and what came back, and the answer as far as it has come.

mod handed;
mod made;

use agenthub_proto::{
    a2a::Task,
    cortex::{Frame, Run},
};
use agenthub_sdk::proto::json;
use agenthub_terminal::listing::state::run as run_state;
use maud::{Markup, html};
use serde_json::Value;

use self::{handed::Handed, made::made};

use crate::{
    elements::{lapse, segment, state, text, time, visible},
    markdown::rendered,
    parts::{Source, parts_but_words},
    screens::run::asked,
    words,
};

/// State of a run that is told to stop.
const CANCELLING: &str = "cancelling";

/// The most agents that are shown of one turn.
const MAX_HANDED: usize = 50;

/// Seconds after the end of a run in which what came of its task is published.
const SETTLED: i64 = 10;

/// A turn as far as its frames were read.
#[derive(Debug, Default)]
pub(super) struct Turn {
    pub(super) run: Run,
    /// Words said with it, and their outcome; `None` until it is read, and of what the hub has forgotten.
    pub(super) task: Option<Task>,
    pub(super) handed: Vec<Handed>,
    /// The answer so far.
    grown: String,
    /// Present work of Cortex, in words.
    doing: String,
    warnings: Vec<String>,
}

impl Turn {
    pub(super) fn new(run: Run) -> Self {
        Self {
            run,
            ..Self::default()
        }
    }

    /// Takes in the next frame.
    pub(super) fn take(&mut self, frame: &Frame) {
        let data = frame.data.as_ref().map(json::from_struct);
        let data = data.unwrap_or_default();
        match frame.r#type.as_str() {
            "phase" => words::phase(&frame.phase).clone_into(&mut self.doing),
            "delta" => match data["append"].as_bool() {
                Some(false) => self.grown.clone_from(&frame.message),
                _ => self.grown.push_str(&frame.message),
            },
            "message" => self.grown.clone_from(&frame.message),
            "warning" => self.warnings.push(frame.message.clone()),
            "handoff" => self.handoff(&frame.message, &data),
            _ => {}
        }
    }

    fn handoff(&mut self, stage: &str, data: &Value) {
        let text = |name: &str| data[name].as_str().unwrap_or_default().to_owned();
        let agent = match stage {
            "requested" | "occurred" => text("to"),
            _ => text("from"),
        };
        let task_id = text("taskId");
        let is_it = |handed: &&mut Handed| match task_id.is_empty() {
            true => handed.task_id.is_empty() && handed.agent == agent,
            false => handed.task_id == task_id,
        };
        if let Some(handed) = self.handed.iter_mut().find(is_it) {
            handed.take(stage, data);
        } else if self.handed.len() < MAX_HANDED {
            let mut handed = Handed {
                agent,
                task_id,
                ..Handed::default()
            };
            if stage == "returned" {
                handed.state = text("state");
            }
            self.handed.push(handed);
        }
    }

    pub(super) fn is_over(&self) -> bool {
        self.run.ended_at.is_some()
    }

    /// True once nothing of it changes any more. What came of its task is published after the end of the run.
    pub(super) fn is_settled(&self, now: jiff::Timestamp) -> bool {
        let Some(ended) = self.run.ended_at.as_ref() else {
            return false;
        };
        let is_published = |task: &Task| {
            task.status
                .as_ref()
                .is_some_and(|status| status.state().is_terminal())
        };
        let tasks = self
            .handed
            .iter()
            .map(|handed| handed.task.as_ref())
            .chain([self.task.as_ref()]);
        now.as_second() - ended.seconds > SETTLED
            || tasks.into_iter().all(|task| task.is_some_and(is_published))
    }

    /// Work at the moment, in words: agents that are waited for go before what Cortex thought about last.
    fn doing_now(&self) -> String {
        let waited_for = self.handed.iter().filter(|handed| handed.state.is_empty());
        let mut names: Vec<String> = Vec::new();
        for name in waited_for.map(|handed| visible(&handed.agent)) {
            if !names.contains(&name) {
                names.push(name);
            }
        }
        match (&*self.run.state, names.is_empty()) {
            (CANCELLING, _) => String::new(),
            (_, true) => self.doing.clone(),
            (_, false) => format!("waiting for {}", names.join(", ")),
        }
    }

    pub(super) fn drawn(&self) -> Markup {
        let Self { run, task, .. } = self;
        let answer = run.result.as_ref().map(json::from_struct);
        let answer = answer
            .as_ref()
            .and_then(|answer| answer["message"].as_str());
        html! {
            section.turn aria-label="Turn" {
                div.said {
                    (text(&run.objective))
                    @for message in task.iter().flat_map(|task| task.history.iter().take(1)) {
                        (parts_but_words(&message.content, Source::Message { task: &run.task_id, message: &message.message_id }))
                    }
                }
                @if !self.handed.is_empty() {
                    ul.asked aria-label="Agents that were asked" { @for handed in &self.handed { li { (handed.drawn()) } } }
                }
                @for warning in &self.warnings { p.about { "Warning: " (warning) } }
                @for approval in &run.approvals { (asked(approval)) }
                @for approval in self.handed.iter().filter_map(|handed| handed.approval.as_ref()) { (asked(approval)) }
                (rendered(answer.unwrap_or(&self.grown)))
                @if let Some(task) = task { (made(task, &self.handed)) }
                @if !run.error.is_empty() { p.notice.bad { (run.error) } }
                p.about {
                    (state(&run_state(run))) " "
                    @if run.ended_at.is_none() { (self.doing_now()) " " }
                    (time(run.created_at.as_ref()))
                    @if run.ended_at.is_some() { ", took " (lapse(run.created_at.as_ref(), run.ended_at.as_ref())) }
                    " · " a href={ "/ui/runs/" (segment(&run.id)) } { "every step" }
                    @if !run.task_id.is_empty() { " · " a href={ "/ui/tasks/" (segment(&run.task_id)) } { "the request across agents" } }
                }
                @if run.state == CANCELLING {
                    p.about data-busy { "It is being stopped: the agents at work are told, and have a moment to end it. You can say more then." }
                } @else if run.ended_at.is_none() {
                    form.stop data-busy method="post" action={ "/ui/chat/" (segment(&run.thread_id)) "/stop/" (segment(&run.id)) } { button.bad { "Stop" } }
                    p.about { "You can say more once this is answered or stopped." }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use agenthub_proto::{
        a2a::{Message, Role, TaskStatus},
        wkt::Timestamp,
    };
    use agenthub_terminal::listing::refusal::Refusal;
    use serde_json::json;

    use super::*;

    fn frame(kind: &str, message: &str, data: &Value) -> Frame {
        Frame {
            r#type: kind.into(),
            message: message.into(),
            data: Some(json::to_struct(data)),
            ..Frame::default()
        }
    }

    fn turn(frames: &[Frame]) -> Turn {
        let mut turn = Turn::new(Run {
            id: "r".into(),
            objective: "do <it>".into(),
            ..Run::default()
        });
        frames.iter().for_each(|frame| turn.take(frame));
        turn
    }

    #[test]
    fn a_turn_at_work_can_be_stopped_and_leads_back_to_the_conversation() {
        let mut turn = turn(&[]);
        turn.run.thread_id = "t/1".into();
        let stop = "action=\"/ui/chat/t%2F1/stop/r\"";
        let shown = turn.drawn().into_string();
        assert!(
            shown.contains(stop) && shown.contains("say more"),
            "{shown}"
        );
        turn.run.ended_at = Some(Timestamp::default());
        assert!(!turn.drawn().into_string().contains("say more"));
    }

    /// Issue 26: a person sees whom a turn waits for, and that a stop is on its way.
    #[test]
    fn a_turn_says_whom_it_waits_for_and_that_it_is_being_stopped() {
        let phase = Frame {
            r#type: "phase".into(),
            phase: "planning".into(),
            ..Frame::default()
        };
        let asked = json!({"from": "cortex", "to": "writer", "taskId": "t1"});
        let back = json!({"from": "writer", "to": "cortex", "taskId": "t1", "state": "completed"});
        let mut turn = turn(&[phase, frame("handoff", "occurred", &asked)]);
        assert_eq!(turn.doing_now(), "waiting for writer");
        turn.take(&frame("handoff", "returned", &back));
        assert!(!turn.doing_now().is_empty() && !turn.doing_now().contains("waiting"));
        turn.run.state = CANCELLING.into();
        let shown = turn.drawn().into_string();
        assert!(
            shown.contains("being stopped") && !shown.contains(">Stop<"),
            "{shown}"
        );
        assert!(shown.contains("data-busy") && turn.doing_now().is_empty());
    }

    #[test]
    fn an_answer_that_is_begun_again_replaces_what_was_shown() {
        let delta = |text: &str, append: bool| frame("delta", text, &json!({ "append": append }));
        let turn = turn(&[
            delta("It is ", false),
            delta("Monday", true),
            delta("", false),
            delta("It is ", false),
            delta("Tuesday", true),
        ]);
        assert!(turn.drawn().into_string().contains("<p>It is Tuesday</p>"));
    }

    #[test]
    fn an_agent_that_is_waited_for_twice_is_named_once() {
        let sent =
            |to: &str, id: &str| frame("handoff", "requested", &json!({"to": to, "taskId": id}));
        let turn = turn(&[sent("writer", "a"), sent("qa", "b"), sent("writer", "c")]);
        assert_eq!(turn.doing_now(), "waiting for writer, qa");
    }

    #[test]
    fn each_agent_that_was_asked_stands_once_with_what_came_back() {
        let asked = json!({"from": "cortex", "to": "writer", "taskId": "t1"});
        let back = |text: &str| json!({"from": "writer", "to": "cortex", "taskId": "t1", "text": text, "state": "completed"});
        let mut turn = turn(&[
            frame("handoff", "requested", &asked),
            frame("handoff", "occurred", &asked),
            frame("handoff", "progress", &back("half way")),
        ]);
        let shown = turn.drawn().into_string();
        assert_eq!(shown.matches("Cortex asked").count(), 1, "{shown}");
        assert!(
            shown.contains("half way") && shown.contains(">working<"),
            "{shown}"
        );
        turn.take(&frame("handoff", "returned", &back("is done")));
        assert!(turn.handed[0].is_unread());
        turn.handed[0].task = Some(Task {
            id: "t1".into(),
            status: Some(TaskStatus {
                state: agenthub_proto::a2a::TaskState::Completed.into(),
                update: Some(Message::new(Role::Agent, "here <b>it</b> is")),
                timestamp: None,
            }),
            ..Task::default()
        });
        let shown = turn.drawn().into_string();
        assert!(
            shown.contains("“here &lt;b&gt;it&lt;/b&gt; is”") && !shown.contains("half way"),
            "{shown}"
        );
    }

    /// Issue 26, chat: what a person did not allow reads refused there as well.
    #[test]
    fn what_was_refused_to_an_agent_says_by_whom() {
        let asks = json!({"from": "press", "to": "cortex", "taskId": "t1", "text": "May I?", "approval": {"run": "r2", "id": "abc"}});
        let back = json!({"from": "press", "to": "cortex", "taskId": "t1", "state": "failed"});
        let sent = json!({"to": "press", "taskId": "t1"});
        let mut turn = turn(&[
            frame("handoff", "requested", &sent),
            frame("handoff", "progress", &asks),
            frame("handoff", "returned", &back),
        ]);
        assert!(turn.handed[0].is_undecided());
        turn.handed[0].refusals = Some(vec![Refusal {
            step: "print".into(),
            by: "ann".into(),
            comment: "not <today>".into(),
            at: None,
        }]);
        assert!(!turn.handed[0].is_undecided());
        let shown = turn.drawn().into_string();
        assert!(shown.contains("state warn\">refused"), "{shown}");
        assert!(
            shown.contains("by ann") && shown.contains("“not &lt;today&gt;”"),
            "{shown}"
        );
    }

    #[test]
    fn an_approval_that_an_agent_asks_for_is_looked_up_until_it_comes_back() {
        let asks = json!({"from": "press", "to": "cortex", "taskId": "t1", "text": "May I?", "approval": {"run": "r2", "id": "abc"}});
        let mut turn = turn(&[
            frame(
                "handoff",
                "requested",
                &json!({"to": "press", "taskId": "t1"}),
            ),
            frame("handoff", "progress", &asks),
        ]);
        assert_eq!(
            turn.handed[0].asks,
            Some(("r2".to_owned(), "abc".to_owned()))
        );
        turn.take(&frame(
            "handoff",
            "returned",
            &json!({"from": "press", "taskId": "t1", "state": "failed"}),
        ));
        assert_eq!(turn.handed[0].asks, None);
    }
}

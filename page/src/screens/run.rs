//! One run, live: what waits for a person, what came of it, its plan and its steps with what went in and came out, and what happened.
//!
//! All of it is read at one moment of its journal, so that the parts of the page agree.

mod approval;
mod attempts;
mod bars;
mod event_words;
mod head;
mod items;
mod names;
mod notices;
mod others;
mod result;
mod retry;
mod steps;
mod timeline;

use std::collections::VecDeque;

use agenthub_proto::cortex::{Frame, ListRunEventsRequest, Run, RunMoment};
use agenthub_sdk::proto::json;
use maud::{Markup, html};

use self::notices::{Warnings, absent};
pub(super) use self::{
    approval::{asked, fields},
    event_words::happened,
    head::{named, state_words, title, tokens},
    items::draw as all_steps,
    names::{called, parts_of},
    others::{ComparableRuns, form as compare_form},
    result::reported,
    timeline::lines,
};
use super::waits::{Absences, at_work};
use crate::{
    backend::{Backend, CORTEX},
    elements::{agent, data, id_link, line, segment},
    feed::Feed,
    live::{Look, Piece, Screen},
    place::Place,
    plan::Plan,
    trouble::Trouble,
    words,
};

/// The most frames that are listed, latest last.
const FRAMES: usize = 200;

/// A run that is open. Once it is over, it is not looked at any more.
pub(crate) struct Watched {
    backend: Backend,
    /// Its id; the beginning of it until it was looked at first.
    id: String,
    feed: Option<Feed>,
    /// The latest frames, and how many came before them.
    frames: VecDeque<Frame>,
    left_out: usize,
    warnings: Warnings,
    /// Agents that have work of the run, each with the step, and those of them that are not here.
    at_work: Vec<(String, String)>,
    absences: Absences,
    /// Number of the last event of its journal that was seen.
    last: u64,
    drawn: Option<(String, Vec<Piece>)>,
    is_over: bool,
}

impl Watched {
    pub(crate) fn new(backend: Backend, place: Place) -> Self {
        Self {
            backend,
            id: place.path("run").to_owned(),
            feed: None,
            frames: VecDeque::new(),
            left_out: 0,
            warnings: Warnings::default(),
            at_work: Vec::new(),
            absences: Absences::default(),
            last: 0,
            drawn: None,
            is_over: false,
        }
    }

    /// Number of the last event of its journal; 0 of a run that was not begun yet.
    async fn last(&self) -> Result<u64, Trouble> {
        let request = ListRunEventsRequest {
            id: self.id.clone(),
            after: self.last,
            page_size: 1,
        };
        match self.backend.run_events(request).await {
            Err(trouble) if trouble.is_not_found() => Ok(0),
            events => Ok(events?.last),
        }
    }

    /// The run as it stands: its last moment, or the run alone if it was not begun yet.
    async fn moment(&self) -> Result<RunMoment, Trouble> {
        match self.backend.moment(&self.id, 0).await {
            Err(trouble) if trouble.is_not_found() => Ok(RunMoment {
                run: Some(self.backend.run(&self.id).await?),
                ..RunMoment::default()
            }),
            moment => moment,
        }
    }

    async fn read_frames(&mut self) -> Result<(), Trouble> {
        let (frames, left_out) = (&mut self.frames, &mut self.left_out);
        let warnings = &mut self.warnings;
        let take = |frame: Frame| {
            warnings.take(&frame);
            frames.push_back(frame);
            if frames.len() > FRAMES {
                frames.pop_front();
                *left_out += 1;
            }
        };
        let feed = self.feed.get_or_insert_with(|| Feed::new(self.id.clone()));
        match feed.take(&self.backend, take).await {
            Err(trouble) if trouble.is_not_found() => Ok(()),
            other => other,
        }
    }

    /// The frames, folded, as they are many and have no times; warnings stand for themselves.
    fn told(&self) -> Markup {
        html! {
            @if !self.frames.is_empty() {
                details id="told" {
                    summary { "Messages of the run as they were sent (" (self.frames.len() + self.left_out) ")" }
                    @if self.left_out > 0 { p { (self.left_out) " earlier ones are not shown." } }
                    ol.frames start=(self.left_out + 1) { @for frame in &self.frames { (self::frame(frame)) } }
                }
            }
        }
    }
}

impl Look for Watched {
    async fn look(&mut self) -> Result<Screen, Trouble> {
        let last = match self.is_over {
            true => self.last,
            false => self.last().await?,
        };
        let ids = self.at_work.iter().map(|(agent, _)| agent.clone());
        let absences = match self.is_over {
            true => Absences::default(),
            false => Absences::among(&self.backend, ids).await,
        };
        let is_as_before = last > 0 && last == self.last && absences == self.absences;
        if let Some((title, drawn)) = &self.drawn
            && is_as_before
        {
            return Ok(Screen::of(title.clone(), drawn.clone()));
        }
        let moment = self.moment().await?;
        let run = moment.run.clone().unwrap_or_default();
        self.id.clone_from(&run.id);
        self.read_frames().await?;
        self.at_work = at_work(&moment);
        self.absences = absences;
        let steps = standing(&moment);
        let told = html! {
            h2 { "What happened" }
            p.about { a href={ "/ui/runs/" (segment(&run.id)) "/at" } { "History" } ": each event with its content, and a fork from any of them." }
            (timeline::drawn(&run, &moment))
            (self.told())
        };
        let pieces = vec![
            Piece::new(
                "run-head",
                html! {
                    (above(&run, &moment))
                    (absent(&self.at_work, &self.absences))
                    (no_cost(&run, self.backend.has_stand_in()))
                    (self.warnings.drawn())
                },
            ),
            Piece::new("run-result", outcome(&run)),
            Piece::new("run-steps", steps),
            Piece::new("run-told", told),
        ];
        let below = match self.drawn {
            None => others::offered(&self.backend, &run).await,
            Some(_) => html! {},
        };
        self.drawn = Some((title(&run), pieces.clone()));
        self.last = last;
        let is_told = self.feed.as_ref().is_some_and(Feed::is_over);
        self.is_over = run.ended_at.is_some() && is_told;
        Ok(Screen::of(title(&run), pieces).below(below))
    }
}

/// The plan, without the scores of reviews where nothing was made that they could be of.
fn plan(moment: &RunMoment) -> Option<Plan<'_>> {
    let result = moment.run.as_ref().and_then(|run| run.result.as_ref());
    let is_of_nothing =
        result.is_some_and(|result| json::from_struct(result)["quality"]["made"] == false);
    let plan = Plan::of(moment.plan.as_ref()?, &moment.steps).counted(&moment.counts);
    Some(match is_of_nothing {
        true => plan,
        false => plan.scored(&moment.scores),
    })
}

/// All above the result: how the run stands, what it asks, and why it failed, with the ways on.
fn above(run: &Run, moment: &RunMoment) -> Markup {
    let plan = plan(moment);
    html! {
        (head::heading(run))
        @for approval in &run.approvals { (asked(approval)) }
        (head::failure(run, plan.as_ref()))
        (head::nothing_made(run))
        (retry::form(run, plan.as_ref(), moment.input.as_ref()))
        @if run.ended_at.is_none() {
            form method="post" action={ "/ui/runs/" (segment(&run.id)) "/cancel" } { button.bad { "Cancel" } }
        }
        (head::facts(run))
    }
}

/// A note on tokens that nobody is paid for, as Cortex thinks with a stand-in for a model.
fn no_cost(run: &Run, has_stand_in: bool) -> Markup {
    let is_free = has_stand_in && run.agent == CORTEX && run.tokens_estimated && run.tokens > 0;
    html! { @if is_free { p.about { "The tokens are counted by the stand-in for a language model, at no cost." } } }
}

/// The head of a run at a moment of its journal.
pub(super) fn head(run: &Run) -> Markup {
    html! { (head::heading(run)) (head::facts(run)) }
}

fn outcome(run: &Run) -> Markup {
    html! {
        @if let Some(result) = &run.result { h2 { "Result" } (result::drawn(&json::from_struct(result))) }
    }
}

/// State of a run at a moment of its journal: its plan and its steps.
pub(super) fn standing(moment: &RunMoment) -> Markup {
    let plan = plan(moment);
    html! {
        @if let Some(plan) = &plan { h2 { "Plan" } (plan.picture()) }
        h2 { "Steps" }
        (steps::drawn(plan.as_ref(), moment))
        @if let Some(plan) = &plan {
            details id="plan-data" { summary { "The plan as data (version " (plan.version) ")" } (data(&plan.data)) }
        }
    }
}

fn frame(frame: &Frame) -> Markup {
    let handed = frame
        .data
        .as_ref()
        .map(json::from_struct)
        .unwrap_or_default();
    let text = |name: &str| handed[name].as_str().unwrap_or_default().to_owned();
    html! {
        li {
            b { (words::frame(&frame.r#type)) } " "
            @match frame.r#type.as_str() {
                "handoff" => {
                    (agent(&text("from"))) " → " (agent(&text("to"))) ": " (frame.message)
                    @let task = text("taskId");
                    @if !task.is_empty() { " " (id_link("/ui/tasks/", &task)) }
                },
                "step" => { code { (text("stepName")) } " " (frame.message) },
                "phase" => (words::phase(&frame.phase)),
                "metrics" => @if let Some(tokens) = handed["tokens"].as_u64() { (tokens) " tokens" @if handed["estimated"] == true { ", estimated" } },
                "complete" => {},
                _ => (line(&frame.message, 200)),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use agenthub_proto::{
        cortex::{RunPlan, StepAttempt},
        wkt::Timestamp,
    };
    use serde_json::json;

    use super::*;

    /// Issue 26, *Done when*: a failed run says at which step, and the way on stands beside it.
    #[test]
    fn a_failed_run_says_why_first_and_leads_to_its_step_and_to_a_retry() {
        let run = Run {
            id: "r".into(),
            mode: "workflow".into(),
            state: "failed".into(),
            error: "the step `b` has failed: no <b>".into(),
            ended_at: Some(Timestamp::default()),
            ..Run::default()
        };
        let moment = RunMoment {
            plan: Some(RunPlan {
                version: 1,
                plan: Some(json::to_struct(&json!({"steps": {"a": {}, "b": {}}}))),
                states: [
                    ("a".into(), "completed".into()),
                    ("b".into(), "failed".into()),
                ]
                .into(),
            }),
            steps: vec![StepAttempt::default()],
            ..RunMoment::default()
        };
        let shown = above(&run, &moment).into_string();
        let place = |text: &str| {
            shown
                .find(text)
                .unwrap_or_else(|| panic!("{text}: {shown}"))
        };
        assert!(place("Why it failed") < place("#step-b"));
        assert!(place("#step-b") < place("id=\"again\" open"));
        assert!(place("id=\"again\" open") < place("<dl"), "facts come last");
        assert!(!shown.contains("no <b>"));
    }

    #[test]
    fn a_step_has_no_score_where_nothing_was_made() {
        let shown = |made: bool| {
            let result = json!({"result": {}, "quality": {"made": made}});
            let moment = RunMoment {
                run: Some(Run {
                    result: Some(json::to_struct(&result)),
                    ..Run::default()
                }),
                plan: Some(RunPlan {
                    version: 1,
                    plan: Some(json::to_struct(&json!({"steps": {"review": {}}}))),
                    states: [("review".into(), "completed".into())].into(),
                }),
                scores: [("review".to_owned(), 1.0)].into(),
                ..RunMoment::default()
            };
            standing(&moment).into_string()
        };
        assert!(shown(true).contains("score 1.00"), "{}", shown(true));
        assert!(!shown(false).contains("score"), "{}", shown(false));
    }

    #[test]
    fn tokens_of_a_stand_in_are_said_to_cost_nothing() {
        let of = |agent: &str, has_stand_in: bool| {
            let run = Run {
                agent: agent.into(),
                tokens: 77_833,
                tokens_estimated: true,
                ..Run::default()
            };
            no_cost(&run, has_stand_in).into_string()
        };
        assert!(of("cortex", true).contains("at no cost"));
        assert_eq!(of("cortex", false), "", "a model may be paid for");
        assert_eq!(of("writer", true), "", "it may have a model of its own");
    }
}

//! All that was done for a run, or for one step of its plan, such as the items of a loop: a page at a time.

use agenthub_proto::cortex::{GetRunStepsRequest, RunMoment};
use maud::{Markup, html};

use super::{head::title, plan, steps};
use crate::{
    backend::Backend,
    elements::{next, segment, state},
    live::Screen,
    place::Place,
    trouble::Trouble,
    words,
};

/// Attempts on a page.
const PAGE: u32 = 50;

pub(in crate::screens) async fn draw(backend: Backend, place: Place) -> Result<Screen, Trouble> {
    let moment = backend.moment(place.path("run"), 0).await?;
    let run = moment.run.clone().unwrap_or_default();
    let (step, wanted) = (place.query("step"), place.query("state"));
    let request = GetRunStepsRequest {
        id: run.id.clone(),
        plan_step: step.to_owned(),
        state: wanted.to_owned(),
        page_size: PAGE,
        page_token: place.query("page").to_owned(),
    };
    let found = backend.some_steps(request).await?;
    let what = match step {
        "" => "All steps".to_owned(),
        step => format!("All of {step}"),
    };
    let here = format!("/ui/runs/{}/steps", segment(&run.id));
    let now = html! {
        (standing(&moment, step))
        (steps::listed(&found.steps, &moment))
        (next(&here, &[("step", step), ("state", wanted)], &found.next_page_token))
    };
    let above = html! {
        h1 { (what) }
        p { a href={ "/ui/runs/" (segment(&run.id)) } { (title(&run)) } }
        form.filter action=(here) method="get" role="search" {
            @if !step.is_empty() { input type="hidden" name="step" value=(step); }
            label {
                span { "State" }
                select name="state" {
                    option value="" { "any" }
                    @for label in words::STEP_STATES { option value=(label) selected[label == wanted] { (words::state(label)) } }
                }
            }
            button { "Find" }
        }
    };
    Ok(Screen::new(format!("{what} · {}", title(&run)), now).above(above))
}

/// Standing of the step, with its progress if it is a loop.
fn standing(moment: &RunMoment, step: &str) -> Markup {
    let plan = plan(moment);
    let step = plan.as_ref().and_then(|plan| {
        let mut steps = plan.steps.iter();
        steps.find(|known| known.name == step)
    });
    html! { @if let Some(step) = step { p { (state(&step.state)) } (steps::done(step)) } }
}

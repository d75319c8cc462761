//! Runs to compare a run with: those that it came from, and the latest, of which one is chosen.

use agenthub_proto::cortex::{ListRunsRequest, Run};
use maud::{Markup, html};

use super::head::{named, state_words};
use crate::{
    backend::Backend,
    elements::{clock_words, line, segment},
    words,
};

/// The most runs that are offered.
const OFFERED: usize = 20;

/// Characters of a run's name in the list.
const NAME: usize = 50;

/// Runs to choose from.
#[derive(Debug, Default)]
pub(in crate::screens) struct ComparableRuns {
    /// Of the same plan: what it is for is the same, too.
    alike: Vec<Run>,
    /// Others of its kind.
    of_kind: Vec<Run>,
    /// Runs of other kinds.
    of_other_kinds: Vec<Run>,
}

impl ComparableRuns {
    /// Those among the latest that can be compared with this one.
    fn among(run: &Run, latest: Vec<Run>) -> Self {
        let mut others = Self::default();
        let mut seen = vec![run.id.clone()];
        for other in latest {
            if seen.contains(&other.id) {
                continue;
            }
            seen.push(other.id.clone());
            match (other.mode == run.mode, other.objective == run.objective) {
                (true, true) => others.alike.push(other),
                (true, false) => others.of_kind.push(other),
                (false, _) => others.of_other_kinds.push(other),
            }
        }
        let mut room = OFFERED;
        for list in [
            &mut others.alike,
            &mut others.of_kind,
            &mut others.of_other_kinds,
        ] {
            list.truncate(room);
            room -= list.len();
        }
        others
    }

    fn groups(&self) -> impl Iterator<Item = (&'static str, &[Run])> {
        let groups = [
            ("For the same", &self.alike),
            ("Of the same kind", &self.of_kind),
            ("Of other kinds", &self.of_other_kinds),
        ];
        let groups = groups.map(|(name, runs)| (name, runs.as_slice()));
        groups.into_iter().filter(|(_, runs)| !runs.is_empty())
    }
}

/// Ways to the run beside another one. They are not kept up to date, as somebody chooses.
pub(super) async fn offered(backend: &Backend, run: &Run) -> Markup {
    let latest = |mode: &str| ListRunsRequest {
        mode: mode.to_owned(),
        top_only: run.parent_task_id.is_empty(),
        page_size: OFFERED as u32 + 1,
        ..ListRunsRequest::default()
    };
    // Without a list, an id is written.
    let mut found = backend.runs(latest(&run.mode)).await.unwrap_or_default();
    if found.runs.len() <= OFFERED {
        let more = backend.runs(latest("")).await.unwrap_or_default();
        found.runs.extend(more.runs);
    }
    html! {
        h2 #compare { "Compare with another run" }
        @for (other, words) in origins(run) {
            p { a href={ "/ui/runs/" (segment(other)) "/with/" (segment(&run.id)) } { (words) } }
        }
        (form(&run.id, "", &ComparableRuns::among(run, found.runs), &html! {}))
    }
}

/// The runs that a run came from, with what to say of them.
fn origins(run: &Run) -> impl Iterator<Item = (&str, &'static str)> {
    let origins = [
        (
            &*run.forked_from,
            "Compare with the run that it was forked from",
        ),
        (
            &*run.resumes,
            "Compare with the run before, which it does again",
        ),
    ];
    origins.into_iter().filter(|(id, _)| !id.is_empty())
}

/// The forms: one to choose a run, and one for the id of any. `given` was written there, and `fault` is what is wrong with it.
pub(in crate::screens) fn form(
    run: &str,
    given: &str,
    others: &ComparableRuns,
    fault: &Markup,
) -> Markup {
    let action = format!("/ui/runs/{}/with", segment(run));
    let is_empty = others.groups().next().is_none();
    html! {
        @if !is_empty {
            form.filter method="get" action=(action) {
                label {
                    span { "Run" }
                    select name="other" {
                        @for (name, runs) in others.groups() {
                            optgroup label=(name) { @for run in runs { option value=(run.id) { (offer(run)) } } }
                        }
                    }
                }
                button { "Compare" }
            }
        }
        details id="by-id" open[is_empty] {
            summary { "By its id" }
            form.filter method="get" action=(action) {
                label {
                    span { "Other run" }
                    input name="other" required value=(given) placeholder="beginning of its id";
                }
                button { "Compare" }
            }
            (fault)
        }
    }
}

/// A run in a list: name, state, and time.
fn offer(run: &Run) -> String {
    let began = clock_words(run.created_at.as_ref());
    format!(
        "{} · {} · {began}",
        line(&named(run), NAME),
        words::state(&state_words(run))
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(id: &str, mode: &str, objective: &str) -> Run {
        Run {
            id: id.into(),
            mode: mode.into(),
            objective: objective.into(),
            state: "completed".into(),
            ..Run::default()
        }
    }

    /// Issue 26, runs: two runs are compared without an id that somebody has to know. Those for the same come first.
    #[test]
    fn runs_are_chosen_by_what_they_are_for() {
        let own = run("r/1", "workflow", "invite");
        let latest = vec![
            run("a", "chat", "hello"),
            run("b", "workflow", "<bills>"),
            own.clone(),
            run("c", "workflow", "invite"),
            run("b", "workflow", "<bills>"),
        ];
        let shown =
            form(&own.id, "", &ComparableRuns::among(&own, latest), &html! {}).into_string();
        assert!(shown.contains("action=\"/ui/runs/r%2F1/with\""), "{shown}");
        let options: Vec<&str> = shown
            .split("<option value=\"")
            .skip(1)
            .filter_map(|rest| rest.split('"').next())
            .collect();
        assert_eq!(options, ["c", "b", "a"], "{shown}");
        assert!(shown.contains("&lt;bills&gt;") && !shown.contains("<bills>"));
        assert!(
            shown.contains("<optgroup label=\"For the same\">"),
            "{shown}"
        );
        assert!(!shown.contains("open"), "{shown}");
    }

    #[test]
    fn as_many_are_offered_as_somebody_looks_through() {
        let own = run("0", "workflow", "x");
        let many =
            (1..100).map(|n| run(&n.to_string(), "workflow", if n < 90 { "x" } else { "y" }));
        let others = ComparableRuns::among(&own, many.collect());
        assert_eq!((others.alike.len(), others.of_kind.len()), (OFFERED, 0));
    }

    #[test]
    fn a_fork_and_a_retry_lead_to_the_runs_that_they_came_from() {
        let forked = Run {
            forked_from: "f".into(),
            resumes: "b".into(),
            ..run("r", "workflow", "x")
        };
        let ids: Vec<&str> = origins(&forked).map(|(id, _)| id).collect();
        assert_eq!(ids, ["f", "b"]);
        assert_eq!(origins(&run("r", "", "")).count(), 0);
    }

    #[test]
    fn what_was_written_stays_where_it_is_wrong() {
        let shown = form(
            "r",
            "<u>",
            &ComparableRuns::default(),
            &html! { p { "no" } },
        )
        .into_string();
        assert!(
            shown.contains("value=\"&lt;u&gt;\"") && shown.contains(" open"),
            "{shown}"
        );
        assert!(!shown.contains("<select"), "{shown}");
    }
}

//! Bars that show when something of a run was done, below each other on one axis of time.

use agenthub_proto::{cortex::RunMoment, wkt::Timestamp};
use maud::{Markup, html};

use crate::elements::kind;

/// Width of the whole time, in the units of a bar.
const WIDTH: i64 = 1_000;

/// From the first beginning to the last end, in milliseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Span {
    pub(super) first: i64,
    last: i64,
}

fn millis(time: &Timestamp) -> i64 {
    time.seconds * 1_000 + i64::from(time.nanos) / 1_000_000
}

impl Span {
    pub(super) fn of(moment: &RunMoment) -> Option<Self> {
        let (steps, counts) = (moment.steps.iter(), moment.counts.values());
        let begun = steps.clone().filter_map(|a| a.begun_at.as_ref());
        let begun = begun.chain(counts.clone().filter_map(|c| c.begun_at.as_ref()));
        let ended = steps.filter_map(|a| a.ended_at.as_ref());
        let ended = ended.chain(counts.filter_map(|c| c.ended_at.as_ref()));
        let first = begun.clone().map(millis).min()?;
        let last = begun.chain(ended).map(millis).max()?;
        Some(Self {
            first,
            last: last.max(first + 1),
        })
    }

    /// Left edge and width of a bar. What has no end goes on.
    fn bar(self, begun: i64, ended: Option<i64>) -> (i64, i64) {
        let at = |time: i64| (time - self.first) * WIDTH / (self.last - self.first);
        let ended = ended.unwrap_or(self.last).max(begun);
        (at(begun).min(WIDTH - 8), (at(ended) - at(begun)).max(8))
    }
}

/// The bar of what began and ended then; none of what has not begun.
pub(super) fn bar(
    span: Option<Span>,
    begun: Option<&Timestamp>,
    ended: Option<&Timestamp>,
    state: &str,
) -> Markup {
    let bar = span.zip(begun.map(millis));
    html! {
        @if let Some((span, begun)) = bar {
            @let (x, width) = span.bar(begun, ended.map(millis));
            svg.bar viewBox={ "0 0 " (WIDTH) " 12" } preserveAspectRatio="none" aria-hidden="true" {
                rect class=(kind(state)) x=(x) y="1" width=(width) height="10" {}
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use agenthub_proto::cortex::StepAttempt;

    use super::*;

    #[test]
    fn the_axis_goes_from_the_first_beginning_to_the_last_end() {
        let at = |seconds| Some(Timestamp { seconds, nanos: 0 });
        let attempt = StepAttempt {
            begun_at: at(1),
            ended_at: at(3),
            ..StepAttempt::default()
        };
        let moment = RunMoment {
            steps: vec![attempt.clone(), attempt],
            ..RunMoment::default()
        };
        assert_eq!(
            Span::of(&moment),
            Some(Span {
                first: 1_000,
                last: 3_000
            })
        );
    }

    #[test]
    fn what_has_no_end_goes_on_to_the_end_of_the_axis() {
        let axis = Span {
            first: 0,
            last: 1_000,
        };
        assert_eq!(axis.bar(500, None), (500, 500));
    }
}

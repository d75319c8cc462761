//! The steps of a long plan that are shown: what asks, what is at work and what failed, and then those around.

use super::steps::Step;

/// Steps that are shown.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Chosen {
    /// Their places in the plan, in its order.
    pub(super) shown: Vec<usize>,
    /// Text on the others, if there are any; it takes a line.
    pub(super) hidden: Option<String>,
}

/// Chooses steps for at most `room` lines.
pub(super) fn choose(steps: &[Step], room: usize) -> Chosen {
    if steps.len() <= room {
        return Chosen {
            shown: (0..steps.len()).collect(),
            hidden: None,
        };
    }
    let Some(rows) = room.checked_sub(1) else {
        return Chosen::default();
    };
    let front = front(steps);
    let mut places: Vec<usize> = (0..steps.len()).collect();
    places.sort_by_key(|at| (rank(&steps[*at]), at.abs_diff(front), *at));
    let hidden = places.split_off(rows);
    places.sort_unstable();
    Chosen {
        shown: places,
        hidden: Some(counted(hidden.iter().map(|at| &steps[*at]))),
    }
}

/// Urgency of a step; 0 is shown first.
fn rank(step: &Step) -> u8 {
    match step.state.as_str() {
        "awaiting-approval" => 0,
        "working" | "retrying" => 1,
        "failed" | "refused" => 2,
        "in-part" => 3,
        _ => 4,
    }
}

/// The place where work goes on: the first step that is at work or asks, else the one behind the last that has ended.
fn front(steps: &[Step]) -> usize {
    let at_work = steps.iter().position(|step| rank(step) < 2);
    at_work.unwrap_or_else(|| {
        let has_begun =
            |step: &Step| !matches!(step.state.as_str(), "waiting" | "ready" | "not-reached");
        steps.iter().rposition(has_begun).map_or(0, |at| at + 1)
    })
}

/// The number of steps in each state.
fn counted<'a>(steps: impl Iterator<Item = &'a Step>) -> String {
    const WORDS: [&str; 9] = [
        "at work",
        "asking",
        "failed",
        "refused",
        "done",
        "skipped",
        "cancelled",
        "not-reached",
        "to come",
    ];
    let mut counts = [0; WORDS.len()];
    for step in steps {
        let at = match step.state.as_str() {
            "working" | "retrying" => 0,
            "awaiting-approval" => 1,
            "failed" => 2,
            "refused" => 3,
            "completed" | "in-part" => 4,
            "skipped" => 5,
            "cancelled" => 6,
            "not-reached" => 7,
            _ => 8,
        };
        counts[at] += 1;
    }
    let told = WORDS.iter().zip(counts).filter(|(_, count)| *count > 0);
    let told: Vec<String> = told
        .map(|(word, count)| format!("{count} {word}"))
        .collect();
    format!("besides: {}", told.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(states: &[&str]) -> Vec<Step> {
        let step = |state: &&str| Step {
            state: (*state).to_owned(),
            ..Step::default()
        };
        states.iter().map(step).collect()
    }

    #[test]
    fn what_asks_is_at_work_or_failed_comes_first_and_the_rest_is_counted() {
        let mut states = vec!["completed"; 10];
        states[1] = "failed";
        states.extend(["working", "awaiting-approval", "skipped"]);
        states.extend(["waiting"; 10]);
        let steps = plan(&states);
        let chosen = choose(&steps, 6);
        assert_eq!(chosen.shown, [1, 8, 9, 10, 11]);
        assert_eq!(
            chosen.hidden.as_deref(),
            Some("besides: 7 done, 1 skipped, 10 to come")
        );
        let few = choose(&steps, 3);
        assert_eq!(few.shown, [10, 11]);
        let told = few.hidden.expect("there are others");
        assert_eq!(told, "besides: 1 failed, 9 done, 1 skipped, 10 to come");
        assert_eq!(choose(&steps, 1).shown, [0_usize; 0]);
        assert_eq!(choose(&steps, 0), Chosen::default());
        assert_eq!(choose(&steps, 23).hidden, None);
    }

    #[test]
    fn refusals_come_first_as_failures_do_and_what_was_not_reached_is_not_to_come() {
        let mut states = vec!["completed"; 10];
        states.extend(["refused", "refused"]);
        states.extend(["not-reached"; 5]);
        states.extend(["waiting"; 3]);
        let steps = plan(&states);
        assert_eq!(choose(&steps, 4).shown, [10, 11, 12]);
        assert_eq!(
            choose(&steps, 2).hidden.as_deref(),
            Some("besides: 1 refused, 10 done, 5 not-reached, 3 to come")
        );
    }

    #[test]
    fn before_the_first_step_the_beginning_is_shown_and_at_the_end_the_end() {
        assert_eq!(choose(&plan(&["waiting"; 20]), 4).shown, [0, 1, 2]);
        assert_eq!(choose(&plan(&["completed"; 20]), 4).shown, [17, 18, 19]);
    }
}

//! Score of a review, from all its checks.

use super::check::{Check, Verdict, rounded};

/// The score that a draft needs unless the payload says otherwise.
pub(super) const THRESHOLD: f64 = 0.7;

/// The id of the check whether there is a draft at all.
pub(super) const EXISTENCE: &str = "draft";

/// The score of a review and whether the draft passes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Outcome {
    /// From 0 to 1.
    pub(super) score: f64,
    pub(super) pass: bool,
}

/// True if enough was checked for a draft to pass: more than that there is one, and something of what the request asks for.
fn is_checked(checks: &[Check]) -> bool {
    let made = || checks.iter().filter(|c| c.verdict != Verdict::NotChecked);
    let has_rules = checks.iter().any(|check| check.is_rule);
    made().any(|check| check.id != EXISTENCE && (check.is_rule || !has_rules))
}

/// The score is the weighted mean over what was checked, to three digits. A draft passes whose score is not below the threshold and that
/// fails no hard check. What was not checked changes nothing; where nothing was, or nothing that the request asks for, there is nothing to
/// pass.
pub(super) fn outcome(checks: &[Check], threshold: f64) -> Outcome {
    let (mut sum, mut weights) = (0.0, 0.0);
    for check in checks {
        let score = match check.verdict {
            Verdict::Pass => check.score.unwrap_or(1.0),
            Verdict::Fail => check.score.unwrap_or(0.0),
            Verdict::NotChecked => continue,
        };
        sum += check.weight * score;
        weights += check.weight;
    }
    let score = if weights > 0.0 {
        rounded(sum / weights).clamp(0.0, 1.0)
    } else {
        0.0
    };
    let fails_hard = |check: &Check| check.hard && check.verdict == Verdict::Fail;
    Outcome {
        score,
        pass: is_checked(checks)
            && weights > 0.0
            && score >= threshold
            && !checks.iter().any(fails_hard),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{super::check::Issue, *};

    fn check(verdict: Verdict, weight: f64, score: Option<f64>) -> Check {
        let mut check = Check::new("id", "name", weight);
        (check.verdict, check.score) = (verdict, score);
        check
    }

    /// spec: ORC-5.2
    #[test]
    fn the_score_is_the_weighted_mean_of_what_was_checked() {
        let checks = [
            check(Verdict::Pass, 1.0, None),
            check(Verdict::Fail, 2.0, Some(0.4)),
            check(Verdict::Pass, 1.0, Some(0.9)),
            check(Verdict::Fail, 1.0, None),
            check(Verdict::NotChecked, 9.0, Some(1.0)),
        ];
        // (1 + 2 * 0.4 + 0.9 + 0) / 5
        assert_eq!(
            outcome(&checks, 0.54),
            Outcome {
                score: 0.54,
                pass: true
            }
        );
        assert_eq!(
            outcome(&checks, 0.541),
            Outcome {
                score: 0.54,
                pass: false
            }
        );
    }

    /// spec: ORC-10
    #[test]
    fn a_hard_failure_outweighs_any_score() {
        let issue = Issue::advice("a", "b", "c");
        let failed = Check::new("id", "name", 0.001).hard().fail("", issue);
        let checks = [check(Verdict::Pass, 10.0, None), failed];
        assert_eq!(
            outcome(&checks, 0.5),
            Outcome {
                score: 1.0,
                pass: false
            }
        );
    }

    #[test]
    fn what_was_not_checked_does_not_pass_by_itself() {
        let checks = [check(Verdict::NotChecked, 1.0, None).hard()];
        assert_eq!(
            outcome(&checks, 0.0),
            Outcome {
                score: 0.0,
                pass: false
            }
        );
        assert_eq!(
            outcome(&[], 0.0),
            Outcome {
                score: 0.0,
                pass: false
            }
        );
        let checks = [
            check(Verdict::NotChecked, 1.0, None).hard(),
            check(Verdict::Pass, 1.0, None),
        ];
        assert!(outcome(&checks, 1.0).pass);
    }

    proptest! {
        #[test]
        fn the_score_is_between_0_and_1(checks in prop::collection::vec((0_u8..3, 0.001_f64..10.0, prop::option::of(0.0_f64..=1.0)), 0..20), threshold in 0.0_f64..=1.0) {
            let verdicts = [Verdict::Pass, Verdict::Fail, Verdict::NotChecked];
            let checks: Vec<Check> = checks.into_iter().map(|(v, weight, score)| check(verdicts[usize::from(v)], weight, score)).collect();
            let outcome = outcome(&checks, threshold);
            prop_assert!((0.0..=1.0).contains(&outcome.score));
            prop_assert!(!outcome.pass || outcome.score >= threshold);
        }
    }
}

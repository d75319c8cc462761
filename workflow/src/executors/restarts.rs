//! Verdict on a run whose executor died: again after a pause, or given up.

use std::time::Duration;

/// Pause after the first death.
const FIRST: Duration = Duration::from_millis(250);

/// The longest pause.
pub(super) const LONGEST: Duration = Duration::from_secs(10);

/// Deaths in a row, without an event of the run or of one within it in between, after which it is given up.
pub(super) const MOST: u32 = 6;

/// Deaths of a run's executors.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Deaths {
    in_row: u32,
    /// Number of the run's last event at the last death.
    pub(super) last: u64,
}

/// Step after a death.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// Executes the run again after this time.
    Again(Duration),
    /// Ends the run, as it kills its executors.
    GiveUp,
}

impl Deaths {
    /// Counts from the beginning again, as a run has gone on that this one waits for.
    pub(super) fn forgive(&mut self) {
        self.in_row = 0;
    }

    /// Takes in that the run is noted as given up by its event of this number. An executor that dies before another event is its last.
    pub(super) fn given_up(&mut self, noted: u64) {
        self.last = noted;
    }

    /// Takes a death in; `last` is the number of the run's last event. A run that goes on between two deaths is always executed again.
    pub(super) fn another(&mut self, last: u64) -> Verdict {
        self.in_row = match last > self.last {
            true => 1,
            false => self.in_row + 1,
        };
        self.last = last;
        match self.in_row > MOST {
            true => Verdict::GiveUp,
            false => {
                let doublings = (self.in_row - 1).min(16);
                Verdict::Again((FIRST * 2_u32.pow(doublings)).min(LONGEST))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_double_until_the_run_is_given_up() {
        let mut deaths = Deaths::default();
        let verdicts: Vec<_> = (0..=MOST).map(|_| deaths.another(0)).collect();
        let pauses = [250, 500, 1_000, 2_000, 4_000, 8_000];
        let again = pauses.map(|ms| Verdict::Again(Duration::from_millis(ms)));
        assert_eq!(verdicts[..6], again);
        assert_eq!(verdicts[6], Verdict::GiveUp);
    }

    #[test]
    fn a_run_that_waits_for_one_that_goes_on_is_executed_again_as_often_as_needed() {
        let mut deaths = Deaths::default();
        for _ in 0..100 {
            assert_eq!(deaths.another(1), Verdict::Again(FIRST));
            deaths.forgive();
        }
    }

    #[test]
    fn a_run_that_is_given_up_has_executors_for_as_long_as_it_goes_on() {
        let mut deaths = Deaths::default();
        while deaths.another(7) != Verdict::GiveUp {}
        deaths.given_up(8);
        assert_eq!(deaths.another(8), Verdict::GiveUp);
        assert_eq!(deaths.another(9), Verdict::Again(FIRST));
    }

    #[test]
    fn a_run_that_goes_on_in_between_is_executed_again_as_often_as_needed() {
        let mut deaths = Deaths::default();
        for last in 1..100 {
            assert_eq!(deaths.another(last), Verdict::Again(FIRST));
        }
    }
}

//! A count that depends on how a text is read.

use super::measured::Measured;

/// The lowest and the highest number that a reasonable reader counts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Count {
    pub(crate) low: u64,
    pub(crate) high: u64,
    /// The reason why readers differ, as the end of a sentence; empty where all readers agree.
    doubt: String,
}

impl Count {
    /// Between two numbers; what it depends on is asked for where they differ.
    pub(crate) fn between(low: usize, high: usize, doubt: impl FnOnce() -> String) -> Self {
        let high = high.max(low);
        Self {
            low: low as u64,
            high: high as u64,
            doubt: match low == high {
                true => String::new(),
                false => doubt(),
            },
        }
    }

    /// Tells whether it is at most this, if all readers agree.
    pub(crate) fn is_at_most(&self, limit: u64) -> Option<bool> {
        match (self.high <= limit, self.low > limit) {
            (true, _) => Some(true),
            (_, true) => Some(false),
            _ => None,
        }
    }

    /// Tells whether it is at least this, if all readers agree.
    pub(crate) fn is_at_least(&self, limit: u64) -> Option<bool> {
        match (self.low >= limit, self.high < limit) {
            (true, _) => Some(true),
            (_, true) => Some(false),
            _ => None,
        }
    }

    /// The number with what was counted: `3 words`, `1 to 2 sentences (one may end after "U.S.", line 1)`.
    pub(crate) fn told(&self, what: Measured) -> String {
        match self.low == self.high {
            true => format!("{} {}", self.low, what.noun(self.low)),
            false => format!(
                "{} to {} {} ({})",
                self.low,
                self.high,
                what.plural(),
                self.doubt
            ),
        }
    }

    pub(crate) fn range(&self) -> Range {
        Range {
            low: self.low as f64,
            high: self.high as f64,
        }
    }
}

/// A measured value that depends on how a text is read.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Range {
    pub(crate) low: f64,
    pub(crate) high: f64,
}

impl Range {
    pub(crate) fn exactly(value: f64) -> Self {
        Self {
            low: value,
            high: value,
        }
    }

    /// The quotient of two values that are not negative; `None` where the divisor is surely 0.
    pub(crate) fn over(self, divisor: Self) -> Option<Self> {
        // Where by one reading there is nothing to divide by, that reading gives no value.
        let least = match divisor.low > 0.0 {
            true => divisor.low,
            false => divisor.high.min(1.0),
        };
        (divisor.high > 0.0).then(|| Self {
            low: self.low / divisor.high,
            high: self.high / least,
        })
    }

    /// A share of a whole, which is not above 1.
    pub(crate) fn share_of(self, whole: Self) -> Option<Self> {
        let share = self.over(whole)?;
        Some(Self {
            low: share.low.min(1.0),
            high: share.high.min(1.0),
        })
    }

    /// With two digits: `3.50`, or `3.50 to 4.00`.
    pub(crate) fn told(self) -> String {
        match self.low == self.high {
            true => format!("{:.2}", self.low),
            false => format!("{:.2} to {:.2}", self.low, self.high),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_is_decided_where_all_readers_agree() {
        let count = Count::between(2, 4, || "it depends".to_owned());
        let most = [1, 2, 3, 4].map(|limit| count.is_at_most(limit));
        assert_eq!(most, [Some(false), None, None, Some(true)]);
        let least = [2, 3, 4, 5].map(|limit| count.is_at_least(limit));
        assert_eq!(least, [Some(true), None, None, Some(false)]);
        assert_eq!(count.told(Measured::Words), "2 to 4 words (it depends)");
        assert_eq!(
            Count::between(1, 1, String::new).told(Measured::Emoji),
            "1 emoji"
        );
        assert_eq!(
            Count::between(1, 1, String::new).told(Measured::Words),
            "1 word"
        );
    }

    #[test]
    fn a_quotient_is_as_wide_as_its_readings() {
        let (two, some) = (
            Range::exactly(2.0),
            Range {
                low: 1.0,
                high: 4.0,
            },
        );
        assert_eq!(
            two.over(some),
            Some(Range {
                low: 0.5,
                high: 2.0
            })
        );
        assert_eq!(
            two.share_of(some),
            Some(Range {
                low: 0.5,
                high: 1.0
            })
        );
        assert_eq!(two.over(Range::exactly(0.0)), None);
        assert_eq!(some.told(), "1.00 to 4.00");
    }
}

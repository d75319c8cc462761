//! Numbers from 0 to 1 in words: scores, and the thresholds that they are held to.

/// Decimals beyond which nobody tells shares apart.
const MOST_DECIMALS: usize = 6;

/// A share with two decimals, and with more where two would say another number: 0.999 is not 1.00.
pub fn exact(share: f64) -> String {
    let decimals = (2..MOST_DECIMALS).find(|decimals| {
        let shown = format!("{share:.decimals$}").parse::<f64>();
        shown.is_ok_and(|shown| (shown - share).abs() < 1e-9)
    });
    format!("{share:.*}", decimals.unwrap_or(MOST_DECIMALS))
}

/// A score with two decimals, and with more where two would hide that it is below this threshold, or below 1.
pub fn score(score: f64, threshold: f64) -> String {
    let hides =
        |shown: f64| (score < threshold && shown >= threshold) || (score < 1.0 && shown >= 1.0);
    let decimals = (2..MOST_DECIMALS).find(|decimals| {
        let shown = format!("{score:.decimals$}").parse::<f64>();
        shown.is_ok_and(|shown| !hides(shown))
    });
    format!("{score:.*}", decimals.unwrap_or(MOST_DECIMALS))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_threshold_is_shown_as_it_is() {
        for (share, shown) in [
            (0.7, "0.70"),
            (0.999, "0.999"),
            (1.0, "1.00"),
            (0.123_456_789, "0.123457"),
        ] {
            assert_eq!(exact(share), shown);
        }
    }

    #[test]
    fn a_score_below_a_threshold_is_shown_below_it() {
        for (scored, threshold, shown) in [
            (0.987, 0.7, "0.99"),
            (0.749, 0.75, "0.749"),
            (0.9985, 0.999, "0.9985"),
            (0.997, 0.5, "0.997"),
            (1.0, 1.0, "1.00"),
        ] {
            assert_eq!(score(scored, threshold), shown);
        }
    }
}

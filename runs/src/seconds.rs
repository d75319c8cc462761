//! Times in words.

use std::time::Duration;

/// A time in seconds, to a tenth; one below a tenth of a second in milliseconds.
pub fn seconds(time: Duration) -> String {
    let tenths = (time.as_millis() + 50) / 100;
    match (tenths / 10, tenths % 10) {
        (0, 0) => format!("{} ms", time.as_millis()),
        (whole, 0) => format!("{whole} s"),
        (whole, tenth) => format!("{whole}.{tenth} s"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_of_a_second_are_not_lost() {
        let said = |ms| seconds(Duration::from_millis(ms));
        for (ms, expected) in [
            (20, "20 ms"),
            (499, "0.5 s"),
            (700, "0.7 s"),
            (1_500, "1.5 s"),
            (9_996, "10 s"),
            (3_600_000, "3600 s"),
        ] {
            assert_eq!(said(ms), expected);
        }
    }
}

//! Small charts within lines: a value over the last hour, as a picture with a text for who does not see it.

use std::fmt::Write;

use maud::{Markup, html};

const WIDTH: f64 = 120.0;
const HEIGHT: f64 = 28.0;
/// Room for the width of the line.
const MARGIN: f64 = 2.0;

/// A line through these values, the oldest first, that ends at the right; gaps where there was nothing. `words` says what they are.
pub(crate) fn sparkline(values: &[Option<f64>], most: usize, words: &str) -> Markup {
    let paths = paths(values, most);
    html! {
        svg.spark viewBox={ "0 0 " (WIDTH) " " (HEIGHT) } width=(WIDTH) height=(HEIGHT) role="img" aria-label=(words) {
            @for path in &paths { polyline points=(path) {} }
        }
    }
}

/// The points of each part of the line without a gap.
fn paths(values: &[Option<f64>], most: usize) -> Vec<String> {
    let highest = values.iter().flatten().copied().fold(0.0, f64::max);
    let highest = if highest > 0.0 { highest } else { 1.0 };
    let step = (WIDTH - 2.0 * MARGIN) / index(most.max(2) - 1);
    let missing = most.saturating_sub(values.len());
    let mut paths = vec![String::new()];
    for (n, value) in values.iter().enumerate() {
        let Some(value) = value else {
            paths.push(String::new());
            continue;
        };
        let x = MARGIN + index(missing + n) * step;
        let y = HEIGHT - MARGIN - value / highest * (HEIGHT - 2.0 * MARGIN);
        if let Some(path) = paths.last_mut() {
            let gap = if path.is_empty() { "" } else { " " };
            // Writing into a string does not fail.
            let _ = write!(path, "{gap}{x:.1},{y:.1}");
        }
    }
    paths.retain(|path| !path.is_empty());
    // A point alone is seen as a short line.
    for path in &mut paths {
        if !path.contains(' ') {
            *path = format!("{path} {path}");
        }
    }
    paths
}

#[expect(clippy::cast_precision_loss, reason = "there are few")]
fn index(number: usize) -> f64 {
    number as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_ends_at_the_right_and_has_gaps() {
        let paths = paths(&[Some(0.0), Some(10.0), None, Some(5.0)], 4);
        assert_eq!(paths, ["2.0,26.0 40.7,2.0", "118.0,14.0 118.0,14.0"]);
        let half = super::paths(&[Some(1.0), Some(1.0)], 4);
        assert_eq!(half, ["79.3,2.0 118.0,2.0"]);
        assert_eq!(super::paths(&[None, None], 4), Vec::<String>::new());
    }

    #[test]
    fn it_says_what_it_shows() {
        let drawn = sparkline(&[Some(1.0)], 4, "Events, up to \"1\" a second").into_string();
        assert!(drawn.contains("role=\"img\""), "{drawn}");
        assert!(
            drawn.contains("Events, up to &quot;1&quot; a second"),
            "{drawn}"
        );
        assert!(!drawn.contains("style"), "the policy allows none: {drawn}");
    }
}

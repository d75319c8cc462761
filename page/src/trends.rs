//! The last hour of a hub: its health, and how its numbers went.

use maud::{Markup, html};

use crate::{
    elements::{Cell, Row, table},
    health::{Health, seconds},
    numbers::{Numbers, Point},
    sparkline::sparkline,
};

/// Points that a line has room for: those of an hour.
const ROOM: usize = 360;

/// Points of a row of the table: five minutes.
const ROW: usize = 30;

/// A number that is followed over the hour.
struct Trend {
    name: &'static str,
    of: fn(&Point) -> Option<f64>,
    words: fn(f64) -> String,
}

const TRENDS: [Trend; 9] = [
    Trend {
        name: "events a second",
        of: |point| Some(point.events),
        words: rate,
    },
    Trend {
        name: "deliveries a second",
        of: |point| Some(point.deliveries),
        words: rate,
    },
    Trend {
        name: "publish to mailbox, median",
        of: |point| point.commit.p50,
        words: seconds,
    },
    Trend {
        name: "publish to mailbox, 99 %",
        of: |point| point.commit.p99,
        words: seconds,
    },
    Trend {
        name: "wait in mailboxes, 99 %",
        of: |point| point.mailbox.p99,
        words: seconds,
    },
    Trend {
        name: "agents and gateways connected",
        of: |point| Some(point.now.agents),
        words: count,
    },
    Trend {
        name: "open tasks",
        of: |point| Some(point.now.open_tasks),
        words: count,
    },
    Trend {
        name: "mail that waits for agents",
        of: |point| Some(point.now.waiting),
        words: count,
    },
    Trend {
        name: "deliveries given up",
        of: |point| Some(point.given_up),
        words: count,
    },
];

fn rate(number: f64) -> String {
    match number < 10.0 {
        true => format!("{number:.1}"),
        false => format!("{number:.0}"),
    }
}

fn count(number: f64) -> String {
    format!("{number:.0}")
}

/// Health in a word with its reasons, and the lines of the hour.
pub(crate) fn drawn(numbers: &Numbers) -> Markup {
    let health = Health::of(numbers);
    let (word, class) = health.level.words();
    html! {
        section aria-labelledby="health" {
            h2 #health { "Hub " span class={ "state " (class) } { (word) } }
            ul.health { @for why in &health.why { li { (why) } } }
        }
        @if numbers.latest().is_some() {
            section aria-labelledby="trends" {
                h2 #trends { "The last hour" }
                ul.numbers.trends { @for trend in &TRENDS { (line(trend, numbers)) } }
                details {
                    summary { "As a table" }
                    (rows(numbers))
                }
            }
        }
    }
}

fn line(trend: &Trend, numbers: &Numbers) -> Markup {
    let values: Vec<Option<f64>> = numbers.points().map(trend.of).collect();
    let now = values.last().copied().flatten();
    let highest = values.iter().flatten().copied().reduce(f64::max);
    let said = |value: Option<f64>| value.map_or_else(|| "–".to_owned(), trend.words);
    let words = format!(
        "{} in the last hour: {} now, {} at most",
        trend.name,
        said(now),
        said(highest)
    );
    html! {
        li.trend {
            b { (said(now)) } " " (trend.name)
            (sparkline(&values, ROOM, &words))
        }
    }
}

/// The numbers, five minutes to a row, the latest first.
fn rows(numbers: &Numbers) -> Markup {
    let points: Vec<&Point> = numbers.points().rev().collect();
    let rows: Vec<Row> = points.chunks(ROW).filter_map(row).collect();
    let heads: Vec<&str> = std::iter::once("until")
        .chain(TRENDS.iter().map(|trend| trend.name))
        .collect();
    table(&heads, &rows, "Nothing so far.")
}

/// The highest of each number in some points, the latest of which is the first.
fn row(points: &[&Point]) -> Option<Row> {
    let until = points.first()?.at.strftime("%H:%M UTC").to_string();
    let highest = |trend: &Trend| {
        let values = points.iter().filter_map(|point| (trend.of)(point));
        values.reduce(f64::max)
    };
    let numbers = TRENDS.iter().map(|trend| {
        let words = highest(trend).map_or_else(|| "–".to_owned(), trend.words);
        Cell::number(words)
    });
    Some(Row::new(std::iter::once(Cell::head(until)).chain(numbers)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::numbers::{
        Times,
        tests::{calm, of_points},
    };

    #[test]
    fn numbers_are_there_as_lines_as_words_and_as_a_table() {
        let mut points = vec![calm(); 40];
        points[5].events = 1_234.0;
        points[39].events = 7.25;
        points[39].commit = Times {
            p50: Some(0.0012),
            p99: Some(0.25),
        };
        let drawn = drawn(&of_points(points)).into_string();
        for part in [
            ">healthy<",
            "The log takes records",
            "aria-label=\"events a second in the last hour: 7.2 now, 1234 at most\"",
            "<b>250.0 ms</b> publish to mailbox, 99 %",
            "class=\"number\">open tasks</th>",
        ] {
            assert!(drawn.contains(part), "{part} in {drawn}");
        }
        assert_eq!(drawn.matches("<th scope=\"row\">").count(), 2, "{drawn}");
        assert_eq!(drawn.matches("<svg").count(), TRENDS.len());
    }

    #[test]
    fn before_the_first_look_there_are_no_lines() {
        let drawn = drawn(&Numbers::default()).into_string();
        assert!(drawn.contains("not looked at yet"), "{drawn}");
        assert!(!drawn.contains("<svg"), "{drawn}");
    }
}

//! The chart of the fan-outs, as SVG. It has its own background, readable on light and on dark pages.

use anyhow::anyhow;
use plotters::{
    coord::Shift,
    prelude::*,
    style::text_anchor::{HPos, Pos, VPos},
};

use super::{
    figures::{Spread, plain},
    report::FanOut,
};

const WIDTH: u32 = 960;
const ROW: u32 = 46;
const ABOVE: u32 = 84;
const BELOW: u32 = 24;
/// Left edge and width of the panels.
const NAMES: i32 = 190;
const PANEL: i32 = 310;
const BETWEEN: i32 = 70;
/// Height of a bar, and distance to the next.
const BAR: i32 = 15;
const STEP: i32 = 18;

const GROUND: RGBColor = RGBColor(252, 252, 250);
const INK: RGBColor = RGBColor(38, 38, 38);
const FAINT: RGBColor = RGBColor(110, 110, 110);
const LINE: RGBColor = RGBColor(218, 218, 214);
const HUB: RGBColor = RGBColor(27, 110, 194);
const OTHER: RGBColor = RGBColor(224, 140, 40);

const FONT: &str = "Helvetica, Arial, sans-serif";

type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;

/// Deliveries per second and the server's CPU time for each, of the hub and of the other system; the lines span the
/// lowest to the highest round.
///
/// # Errors
///
/// The chart cannot be formatted.
pub(super) fn svg(fan_outs: &[FanOut]) -> anyhow::Result<String> {
    let mut svg = String::new();
    let height = ABOVE + BELOW + ROW * u32::try_from(fan_outs.len())?;
    {
        let area = SVGBackend::with_string(&mut svg, (WIDTH, height)).into_drawing_area();
        draw(&area, fan_outs).map_err(|error| anyhow!("the chart cannot be drawn: {error}"))?;
    }
    Ok(svg)
}

type Drawn<'a> = Result<(), DrawingAreaErrorKind<<SVGBackend<'a> as DrawingBackend>::ErrorType>>;

fn draw<'a>(area: &Area<'a>, fan_outs: &[FanOut]) -> Drawn<'a> {
    area.fill(&GROUND)?;
    let middle = Pos::new(HPos::Left, VPos::Center);
    let name = |size, color| (FONT, size).into_font().color(color).pos(middle);
    for (at, text, color) in [
        (20, "AgentHub", HUB),
        (120, "what it is held against", OTHER),
    ] {
        area.draw(&Rectangle::new([(at, 16), (at + 12, 28)], color.filled()))?;
        area.draw(&Text::new(text, (at + 18, 23), name(14, &INK)))?;
    }
    for (index, fan_out) in (0..).zip(fan_outs) {
        let top = top(index);
        area.draw(&Text::new(
            fan_out.name.as_str(),
            (20, top + 9),
            name(13, &INK),
        ))?;
        let against = format!("against {}", fan_out.against);
        area.draw(&Text::new(against, (20, top + 9 + STEP), name(11, &FAINT)))?;
    }
    let per_s = "deliveries/s (more is better)";
    panel(area, NAMES, per_s, fan_outs, |f| f.per_s)?;
    let cpu_us = "server CPU, µs per delivery (less is better)";
    let left = NAMES + PANEL + BETWEEN;
    panel(area, left, cpu_us, fan_outs, |f| f.cpu_us)?;
    Ok(())
}

/// The bars of one figure, from the left edge on.
fn panel<'a>(
    area: &Area<'a>,
    left: i32,
    title: &str,
    fan_outs: &[FanOut],
    of: fn(&FanOut) -> [Spread; 2],
) -> Drawn<'a> {
    let most = fan_outs
        .iter()
        .flat_map(of)
        .map(|s| s.high)
        .fold(0.0, f64::max);
    let at = |value: f64| left + (value / most * f64::from(PANEL)) as i32;
    let bottom = top(i32::try_from(fan_outs.len()).unwrap_or(i32::MAX)) - 6;
    let middle = Pos::new(HPos::Left, VPos::Center);
    let head = (FONT, 14).into_font().color(&INK).pos(middle);
    area.draw(&Text::new(title, (left, 60), head))?;
    let label = (FONT, 12).into_font().color(&INK).pos(middle);
    area.draw(&PathElement::new(
        [(left, top(0) - 6), (left, bottom)],
        LINE,
    ))?;
    for (index, fan_out) in (0..).zip(fan_outs) {
        for (nth, (spread, color)) in (0..).zip(of(fan_out).into_iter().zip([HUB, OTHER])) {
            let y = top(index) + nth * STEP;
            let bar = [(left, y), (at(spread.middle).max(left + 1), y + BAR)];
            area.draw(&Rectangle::new(bar, color.filled()))?;
            let (low, high) = (at(spread.low), at(spread.high));
            let range = [(low, y + BAR / 2), (high, y + BAR / 2)];
            area.draw(&PathElement::new(range, INK))?;
            let beside = (high.max(bar[1].0) + 6, y + BAR / 2 + 1);
            area.draw(&Text::new(plain(spread.middle), beside, label.clone()))?;
        }
    }
    Ok(())
}

fn top(index: i32) -> i32 {
    ABOVE as i32 + index * ROW as i32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_fan_out_has_a_name_and_its_figures() {
        let spread = |middle| Spread {
            low: middle / 2.0,
            middle,
            high: middle * 2.0,
        };
        let fan_out = FanOut {
            name: "256 B, memory, 1→100".to_owned(),
            against: "NATS core".to_owned(),
            per_s: [spread(3_310_000.0), spread(1_200_000.0)],
            cpu_us: [spread(0.28), spread(0.9)],
        };
        let svg = svg(&[fan_out]).expect("it can be drawn");
        for text in [
            "256 B, memory, 1→100",
            "against NATS core",
            "3.31 M",
            "1.20 M",
            "0.280",
            "0.900",
        ] {
            assert!(svg.contains(text), "{text} is missing in {svg}");
        }
    }
}

//! Picture of a plan: a box for each step, which leads to its row in the table of steps, and an arrow from each to those that need it.

use std::fmt::Write;

use maud::{Markup, html};

use super::{Plan, PlanStep, layers::Layered};
use crate::{
    elements::{kind, line, segment},
    words,
};

/// The most steps that are drawn. The table has all.
const MAX_DRAWN: usize = 100;

/// The widest picture whose layers stand side by side, in pixels. Of more layers each stands below the one before.
const MAX_WIDTH: usize = 1_244;

/// Size of a step, in pixels.
const WIDTH: usize = 178;
const HEIGHT: usize = 50;

/// Height of the bar of a loop that shows how much is done, in pixels.
const DONE: usize = 5;

/// Room between layers, between neighbours, around the picture, and for an edge that passes a layer.
const BETWEEN: usize = 32;
const BESIDE: usize = 16;
const AROUND: usize = 6;
const LANE: usize = 12;

/// The longest name and the longest line in a step, in characters.
const NAME: usize = 19;
const ABOUT: usize = 25;

/// Direction in which the layers follow one another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Direction {
    Right,
    Down,
}

/// Places of everything: along the direction, and across it.
struct Drawing<'a> {
    layered: &'a Layered,
    direction: Direction,
    /// Beginning of each node and lane across the direction.
    across: Vec<usize>,
    /// Size across.
    breadth: usize,
}

/// The plan as a picture.
pub(super) fn picture(plan: &Plan<'_>) -> Markup {
    if plan.steps.len() > MAX_DRAWN {
        return html! {
            p.nothing { "The plan has " (plan.steps.len()) " steps, which is too many to be drawn: the table has them." }
        };
    }
    if plan.steps.is_empty() {
        return html! {};
    }
    let drawing = Drawing::of(&plan.layered);
    let (width, height) = drawing.size();
    html! {
        div.wide.plan tabindex="0" role="group" aria-label="Plan as a picture; the table of steps says the same" {
            svg.plan width=(width) height=(height) viewBox={ "0 0 " (width) " " (height) } {
                defs {
                    marker #arrow viewBox="0 0 8 8" refX="7" refY="4" markerWidth="8" markerHeight="8" orient="auto" {
                        path.arrow d="M0 0L8 4L0 8z" {}
                    }
                }
                @for edge in &plan.layered.edges {
                    path class=[plan.layered.is_implied(edge).then_some("implied")] d=(drawing.edge(edge)) marker-end="url(#arrow)" {}
                }
                @for (at, step) in plan.steps.iter().enumerate() {
                    @let (x, y) = drawing.corner(at);
                    a href={ "#step-" (segment(&step.name)) } {
                        title { (step.name) ": " (words::state(&step.state)) }
                        g class={ "step " (kind(&step.state)) } {
                            rect x=(x) y=(y) width=(WIDTH) height=(HEIGHT) rx="8" {}
                            text x=(x + 10) y=(y + 21) { (line(&step.name, NAME)) }
                            " "
                            text.about x=(x + 10) y=(y + 39) { (line(&about(step), ABOUT)) }
                            @if step.counts.items > 0 { rect.done x=(x) y=(y + HEIGHT - DONE) width=(done(step)) height=(DONE) {} }
                        }
                    }
                }
            }
        }
    }
}

/// Width of the part of a loop that is done.
fn done(step: &PlanStep<'_>) -> u64 {
    let (done, items) = (step.counts.done, step.counts.items.max(1));
    WIDTH as u64 * done.min(items) / items
}

fn about(step: &PlanStep<'_>) -> String {
    let counts = &step.counts;
    if counts.items > 1 {
        let rest = match (counts.failed, counts.cancelled) {
            (0, 0) => " done".to_owned(),
            (0, cancelled) => format!(", {cancelled} cancelled"),
            (failed, _) => format!(", {failed} failed"),
        };
        return format!("{} of {}{rest}", counts.done, counts.items);
    }
    // There is little room, and the colour says the rest.
    let state = step
        .state
        .strip_prefix("completed, ")
        .unwrap_or(&step.state);
    let state = words::state(state);
    if let Some(refusal) = step.refusal() {
        return format!("{state} by {}", refusal.by);
    }
    match &*step.who() {
        "" => state,
        who => format!("{state} · {who}"),
    }
}

impl<'a> Drawing<'a> {
    fn of(layered: &'a Layered) -> Self {
        let depth = layered.depth();
        let direction = match depth * (WIDTH + BETWEEN) + 2 * AROUND - BETWEEN <= MAX_WIDTH {
            true => Direction::Right,
            false => Direction::Down,
        };
        let node = match direction {
            Direction::Right => HEIGHT,
            Direction::Down => WIDTH,
        };
        let size = |at: usize| if at < layered.nodes { node } else { LANE };
        let breadth = |row: &[usize]| {
            let taken: usize = row.iter().map(|at| size(*at) + BESIDE).sum();
            taken.saturating_sub(BESIDE)
        };
        let rows: Vec<Vec<usize>> = (0..depth).map(|layer| layered.layer(layer)).collect();
        let whole = rows.iter().map(|row| breadth(row)).max().unwrap_or(0);
        let mut across = vec![0; layered.places.len()];
        for row in &rows {
            // Each layer stands in the middle.
            let mut at = AROUND + (whole - breadth(row)) / 2;
            for node in row {
                across[*node] = at;
                at += size(*node) + BESIDE;
            }
        }
        Self {
            layered,
            direction,
            across,
            breadth: whole + 2 * AROUND,
        }
    }

    fn size(&self) -> (usize, usize) {
        let length = self.layered.depth() * (self.thickness() + BETWEEN) - BETWEEN + 2 * AROUND;
        match self.direction {
            Direction::Right => (length, self.breadth),
            Direction::Down => (self.breadth, length),
        }
    }

    /// Size of a layer along the direction.
    fn thickness(&self) -> usize {
        match self.direction {
            Direction::Right => WIDTH,
            Direction::Down => HEIGHT,
        }
    }

    /// Beginning of a layer along the direction.
    fn along(&self, node: usize) -> usize {
        AROUND + self.layered.places[node].layer * (self.thickness() + BETWEEN)
    }

    /// Upper left corner of a step.
    fn corner(&self, node: usize) -> (usize, usize) {
        match self.direction {
            Direction::Right => (self.along(node), self.across[node]),
            Direction::Down => (self.across[node], self.along(node)),
        }
    }

    /// Middle of a step or a lane across the direction.
    fn middle(&self, node: usize) -> usize {
        let size = match (node < self.layered.nodes, self.direction) {
            (false, _) => LANE,
            (true, Direction::Right) => HEIGHT,
            (true, Direction::Down) => WIDTH,
        };
        self.across[node] + size / 2
    }

    /// A point of the picture.
    fn point(&self, along: usize, across: usize) -> String {
        match self.direction {
            Direction::Right => format!("{along} {across}"),
            Direction::Down => format!("{across} {along}"),
        }
    }

    /// From the end of one step, straight through the lanes, to the beginning of another one. It bends between the layers alone.
    fn edge(&self, edge: &[usize]) -> String {
        let mut path = String::new();
        for pair in edge.windows(2) {
            let (from, to) = (pair[0], pair[1]);
            let (begin, end) = (self.along(from) + self.thickness(), self.along(to));
            let bend = BETWEEN / 2;
            if path.is_empty() {
                path = format!("M{}", self.point(begin, self.middle(from)));
            } else {
                // Writing to a string does not fail.
                let _ = write!(path, "L{}", self.point(begin, self.middle(from)));
            }
            let _ = write!(
                path,
                "C{} {} {}",
                self.point(begin + bend, self.middle(from)),
                self.point(end.saturating_sub(bend), self.middle(to)),
                self.point(end, self.middle(to)),
            );
        }
        path
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// True if a straight line along the direction at this place across meets a step of the layer.
    fn meets_a_step(drawing: &Drawing<'_>, layer: usize, across: usize) -> bool {
        let row = drawing.layered.layer(layer);
        row.into_iter()
            .filter(|node| *node < drawing.layered.nodes)
            .any(|node| {
                let begin = drawing.across[node];
                (begin..=begin + HEIGHT).contains(&across)
            })
    }

    /// Issue 26, runs: edges go around boxes.
    #[test]
    fn no_edge_crosses_a_step() {
        let needs = [vec![], vec![0], vec![1], vec![0, 2], vec![0, 1, 3], vec![2]];
        let layered = Layered::of(&needs);
        let drawing = Drawing::of(&layered);
        assert_eq!(drawing.direction, Direction::Right);
        let mut lanes = 0;
        for edge in &layered.edges {
            for lane in &edge[1..edge.len() - 1] {
                let layer = layered.places[*lane].layer;
                assert!(!meets_a_step(&drawing, layer, drawing.middle(*lane)));
                lanes += 1;
            }
        }
        assert!(lanes > 3, "edges pass layers");
    }

    #[test]
    fn a_long_plan_goes_down_and_is_no_wider_than_it_must() {
        let chain: Vec<Vec<usize>> = (0..9)
            .map(|node: usize| node.checked_sub(1).into_iter().collect())
            .collect();
        let layered = Layered::of(&chain);
        let drawing = Drawing::of(&layered);
        assert_eq!(drawing.direction, Direction::Down);
        assert_eq!(drawing.size().0, WIDTH + 2 * AROUND);
        let short = Layered::of(&chain[..5]);
        assert_eq!(Drawing::of(&short).size().1, HEIGHT + 2 * AROUND);
    }
}

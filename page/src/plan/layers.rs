//! Layers of a graph without cycles: each node stands behind all that it needs, and near to them. An edge that passes layers has a lane of its own in
//! each of them, so that it crosses no node.

use std::collections::BTreeSet;

/// The most passes that move nodes next to what they belong to. More change little.
const PASSES: usize = 4;

/// The most nodes whose edges are compared with longer ways. Of more, none is drawn.
const MOST_IMPLIED: usize = 100;

/// Place of a node or a lane: its layer, and its rank in that.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) layer: usize,
    pub(super) rank: usize,
}

/// A graph in layers.
#[derive(Debug, Default)]
pub(super) struct Layered {
    /// Number of nodes. What is behind them in `places` are lanes.
    pub(super) nodes: usize,
    pub(super) places: Vec<Place>,
    /// Each edge as the places that it goes through, from a node by way of lanes to a node that needs it.
    pub(super) edges: Vec<Vec<usize>>,
    /// The edges, by their ends, that longer ways say as well.
    implied: BTreeSet<(usize, usize)>,
}

impl Layered {
    /// The layers of nodes, each with the nodes that it needs. What is in a cycle, which no plan is, stands where it is first met.
    pub(super) fn of(needs: &[Vec<usize>]) -> Self {
        let mut layers = layered(needs);
        let mut whole: Vec<Vec<usize>> = vec![Vec::new(); needs.len()];
        let mut edges = Vec::new();
        for (node, needed) in needs.iter().enumerate() {
            for other in needed {
                let mut edge = vec![*other];
                for layer in layers[*other] + 1..layers[node] {
                    let lane = layers.len();
                    layers.push(layer);
                    whole.push(vec![edge[edge.len() - 1]]);
                    edge.push(lane);
                }
                whole[node].push(edge[edge.len() - 1]);
                edge.push(node);
                edges.push(edge);
            }
        }
        Self {
            nodes: needs.len(),
            implied: implied(needs, &layers),
            places: placed(&whole, layers),
            edges,
        }
    }

    /// True for an edge whose ends are joined by a longer way, too.
    pub(super) fn is_implied(&self, edge: &[usize]) -> bool {
        let ends = edge.first().copied().zip(edge.last().copied());
        ends.is_some_and(|ends| self.implied.contains(&ends))
    }

    /// Number of layers.
    pub(super) fn depth(&self) -> usize {
        let last = self.places.iter().map(|place| place.layer).max();
        last.map_or(0, |last| last + 1)
    }

    /// The nodes and lanes of a layer, in their order.
    pub(super) fn layer(&self, layer: usize) -> Vec<usize> {
        let mut row: Vec<usize> = (0..self.places.len())
            .filter(|node| self.places[*node].layer == layer)
            .collect();
        row.sort_unstable_by_key(|node| self.places[*node].rank);
        row
    }
}

/// Edges between nodes that longer ways join, too.
fn implied(needs: &[Vec<usize>], layers: &[usize]) -> BTreeSet<(usize, usize)> {
    if needs.len() > MOST_IMPLIED {
        return BTreeSet::new();
    }
    let mut order: Vec<usize> = (0..needs.len()).collect();
    order.sort_by_key(|node| layers[*node]);
    let mut before: Vec<BTreeSet<usize>> = vec![BTreeSet::new(); needs.len()];
    let mut implied = BTreeSet::new();
    for node in order {
        let behind: BTreeSet<usize> = needs[node]
            .iter()
            .flat_map(|other| before[*other].iter().copied())
            .collect();
        let doubled = needs[node].iter().filter(|other| behind.contains(other));
        implied.extend(doubled.map(|other| (*other, node)));
        before[node] = behind
            .into_iter()
            .chain(needs[node].iter().copied())
            .collect();
    }
    implied
}

fn placed(needs: &[Vec<usize>], layers: Vec<usize>) -> Vec<Place> {
    let mut rows: Vec<Vec<usize>> =
        vec![Vec::new(); layers.iter().max().map_or(0, |last| last + 1)];
    for (node, layer) in layers.iter().enumerate() {
        rows[*layer].push(node);
    }
    let mut needed_by = vec![Vec::new(); needs.len()];
    for (node, needed) in needs.iter().enumerate() {
        for other in needed {
            needed_by[*other].push(node);
        }
    }
    let mut ranks = vec![0; needs.len()];
    rank(&rows, &mut ranks);
    for pass in 0..PASSES {
        let near = if pass % 2 == 0 { needs } else { &needed_by };
        for row in &mut rows {
            // Keys are compared as they were before the row is sorted; equals keep their order.
            let mut keyed: Vec<(u64, usize)> = row
                .iter()
                .map(|node| (key(*node, near, &ranks), *node))
                .collect();
            keyed.sort_by_key(|(key, _)| *key);
            *row = keyed.into_iter().map(|(_, node)| node).collect();
        }
        rank(&rows, &mut ranks);
    }
    let placed = layers.into_iter().zip(ranks);
    placed.map(|(layer, rank)| Place { layer, rank }).collect()
}

fn rank(rows: &[Vec<usize>], ranks: &mut [usize]) {
    for row in rows {
        for (rank, node) in row.iter().enumerate() {
            ranks[*node] = rank;
        }
    }
}

/// Mean rank of the neighbours of a node, in thousandths; its own rank without any.
fn key(node: usize, near: &[Vec<usize>], ranks: &[usize]) -> u64 {
    let around = &near[node];
    match around.len() {
        0 => ranks[node] as u64 * 1_000,
        count => {
            around
                .iter()
                .map(|other| ranks[*other] as u64 * 1_000)
                .sum::<u64>()
                / count as u64
        }
    }
}

/// The longest way to each node.
fn layered(needs: &[Vec<usize>]) -> Vec<usize> {
    let mut layers = vec![None; needs.len()];
    for node in 0..needs.len() {
        // A stack of its own, so that a long chain takes no deep recursion.
        let mut stack = vec![(node, 0)];
        let mut open = vec![false; needs.len()];
        while let Some((node, next)) = stack.pop() {
            open[node] = true;
            match needs[node].get(next) {
                Some(other) => {
                    stack.push((node, next + 1));
                    if layers[*other].is_none() && !open[*other] {
                        stack.push((*other, 0));
                    }
                }
                None => {
                    let above = needs[node].iter().filter_map(|other| layers[*other]).max();
                    layers[node] = Some(above.map_or(0, |layer: usize| layer + 1));
                }
            }
        }
    }
    layers.into_iter().map(Option::unwrap_or_default).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(needs: &[Vec<usize>]) -> Vec<Vec<usize>> {
        let layered = Layered::of(needs);
        let row = |layer| -> Vec<usize> {
            let row = layered.layer(layer).into_iter();
            row.filter(|node| *node < layered.nodes).collect()
        };
        (0..layered.depth()).map(row).collect()
    }

    #[test]
    fn each_step_stands_behind_all_that_it_needs() {
        let diamond = [vec![1, 2], vec![3], vec![3, 4], vec![], vec![3]];
        let rows = rows(&diamond);
        assert_eq!(rows, [vec![3], vec![1, 4], vec![2], vec![0]]);
        assert!(Layered::of(&[]).places.is_empty());
    }

    #[test]
    fn neighbours_stand_next_to_each_other() {
        // Two chains, named so that their ends would cross.
        let crossed = [vec![], vec![], vec![1], vec![0]];
        assert_eq!(rows(&crossed), [vec![0, 1], vec![3, 2]]);
    }

    /// Issue 26, runs: an edge that passes steps goes around them.
    #[test]
    fn an_edge_that_passes_layers_has_a_lane_in_each_of_them() {
        let skipping = [vec![], vec![0], vec![1], vec![0, 2]];
        let layered = Layered::of(&skipping);
        assert!(layered.is_implied(&[0, 3]) && !layered.is_implied(&[2, 3]));
        let long = layered
            .edges
            .iter()
            .find(|edge| (edge[0], edge[edge.len() - 1]) == (0, 3))
            .expect("it is there");
        let places: Vec<usize> = long.iter().map(|at| layered.places[*at].layer).collect();
        assert_eq!(places, [0, 1, 2, 3]);
        for lane in &long[1..3] {
            assert!(*lane >= layered.nodes, "it is no step");
            let place = layered.places[*lane];
            let others = layered.layer(place.layer);
            assert_eq!(others.len(), 2, "beside the step of that layer");
        }
    }

    #[test]
    fn a_cycle_and_a_long_chain_are_drawn_like_anything_else() {
        assert_eq!(Layered::of(&[vec![1], vec![0], vec![2]]).nodes, 3);
        let chain: Vec<Vec<usize>> = (0..5_000)
            .map(|node: usize| node.checked_sub(1).into_iter().collect())
            .collect();
        assert_eq!(Layered::of(&chain).depth(), 5_000);
    }
}

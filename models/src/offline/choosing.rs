//! Choice of the tools for words that state no call outright.

use std::ops::Range;

use agenthub_runs::tool_loop::FIND_AGENTS;

use super::{
    known::Known,
    sums,
    words::{asks_who_it_is, clauses},
};
use crate::ToolSpec;

/// The tools that the words name, with all the words; else those that the clauses of the words match, each with its own
/// clauses; else the one that the words match best.
pub(super) fn choose<'a>(words: &'a str, tools: &'a [ToolSpec]) -> Vec<(&'a ToolSpec, &'a str)> {
    let known = Known::of(tools);
    let named = known.named(words);
    if !named.is_empty() {
        return named.into_iter().map(|at| (&tools[at], words)).collect();
    }
    if asks_who_it_is(words) {
        return Vec::new();
    }
    let best = |words: &str| known.best(words, FIND_AGENTS);
    let several = segments(words, best);
    if several.len() > 1 {
        let of = |(at, words)| (&tools[at], words);
        return several.into_iter().map(of).collect();
    }
    let find = || {
        let find = tools.iter().position(|tool| tool.name == FIND_AGENTS);
        find.filter(|_| sums::answer(words).is_none())
    };
    let one = best(words).or_else(find);
    one.map(|at| (&tools[at], words)).into_iter().collect()
}

/// The clauses of the words, joined to stretches that one tool matches. A clause that none matches belongs to the stretch
/// before it.
fn segments(words: &str, best: impl Fn(&str) -> Option<usize>) -> Vec<(usize, &str)> {
    let offset = |piece: &str| piece.as_ptr() as usize - words.as_ptr() as usize;
    let mut segments: Vec<(usize, Range<usize>)> = Vec::new();
    for clause in clauses(words) {
        let end = offset(clause) + clause.len();
        match (best(clause), segments.last_mut()) {
            (Some(tool), Some((current, range))) if tool == *current => range.end = end,
            (None, Some((_, range))) => range.end = end,
            (Some(tool), Some(_)) => segments.push((tool, offset(clause)..end)),
            (Some(tool), None) => segments.push((tool, 0..end)),
            (None, None) => {}
        }
    }
    segments
        .into_iter()
        .map(|(tool, range)| (tool, words[range].trim_start()))
        .collect()
}

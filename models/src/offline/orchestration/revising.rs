//! Another round, and the best of all rounds.

use serde_json::{Map, Value, json};

use super::{
    Board, Review,
    connecting::{last_word, may_be_list, path_to, properties, required},
};

/// Words in the names of properties that take a review's findings.
const FINDINGS: [&str; 5] = ["revision", "feedback", "findings", "issues", "notes"];

/// Beginnings of the names of properties that take what was made before.
const BEFORE: [&str; 4] = ["previous", "prior", "last", "current"];

/// Operations that have made again what this review looked at, and have it reviewed again; nothing where nobody made it.
pub(super) fn again(board: &Board<'_>, review: &Review) -> Option<Value> {
    let made = |step: &&String| {
        let offer = board.offer(board.capability(step));
        offer.is_some_and(|offer| offer.phase == "generation") && board.state(step) == "completed"
    };
    let made: Vec<&String> = review.of.iter().filter(made).collect();
    if made.is_empty() || board.offer(board.capability(&review.step)).is_none() {
        return None;
    }
    let mut names: Vec<(String, String)> = Vec::new();
    for step in made.iter().copied().chain([&review.step]) {
        names.push((step.clone(), next_name(board, step)));
    }
    let mut patch = Vec::new();
    for (old, new) in &names {
        let mut step = renamed(&board.steps[old], &names);
        if *old != review.step {
            take_in(board, review, old, &mut step);
        }
        patch.push(json!({"op": "add", "path": format!("/steps/{new}"), "value": step}));
    }
    patch
        .push(json!({"op": "replace", "path": "/result", "value": renamed(&board.result, &names)}));
    Some(patch.into())
}

/// The step with what the review found, and with what it made before.
fn take_in(board: &Board<'_>, review: &Review, old: &str, step: &mut Value) {
    let Some(offer) = board.offer(board.capability(old)) else {
        return;
    };
    let reviewer = board.offer(board.capability(&review.step));
    let findings = reviewer.and_then(|offer| path_to(offer.output_schema.as_ref()?, "issues", 3));
    let schema = offer.input_schema.as_ref().unwrap_or(&Value::Null);
    let output = offer.output_schema.as_ref().unwrap_or(&Value::Null);
    for (property, form) in properties(schema) {
        let name = property.to_lowercase();
        if may_be_list(form) && FINDINGS.iter().any(|word| name.contains(word)) {
            if let Some((path, _)) = &findings {
                step["payload"][property] =
                    format!("${{{}.output.{}}}", review.step, path.join(".")).into();
            }
        } else if BEFORE.iter().any(|word| name.starts_with(word))
            && let Some((path, _)) = path_to(output, last_word(property), 1)
        {
            step["payload"][property] = format!("${{{old}.output.{}}}", path.join(".")).into();
        }
    }
}

/// The value with references to other steps.
fn renamed(value: &Value, names: &[(String, String)]) -> Value {
    match value {
        Value::String(text) => {
            let mut text = text.clone();
            for (old, new) in names {
                text = text.replace(&format!("${{{old}.output"), &format!("${{{new}.output"));
            }
            text.into()
        }
        Value::Array(items) => items.iter().map(|item| renamed(item, names)).collect(),
        Value::Object(fields) => fields
            .iter()
            .map(|(key, value)| (key.clone(), renamed(value, names)))
            .collect(),
        other => other.clone(),
    }
}

/// `draft-2` of `draft`, `draft-3` of `draft-2`.
fn next_name(board: &Board<'_>, step: &str) -> String {
    let base = base(step);
    let free = (2..)
        .map(|n| format!("{base}-{n}"))
        .find(|name| !board.steps.contains_key(name));
    free.expect("there are more numbers than steps")
}

fn base(step: &str) -> &str {
    match step.rsplit_once('-') {
        Some((base, number))
            if !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit()) =>
        {
            base
        }
        _ => step,
    }
}

/// The review with the best verdict, the latest among equals.
pub(super) fn best<'b>(board: &'b Board<'_>) -> Option<&'b Review> {
    let rank = |review: &Review| (review.pass, review.score.unwrap_or(0.0));
    board
        .reviews
        .iter()
        .reduce(|best, review| match rank(review) >= rank(best) {
            true => review,
            false => best,
        })
}

/// The parts of the result: those that the plan names, of the best round. What has no output is left out.
pub(super) fn artifacts(board: &Board<'_>) -> Value {
    let last = board
        .reviews
        .last()
        .map(|review| &*review.of)
        .unwrap_or_default();
    let best = best(board).map(|review| &*review.of).unwrap_or_default();
    let names: Vec<(String, String)> = last
        .iter()
        .filter_map(|step| {
            let same = best
                .iter()
                .find(|other| base(other) == base(step) && other != &step)?;
            Some((step.clone(), same.clone()))
        })
        .collect();
    let form = renamed(&board.result, &names);
    let is_there = |value: &Value| {
        let step = value
            .as_str()
            .and_then(|text| text.strip_prefix("${")?.split_once(".output"));
        step.is_some_and(|(step, _)| board.state(step) == "completed")
    };
    let artifacts: Map<String, Value> = match &form {
        Value::Object(fields) => fields
            .iter()
            .filter(|(_, value)| is_there(value))
            .map(|(k, v)| (k.clone(), v.clone()))
            .collect(),
        _ => Map::new(),
    };
    match artifacts.is_empty() {
        false => artifacts.into(),
        true => whole_outputs(board),
    }
}

/// Without a form of the result: what each step that is done has made, reviews left out.
fn whole_outputs(board: &Board<'_>) -> Value {
    let done = board.in_state("completed");
    let made = done.filter(|step| {
        board
            .offer(board.capability(step))
            .is_some_and(|o| o.phase != "qa")
    });
    let named = made.map(|step| {
        let schema = board
            .offer(board.capability(step))
            .and_then(|o| o.output_schema.as_ref());
        let only = schema.and_then(|schema| required(schema).next());
        match only {
            Some(property) => (
                property.to_owned(),
                Value::from(format!("${{{step}.output.{property}}}")),
            ),
            None => (step.to_owned(), Value::from(format!("${{{step}.output}}"))),
        }
    });
    named.collect()
}

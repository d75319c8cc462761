//! Loops: the work of a step for each item of a list.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::{
    evaluating::{Evaluation, WorkState},
    lacking::gone_without,
};
use crate::{
    file::OnItemFailure,
    model::{Each, Step, Work},
    scope::Scope,
};

/// Errors of a loop's items that its own error names, at most.
const MAX_ERRORS: usize = 8;

impl Evaluation<'_> {
    /// The work of a step for each item of a list.
    pub(super) fn each<'g>(
        &mut self,
        step: &'g Step,
        each: &Each,
        scope: &Scope<'g>,
        name: &str,
        at_ms: u64,
    ) -> WorkState {
        let failed = |error: String, at_ms| WorkState::Failed { error, at_ms };
        let mut items = match each.items.value(scope) {
            Ok(Some(Value::Array(items))) => items,
            Ok(Some(_)) => return failed("`for_each` is no list".to_owned(), at_ms),
            Ok(None) => Vec::new(),
            Err(error) => return failed(format!("`for_each`: {error}"), at_ms),
        };
        if each.is_cut {
            items.truncate(each.most);
        }
        if items.len() > each.most {
            let error = format!(
                "the list has {} items, and at most {} are allowed",
                items.len(),
                each.most
            );
            return failed(error, at_ms);
        }
        let (count, wanted_before) = (items.len(), self.wanted.len());
        if count > each.parallel && scope.item().is_none() {
            self.tell_count(name, count);
        }
        let (mut iterations, mut failures) = (Vec::new(), Vec::new());
        let (mut open, mut last, mut first_failure) = (0, at_ms, None);
        for (index, value) in items.into_iter().enumerate() {
            if open == each.parallel {
                break;
            }
            let inner = Scope {
                input: scope.input,
                outer: Some(scope),
                item: Some(json!({
                    "item": value,
                    "index": index,
                    "count": count,
                    "total": count,
                    "is_first": index == 0,
                    "is_last": index + 1 == count,
                })),
                steps: BTreeMap::new(),
            };
            // One after the other, an item begins when the one before it has ended.
            let begun_ms = if each.parallel == 1 { last } else { at_ms };
            let item = format!("{name}/{index}");
            let work = self.work(step, &inner, &item, begun_ms);
            if matches!(step.work, Work::Steps(_)) {
                self.tell_item(&item, &work);
            }
            match work {
                WorkState::Working => open += 1,
                WorkState::Completed { output, at_ms } => {
                    last = last.max(at_ms);
                    iterations.push(output);
                }
                WorkState::Failed { error, at_ms } if each.on_failure == OnItemFailure::Fail => {
                    first_failure.get_or_insert((format!("item {index}: {error}"), at_ms));
                }
                WorkState::Failed { error, at_ms } => {
                    last = last.max(at_ms);
                    if each.on_failure == OnItemFailure::Continue {
                        self.lacks.push(gone_without(&item, &error));
                    }
                    failures.push(json!({ "index": index, "error": error }));
                }
                WorkState::Cancelled { at_ms } => {
                    last = last.max(at_ms);
                    failures.push(json!({ "index": index, "error": "it was called back" }));
                }
            }
        }
        if let Some((error, at_ms)) = first_failure {
            self.wanted.truncate(wanted_before);
            return failed(error, at_ms);
        }
        if open == 0 && each.on_failure == OnItemFailure::Collect && !failures.is_empty() {
            let errors = failures.iter().take(MAX_ERRORS).map(|failure| {
                let error = failure["error"].as_str().unwrap_or_default();
                format!("item {}: {error}", failure["index"])
            });
            let errors: Vec<String> = errors.collect();
            let failures = failures.len();
            let error = format!("{failures} of {count} items: {}", errors.join("; "));
            return failed(error, last);
        }
        match open {
            0 => WorkState::Completed {
                output: json!({ "iterations": iterations, "total_count": count, "failed": failures }),
                at_ms: last,
            },
            _ => WorkState::Working,
        }
    }
}

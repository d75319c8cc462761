//! Size of a document, before anything is made of it: what follows takes more than in proportion to the number of steps.

use serde_json::Value;

use crate::{
    file::MAX_STEPS,
    finding::{At, Finding},
};

/// The largest number of steps of a document, those of loops and of workflows within steps included.
const MAX_IN_ALL: usize = 2_000;

/// The finding of a document that has too many steps.
pub(super) fn too_many_steps(document: &Value) -> Option<Finding> {
    let mut counted = Counted::default();
    counted.add(document, &mut At::new());
    let (at, count, most) = match counted.longest {
        Some((at, count)) => (at, count, MAX_STEPS),
        None if counted.in_all > MAX_IN_ALL => {
            (vec!["steps".to_owned()], counted.in_all, MAX_IN_ALL)
        }
        None => return None,
    };
    let help = format!("at most {most} are allowed: give some of them to workflows of their own");
    Some(Finding::at(at, format!("there are {count} steps"), help).key())
}

#[derive(Default)]
struct Counted {
    in_all: usize,
    /// The first list that is too long.
    longest: Option<(At, usize)>,
}

impl Counted {
    fn add(&mut self, value: &Value, at: &mut At) {
        match value {
            Value::Object(fields) => {
                for (name, field) in fields {
                    at.push(name.clone());
                    if name == "steps" {
                        self.add_list(field, at);
                    }
                    self.add(field, at);
                    at.pop();
                }
            }
            Value::Array(items) => {
                for (index, item) in items.iter().enumerate() {
                    at.push(index.to_string());
                    self.add(item, at);
                    at.pop();
                }
            }
            _ => {}
        }
    }

    fn add_list(&mut self, steps: &Value, at: &At) {
        let count = match steps {
            Value::Object(steps) => steps.len(),
            Value::Array(steps) => steps.len(),
            _ => 0,
        };
        self.in_all += count;
        if count > MAX_STEPS && self.longest.is_none() {
            self.longest = Some((at.clone(), count));
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Map, json};

    use super::*;

    fn steps(count: usize, step: &Value) -> Value {
        let steps = (0..count).map(|at| (format!("s{at}"), step.clone()));
        Value::Object(steps.collect::<Map<_, _>>())
    }

    fn said(document: &Value) -> Option<String> {
        too_many_steps(document).map(|finding| finding.line())
    }

    /// Also of a list that nothing else of the document is looked at for: it is refused in no time.
    #[test]
    fn a_document_of_too_many_steps_is_refused_before_it_is_read() {
        let step = json!({"agent": "a", "text": "x"});
        assert_eq!(said(&json!({"steps": steps(200, &step)})), None);
        let long = said(&json!({"steps": steps(5_000, &step)})).expect("too many");
        assert!(long.contains("there are 5000 steps"), "{long}");
        assert!(long.contains("at most 200"), "{long}");
        let looping = json!({"loop": {"steps": steps(150, &step)}});
        let deep = said(&json!({"steps": steps(150, &looping)})).expect("too many");
        assert!(deep.contains("there are 22650 steps"), "{deep}");
        assert!(deep.contains("at most 2000"), "{deep}");
        let loaded = crate::loading::read(&json!({"steps": steps(5_000, &step)}), None);
        assert_eq!(loaded.expect_err("too many"), [long]);
    }
}

//! Does the material of a brief fit what the known agents say that they take?
//!
//! No code here knows a field of the payload. Cards do: a field is right if it fits the schema of one agent that takes a field of its name.
//! One that nobody takes is told of in the end, unless it is a slip of one that somebody does.

use agenthub_sdk::runs::schema::{Misfit, misfits};
use serde_json::{Map, Value, json};

use super::{ACCEPTANCE_CRITERIA, Brief, Fault, Faults, Mode};

/// Letters of a name that may be wrong where it is a slip of another.
const SLIPS: usize = 2;
/// Fields of a payload, at most: each is compared with all that somebody takes.
const MAX_FIELDS: usize = 1_000;
/// A shorter name may be a slip of too many others.
const SHORTEST_SLIP: usize = 5;

/// Input of a skill, as the card of an agent has it.
#[derive(Clone, Debug)]
pub(crate) struct Taken {
    /// The agent.
    pub(crate) agent: String,
    /// JSON Schema of the skill's input.
    pub(crate) schema: Value,
}

impl Taken {
    pub(crate) fn field(&self, name: &str) -> Option<&Value> {
        self.schema["properties"].get(name)
    }
}

impl Brief {
    /// Checks the payload and the criteria by the inputs of the known agents; in chat mode, by those of the agent that is talked with.
    ///
    /// # Errors
    ///
    /// Every field that nobody takes as it is.
    pub(crate) fn suits(&self, inputs: &[Taken]) -> Result<(), Faults> {
        let is_asked = |taken: &&Taken| match self.mode {
            Mode::App => true,
            Mode::Chat => self.agent.as_deref() == Some(&*taken.agent),
        };
        let fields = self.payload.len();
        if fields > MAX_FIELDS {
            let why = format!(
                "has {fields} fields: {MAX_FIELDS} are allowed; put what belongs together into objects"
            );
            return Faults::of([Err(Fault::new("payload".to_owned(), why))]);
        }
        let inputs: Vec<&Taken> = inputs.iter().filter(is_asked).collect();
        let taken = |holder: &str, name: &str, value: &Value| {
            is_taken(&inputs, &self.payload, holder, name, value)
        };
        let criteria = json!(self.constraints.acceptance_criteria);
        let given = self.payload.iter().filter(|(_, value)| !value.is_null());
        let checks = given.map(|(name, value)| taken("payload", name, value));
        let of_criteria = match self.constraints.acceptance_criteria.is_empty() {
            true => None,
            false => Some(taken("constraints", ACCEPTANCE_CRITERIA, &criteria)),
        };
        Faults::of(checks.chain(of_criteria))
    }
}

fn is_taken(
    inputs: &[&Taken],
    payload: &Map<String, Value>,
    holder: &str,
    name: &str,
    value: &Value,
) -> Result<(), Fault> {
    let mut best: Option<Misfit> = None;
    let mut is_known = false;
    for taken in inputs {
        let Some(field) = taken.field(name) else {
            continue;
        };
        is_known = true;
        let schema = json!({
            "$defs": taken.schema["$defs"].as_object().cloned().unwrap_or_default(),
            "properties": { name: field },
        });
        let Some(misfit) = misfits(&schema, &json!({ name: value })).into_iter().next() else {
            return Ok(());
        };
        // The one that is told of the innermost part was read furthest.
        let is_deeper = |best: &Misfit| depth(&misfit.path) > depth(&best.path);
        if best.as_ref().is_none_or(is_deeper) {
            best = Some(misfit);
        }
    }
    if let Some(Misfit { path, why }) = best {
        return Err(Fault::new(format!("{holder}.{path}"), why));
    }
    let meant = (!is_known).then(|| meant(inputs, payload, name)).flatten();
    match meant {
        None => Ok(()),
        Some(meant) => Err(Fault::new(
            format!("{holder}.{name}"),
            format!("is taken by no agent that is known; did you mean `{meant}`?"),
        )),
    }
}

fn depth(path: &str) -> usize {
    path.matches(['.', '[']).count()
}

/// The field that somebody takes and that this is a slip of, if the payload does not have it.
pub(crate) fn meant<'t>(
    inputs: &[&'t Taken],
    payload: &Map<String, Value>,
    name: &str,
) -> Option<&'t str> {
    let plain = |name: &str| name.to_lowercase().replace(['_', '-', ' '], "");
    let word = plain(name);
    let most = match word.chars().count() {
        letters if letters >= SHORTEST_SLIP => SLIPS,
        _ => 0,
    };
    let known = inputs.iter().flat_map(|taken| {
        let fields = taken.schema["properties"].as_object().into_iter().flatten();
        fields.map(|(known, _)| known.as_str())
    });
    let known = known.filter(|known| payload.get(*known).is_none_or(Value::is_null));
    // Names of other lengths are no slips, and need not be compared.
    let letters = word.chars().count();
    let slips = known.filter_map(|known| {
        let name = plain(known);
        let is_near = name.chars().count().abs_diff(letters) <= most;
        is_near.then(|| (strsim::osa_distance(&word, &name), known))
    });
    let slips = slips.filter(|(slips, _)| *slips <= most);
    slips
        .min_by_key(|(slips, _)| *slips)
        .map(|(_, known)| known)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn inputs() -> Vec<Taken> {
        let taken = |agent: &str, properties: Value| Taken {
            agent: agent.to_owned(),
            schema: json!({ "properties": properties }),
        };
        vec![
            taken(
                "writer",
                json!({
                    "mustInclude": {"type": "array", "items": {"type": "string"}},
                    "tone": {"type": "string"},
                    "limits": {"type": "object", "properties": {"most": {}}, "additionalProperties": false},
                }),
            ),
            taken(
                "other",
                json!({"tone": {"type": "array"}, "colour": {"enum": ["red"]}}),
            ),
            taken(
                "judge",
                json!({"acceptanceCriteria": {"items": {"type": ["string", "object"], "properties": {"check": {"required": ["value"]}}}}}),
            ),
        ]
    }

    fn fault(brief: Value) -> Option<String> {
        let brief: Brief = serde_json::from_value(brief).expect("it is a brief");
        brief.check().expect("its form is right");
        brief.suits(&inputs()).err().map(|fault| fault.to_string())
    }

    fn of(payload: Value) -> Option<String> {
        fault(json!({"objective": "o", "payload": payload}))
    }

    /// spec: ORC-2.3
    #[test]
    fn a_field_that_no_agent_takes_as_it_is_is_refused_with_its_path() {
        for (payload, expected) in [
            (
                json!({"mustInclude": ["a", 12]}),
                "`payload.mustInclude[1]` is 12; it takes a text: put it into quotation marks",
            ),
            (
                json!({"limits": {"mots": 3}}),
                "`payload.limits.mots` is no field of it: it takes `most`",
            ),
            (
                json!({"colour": "blue"}),
                "`payload.colour` is \"blue\"; it takes one of red",
            ),
            (
                json!({"mustInlcude": ["a"]}),
                "`payload.mustInlcude` is taken by no agent that is known; did you mean `mustInclude`?",
            ),
            (
                json!({"must_include": ["a"]}),
                "`payload.must_include` is taken by no agent that is known; did you mean `mustInclude`?",
            ),
        ] {
            assert_eq!(of(payload).as_deref(), Some(expected));
        }
        let many = of(json!({"colour": "blue", "mustInlcude": [], "tone": 5}));
        let many = many.expect("all three are faults");
        for field in ["colour", "mustInlcude", "tone"] {
            assert!(many.contains(&format!("`payload.{field}` is ")), "{many}");
        }
        let criteria = json!({"objective": "o", "constraints": {"acceptanceCriteria": ["a", {"check": {"kind": "contains"}}]}});
        assert_eq!(
            fault(criteria).as_deref(),
            Some("`constraints.acceptanceCriteria[1].check` lacks `value`")
        );
    }

    #[test]
    fn what_one_agent_takes_what_nobody_knows_and_what_is_null_is_fine() {
        for payload in [
            json!({"tone": ["dry"]}),
            json!({"tone": "dry"}),
            json!({"wordLimit": 5}),
            json!({"colour": null}),
            json!({"colours": "red", "colour": "red"}),
            json!({"tune": "x"}),
        ] {
            assert_eq!(of(payload.clone()), None, "{payload}");
        }
    }

    /// Comparing names must not hold up anybody else.
    #[test]
    fn more_fields_than_anybody_writes_are_refused_and_endless_names_are_nobodys_slip() {
        let fields = |count: usize| {
            let fields = (0..count).map(|at| (format!("mustInclud{at}"), json!("x")));
            Value::Object(fields.collect())
        };
        let refused = of(fields(20_000)).expect("too many");
        assert!(
            refused.contains("has 20000 fields: 1000 are allowed"),
            "{refused}"
        );
        let endless = Value::Object([("a".repeat(300_000), json!("x"))].into_iter().collect());
        assert_eq!(of(endless), None);
    }

    #[test]
    fn in_a_chat_the_agent_that_is_talked_with_counts() {
        let chat = |agent: &str| {
            fault(json!({"objective": "o", "mode": "chat", "agent": agent, "payload": {"tone": 5}}))
        };
        let expected = "`payload.tone` is 5; it takes a list: put it into square brackets";
        assert_eq!(chat("other").as_deref(), Some(expected));
        assert_eq!(chat("judge"), None);
    }
}

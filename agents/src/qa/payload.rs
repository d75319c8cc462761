//! The payload of a review: the draft, and the rules it is reviewed by.

use serde_json::{Map, Value, json};

use super::{
    brand,
    criteria::Criterion,
    knobs::{self, Knob},
    readability, scoring, writer_brief,
};
use crate::fields::{self, MOST_ITEMS};

/// A request for a review.
#[derive(Clone, Debug, Default)]
pub(super) struct Payload {
    pub(super) draft: String,
    /// The names of the draft's fields that nobody reads.
    pub(super) unread: Vec<String>,
    /// The writer's own account of its draft's knobs.
    pub(super) claimed: Map<String, Value>,
    pub(super) criteria: Vec<Criterion>,
    pub(super) must_include: Vec<String>,
    pub(super) language: String,
    pub(super) platform_rules: Map<String, Value>,
    pub(super) brand_rules: Map<String, Value>,
    /// A wish in words beside the objective; empty where there is none.
    pub(super) asked_for: String,
    /// Fields of the brief that no other check is made of.
    pub(super) brief: Map<String, Value>,
    /// The people whom the text is for.
    pub(super) audience: String,
    /// The place where it is to appear.
    pub(super) platform: String,
    /// Profile and tone of who speaks.
    pub(super) client_profile: Map<String, Value>,
    pub(super) objective: String,
    pub(super) knobs: Vec<Knob>,
    pub(super) max_knob_distance: f64,
    /// Number of the knobs that are named, where that distance is asked for.
    pub(super) knobs_to_keep: Option<usize>,
    pub(super) max_lix: Option<f64>,
    pub(super) quality_threshold: f64,
}

impl Payload {
    /// A text alone, reviewed with what holds by default.
    pub(super) fn of_text(text: &str) -> Self {
        Self {
            draft: text.to_owned(),
            max_knob_distance: knobs::MAX_DISTANCE,
            quality_threshold: scoring::THRESHOLD,
            ..Self::default()
        }
    }

    /// The request that a payload is. What is null is as good as not there.
    ///
    /// # Errors
    ///
    /// The fault of the payload.
    pub(super) fn read(value: &Value) -> Result<Self, String> {
        let fields = Fields(value.as_object().ok_or("the payload is no object")?);
        let draft = match fields.get("draft") {
            Some(Value::String(text)) => text.as_str(),
            Some(draft) => draft["text"]
                .as_str()
                .ok_or("the draft is neither a text nor an object with a text")?,
            None => return Err("the payload has no draft".to_owned()),
        };
        let claimed = value["draft"]["metadata"]["knobs"].as_object();
        let criteria = fields.list("acceptanceCriteria")?;
        let knobs = fields.object("knobs")?;
        let brand_rules = fields.object("brandRules")?;
        if brand::count(&brand_rules) > MOST_ITEMS {
            return Err(format!("brandRules forbid more than {MOST_ITEMS} texts"));
        }
        let objective = fields.text("objective");
        let mut payload = Self {
            asked_for: match (objective, fields.text("brief")) {
                (objective, asked) if objective.is_empty() || objective == asked => String::new(),
                (_, asked) => asked.to_owned(),
            },
            audience: fields.text("audience").to_owned(),
            platform: fields.text("platform").to_owned(),
            unread: fields::beside_text(&value["draft"]),
            claimed: claimed.cloned().unwrap_or_default(),
            criteria: criteria_of(criteria)?,
            must_include: fields.texts("mustInclude")?,
            language: match fields.get("language") {
                None => String::new(),
                Some(Value::String(language)) => language.trim().to_owned(),
                Some(_) => return Err("language is no text".to_owned()),
            },
            platform_rules: fields.object("platformRules")?,
            brand_rules,
            client_profile: fields.object("clientProfile")?,
            objective: match objective {
                "" => fields.text("brief").to_owned(),
                objective => objective.to_owned(),
            },
            knobs: knobs::wanted(&knobs),
            max_knob_distance: fields.share("maxKnobDistance", knobs::MAX_DISTANCE)?,
            knobs_to_keep: fields.get("maxKnobDistance").map(|_| knobs.len()),
            max_lix: max_lix(&fields.object("readability")?)?,
            quality_threshold: fields.share("qualityThreshold", scoring::THRESHOLD)?,
            ..Self::of_text(draft)
        };
        payload.brief = writer_brief::settle(&mut payload, value);
        Ok(payload)
    }

    /// Takes a language where there is none.
    pub(super) fn settle_language(&mut self, language: &Value) -> bool {
        let open = Some(language.as_str()).filter(|_| self.language.is_empty());
        match open.flatten() {
            Some(language) => {
                language.trim().clone_into(&mut self.language);
                true
            }
            None => false,
        }
    }

    /// Adds texts that are to be there.
    pub(super) fn settle_must_include(&mut self, wanted: &Value) -> bool {
        let room = MOST_ITEMS.saturating_sub(self.must_include.len());
        let wanted = writer_brief::all_texts(wanted).filter(|texts| texts.len() <= room);
        let known = self.must_include.clone();
        match wanted {
            Some(wanted) => {
                let wanted = wanted.into_iter().filter(|text| !known.contains(text));
                self.must_include.extend(wanted);
                true
            }
            None => false,
        }
    }

    /// Adds knobs that are not set.
    pub(super) fn settle_knobs(&mut self, knobs: &Value) -> bool {
        let Some(knobs) = knobs.as_object().filter(|knobs| knobs.len() <= MOST_ITEMS) else {
            return false;
        };
        let known: Vec<String> = self.knobs.iter().map(|knob| knob.name.clone()).collect();
        let more = knobs::wanted(knobs).into_iter();
        self.knobs
            .extend(more.filter(|knob| !known.contains(&knob.name)));
        true
    }
}

/// The criteria; those in which nothing can be seen are none.
fn criteria_of(items: &[Value]) -> Result<Vec<Criterion>, String> {
    let mut criteria = Vec::new();
    for (index, item) in items.iter().enumerate() {
        let read = Criterion::read(item);
        criteria.extend(read.map_err(|why| format!("acceptanceCriteria[{index}]{why}"))?);
    }
    Ok(criteria)
}

/// The highest LIX, where one is given.
fn max_lix(readability: &Map<String, Value>) -> Result<Option<f64>, String> {
    match readability.get("maxLix").filter(|most| !most.is_null()) {
        None => Ok(None),
        Some(most) => match decimal(most) {
            None => Err("readability.maxLix is no number".to_owned()),
            most => Ok(most),
        },
    }
}

/// A number, which may stand in a text.
fn decimal(value: &Value) -> Option<f64> {
    match value {
        Value::String(text) => text.trim().parse().ok().filter(|n: &f64| n.is_finite()),
        value => value.as_f64(),
    }
}

/// The payload's fields.
struct Fields<'a>(&'a Map<String, Value>);

impl<'a> Fields<'a> {
    fn get(&self, field: &str) -> Option<&'a Value> {
        self.0.get(field).filter(|value| !value.is_null())
    }

    fn text(&self, field: &str) -> &'a str {
        let text = self.get(field).and_then(Value::as_str);
        text.unwrap_or_default().trim()
    }

    /// A list; anything else is a list of one.
    fn list(&self, field: &str) -> Result<&'a [Value], String> {
        let items = match self.get(field) {
            Some(Value::Array(items)) => items.as_slice(),
            Some(item) => std::slice::from_ref(item),
            None => &[],
        };
        match items.len() <= MOST_ITEMS {
            true => Ok(items),
            false => Err(format!("{field} has more than {MOST_ITEMS} items")),
        }
    }

    fn texts(&self, field: &str) -> Result<Vec<String>, String> {
        let items = self.list(field)?.iter().filter(|item| !item.is_null());
        let text = |item: &Value| item.as_str().map(str::to_owned);
        let texts: Option<Vec<String>> = items.map(text).collect();
        texts.ok_or_else(|| format!("{field} has items that are no texts"))
    }

    fn object(&self, field: &str) -> Result<Map<String, Value>, String> {
        match self.get(field) {
            None => Ok(Map::new()),
            Some(Value::Object(object)) if object.len() <= MOST_ITEMS => Ok(object.clone()),
            Some(Value::Object(_)) => Err(format!("{field} has more than {MOST_ITEMS} entries")),
            Some(_) => Err(format!("{field} is no object")),
        }
    }

    fn share(&self, field: &str, default: f64) -> Result<f64, String> {
        let Some(value) = self.get(field) else {
            return Ok(default);
        };
        let share = decimal(value).filter(|share| (0.0..=1.0).contains(share));
        share.ok_or_else(|| format!("{field} is no number from 0 to 1"))
    }
}

/// The JSON Schema of a payload.
pub(super) fn schema() -> Value {
    let text =
        |description: &str| json!({ "type": ["string", "null"], "description": description });
    let object = |description: &str| json!({ "type": ["object", "null"], "maxProperties": MOST_ITEMS, "description": description });
    let draft = json!({
        "type": ["string", "object"],
        "description": "The text to review",
        "properties": { "text": { "type": "string" }, "metadata": { "type": ["object", "null"] } },
        "required": ["text"],
    });
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "required": ["draft"],
        "properties": {
            "draft": draft,
            "objective": text("What the text is to achieve"),
            "brief": text("What was asked for; stands for the objective where there is none"),
            "writerBrief": json!({ "type": ["object", "string", "null"], "description": "The brief that it was written from" }),
            "clientProfile": object("Who speaks: name, tone, values, instructions, and whatever else"),
            "audience": text("Whom the text is for"),
            "acceptanceCriteria": fields::acceptance_criteria(),
            "mustInclude": fields::must_include(),
            "platform": text("Where the text is to appear"),
            "language": text("The language that the text is to be in: a code (ISO 639, BCP 47) or a name"),
            "platformRules": fields::platform_rules(),
            "brandRules": fields::brand_rules(),
            "knobs": fields::knobs("The settings that the text was to have"),
            "maxKnobDistance": fields::share(&format!("How far off the knobs the text may be; {} if not given", knobs::MAX_DISTANCE)),
            "readability": fields::readability(&format!("maxLix: the highest LIX; {} if not given", readability::MAX_LIX)),
            "qualityThreshold": fields::share(&format!("The score that the text needs; {} if not given", scoring::THRESHOLD)),
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// spec: ORC-7
    #[test]
    fn a_payload_is_read_with_its_defaults() {
        let payload = Payload::read(
            &json!({ "draft": "Hi", "mustInclude": null, "language": null, "else": 1 }),
        )
        .expect("a payload");
        assert_eq!(payload.draft, "Hi");
        assert_eq!(
            (
                payload.quality_threshold,
                payload.max_knob_distance,
                payload.max_lix
            ),
            (0.7, 0.25, None)
        );
        let payload = Payload::read(&json!({
            "draft": { "text": "Hi", "metadata": { "knobs": { "a": 1 } } },
            "brief": "Say hi", "mustInclude": "Hi", "acceptanceCriteria": ["", "no links"], "knobs": { "a": 0.5 },
            "qualityThreshold": 0.9, "maxKnobDistance": 0.1, "readability": { "maxLix": 30 },
        }))
        .expect("a payload");
        assert_eq!(
            (&*payload.objective, &*payload.must_include),
            ("Say hi", &["Hi".to_owned()][..])
        );
        assert_eq!(
            (
                payload.criteria.len(),
                payload.knobs.len(),
                payload.claimed.len()
            ),
            (1, 1, 1)
        );
        assert_eq!(
            (
                payload.quality_threshold,
                payload.max_knob_distance,
                payload.max_lix
            ),
            (0.9, 0.1, Some(30.0))
        );
    }

    /// Cortex takes no longer one from a card.
    #[test]
    fn the_schema_is_short_enough_for_an_orchestrator() {
        let bytes = schema().to_string().len();
        assert!(bytes <= 8 * 1024, "{bytes}");
    }

    #[test]
    fn what_is_wrong_with_a_payload_is_said() {
        for (payload, why) in [
            (json!([]), "the payload is no object"),
            (json!({}), "the payload has no draft"),
            (json!({ "draft": null }), "the payload has no draft"),
            (
                json!({ "draft": { "words": 1 } }),
                "the draft is neither a text nor an object with a text",
            ),
            (
                json!({ "draft": "a", "mustInclude": [1] }),
                "mustInclude has items that are no texts",
            ),
            (
                json!({ "draft": "a", "mustInclude": vec!["a"; 201] }),
                "mustInclude has more than 200 items",
            ),
            (json!({ "draft": "a", "knobs": 5 }), "knobs is no object"),
            (
                json!({ "draft": "a", "qualityThreshold": 70 }),
                "qualityThreshold is no number from 0 to 1",
            ),
            (
                json!({ "draft": "a", "brandRules": { "forbidden": vec!["a"; 201] } }),
                "brandRules forbid more than 200 texts",
            ),
        ] {
            assert_eq!(Payload::read(&payload).err().as_deref(), Some(why));
        }
    }
}

//! Schemas of the rules of platforms and brands, and of readability.

use serde_json::{Map, Value, json};

use super::{MOST_ITEMS, counted};

/// The lists of what a brand does not want said.
pub(crate) const FORBIDDEN: [&str; 5] = [
    "forbidden",
    "forbiddenWords",
    "forbiddenClaims",
    "superlatives",
    "guarantees",
];

/// A number from 0 on that stands in a text.
const NUMBER_IN_TEXT: &str = r"^\s*[0-9]*\.?[0-9]+\s*$";

/// Limits of the place where something is to appear.
pub(crate) fn platform_rules() -> Value {
    let names = counted();
    let limit = json!({
        "type": ["integer", "string", "null"], "minimum": 0, "pattern": r"^\s*[0-9]+\s*$",
        "description": "a whole number from 0 on",
    });
    let allowed = json!({
        "type": ["boolean", "string", "null"], "pattern": r"^\s*([Tt]rue|[Ff]alse|[Yy]es|[Nn]o)\s*$",
        "description": "true or false",
    });
    let rules = [
        (format!("^(max|min)_?({names})$"), limit),
        (format!("^allow_?({names})$"), allowed),
    ];
    json!({
        "type": ["object", "null"],
        "maxProperties": MOST_ITEMS,
        "description": "Limits of the platform, such as maxCharacters, maxHashtags, allowEmoji",
        "patternProperties": Map::from_iter(rules),
    })
}

/// Limits of what a brand says.
pub(crate) fn brand_rules() -> Value {
    let texts = json!({ "type": ["array", "string", "null"], "items": { "type": "string" }, "description": "a list of texts" });
    let lists = FORBIDDEN.map(|list| (list.to_owned(), texts.clone()));
    json!({
        "type": ["object", "null"],
        "maxProperties": MOST_ITEMS,
        "description": "What the brand wants and does not want said, such as forbidden: [texts]",
        "properties": Map::from_iter(lists),
    })
}

/// Limit of LIX, the measure of how hard a text is to read.
pub(crate) fn readability(description: &str) -> Value {
    json!({
        "type": ["object", "null"],
        "properties": { "maxLix": {
            "type": ["number", "string", "null"], "minimum": 0, "pattern": NUMBER_IN_TEXT,
            "description": "a number from 0 on",
        } },
        "additionalProperties": false,
        "description": description,
    })
}

#[cfg(test)]
mod tests {
    use super::{
        super::tests::{right, wrong},
        *,
    };

    #[test]
    fn rules_of_the_wrong_type_are_found() {
        let rules = platform_rules();
        right(
            &rules,
            &[json!({
                "maxCharacters": 280, "max_hashtags": "3", "minLinks": 1.0, "allowEmoji": false, "allowLinks": "no", "tone": [1],
                "max_exclamation_marks": 1, "maxWords": null,
            })],
        );
        wrong(
            &rules,
            &[
                (
                    json!({"maxCharacters": "many"}),
                    "maxCharacters is \"many\", which is nothing that it takes (a whole number from 0 on)",
                ),
                (json!({"minWords": -1}), "minWords is -1; it is at least 0"),
                (json!({"allow_emoji": 3}), "allow_emoji is 3; it takes"),
                (
                    json!({"maxExclamationMarks": 1.5}),
                    "maxExclamationMarks is 1.5",
                ),
            ],
        );
        right(
            &brand_rules(),
            &[json!({"forbidden": ["a"], "superlatives": "best", "voice": {}})],
        );
        wrong(
            &brand_rules(),
            &[(
                json!({"forbidden": [5]}),
                "forbidden[0] is 5; it takes a text: put it into quotation marks",
            )],
        );
        right(
            &readability("r"),
            &[
                json!({"maxLix": 45}),
                json!({"maxLix": "45.5"}),
                json!({"maxLix": null}),
            ],
        );
        wrong(
            &readability("r"),
            &[
                (
                    json!({"maxLIX": 45}),
                    "maxLIX is no field of it: it takes `maxLix`",
                ),
                (json!({"maxLix": "easy"}), "maxLix is \"easy\""),
            ],
        );
    }
}

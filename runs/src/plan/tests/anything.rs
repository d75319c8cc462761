//! Properties of arbitrary plans, patches, schemas and values: nothing panics, nothing that fits is refused, and known
//! values are judged as they are.

use proptest::prelude::*;

use super::*;

/// Keys and texts with a meaning somewhere.
const WORDS: [&str; 14] = [
    "x",
    "y",
    "a",
    "0",
    "steps",
    "result",
    "capability",
    "give",
    "payload",
    "${a.output.x}",
    "${objective}",
    "$${",
    "${input",
    "fallback",
];

fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(json!(null)),
        any::<bool>().prop_map(Value::from),
        (-1_i64..3).prop_map(Value::from),
        Just(json!(1.5)),
        prop::sample::select(&WORDS[..]).prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 12, 3, |inner| {
        let fields = prop::collection::vec((prop::sample::select(&WORDS[..]), inner.clone()), 0..3);
        prop_oneof![
            prop::collection::vec(inner, 0..3).prop_map(Value::from),
            fields.prop_map(|fields| fields
                .into_iter()
                .map(|(key, value)| (key.to_owned(), value))
                .collect()),
        ]
    })
}

/// A plain value without references.
fn plain() -> impl Strategy<Value = Value> {
    let leaf = prop::sample::select(vec![
        json!(null),
        json!(true),
        json!(0),
        json!(1.5),
        json!("x"),
        json!("y"),
    ]);
    leaf.prop_recursive(2, 6, 2, |inner| {
        let fields =
            prop::collection::vec((prop::sample::select(vec!["x", "y"]), inner.clone()), 0..3);
        prop_oneof![
            prop::collection::vec(inner, 0..3).prop_map(Value::from),
            fields.prop_map(|fields| fields
                .into_iter()
                .map(|(key, value)| (key.to_owned(), value))
                .collect()),
        ]
    })
}

fn types() -> impl Strategy<Value = Value> {
    prop::sample::select(vec![
        json!("null"),
        json!("boolean"),
        json!("integer"),
        json!("number"),
        json!("string"),
        json!("array"),
        json!("object"),
        json!(["string", "null"]),
        json!(["object", "array"]),
        json!(["number", "object", "string"]),
    ])
}

/// A schema of supported and unsupported keywords.
fn schema() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        2 => Just(json!({})),
        1 => prop::sample::select(vec![json!(true), json!({"$ref": "#/$defs/d"}), json!({"minLength": 2}), json!({"maximum": 0})]),
        4 => types().prop_map(|types| json!({"type": types})),
        1 => prop::collection::vec(plain(), 1..3).prop_map(|values| json!({"enum": values})),
        1 => plain().prop_map(|value| json!({"const": value})),
    ];
    leaf.prop_recursive(3, 16, 3, |inner| {
        let two = || (inner.clone(), inner.clone());
        let more = prop::sample::select(vec![json!({}), json!({"additionalProperties": false}), json!({"required": ["x"]}), json!({"required": ["x", "y"]}), json!({"minProperties": 2}), json!({"unevaluatedProperties": false})]);
        let most = prop::sample::select(vec![json!({}), json!({"maxItems": 1}), json!({"minItems": 1}), json!({"uniqueItems": true}), json!({"items": false})]);
        prop_oneof![
            4 => (two(), more.clone()).prop_map(|((x, y), more)| with(json!({"properties": {"x": x, "y": y}}), more)),
            1 => (inner.clone(), more).prop_map(|(other, more)| with(json!({"additionalProperties": other}), more)),
            1 => (inner.clone(), most.clone()).prop_map(|(item, most)| with(json!({"items": item}), most)),
            1 => (inner.clone(), most).prop_map(|(item, most)| with(json!({"prefixItems": [item]}), most)),
            1 => two().prop_map(|(a, b)| json!({"anyOf": [a, b]})),
            1 => two().prop_map(|(a, b)| json!({"oneOf": [a, b]})),
            1 => two().prop_map(|(a, b)| json!({"allOf": [a, b]})),
            1 => inner.clone().prop_map(|not| json!({"not": not})),
            1 => (inner.clone(), two()).prop_map(|(a, (b, c))| json!({"if": a, "then": b, "else": c})),
            1 => (inner.clone(), inner.clone()).prop_map(|(a, b)| json!({"contains": a, "propertyNames": b})),
            1 => (inner.clone(), inner.clone()).prop_map(|(a, b)| json!({"patternProperties": {"^x": a}, "dependentSchemas": {"x": b}})),
        ]
    })
}

fn with(mut schema: Value, more: Value) -> Value {
    for (key, value) in more.as_object().into_iter().flatten() {
        schema[key] = value.clone();
    }
    schema
}

/// A document that references can resolve into.
fn document() -> impl Strategy<Value = Value> {
    (schema(), schema()).prop_map(|(schema, defined)| match schema {
        Value::Object(_) => with(schema, json!({"$defs": {"d": defined_by_itself(defined)}})),
        other => other,
    })
}

/// A schema of an object with `x` and `y`, or of alternatives.
fn taken() -> impl Strategy<Value = Value> {
    let more = || {
        prop::sample::select(vec![
            json!({}),
            json!({}),
            json!({"additionalProperties": false}),
            json!({"required": ["y"]}),
            json!({"minProperties": 2}),
        ])
    };
    let object = move || {
        let both = (schema(), schema(), more())
            .prop_map(|(x, y, more)| with(json!({"properties": {"x": x, "y": y}}), more));
        let one = (schema(), prop::sample::select(vec!["x", "y"]), more())
            .prop_map(|(x, name, more)| with(json!({"properties": {name: x}}), more));
        prop_oneof![both, one]
    };
    let whole = prop_oneof![
        4 => object(),
        1 => (object(), object()).prop_map(|(a, b)| json!({"anyOf": [a, b]})),
        1 => (object(), object()).prop_map(|(a, b)| json!({"oneOf": [a, b]})),
        1 => (object(), object()).prop_map(|(a, b)| json!({"allOf": [a, b]})),
        1 => (object(), object(), object()).prop_map(|(a, b, c)| json!({"if": a, "then": b, "else": c})),
        1 => object().prop_map(|a| json!({"not": a})),
    ];
    (whole, schema()).prop_map(|(whole, defined)| {
        with(whole, json!({"$defs": {"d": defined_by_itself(defined)}}))
    })
}

/// A simple schema in place of one that refers to the definition itself, which would never end.
fn defined_by_itself(schema: Value) -> Value {
    let text = schema.to_string().replace("#/$defs/d", "#/$defs/none");
    match text.contains("#/$defs/none") {
        true => json!({"type": ["string", "object"]}),
        false => schema,
    }
}

fn payload() -> impl Strategy<Value = Value> {
    let part = prop_oneof![
        3 => Just(json!("${a.output}")),
        1 => Just(json!("about ${a.output}")),
        1 => Just(json!(["${a.output}", "x"])),
        1 => Just(json!({"x": "${a.output}"})),
        2 => plain(),
    ];
    (part.clone(), prop::option::of(part)).prop_map(|(x, y)| match y {
        Some(y) => json!({"x": x, "y": y}),
        None => json!({ "x": x }),
    })
}

/// A step with an output, and one that references it.
fn giver_and_taker(payload: &Value) -> Plan {
    plan_of(steps(json!({
        "a": {"capability": "give"},
        "b": {"capability": "take", "payload": payload},
    })))
}

/// Verdicts before the first step is done and after it, and whether the value really fits.
fn judged(
    gives: &Value,
    takes: &Value,
    payload: &Value,
    value: &Value,
) -> Option<(Vec<String>, Vec<String>, bool)> {
    let gives = match jsonschema::validator_for(gives).ok()?.is_valid(value) {
        true => gives.clone(),
        // An agent's output keeps to its schema.
        false => json!({"enum": [value, "z"]}),
    };
    let validator = jsonschema::validator_for(takes).ok()?;
    let mut given = three_agents();
    given.offers = vec![
        offer("one", "give", json!({}), gives),
        offer("two", "take", takes.clone(), json!({})),
    ];
    let faults = |given: &Context| match admit(giver_and_taker(payload), &given.terms()) {
        Ok(_) => Vec::new(),
        Err(faults) => faults.iter().map(Fault::to_string).collect::<Vec<_>>(),
    };
    let before = faults(&given);
    let given = given.done("a", value.clone());
    let scope = Scope {
        objective: "",
        input: &given.input,
        thread: &given.thread,
        outputs: &given.outputs,
        skipped: &BTreeSet::new(),
    };
    let resolved = resolve(payload, &scope).expect("it is there");
    Some((before, faults(&given), validator.is_valid(&resolved)))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    /// spec: ORC-9
    #[test]
    fn nothing_that_can_fit_is_refused_and_what_is_known_is_judged_as_it_is(
        gives in document(),
        takes in taken(),
        payload in payload(),
        value in plain(),
    ) {
        if let Some((before, after, fits)) = judged(&gives, &takes, &payload, &value) {
            prop_assert_eq!(after.is_empty(), fits, "{:?}", after);
            prop_assert!(before.is_empty() || !fits, "{before:?}");
        }
    }

    #[test]
    fn nothing_panics(plan in value(), patch in value(), offered in value(), input in value(), known in value()) {
        let mut given = three_agents();
        given.offers = vec![offer("one", "give", offered.clone(), offered.clone())];
        given.input = input;
        let operations = patch.as_array().cloned().unwrap_or_else(|| {
            let operation = |path: &str| json!({"op": "add", "path": path, "value": patch});
            ["/steps/a", "/steps/a/payload/x", "/result"].map(operation).into()
        });
        let step = PlanStep::new("give", known.clone());
        let plan: Plan = serde_json::from_value(plan).unwrap_or_else(|_| Plan {
            steps: [("a".parse().expect("a name"), step.clone()), ("b".parse().expect("a name"), step)].into(),
            result: known.clone(),
        });
        for plan in [patched(&plan, &operations.into()).unwrap_or_default(), plan] {
            for fault in admit(plan, &given.terms()).err().into_iter().flatten() {
                let line = fault.to_string();
                prop_assert!(line.len() < 2_500 && !line.contains('\n'), "{line}");
            }
        }
        violations(&offered, &known);
    }
}

/// The property means something only if both cases occur often enough.
#[test]
fn enough_of_what_is_drawn_fits_and_does_not() {
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    let drawn = (document(), taken(), payload(), plain());
    let (mut fitting, mut foreseen, mut late) = (0, 0, 0);
    for _ in 0..600 {
        let tree = drawn.new_tree(&mut runner).expect("nothing is filtered");
        let (gives, takes, payload, value) = proptest::strategy::ValueTree::current(&tree);
        match judged(&gives, &takes, &payload, &value) {
            Some((_, _, true)) => fitting += 1,
            Some((before, _, false)) if before.is_empty() => late += 1,
            Some((_, _, false)) => foreseen += 1,
            None => {}
        }
    }
    assert!(
        fitting > 50 && foreseen > 50,
        "{fitting} fit, {foreseen} foreseen, {late} late"
    );
}

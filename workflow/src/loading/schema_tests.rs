//! The schema of files, for editors.

use std::{fs, path::Path};

use serde_json::json;

use super::{tests::LINEAR, *};

#[test]
fn the_schema_takes_what_is_read_and_refuses_what_is_not() {
    let schema = jsonschema::validator_for(crate::file::schema()).expect("it is a schema");
    let linear = serde_json::from_str(LINEAR).expect("it is JSON");
    assert!(schema.is_valid(&linear));
    assert!(!schema.is_valid(&json!({"steps": {"a": {"agnt": "x"}}})));
    insta::assert_json_snapshot!("schema", crate::file::schema());
}

/// The properties of the file, of its steps and so on, each with the name of what has it.
fn properties() -> Vec<(String, String, &'static serde_json::Value)> {
    let schema = crate::file::schema();
    let definitions = schema["$defs"].as_object().expect("it has parts");
    let named = definitions.iter().map(|(name, of)| (name.as_str(), of));
    let all = named.chain([("", schema)]);
    all.flat_map(|(name, of)| {
        let properties = of["properties"].as_object().into_iter().flatten();
        properties.map(move |(field, property)| (name.to_owned(), field.clone(), property))
    })
    .collect()
}

#[test]
fn editors_are_told_what_each_field_means() {
    for (holder, field, property) in properties() {
        let words = property["description"].as_str().unwrap_or_default();
        assert!(words.len() > 8, "{holder}.{field}: {property}");
        assert!(property.get("format").is_none(), "{holder}.{field}");
    }
}

#[test]
fn the_schema_refuses_values_of_other_types_where_the_reader_does() {
    let schema = jsonschema::validator_for(crate::file::schema()).expect("it is a schema");
    let mut checked = 0;
    for (holder, field, _) in properties() {
        let (at, document) = match holder.as_str() {
            "" => (field.clone(), json!({ (field.as_str()): true })),
            "Step" => (
                format!("steps.a.{field}"),
                json!({ "steps": { "a": { (field.as_str()): true } } }),
            ),
            _ => continue,
        };
        let is_anything = ["for_each", "output"].contains(&field.as_str());
        assert_eq!(schema.is_valid(&document), is_anything, "{document}");
        let faults = read(&document, None).expect_err("it is no workflow");
        let begin = format!("{at}: `{field}` takes ");
        let is_told = faults.iter().any(|fault| fault.starts_with(&begin));
        assert!(is_told || is_anything, "{begin}: {faults:#?}");
        checked += 1;
    }
    assert!(checked > 40, "only {checked} fields were checked");
}

#[test]
fn the_examples_are_right_and_fit_the_schema() {
    let schema = jsonschema::validator_for(crate::file::schema()).expect("it is a schema");
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples/workflows");
    let mut count = 0;
    for entry in fs::read_dir(folder).expect("there are examples").flatten() {
        let text = fs::read_to_string(entry.path()).expect("it can be read");
        let document = agenthub_documents::yaml::read(&text).expect("it is YAML");
        assert!(schema.is_valid(&document), "{:?}", entry.path());
        load(&entry.path(), None).expect("it is right");
        count += 1;
    }
    assert!(count > 1);
}

//! The committed JSON Schemas are those of the code, and the fixtures fit them.

mod common;

use serde_json::Value;

fn fixture(file: &str) -> Vec<u8> {
    std::fs::read(format!("{}/fixtures/{file}", env!("CARGO_MANIFEST_DIR"))).unwrap()
}

fn pretty(value: &Value) -> Vec<u8> {
    let mut bytes = serde_json::to_vec_pretty(value).unwrap();
    bytes.push(b'\n');
    bytes
}

#[test]
fn wire_1_the_committed_schemas_are_those_of_the_code() {
    for (kind, schema) in lineup_wire::schemas() {
        common::holds(&format!("schemas/{kind}.schema.json"), &pretty(&schema));
    }
}

#[test]
fn wire_1_every_committed_schema_belongs_to_a_type() {
    let known = lineup_wire::schemas();
    for entry in std::fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/schemas")).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        let kind = name.strip_suffix(".schema.json").unwrap_or(&name);
        assert!(known.contains_key(kind), "schemas/{name} belongs to no type; delete it");
    }
}

#[test]
fn wire_1_every_valid_fixture_fits_its_schema_and_loses_it_with_one_more_field() {
    let index: Value = serde_json::from_slice(&fixture("index.json")).unwrap();
    let schemas = lineup_wire::schemas();
    for entry in index["fixtures"].as_array().unwrap().iter().filter(|entry| entry["valid"] == true) {
        let file = entry["file"].as_str().unwrap();
        let mut envelope: Value = serde_json::from_slice(&fixture(file)).unwrap();
        let Some(schema) = schemas.get(envelope["type"].as_str().unwrap()) else {
            assert_eq!(entry["case"], "unknown_type", "{file}");
            continue;
        };
        let validator = jsonschema::validator_for(schema).unwrap();
        if let Err(error) = validator.validate(&envelope) {
            panic!("{file} does not fit its schema: {error}");
        }
        envelope["owner"] = "chat".into();
        assert!(!validator.is_valid(&envelope), "{file} fits its schema with a foreign field");
    }
}

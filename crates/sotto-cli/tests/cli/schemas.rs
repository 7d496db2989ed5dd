//! All that the tests have the command print as JSON fits the schemas that `sotto schema` prints: no key
//! that a schema lacks, none missing, each of its type.

use crate::harness::{Folder, program, sotto};
use serde_json::Value;
use sotto_testkit::ledger;
use std::collections::{BTreeSet, HashMap};
use std::process::Command;
use std::sync::{Arc, LazyLock, Mutex};

/// Validators by verb, each made once it is needed.
type Validators = HashMap<String, Option<Arc<jsonschema::Validator>>>;

/// All verbs whose output has a schema.
static VALIDATORS: LazyLock<Mutex<Validators>> = LazyLock::new(|| {
    let verbs = printed(&[])["verbs"].as_array().unwrap().clone();
    Mutex::new(verbs.iter().map(|verb| (verb.as_str().unwrap().to_owned(), None)).collect())
});

/// What `sotto schema` prints.
fn printed(verb: &[&str]) -> Value {
    let output = Command::new(program()).arg("schema").args(verb).arg("--json").output().unwrap();
    serde_json::from_slice(&output.stdout).unwrap()
}

/// Closes all objects: a key without a schema is an error here, and for readers a key to come.
fn close(schema: &mut Value) {
    match schema {
        Value::Object(fields) => {
            if fields.contains_key("properties") {
                fields.entry("additionalProperties").or_insert(false.into());
            }
            fields.values_mut().for_each(close);
        }
        Value::Array(values) => values.iter_mut().for_each(close),
        _ => {}
    }
}

fn validator(verb: &str) -> Option<Arc<jsonschema::Validator>> {
    let mut known = VALIDATORS.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    let validator = known.get_mut(verb)?;
    let made = validator.get_or_insert_with(|| {
        let mut schema = printed(&verb.split(' ').collect::<Vec<_>>());
        close(&mut schema);
        Arc::new(jsonschema::validator_for(&schema).unwrap())
    });
    Some(Arc::clone(made))
}

/// Compares one printed line with the schema of a verb.
#[track_caller]
pub(crate) fn check_line(verb: &str, line: &str) {
    let value: Value = serde_json::from_str(line).unwrap_or_else(|error| panic!("{verb}: {error}: {line}"));
    let validator = validator(verb).unwrap_or_else(|| panic!("`sotto schema {verb}` is missing: {line}"));
    // An `anyOf` that fails says of each branch what is wrong.
    let wrong: Vec<String> = validator.iter_errors(&value).map(|error| format!("{error:?}")).collect();
    assert!(wrong.is_empty(), "`sotto schema {verb}` does not describe {line}\n{}", wrong.join("\n"));
}

/// Compares all that a command printed with its schemas, if it printed JSON.
#[track_caller]
pub(crate) fn check(args: &[String], stdout: &str, stderr: &str) {
    if !args.iter().any(|arg| arg == "--json") || args.iter().any(|arg| arg == "--help" || arg == "help") {
        return;
    }
    let words = args.iter().map(String::as_str).filter(|arg| *arg != "--json");
    let words: Vec<&str> = words.take_while(|arg| !arg.starts_with('-')).collect();
    let verbs = [words.get(..2), words.get(..1)].into_iter().flatten().map(|words| words.join(" "));
    let Some(verb) = verbs.into_iter().find(|verb| validator(verb).is_some()) else {
        return assert_eq!(stdout, "", "{args:?} printed JSON that has no schema");
    };
    stdout.lines().for_each(|line| check_line(&verb, line));
    stderr.lines().filter(|line| line.starts_with("{\"error\"")).for_each(|line| check_line("error", line));
}

#[test]
fn a_schema_that_lies_is_noticed() {
    let key = r#"{"file":"w.key","witness":"w+1+AA","keys":["w+1+AA"]}"#;
    check_line("log key", key);
    for lie in [
        r#"{"file":"w.key"}"#,
        r#"{"file":7,"witness":"w+1+AA","keys":["w+1+AA"]}"#,
        &key.replace('}', r#","more":1}"#),
    ] {
        assert!(std::panic::catch_unwind(|| check_line("log key", lie)).is_err(), "{lie}");
    }
}

#[test]
fn a_schema_is_printed_by_the_name_of_its_verb() {
    let schema = sotto(&["schema", "log", "show", "--json"]).json();
    assert_eq!(schema["$schema"], "https://json-schema.org/draft/2020-12/schema");
    let described = &schema["$defs"]["LogReport"]["properties"]["publisher"]["description"];
    assert_eq!(described, "Public key of the publisher.");
    sotto(&["schema", "help"]).fails(2, &["help", "sotto schema"]);
}

/// The committed schemas are those of this build.
#[test]
fn ledger_of_schemas() {
    let folder = Folder::new();
    sotto(&["schema", "--out", &folder.text("schemas")]).prints("wrote the schemas");
    let mut names = BTreeSet::new();
    for file in folder.files("schemas") {
        let name = file.file_name().unwrap().to_str().unwrap().to_owned();
        ledger::check_file(
            &format!("docs/reference/schemas/{name}"),
            &std::fs::read_to_string(&file).unwrap(),
        );
        names.insert(name);
    }
    for file in std::fs::read_dir(ledger::root().join("docs/reference/schemas")).unwrap() {
        let name = file.unwrap().file_name().into_string().unwrap();
        assert!(
            name == "README.md" || names.contains(&name),
            "docs/reference/schemas/{name}: no such verb: delete the file"
        );
    }
}

//! The vectors in `spec/vectors`: there is one for each scheme and each layer, each is replayed, and
//! recording them again gives the same bytes.

use crate::cases::Case;
use crate::{folder, record};
use sotto_binding::vector::{Vector, VectorError, replay};
use sotto_core::{Diagnose, Diagnosis};
use std::collections::BTreeSet;
use std::fs;

/// A vector as one file.
fn whole(name: &str) -> Vec<u8> {
    let mut file = fs::read(folder().join(format!("{name}.json"))).unwrap();
    file.extend(fs::read(folder().join(format!("{name}.bin"))).unwrap_or_default());
    file
}

#[test]
fn every_scheme_and_layer_has_a_vector_and_each_is_replayed() {
    for case in Case::all() {
        let file = whole(&case.name);
        let (vector, _) = Vector::parse(&file).unwrap();
        let replayed = replay(&file).unwrap_or_else(|error| panic!("{}: {error}", case.name));
        assert_eq!(
            (replayed.scheme.as_str(), vector.lookup().unwrap()),
            (case.entry.id.0, case.lookup.clone())
        );
        assert_eq!((&replayed.value, replayed.requests), (&case.value(), vector.exchanges.len()));
        assert_eq!((replayed.value, replayed.row), (vector.value.0, vector.row));
    }
}

#[test]
fn recorded_again_they_are_the_same() {
    let mut there: BTreeSet<String> = fs::read_dir(folder())
        .unwrap()
        .map(|file| file.unwrap().file_name().into_string().unwrap())
        .filter(|name| name.ends_with(".json") || name.ends_with(".bin"))
        .collect();
    for case in Case::all() {
        let made = record::record(&case).unwrap();
        for (name, bytes) in made.files() {
            assert!(fs::read(folder().join(&name)).unwrap() == bytes, "{name} is another: make vectors");
            there.remove(&name);
        }
    }
    assert!(there.is_empty(), "vectors of no scheme: {there:?}");
}

/// A changed vector is refused, or the change is irrelevant: words for people, another row of the
/// fetched record.
#[test]
fn damage_makes_no_other_row() {
    for name in ["dpf-1", "simplepir-1", "checklist-1", "keyword-1", "oprf-1", "pbc-1"] {
        let file = whole(name);
        let replayed = replay(&file).unwrap();
        let (mut noticed, mut tried) = (0, 0);
        let step = (file.len() / 400).max(1);
        for at in (0..file.len()).step_by(step) {
            let mut damaged = file.clone();
            damaged[at] ^= 1;
            tried += 1;
            match replay(&damaged) {
                Ok(again) => assert_eq!(again, replayed, "{name}: byte {at}"),
                Err(error) => {
                    noticed += 1;
                    let Diagnosis { code, fix, .. } = error.diagnosis();
                    assert!(!code.is_empty() && !fix.is_empty() && !error.to_string().is_empty());
                }
            }
            assert!(replay(&file[..at]).is_err(), "{name}: cut at {at}");
        }
        assert!(2 * noticed > tried, "{name}: {noticed} of {tried} changes were noticed");
    }
}

#[test]
fn what_differs_is_said() {
    let file = whole("dpf-1");
    let text =
        String::from_utf8(file[..file.iter().position(|byte| *byte == 0).unwrap_or(file.len())].to_vec())
            .unwrap();
    let behind = &file[text.len()..];
    let with = |old: &str, new: &str| {
        assert!(text.contains(old), "{old}");
        replay(&[text.replacen(old, new, 1).as_bytes(), behind].concat())
    };
    let (vector, _) = Vector::parse(&file).unwrap();
    let seed = vector.seed.to_string();
    assert!(matches!(
        with(&seed, &seed.replace(&seed[..2], "00")),
        Err(VectorError::OtherRequest { what: "another body", .. })
    ));
    assert!(matches!(with("sotto-vector/1", "sotto-vector/2"), Err(VectorError::Version { .. })));
    assert!(matches!(
        with("\"scheme\": \"dpf/1\"", "\"scheme\": \"dpf/9\""),
        Err(VectorError::UnknownScheme { .. })
    ));
    assert!(matches!(with("/ask", "/ksa"), Err(VectorError::OtherRequest { what: "another path", .. })));
    let value = vector.value.to_string();
    assert!(matches!(with(&value, &value.replace(&value[..2], "zz")), Err(VectorError::NotAVector { .. })));
    let other = format!("{}{}", if value.starts_with("00") { "01" } else { "00" }, &value[2..]);
    assert!(
        matches!(with(&value, &other), Err(VectorError::OtherRow(of)) if of == vector.lookup().unwrap().to_string())
    );
    let row = format!("\"row\": {}", vector.row.unwrap());
    for both in [format!("{row}, \"keyword\": \"x\""), "\"rows\": [1], \"keyword\": \"x\"".to_owned()] {
        assert!(matches!(with(&row, &both), Err(VectorError::NotAVector { .. })));
    }
    assert!(matches!(with(&row, "\"keyword\": \"x\""), Err(VectorError::OtherRow(_))), "no keyword table");
    assert!(matches!(replay(text.as_bytes()), Err(VectorError::Damaged { .. })));
    assert!(matches!(replay(b""), Err(VectorError::NotAVector { .. })));
}

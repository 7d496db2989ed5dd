use super::*;
use crate::{Definition, Options};
use serde_json::Value;
use sotto_testkit::cleartext::{CLEAR, CLEAR_TWO};

fn report() -> Report {
    let text = "name = \"t\"\nabout = \"Test.\"\n\
        [[case]]\nscheme = \"clear\"\nrows = \"2^20\"\nrow_bytes = 8\nbatch = [1, 2, 4, 8]\nlookups = 3\n\
        [[case]]\nscheme = \"clear-two\"\nrows = 300\nrow_bytes = 2000\nlookups = 3\nseries = 3\nthreads = 2\nbreak_even = true\n\
        [[case]]\ncompare = \"C1\"\nscheme = \"clear\"\nrows = \"2^20\"\nrow_bytes = 256\nfull = true\n\
        [[case]]\nscheme = \"clear\"\nrows = \"2^33\"\nrow_bits = 1\nfull = true\n";
    let definition = Definition::parse("t.toml", text).unwrap();
    let options = Options { quick: true, commit: Some("<abc> & co".into()), ..Options::default() };
    let mut report = crate::runner::run_with(&definition, &[&CLEAR, &CLEAR_TWO], &options, &|_| ()).unwrap();
    let step = |name: &str, server_ms| Step { name: name.into(), server_ms };
    report.measured[0].steps = vec![StepReport {
        order: "an order".into(),
        threads_count: 2,
        repeated_count: 3,
        server_ms: 4.0,
        steps: vec![step("first", 1.0), step("second", 3.0)],
    }];
    report
}

#[test]
fn tables_fit_a_terminal_and_keep_the_tiers_apart() {
    let text = report().table();
    let widest = text.lines().max_by_key(|line| line.chars().count()).unwrap();
    assert!(widest.chars().count() <= 110, "{} columns: {widest}", widest.chars().count());
    let at = |heading: &str| text.find(heading).unwrap_or_else(|| panic!("no {heading} in {text}"));
    assert!(
        at("MEASURED: queries and answers") < at("MODELED")
            && at("MODELED") < at("PUBLISHED")
            && at("PUBLISHED") < at("NOT RUN")
    );
    assert!(text.find("Spiral").unwrap() > at("PUBLISHED"));
    for baseline in ["download the table", "plaintext query"] {
        assert!(text.contains(baseline), "{baseline}");
    }
}

/// Every number in the JSON has its unit in its name, and the unit is explained.
#[test]
fn json_numbers_have_units() {
    let json: Value = serde_json::from_str(&report().json()).unwrap();
    assert_eq!(json["format"], "sotto-bench/1");
    let units: Vec<&str> = json["units"].as_array().unwrap().iter().map(|u| u[0].as_str().unwrap()).collect();
    assert_eq!(units.len(), UNITS.len());
    let mut numbers = 0;
    check(&json, "", &units, &mut numbers);
    assert!(numbers > 100, "{numbers}");
}

fn check(value: &Value, name: &str, units: &[&str], numbers: &mut usize) {
    match value {
        Value::Number(_) => {
            *numbers += 1;
            assert!(units.iter().any(|unit| name.ends_with(unit)), "{name} has no unit");
        }
        Value::Array(items) => items.iter().for_each(|item| check(item, name, units, numbers)),
        // A scheme's own literal has the scheme's own names.
        Value::Object(fields) => {
            fields
                .iter()
                .filter(|(name, _)| *name != "params")
                .for_each(|(name, v)| check(v, name, units, numbers));
        }
        _ => {}
    }
}

/// Where there is no Python, nothing is drawn.
#[test]
fn the_drawing_is_well_formed_and_escaped() {
    let report = report();
    let svg = match report.svg() {
        Ok(svg) => svg,
        Err(error) => return assert!(error.to_string().contains("python3: "), "{error}"),
    };
    assert!(svg.starts_with("<svg ") && svg.trim_end().ends_with("</svg>"));
    assert!(svg.contains("&lt;abc&gt; &amp; co") && !svg.contains("<abc>"));
    assert!(!svg.contains("NaN") && !svg.contains("inf"));
    // Own figures only.
    assert!(svg.contains("clear, an order, 2 threads") && svg.contains("faster than downloading the table"));
    assert!(svg.contains("clear, 2^20 x 8 B") && !svg.contains("Spiral"));
    assert_eq!(svg.matches('"').count() % 2, 0);
    let mut empty = report;
    empty.measured.clear();
    assert!(empty.svg().unwrap().contains("Nothing was measured"));
}

#[test]
fn runs_can_be_joined() {
    let (mut one, two) = (report(), report());
    let published = one.published.len();
    one.append(two);
    assert_eq!((one.definitions.len(), one.measured.len(), one.skipped.len()), (2, 4, 4));
    assert_eq!(one.published.len(), published, "a published row is shown once");
}

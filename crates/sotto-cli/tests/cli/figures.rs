//! The figures of `docs/schemes.md`: the committed results, the plot that is drawn from them, and the table.

use crate::documents::root;
use crate::harness::{Folder, sotto};
use serde_json::Value;
use std::collections::BTreeMap;
use std::process::Command;

fn read(path: &str) -> String {
    std::fs::read_to_string(root().join(path)).unwrap()
}

fn results() -> Vec<Value> {
    let results: Value = serde_json::from_str(&read("lab/sotto-bench/results/all-schemes.json")).unwrap();
    results["lookups"].as_array().unwrap().clone()
}

fn name(lookup: &Value) -> &str {
    lookup["scheme"].as_str().unwrap()
}

/// A definition that computes the sizes of the schemes in the results, on their shapes.
fn definition(results: &[Value]) -> String {
    let mut lines: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for lookup in results {
        let shape = lookup["shape"].as_str().unwrap();
        lines.entry(shape).or_default().push(format!("{{ scheme = {:?} }}", name(lookup)));
    }
    let mut text = "name = \"sizes\"\nabout = \"Sizes of every scheme.\"\n".to_owned();
    for (shape, lines) in lines {
        let (rows, bytes) = shape.trim_end_matches(" B").split_once(" x ").unwrap();
        let lines = lines.join(", ");
        text += &format!("[[case]]\nrows = {rows:?}\nrow_bytes = {bytes}\nsizes = true\nlines = [{lines}]\n");
    }
    text
}

#[test]
fn the_plot_has_every_scheme_with_its_sizes_of_today() {
    let results = results();
    let folder = Folder::new();
    std::fs::write(folder.at("sizes.toml"), definition(&results)).unwrap();
    let report = sotto(&["bench", &folder.text("sizes.toml"), "--json"]).json();
    let modeled = report["modeled"].as_array().unwrap();
    let of_today = |lookup: &Value| {
        let scheme = modeled.iter().find(|scheme| scheme["title"] == lookup["scheme"]).unwrap();
        scheme["traffic"].clone()
    };
    for lookup in &results {
        for bytes in ["once_bytes", "keys_bytes", "up_bytes", "down_bytes"] {
            assert_eq!(lookup[bytes], of_today(lookup)[bytes], "{bytes} of {}", name(lookup));
        }
        assert!(lookup["server_ms"].as_f64() > Some(0.0), "{lookup}");
    }
    // What a reader sees of a scheme is what its entry says. Versions of a scheme share a point.
    for entry in sotto_registry::SCHEMES {
        let id = entry.id.0;
        let (scheme, _) = id.split_once('/').unwrap();
        let lookup = results.iter().find(|lookup| name(lookup) == scheme);
        let lookup =
            lookup.unwrap_or_else(|| panic!("lab/sotto-bench/results/all-schemes.json has no {scheme}"));
        assert_eq!(lookup["servers_count"], entry.servers, "{scheme}");
        assert_eq!(lookup["client_keeps"] == "state", entry.state.is_some(), "{scheme}");
        assert!(read("docs/schemes.md").contains(&format!("| [`{scheme}`](")), "{scheme}");
    }
}

#[test]
fn the_plot_is_what_its_results_draw() {
    let drawn = Command::new("python3").arg(root().join("lab/sotto-bench/plot.py")).output();
    // Where there is no Python, the site's check says so; the names are there in any case.
    let plot = read("docs/schemes.svg");
    if let Ok(drawn) = drawn {
        let said = String::from_utf8_lossy(&drawn.stderr);
        assert!(drawn.status.success(), "{said}");
        assert_eq!(
            String::from_utf8(drawn.stdout).unwrap(),
            plot,
            "run: lab/sotto-bench/plot.py > docs/schemes.svg"
        );
    }
    for lookup in results() {
        assert!(plot.contains(&format!(">{}</text>", name(&lookup))), "{}", name(&lookup));
    }
}

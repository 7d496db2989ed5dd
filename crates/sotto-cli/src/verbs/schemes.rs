//! `sotto schemes`: the schemes of this build, and the facts and parameter sets of one.

use crate::failure::Result;
use crate::screen::{Report, grid, with_fields};
use crate::source_args::{SchemeArg, scheme};
use serde_json::{Value, json};
use sotto_core::{NamedSet, SchemeEntry};

const EXAMPLE: &str = "\
Example:
  sotto schemes
  sotto schemes spiral";

/// Arguments of `sotto schemes`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLE)]
pub(crate) struct Schemes {
    /// Show this scheme and its parameter sets [default: a list of all]
    #[arg(value_parser = scheme)]
    scheme: Option<SchemeArg>,
}

impl Schemes {
    pub(crate) fn run(self) -> Result<Report> {
        match self.scheme {
            Some(scheme) => {
                let entry = scheme.entry();
                let text = format!("{}\n{}\n\n{}", entry.id, grid::facts(facts(entry)), sets(entry));
                Ok(Report::new(text, &scheme_json(entry)?))
            }
            None => {
                let columns = "scheme | publication | hidden by | >servers";
                let rows = sotto_registry::SCHEMES.iter().map(|entry| {
                    let (title, hiding) = (entry.metadata.title.to_owned(), names(entry.metadata.hiding));
                    vec![entry.id.to_string(), title, hiding, entry.servers.to_string()]
                });
                let text = grid::grid(columns, rows)
                    + "\n\n`sotto schemes NAME` shows what a scheme rests on, and its parameter sets.";
                let all = sotto_registry::SCHEMES.iter().map(|entry| scheme_json(entry));
                Ok(Report::new(text, &json!({ "schemes": all.collect::<Result<Vec<_>>>()? })))
            }
        }
    }
}

/// The names of some means or assumptions, with commas between them.
fn names(of: &[impl ToString]) -> String {
    of.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}

fn facts(entry: &SchemeEntry) -> Vec<(&'static str, String)> {
    let metadata = &entry.metadata;
    let mut facts = vec![
        ("publication", metadata.title.to_owned()),
        ("paper", metadata.paper.to_owned()),
        ("crate", metadata.package.to_owned()),
        ("hidden by", names(metadata.hiding)),
        ("trust in", entry.trust()),
        ("assumptions", names(metadata.assumptions)),
        ("client keeps", metadata.client_keeps.to_owned()),
        ("server keeps", format!("{}, for each client", metadata.server_keeps)),
    ];
    if metadata.is_baseline {
        facts.push(("baseline", "for comparison; another scheme is better for deployment".to_owned()));
    }
    facts
}

fn sets(entry: &SchemeEntry) -> String {
    let sets = (entry.sets)();
    if sets.is_empty() {
        return "No named parameter sets: it fits itself to the table.".to_owned();
    }
    let lines = sets.iter().map(|NamedSet { name, about }| (*name, (*about).to_owned()));
    format!("Parameter sets, for `sotto encode --set`:\n{}", grid::facts(lines))
}

fn scheme_json(entry: &SchemeEntry) -> Result<Value> {
    let sets = (entry.sets)();
    let sets: Vec<_> = sets.iter().map(|set| json!({ "name": set.name, "about": set.about })).collect();
    let (id, servers, trust) = (entry.id.0, entry.servers, entry.trust());
    with_fields(&entry.metadata, json!({ "id": id, "servers": servers, "trust": trust, "sets": sets }))
}

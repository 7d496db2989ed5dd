//! `sotto schemes`: the schemes of this build, and the facts and parameter sets of one.

use crate::failure::Result;
use crate::screen::{Report, grid};
use crate::source_args::{SchemeArg, scheme};
use schemars::JsonSchema;
use serde::Serialize;
use sotto_core::{NamedSet, SchemeEntry, SchemeMetadata};

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
                Ok(Report::new(text, &SchemeReport::new(entry)))
            }
            None => {
                let columns = "scheme | publication | hidden by | >servers";
                let rows = sotto_registry::SCHEMES.iter().map(|entry| {
                    let (title, hiding) = (entry.metadata.title.to_owned(), names(entry.metadata.hiding));
                    vec![entry.id.to_string(), title, hiding, entry.servers.to_string()]
                });
                let text = grid::grid(columns, rows)
                    + "\n\n`sotto schemes NAME` shows what a scheme rests on, and its parameter sets.";
                let schemes = sotto_registry::SCHEMES.iter().map(|entry| SchemeReport::new(entry)).collect();
                Ok(Report::new(text, &SchemesReport { schemes }))
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
        ("a refusal tells", metadata.abort_leakage.statement().to_owned()),
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

/// The schemes of this build.
#[derive(Serialize, JsonSchema)]
pub(crate) struct SchemesReport {
    schemes: Vec<SchemeReport>,
}

/// A scheme.
#[derive(Serialize, JsonSchema)]
pub(crate) struct SchemeReport {
    #[serde(flatten)]
    metadata: SchemeMetadata,
    /// Name of the scheme, with its version.
    id: &'static str,
    /// Number of servers, each of another operator.
    servers: usize,
    /// Who must be trusted.
    trust: String,
    /// Named parameter sets.
    sets: Vec<SetReport>,
}

/// A named parameter set.
#[derive(Serialize, JsonSchema)]
struct SetReport {
    name: &'static str,
    /// What the set is for.
    about: &'static str,
}

impl SchemeReport {
    fn new(entry: &SchemeEntry) -> Self {
        let sets = (entry.sets)().iter().map(|NamedSet { name, about }| SetReport { name, about }).collect();
        let (id, servers, trust) = (entry.id.0, entry.servers, entry.trust());
        SchemeReport { metadata: entry.metadata, id, servers, trust, sets }
    }
}

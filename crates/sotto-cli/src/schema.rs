//! `sotto schema`: the JSON Schema of what a verb prints with `--json`, made from the types that are
//! printed. The tests of the command compare all that it prints with these schemas.

use crate::apple::UseCaseInspection;
use crate::apple::encode::{UseCaseEncodeReport, UseCaseUpdateReport};
use crate::apple::get::{TokensReport, UseCaseGetReport};
use crate::failure::{ErrorReport, ExitCodes, Failure, FileContext, Result};
use crate::lab::ReplayReport;
use crate::lab::bench::server::{OverloadReport, ThroughputReport};
use crate::lab::bench::{DefinitionsReport, soak};
use crate::lab::demo::DemoReport;
use crate::lab::leakage::TableLeakage;
use crate::screen::Report;
use crate::update_args::DryRunReport;
use crate::verbs::audit::{AuditReport, EvidenceReport};
use crate::verbs::backup::BackupReport;
use crate::verbs::backup::restore::RestoreReport;
use crate::verbs::client_state::{ForgetReport, PrepareReport};
use crate::verbs::doctor::DoctorReport;
use crate::verbs::encode::EncodeReport;
use crate::verbs::encode::job::{BatchReport, PartReport};
use crate::verbs::get::GetReport;
use crate::verbs::get::batch::RoundReport;
use crate::verbs::get::stream::RowStreamReport;
use crate::verbs::inspect::stack::StackDirReport;
use crate::verbs::inspect::{ImageReport, ServerReport, StatesReport};
use crate::verbs::log::witness::{CosignReport, KeyReport, WatchReport};
use crate::verbs::log::{AttachReport, LogReport, LogUpdateReport};
use crate::verbs::merkle::build::BuildReport;
use crate::verbs::merkle::plan::PlanReport;
use crate::verbs::merkle::prove::ProofReport;
use crate::verbs::merkle::{GenerateReport, VerifiedLog, VerifiedProof};
use crate::verbs::pages::{CompletionsReport, FolderReport};
use crate::verbs::rotate::RotationReport;
use crate::verbs::schemes::{SchemeReport, SchemesReport};
use crate::verbs::serve::EndReport;
use crate::verbs::serve::startup::StartReport;
use crate::verbs::update::UpdateReport;
use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, Schema as JsonShape, SchemaGenerator, json_schema};
use serde::Serialize;
use sotto_bench::Report as BenchReport;
use sotto_bench::calibrate::PlanReport as PredictionReport;
use sotto_bench::machine::MachineReport;
use sotto_bench::regression::GuardReport;
use sotto_db::update::{StackSummary, UpdateSummary};
use sotto_plan::{Frontier, Plan};
use std::path::PathBuf;

const EXAMPLE: &str = "\
Each verb prints one JSON object, or one a line; an error is another object, on stderr. The schema of a verb \
that can print several kinds of objects is an `anyOf`. Later versions may add fields, and remove none.

Example:
  sotto schema get > get.json
  sotto schema log show
  sotto schema --out schemas";

/// Arguments of `sotto schema`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLE)]
pub(crate) struct Schema {
    /// The verb, such as `get` or `log show`; or `error`, which every verb can print [default: a
    /// list of them]
    verb: Vec<String>,
    /// Directory to write the schemas of all verbs to, which is made if it is missing
    #[arg(long, value_name = "DIR", conflicts_with = "verb")]
    out: Option<PathBuf>,
}

/// Makes the schema of a type.
type Shape = fn(&mut SchemaGenerator) -> JsonShape;

/// What a verb prints: its name, and the schema of each kind of object.
type Output = (&'static str, &'static [Shape]);

macro_rules! outputs {
    ($($verb:literal: $($output:ty),+;)+) => {
        &[$(($verb, &[$(|shapes| shapes.subschema_for::<$output>()),+])),+]
    };
}

/// The verbs that print JSON.
const OUTPUTS: &[Output] = outputs! {
    "audit evidence": EvidenceReport;
    "audit rows": AuditReport<'_>;
    "backup": BackupReport<'_>;
    "bench": BenchReport, DefinitionsReport, GuardReport, MachineReport, OverloadReport, PredictionReport,
        soak::Report, ThroughputReport;
    "completions": CompletionsReport<'_>;
    "demo": DemoReport<'_>;
    "doctor": DoctorReport;
    "encode": EncodeReport<'_>, BatchReport<'_>, PartReport, UseCaseEncodeReport<'_>;
    "error": ErrorReport<'_>;
    "exit-codes": ExitCodes;
    "forget": ForgetReport<'_>;
    "get": GetReport<'_>, RoundReport<'_>, RowStreamReport<'_>, TokensReport, UseCaseGetReport<'_>;
    "inspect": ImageReport<'_>, ServerReport<'_>, StackDirReport<'_>, StatesReport<'_>, UseCaseInspection<'_>;
    "leakage": TableLeakage<'_>;
    "log add": LogUpdateReport<'_>;
    "log attach": AttachReport;
    "log cosign": CosignReport;
    "log key": KeyReport<'_>;
    "log show": LogReport;
    "log watch": WatchReport;
    "man": FolderReport;
    "merkle build": BuildReport;
    "merkle generate": GenerateReport;
    "merkle plan": PlanReport<'_>;
    "merkle prove": ProofReport<'_>;
    "merkle verify": VerifiedLog, VerifiedProof;
    "plan": Plan, Frontier;
    "prepare": PrepareReport<'_>;
    "restore": RestoreReport;
    "rotate-key": RotationReport<'_>;
    "schema": JsonShape, VerbList, FolderReport;
    "schemes": SchemesReport, SchemeReport;
    "self-test": ReplayReport<'_>;
    "serve": StartReport<'_>, EndReport;
    "update": UpdateReport<'_, UpdateSummary>, UpdateReport<'_, StackSummary>, UseCaseUpdateReport<'_>, DryRunReport;
};

/// The verbs whose output has a schema.
#[derive(Serialize, JsonSchema)]
struct VerbList {
    verbs: Vec<&'static str>,
}

impl Schema {
    /// Prints a schema, or writes all of them.
    pub(crate) fn run(self) -> Result<Report> {
        if let Some(dir) = &self.out {
            std::fs::create_dir_all(dir).doing("making", dir)?;
            for output in OUTPUTS {
                let path = dir.join(format!("{}.json", output.0.replace(' ', "-")));
                std::fs::write(&path, pretty(&shape(*output))? + "\n").doing("writing", &path)?;
            }
            let folder = dir.display().to_string();
            return Ok(Report::new(format!("wrote the schemas to {folder}"), &FolderReport { folder }));
        }
        if self.verb.is_empty() {
            let verbs: Vec<_> = OUTPUTS.iter().map(|(verb, _)| *verb).collect();
            return Ok(Report::new(verbs.join("\n"), &VerbList { verbs }));
        }
        let verb = self.verb.join(" ");
        let output = OUTPUTS.iter().find(|(known, _)| *known == verb).ok_or_else(|| {
            Failure::usage(format!("there is no schema of {verb:?}")).fix("`sotto schema` lists the verbs")
        })?;
        let shape = shape(*output);
        Ok(Report::new(pretty(&shape)?, &shape))
    }
}

fn pretty(shape: &JsonShape) -> Result<String> {
    serde_json::to_string_pretty(shape).map_err(|error| Failure::internal(error.to_string()))
}

/// The schema of what a verb prints.
fn shape((verb, outputs): Output) -> JsonShape {
    let mut shapes = SchemaSettings::draft2020_12().for_serialize().into_generator();
    let outputs: Vec<_> = outputs.iter().map(|output| output(&mut shapes)).collect();
    let title = if verb == "error" { "sotto: an error".to_owned() } else { format!("sotto {verb} --json") };
    let types = shapes.take_definitions(true);
    json_schema!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": title,
        "anyOf": outputs,
        "$defs": types,
    })
}

//! Runs definitions: encode, open, ask, answer, recover, compare. Nothing is measured inside a scheme: the
//! harness looks at it from outside, through the same adaptor as the server and the client.

mod asking;
mod baseline;
mod offline;
mod online;
mod records;
mod stages;
#[cfg(test)]
mod tests;
mod update;

use crate::content::Source;
use crate::definition::{Case, Definition};
use crate::error::BenchError;
use crate::machine::MachineFacts;
use crate::options::{Options, Progress, Watcher};
use crate::plan::{self, Plan, Ready};
use crate::published;
use crate::report::{Measured, Purpose, Report, Skipped, UNITS};
use sotto_core::SchemeEntry;

/// Runs every case of a definition and checks every answer.
///
/// # Errors
/// [`BenchError`]; a single wrong answer ends the run.
pub fn run(
    definition: &Definition,
    options: &Options,
    progress: &(dyn Fn(Progress<'_>) + Sync),
) -> Result<Report, BenchError> {
    run_with(definition, sotto_registry::SCHEMES, options, progress)
}

pub(crate) fn run_with(
    definition: &Definition,
    schemes: &[&'static SchemeEntry],
    options: &Options,
    watcher: Watcher<'_>,
) -> Result<Report, BenchError> {
    let tables: Vec<_> = definition.cases.iter().map(plan::table).collect();
    let mut report = Report {
        format: "sotto-bench/1",
        units: UNITS,
        definitions: vec![Purpose { name: definition.name.clone(), about: definition.about.clone() }],
        machine: MachineFacts::of_this(options),
        measured: Vec::new(),
        published: published::for_tables(&tables)?,
        modelled: Vec::new(),
        skipped: Vec::new(),
    };
    for case in &definition.cases {
        let refused = match Plan::of(case, schemes, options)? {
            Ready::NoFit(why) => Some(format!("no parameters: {why}")),
            Ready::Plan(plan) => {
                report.modelled.push(plan.modelled());
                let refusal = plan.refusal(options);
                if refusal.is_none() {
                    report.measured.push(measure(&plan, options, watcher)?);
                }
                refusal
            }
        };
        if let Some(reason) = refused {
            report.skipped.push(Skipped { table: plan::table(case), scheme: case.scheme.clone(), reason });
        }
    }
    let measured = &report.measured;
    report.modelled.iter_mut().for_each(|row| row.with_floor(measured));
    Ok(report)
}

fn measure(plan: &Plan<'_>, options: &Options, watcher: Watcher<'_>) -> Result<Measured, BenchError> {
    let source = Source::new(plan.case);
    check_rows(plan, plan.case, &source)?;
    // The folder goes when it is dropped, on every way out of this function.
    let folder = match &options.scratch {
        Some(parent) => tempfile::Builder::new().prefix("sotto-bench-").tempdir_in(parent)?,
        None => tempfile::Builder::new().prefix("sotto-bench-").tempdir()?,
    };
    let encoded = offline::encode(plan, &source, folder.path(), watcher)?;
    let mut measured = online::measure(plan, &source, &encoded, options, watcher)?;
    measured.update = update::measure(plan, &source, &encoded, folder.path(), watcher)?;
    Ok(measured)
}

fn check_rows(plan: &Plan<'_>, case: &Case, source: &Source) -> Result<(), BenchError> {
    let Some(want) = case.rows_blake3.clone() else { return Ok(()) };
    let got = source.digest();
    if got == want { Ok(()) } else { Err(BenchError::OtherRows { case: plan.label.clone(), got, want }) }
}

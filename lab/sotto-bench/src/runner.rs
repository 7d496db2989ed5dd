//! Runs definitions: encode, open, query, answer, recover, compare. Nothing is measured inside a
//! scheme: the harness measures it from outside, through the same adaptor as the server and the
//! client.

mod client;
mod encode;
mod online;
pub(crate) mod sample;
mod steps;
#[cfg(test)]
mod tests;
mod tree;
mod update;

use crate::content::GeneratedRows;
use crate::definition::{Case, Definition};
use crate::error::BenchError;
use crate::machine::MachineFacts;
use crate::options::{Options, Progress, Watcher};
use crate::plan::{self, CasePlan, PreparedCase};
use crate::report::{
    DefinitionInfo, MeasuredCase, PublishedRow, PublishedTree, Report, SkippedCase, Trees, UNITS,
};
use encode::EncodedLine;
use sotto_core::SchemeEntry;
use sotto_pages::memory;

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
    let of_tables = definition.cases.iter().filter(|case| case.tree.is_none());
    let tables: Vec<_> = of_tables.map(plan::table).collect();
    let mut report = Report {
        format: "sotto-bench/1",
        units: UNITS,
        definitions: vec![DefinitionInfo { name: definition.name.clone(), about: definition.about.clone() }],
        machine: MachineFacts::of_this(options),
        measured: Vec::new(),
        published: PublishedRow::beside(&tables)?,
        modeled: Vec::new(),
        skipped: Vec::new(),
        trees: Trees::default(),
    };
    for turn in definition.turns() {
        if turn.iter().any(|case| case.tree.is_some()) {
            tree::run(turn, schemes, options, watcher, &mut report.trees)?;
            continue;
        }
        // The available memory is read once, so that every line of a case is judged by the same
        // value.
        let available = memory::available();
        let mut plans = Vec::with_capacity(turn.len());
        for case in turn {
            let refused = match PreparedCase::of(case, schemes, options)? {
                CasePlan::NoFit(why) => Some(format!("no parameters: {why}")),
                CasePlan::Plan(plan) => {
                    report.modeled.push(plan.modeled());
                    let refusal = plan.refusal(options, available).filter(|_| !case.sizes);
                    if refusal.is_none() && !case.sizes {
                        plans.push(plan);
                    }
                    refusal
                }
            };
            if let Some(reason) = refused {
                report.skipped.push(SkippedCase { table: plan::table(case), case: case.title(), reason });
            }
        }
        for plans in plan::part(plans, available) {
            report.measured.extend(measure(plans, options, watcher)?);
        }
    }
    report.trees.published = PublishedTree::beside(&report.trees.measured)?;
    let measured = &report.measured;
    report.modeled.iter_mut().for_each(|row| row.with_floor(measured));
    Ok(report)
}

/// An encoded line of a case, with the rows to check answers against.
struct BenchLine<'a> {
    plan: Box<PreparedCase<'a>>,
    source: GeneratedRows,
    encoded: EncodedLine,
}

/// Encodes every line of a case, then queries them in turns.
fn measure(
    plans: Vec<Box<PreparedCase<'_>>>,
    options: &Options,
    watcher: Watcher<'_>,
) -> Result<Vec<MeasuredCase>, BenchError> {
    // The folder is removed when it is dropped, on every path out of this function.
    let folder = options.folder()?;
    let folder = |line: usize| folder.path().join(line.to_string());
    let mut lines = Vec::with_capacity(plans.len());
    for (i, plan) in plans.into_iter().enumerate() {
        let source = GeneratedRows::new(plan.case);
        if i == 0 {
            check_rows(&plan, plan.case, &source)?;
        }
        std::fs::create_dir(folder(i))?;
        let encoded = encode::encode(&plan, &|at, out| source.fill(at, out), &folder(i), watcher)?;
        lines.push(BenchLine { plan, source, encoded });
    }
    let mut measured = online::measure(&lines, options, watcher)?;
    for (i, (measured, line)) in measured.iter_mut().zip(&lines).enumerate() {
        measured.update = update::measure(&line.plan, &line.source, &line.encoded, &folder(i), watcher)?;
    }
    Ok(measured)
}

fn check_rows(plan: &PreparedCase<'_>, case: &Case, source: &GeneratedRows) -> Result<(), BenchError> {
    let Some(want) = case.rows_blake3.clone() else { return Ok(()) };
    let got = source.digest();
    if got == want { Ok(()) } else { Err(BenchError::OtherRows { case: plan.label.clone(), got, want }) }
}

//! Trees of hashes: the places of their nodes, and proofs that are fetched privately and verified.
//!
//! | module | contents |
//! |---|---|
//! | `nodes` | a tree's hashes |
//! | `stack` | the tables of a tree, and the rows of a proof |
//! | `setup` | the places of all nodes |
//! | `index` | the places of one proof's rows |
//! | `groups` | the tables that one query asks |
//! | `proofs` | whole proofs, by a scheme |

mod groups;
mod index;
mod nodes;
mod proofs;
mod setup;
mod stack;
#[cfg(test)]
mod tests;

use crate::definition::{Case, Measure, ProofMethod, TreeCase};
use crate::error::BenchError;
use crate::options::{Options, Watcher};
use crate::published_trees;
use crate::report::{self, Tree, TreeMeasured, TreeSkipped, Trees};
use nodes::Nodes;
use proofs::ProofRun;
use sotto_core::SchemeEntry;
use sotto_pages::memory;
use sotto_prg::PublicSeed;
use sotto_tree::PerfectTree;
use stack::Stack;

/// Seed of every generated tree and batch code.
const SEED: PublicSeed = PublicSeed(*b"sotto bench: hashes of all trees");

/// Memory for the program itself.
const MARGIN_BYTES: u64 = 512 << 20;

/// Runs the trees of a definition, in order.
pub(super) fn run(
    cases: &[TreeCase],
    schemes: &[&'static SchemeEntry],
    options: &Options,
    watcher: Watcher<'_>,
) -> Result<Trees, BenchError> {
    let mut trees = Trees::default();
    for case in cases {
        for shape in &case.shapes {
            Run { case, shape: *shape, schemes, options, watcher, trees: &mut trees }.measure()?;
        }
    }
    trees.published = published_trees::beside(&trees.measured)?;
    Ok(trees)
}

/// One tree of a case.
struct Run<'a> {
    case: &'a TreeCase,
    shape: PerfectTree,
    schemes: &'a [&'static SchemeEntry],
    options: &'a Options,
    watcher: Watcher<'a>,
    trees: &'a mut Trees,
}

impl Run<'_> {
    fn measure(&mut self) -> Result<(), BenchError> {
        for method in &self.case.methods {
            if let Some(reason) = self.refusal(*method) {
                self.skip(method.name(), reason);
                continue;
            }
            match self.case.measure {
                Measure::Setup => {
                    let measured = setup::measure(self, *method)?;
                    self.trees.measured.push(measured);
                }
                Measure::Index => {
                    let measured = index::measure(self, *method)?;
                    self.trees.measured.push(measured);
                }
                Measure::Proofs => self.proofs(*method)?,
            }
        }
        Ok(())
    }

    /// Measures proofs by every scheme, from the same tables.
    fn proofs(&mut self, method: ProofMethod) -> Result<(), BenchError> {
        let nodes = Nodes::new(self.shape);
        let stack = Stack::new(&nodes, method).map_err(|why| self.failed("laying out a tree", why))?;
        for line in self.lines() {
            match proofs::measure(self, &nodes, &stack, line)? {
                ProofRun::Measured(measured) => self.trees.measured.push(*measured),
                ProofRun::Skipped { title, reason } => self.skip(&title, reason),
            }
        }
        Ok(())
    }

    /// The lines of the case, or one for each scheme with one server.
    fn lines(&self) -> Vec<Case> {
        if !self.case.lines.is_empty() {
            return self.case.lines.clone();
        }
        let alone = self.schemes.iter().filter(|entry| entry.servers == 1);
        alone.map(|entry| self.case.by(entry.id.0)).collect()
    }

    /// The reason why a tree is not run here, if any. The memory of a scheme is part of its tables'
    /// plans.
    fn refusal(&self, method: ProofMethod) -> Option<String> {
        if self.case.full && !self.options.full {
            return Some("takes minutes: give --full".to_owned());
        }
        let nodes = self.shape.nodes();
        let needed = match (self.case.measure, method) {
            (Measure::Setup, _) if nodes >= u32::MAX.into() => {
                return Some("not measured: node numbers have 32 bits".to_owned());
            }
            (Measure::Setup, ProofMethod::Colors) => nodes.saturating_mul(4),
            (Measure::Setup, ProofMethod::Buckets) | (Measure::Index, _) => 0,
            // The hashes, their tables, and a copy while a table is passed to an encoder.
            (Measure::Proofs, ProofMethod::Colors) => nodes.saturating_mul(3 * 32),
            (Measure::Proofs, ProofMethod::Buckets) => {
                let copies = stack::sizes(self.shape).map_or(1, |sizes| sizes.copies + 1);
                nodes.saturating_mul(32 * (2 + copies as u64))
            }
        };
        self.too_large(needed)
    }

    /// The refusal of a tree that does not fit the memory.
    fn too_large(&self, needed: u64) -> Option<String> {
        let needed = needed.saturating_add(MARGIN_BYTES);
        let available = memory::available().filter(|free| *free < needed)?;
        let (needs, has) = (report::bytes(needed), report::bytes(available));
        Some(format!("does not fit: needs {needs} of memory, {has} is available"))
    }

    fn repeats(&self) -> usize {
        if self.options.quick { self.case.repeats.min(3) } else { self.case.repeats }
    }

    fn tree_info(&self) -> Tree {
        Tree::of(self.shape)
    }

    /// Empty results for a method.
    fn blank(&self, method: ProofMethod, title: String) -> TreeMeasured {
        TreeMeasured::new(self.tree_info(), method.name(), title, self.repeats())
    }

    fn skip(&mut self, line: &str, reason: String) {
        let tree = self.tree_info();
        self.trees.skipped.push(TreeSkipped { tree, line: line.to_owned(), reason });
    }

    fn failed(&self, step: &'static str, why: sotto_core::Error) -> BenchError {
        BenchError::Scheme { case: self.tree_info().name, step, why }
    }
}

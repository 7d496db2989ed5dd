//! The choice of design and scheme for a build: as given, as in the existing stack, or the
//! cheapest.

use super::plan::CostArgs;
use super::plan::choose::{self, PlanRequest, can_be_chosen};
use super::plan::layout::{Kind, Layout, families, height, title};
use crate::exit::Exit;
use crate::exit_mapping;
use crate::failure::{Failure, Result};
use crate::verbs::encode::{SchemeArg, scheme};
use sotto_catalog::Stack;
use sotto_core::SchemeEntry;
use sotto_db::{StackDir, TableDir};
use sotto_layers::ProofLayout;
use sotto_layers::batch_code::code::CodeSizes;
use sotto_layers::proof_layout::BatchLayout;
use sotto_prg::PublicSeed;

/// Maximum number of public layers: 2^24 hashes.
const MAX_PUBLIC: u8 = 24;

/// What may be said of the design.
#[derive(Debug, clap::Args)]
pub(super) struct DesignArgs {
    /// Layout of proofs: tile, tiles, color or pbc [default: the stack's; for a new stack the
    /// cheapest]
    #[arg(long, value_parser = ["tile", "tiles", "color", "pbc"])]
    design: Option<String>,
    /// Number of top layers that are public, by color [default: the cheapest]
    #[arg(long, value_name = "LAYERS", value_parser = clap::value_parser!(u8).range(..=i64::from(MAX_PUBLIC)))]
    public_layers: Option<u8>,
    /// Scheme of the tables; `sotto schemes` lists them [default: the stack's; for a new
    /// stack the cheapest]
    #[arg(long, value_parser = scheme)]
    scheme: Option<SchemeArg>,
    #[command(flatten)]
    pub(super) weights: CostArgs,
}

/// The design and scheme of a build.
pub(super) struct DesignChoice {
    pub(super) design: ProofLayout,
    pub(super) scheme: &'static SchemeEntry,
    /// Reason of the choice, in one line.
    pub(super) why: String,
}

impl DesignArgs {
    /// The choice for a log without a stack.
    pub(super) fn fresh(&self, leaves: u64) -> Result<DesignChoice> {
        let request = PlanRequest {
            leaves,
            lookups: self.weights.lookups,
            goal: self.weights.goal,
            scheme: self.scheme,
        };
        let plan = choose::choose(&request, self.layouts(leaves)?)?;
        let why = plan.summary(&request);
        let best = plan.best().map(|best| (best.layout.kind, best.price.scheme));
        match best {
            Some((Kind::Design(design), scheme)) => Ok(DesignChoice { design, scheme, why }),
            Some((Kind::Batch(CodeSizes { copies, buckets, spare, .. }), scheme)) => {
                let code = BatchLayout { copies, buckets, spare, seed: seed()? };
                Ok(DesignChoice { design: ProofLayout::Batch(code), scheme, why })
            }
            _ => Err(Failure::internal("the chosen layout cannot be built")),
        }
    }

    /// The layouts that remain to choose from.
    fn layouts(&self, leaves: u64) -> Result<Vec<Vec<Layout>>> {
        let one = |design| Ok(vec![vec![Layout::of(design, leaves)?]]);
        let height = height(leaves);
        let color = |public: u8| ProofLayout::Color { layers: height - public, public };
        match (self.design.as_deref(), self.public_layers) {
            (Some("tile" | "tiles" | "pbc"), Some(_)) => {
                Err(Failure::usage("--public-layers applies to --design color only"))
            }
            (Some("pbc"), None) => {
                let batch = Layout::batch(leaves);
                let long = || Failure::usage(format!("no batch code fits a log of {leaves} entries"));
                batch.map(|layout| vec![vec![layout]]).ok_or_else(long)
            }
            (Some("tile"), None) => one(ProofLayout::Tile { levels: 1 }),
            (Some("tiles"), None) => one(ProofLayout::Tile { levels: 2 }),
            (_, Some(public)) => one(color(public.min(height - 1))),
            (Some(_), None) => Ok(vec![Layout::colors(leaves)?]),
            (None, None) => {
                let mut families = families(leaves)?;
                families.iter_mut().for_each(|family| family.retain(can_be_chosen));
                Ok(families)
            }
        }
    }

    /// The choice for a log with a stack: that of the stack, so that clients can continue.
    pub(super) fn existing(&self, dir: &StackDir, before: &Stack, leaves: u64) -> Result<DesignChoice> {
        let fix = "build into another directory";
        let design = match before.layers.as_slice() {
            [layer] => ProofLayout::parse(&layer.name, &layer.params).ok(),
            _ => None,
        };
        let Some((mut design, known)) = design else {
            return Err(Failure::input("the stack in this directory is not of a log").fix(fix));
        };
        let mut grown = false;
        if let ProofLayout::Color { layers, public } = &mut design {
            // With the same number of layers in tables every row keeps its position, and tables get
            // longer: new layers are public.
            let needed = height(leaves).saturating_sub(*layers);
            grown = needed > *public;
            *public = needed.max(*public);
            if *public > MAX_PUBLIC {
                let message = format!(
                    "the log has {leaves} entries: {public} layers would be public, at most {MAX_PUBLIC} are allowed"
                );
                return Err(Failure::usage(message).fix(fix));
            }
        }
        if !self.is_met_by(design, leaves) {
            return Err(Failure::usage(format!("the stack has another layout: {}", title(design))).fix(
                "build into another directory, or omit --design and --public-layers to keep the layout",
            ));
        }
        if let ProofLayout::Batch(code) = &mut design {
            // Another number of rows moves them all anyway, so the proofs that fail may change too.
            code.seed = seed()?;
            code.sizes(leaves).check().map_err(|_| {
                Failure::usage(format!(
                    "the log has {leaves} entries, too many for the buckets of its batch code"
                ))
                .fix(
                    "build into another directory, and serve both until clients use the new name; other \
                     designs grow in place",
                )
            })?;
        }
        if known > leaves {
            let text = format!("the stack is of {known} entries, but the log has {leaves}");
            return Err(Failure::input(text).fix(fix));
        }
        let scheme = match self.scheme {
            Some(scheme) => scheme.entry(),
            None => its_scheme(dir, before)?,
        };
        let before =
            if grown { "with more public layers, since the log passed a power of two" } else { "unchanged" };
        Ok(DesignChoice { design, scheme, why: format!("{} with {}, {before}", title(design), scheme.id) })
    }

    fn is_met_by(&self, design: ProofLayout, leaves: u64) -> bool {
        let name = match design {
            ProofLayout::Tile { levels: 1 } => "tile",
            ProofLayout::Tile { .. } => "tiles",
            ProofLayout::Color { .. } => "color",
            ProofLayout::Batch(_) => "pbc",
        };
        let public = match design {
            ProofLayout::Color { public, .. } => {
                self.public_layers.is_none_or(|requested| requested.min(height(leaves) - 1) == public)
            }
            ProofLayout::Tile { .. } | ProofLayout::Batch(_) => self.public_layers.is_none(),
        };
        self.design.as_deref().is_none_or(|requested| requested == name) && public
    }
}

/// A random seed for the copies of a batch code.
fn seed() -> Result<PublicSeed> {
    let rng = sotto_prg::system_rng();
    let mut rng =
        rng.map_err(|error| Failure::internal(error.to_string()).fix("repair the system's random device"))?;
    Ok(PublicSeed::fresh(&mut rng))
}

/// The scheme of a stack's tables.
fn its_scheme(dir: &StackDir, stack: &Stack) -> Result<&'static SchemeEntry> {
    let Some(shard) = stack.shards.first() else {
        return Err(Failure::input("the stack in this directory has no tables"));
    };
    let table = TableDir::open(&dir.table(&shard.table)).map_err(exit_mapping::db)?;
    let image = table.open_epoch(shard.epoch).map_err(exit_mapping::db)?;
    let id = &image.catalog().scheme;
    sotto_registry::find(id).ok_or_else(|| {
        Failure::new(Exit::Params, format!("scheme {id:?} of the stack is not in this build"))
            .fix("use a build of sotto that has the scheme, or give --scheme")
    })
}

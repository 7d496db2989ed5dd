//! An image held as a server holds it: mapped, or copied to huge pages where that pays.

use crate::error::BenchError;
use crate::machine::Reader;
use crate::plan::PreparedCase;
use crate::report;
use sotto_core::{AnyServer, Image};
use sotto_db::{CopyBudget, ImageFile, Residency, ResidentImage};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// A server, and the image it answers from.
pub(super) struct ResidentServer {
    pub(super) image: Arc<ResidentImage>,
    pub(super) server: Box<dyn AnyServer>,
    /// Time in which the scheme opened the image.
    pub(super) opening: Duration,
}

impl ResidentServer {
    /// Reads the image once, as a server that compares it with its digests does, and opens it.
    pub(super) fn open(
        plan: &PreparedCase<'_>,
        file: &Arc<ImageFile>,
        copies: &Arc<CopyBudget>,
        reader: &Reader,
    ) -> Result<Self, BenchError> {
        let image = ResidentImage::of(file.clone(), Residency::Auto, copies);
        reader.pass(scanned(file, image.as_ref()));
        image.decide_placement()?;
        let start = Instant::now();
        let server = (plan.entry.server.open)(&plan.params, image.clone())
            .map_err(|why| BenchError::Scheme { case: plan.label.clone(), step: "opening", why })?;
        Ok(ResidentServer { image, server, opening: start.elapsed() })
    }

    /// The bytes that answers are made from.
    pub(super) fn table(&self) -> &[u8] {
        scanned(self.image.file(), self.image.as_ref())
    }

    /// The placement of the table, for the report.
    pub(super) fn figures(&self) -> Option<report::TablePlacement> {
        self.image.residence().map(|residence| report::TablePlacement {
            held_bytes: residence.bytes,
            place: if residence.is_copy { "memory" } else { "file" },
            pages: residence.kind().map(|kind| kind.to_string()),
            huge_ratio: residence.huge_share,
            why: residence.why.to_string(),
        })
    }
}

fn scanned<'a>(file: &ImageFile, image: &'a dyn Image) -> &'a [u8] {
    file.answered_from().and_then(|section| image.section(section)).unwrap_or_default()
}

//! The layers of a catalog that say how rows are masked and how values stand in them.

use crate::row_form::{self, RowForm};
use crate::symmetric::{self, SymmetricLayer};
use crate::{ArtifactEntry, Catalog, CatalogError, Hex32, LayerEntry, Packing, Result, TableKind, ValueKind};
use sotto_core::params::{REQUIRED_FAILURE_LOG2, REQUIRED_SECURITY_BITS};
use sotto_core::{ParamsError, ParamsReport, SchemeEntry, json};
use sotto_oprf::{OVERHEAD_BYTES, PublicKey, SUITE};

impl RowForm {
    /// Form of a catalog's rows, without their masks.
    pub(crate) fn of(catalog: &Catalog, item_bytes: u64) -> Result<Self> {
        let Some(layer) = catalog.layers.iter().find(|layer| layer.name == row_form::NAME) else {
            let is_text = catalog.value == ValueKind::Text && catalog.kind != TableKind::Keyword;
            return Ok(if is_text { RowForm::Text } else { RowForm::Whole });
        };
        let params: row_form::Params =
            json::from_value(&layer.params).map_err(|e| CatalogError::malformed("layer of lengths", &e))?;
        let form = RowForm::Length(params.bytes);
        let longest = item_bytes.checked_sub(form.overhead()).filter(|longest| *longest > 0);
        let fits = |longest: &u64| {
            params.bytes <= row_form::MAX_LENGTH_BYTES && RowForm::for_lengths_up_to(*longest) == form
        };
        if longest.filter(fits).is_none() {
            let why = "expected a length of 1 to 4 bytes, no longer than the longest value needs";
            return Err(CatalogError::invalid("layers", why));
        }
        if let TableKind::Range { empty, .. } = &catalog.kind
            && longest.is_some_and(|longest| empty.0.len() as u64 > longest)
        {
            return Err(CatalogError::invalid("kind.empty", "the empty value is longer than a value"));
        }
        Ok(form)
    }
}

impl SymmetricLayer {
    /// Reads the layer of a catalog.
    pub(crate) fn of(catalog: &Catalog, layer: &LayerEntry) -> Result<Self> {
        let params: symmetric::Params =
            json::from_value(&layer.params).map_err(|e| CatalogError::malformed("layer of masks", &e))?;
        if params.suite != SUITE {
            let why = format!("expected a mask of suite {SUITE}");
            return Err(CatalogError::invalid("layers", why));
        }
        let refused =
            |e: sotto_oprf::OprfError| ParamsError::Field { field: "public_key", why: e.to_string() };
        let key = PublicKey::from_bytes(params.public_key.0)
            .map_err(|e| CatalogError::Params(refused(e).into()))?;
        let item_bytes = catalog.row_bytes.checked_sub(OVERHEAD_BYTES as u64).filter(|bytes| *bytes > 0);
        let narrow = || CatalogError::invalid("row_bytes", "expected at least 25 bytes for a masked row");
        let item_bytes = item_bytes.ok_or_else(narrow)?;
        if let TableKind::Range { empty, .. } = &catalog.kind
            && empty.0.len() as u64 > item_bytes
        {
            return Err(CatalogError::invalid("kind.empty", "the empty value is longer than a row"));
        }
        Ok(SymmetricLayer { key, item_bytes })
    }
}

/// Terms of a table on which its catalog and its scheme agree.
#[derive(Debug, Clone)]
pub struct TableTerms {
    /// The scheme's report on the parameters.
    pub report: ParamsReport,
    /// Packing of rows into records.
    pub packing: Packing,
    /// Number of equal buckets of the rows, of each of which one query fetches a row; 1 for
    /// ordinary tables.
    pub buckets: u64,
}

impl Catalog {
    /// Has the scheme check the parameters, and compares its report with the catalog.
    ///
    /// A server calls this before it serves a table, and a client before it queries it: neither
    /// trusts the publisher with security or error bounds.
    ///
    /// # Errors
    /// [`CatalogError::WrongScheme`], [`CatalogError::Params`], [`CatalogError::Disagree`].
    pub fn terms(&self, entry: &SchemeEntry) -> Result<TableTerms> {
        if entry.id.0 != self.scheme {
            let (expected, offered) = (self.scheme.clone(), entry.id.to_string());
            return Err(CatalogError::WrongScheme { expected, offered });
        }
        if entry.servers as u64 != u64::from(self.servers) {
            return Err(CatalogError::Disagree("the number of servers"));
        }
        if entry.proven && self.rows_root.path.is_none() {
            return Err(CatalogError::Disagree("the row proofs"));
        }
        let params = self.params.to_string();
        let report = (entry.report)(params.as_bytes())?;
        if Hex32::from(report.digest) != self.params_digest {
            return Err(CatalogError::Disagree("the digest of the parameters"));
        }
        let packing = self.packing(&report)?;
        gate(&report, &packing)?;
        let buckets = entry.batch.map_or(Ok(1), |buckets| buckets(params.as_bytes()))?;
        if buckets != 1 && packing.filled(buckets).ok() != Some(packing) {
            return Err(CatalogError::Disagree("the rows of the buckets"));
        }
        if buckets != 1 && self.symmetric_layer()?.is_some() {
            return Err(CatalogError::invalid("layers", "a table of several buckets cannot be masked"));
        }
        self.check_sums(entry, &packing)?;
        // A client with durable state can undo the changes of one answer to its hints if the row
        // turns out to be wrong, but not of several.
        if entry.state.is_some() && packing.records_per_row() > 1 {
            return Err(CatalogError::Disagree(
                "the width of a row, which its clients look up in one record",
            ));
        }
        let whole = |entry: &&ArtifactEntry| entry.from_epoch.is_none() && !entry.artifact.is_tree();
        let whole = self.artifacts.iter().filter(whole);
        if whole.map(|entry| u128::from(entry.bytes)).sum::<u128>() != u128::from(report.costs.artifact_bytes)
        {
            return Err(CatalogError::Disagree("the size of the artifacts"));
        }
        Ok(TableTerms { report, packing, buckets })
    }

    /// Checks that the scheme adds up exactly the rows whose sums hold keys: each row is a record,
    /// with nothing else in it.
    fn check_sums(&self, entry: &SchemeEntry, packing: &Packing) -> Result<()> {
        let Some(band) = self.keyword()?.and_then(|keyword| keyword.params().band.clone()) else {
            return Ok(());
        };
        if entry.sum != Some(band.unit) {
            return Err(CatalogError::Disagree("the sums of rows"));
        }
        if packing.rows_per_record() != 1 || packing.records_per_row() != 1 || self.rows_root.path.is_some() {
            return Err(CatalogError::Disagree("the records whose sums hold keys"));
        }
        Ok(())
    }
}

/// Refuses parameters that are too weak, or that fail too often for rows that take several lookups.
///
/// # Errors
/// [`ParamsError::Insecure`], [`ParamsError::Unreliable`].
pub fn gate(report: &ParamsReport, packing: &Packing) -> sotto_core::Result<()> {
    let (bits, required) = (report.security.bits, REQUIRED_SECURITY_BITS);
    if bits.is_nan() || bits < f64::from(required) {
        return Err(ParamsError::Insecure { bits, required }.into());
    }
    let (log2, required) = (packing.failure_log2(report.failure_log2), REQUIRED_FAILURE_LOG2);
    if log2.is_nan() || log2 > f64::from(required) {
        return Err(ParamsError::Unreliable { log2, required }.into());
    }
    Ok(())
}

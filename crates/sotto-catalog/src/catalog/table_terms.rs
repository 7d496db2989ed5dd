//! What a catalog and its scheme agree on, and whether it is good enough.

use super::Catalog;
use crate::{ArtifactEntry, CatalogError, Hex32, Packing, Result};
use sotto_core::params::{REQUIRED_FAILURE_LOG2, REQUIRED_SECURITY_BITS};
use sotto_core::{ParamsError, ParamsReport, SchemeEntry};

/// What a catalog and its scheme agree on.
#[derive(Debug, Clone)]
pub struct TableTerms {
    /// What the parameters promise and cost.
    pub report: ParamsReport,
    /// How rows lie in records.
    pub packing: Packing,
    /// Equal parts of the rows, of each of which one query asks for a row; 1 for ordinary tables.
    pub buckets: u64,
}

impl Catalog {
    /// Has the scheme check the parameters, and compares what they say with the catalog.
    ///
    /// Both a server before it serves and a client before it asks go through here: a publisher is not
    /// trusted with either side's security or error bound.
    ///
    /// # Errors
    /// [`CatalogError::WrongScheme`], [`CatalogError::Params`], [`CatalogError::Disagree`].
    pub fn terms(&self, entry: &SchemeEntry) -> Result<TableTerms> {
        if entry.id.0 != self.scheme {
            let (wanted, offered) = (self.scheme.clone(), entry.id.to_string());
            return Err(CatalogError::WrongScheme { wanted, offered });
        }
        if entry.servers as u64 != u64::from(self.servers) {
            return Err(CatalogError::Disagree { what: "the number of servers" });
        }
        if entry.proven && self.rows_root.path.is_none() {
            return Err(CatalogError::Disagree { what: "the proofs of its rows" });
        }
        let params = self.params.to_string();
        let report = (entry.report)(params.as_bytes())?;
        if Hex32::from(report.digest) != self.params_digest {
            return Err(CatalogError::Disagree { what: "the digest of the parameters" });
        }
        let packing = self.packing(&report)?;
        gate(&report, &packing)?;
        let buckets = entry.batch.map_or(Ok(1), |buckets| buckets(params.as_bytes()))?;
        if buckets != 1 && packing.filled(buckets).ok() != Some(packing) {
            return Err(CatalogError::Disagree { what: "the rows of its buckets" });
        }
        if buckets != 1 && self.symmetric_layer()?.is_some() {
            return Err(CatalogError::invalid("layers", "rows of buckets are not masked"));
        }
        self.check_sums(entry, &packing)?;
        // Such a client takes back what one answer did to its hints, if the row turns out to be wrong; not several.
        if entry.state.is_some() && packing.records_per_row() > 1 {
            return Err(CatalogError::Disagree {
                what: "the width of a row, which its clients look up in one record",
            });
        }
        let whole = |entry: &&ArtifactEntry| entry.from_epoch.is_none() && !entry.artifact.is_tree();
        let whole = self.artifacts.iter().filter(whole);
        if whole.map(|entry| u128::from(entry.bytes)).sum::<u128>() != u128::from(report.costs.artifact_bytes)
        {
            return Err(CatalogError::Disagree { what: "the size of the artifacts" });
        }
        Ok(TableTerms { report, packing, buckets })
    }

    /// Where keys lie in sums of rows, the scheme adds up just those: each is a record, and nothing else is in it.
    fn check_sums(&self, entry: &SchemeEntry, packing: &Packing) -> Result<()> {
        let Some(band) = self.keyword()?.and_then(|keyword| keyword.params().band.clone()) else {
            return Ok(());
        };
        if entry.sum != Some(band.unit) {
            return Err(CatalogError::Disagree { what: "sums of its rows" });
        }
        if packing.rows_per_record() != 1 || packing.records_per_row() != 1 || self.rows_root.path.is_some() {
            return Err(CatalogError::Disagree { what: "records that are rows, of which sums are made" });
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

//! Whether the catalog of an open table is still good.

use super::Table;
use crate::{ClientError, Result};
use web_time::SystemTime;

/// The current time in seconds since 1970.
pub(crate) fn now() -> u64 {
    SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

impl Table {
    /// Fetches the catalog again if it has expired, or if its cosignatures have become too old.
    /// This depends on the time alone.
    ///
    /// # Errors
    /// As for [`Table::refresh`].
    pub(super) fn recheck_catalog(&mut self) -> Result<()> {
        if self.good_until.is_none_or(|until| until > now()) {
            return Ok(());
        }
        match self.refresh() {
            Err(ClientError::EpochChanged { .. } | ClientError::NoCommonEpoch { .. }) => {
                self.refresh().map(drop)
            }
            outcome => outcome.map(drop),
        }
    }

    /// The time until which the open catalog is good; `None` for no limit.
    pub(super) fn catalog_deadline(&self) -> Option<u64> {
        let catalog = self.session.catalog();
        let good = || catalog.digest().map_or(0, |digest| self.config.logs.good_until(&digest));
        let witnessed = self.config.witnesses.is_some().then(good);
        [catalog.expires, witnessed].into_iter().flatten().min()
    }
}

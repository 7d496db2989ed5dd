//! The modeled tier: figures that follow from parameters alone.

use super::{MeasuredCase, ModeledCase};

impl ModeledCase {
    /// Sets the floor that this run's own read rate puts under every scan of the table.
    pub(crate) fn with_floor(&mut self, measured: &[MeasuredCase]) {
        let rates = measured.iter().flat_map(|m| &m.batches).map(|b| b.read_memory_gb_per_s);
        let mut rates: Vec<f64> = rates.collect();
        rates.sort_by(f64::total_cmp);
        let rate = rates.get(rates.len() / 2).copied().filter(|rate| *rate > 0.0);
        self.read_floor_ms = rate.map(|rate| self.table.table_bytes as f64 / rate / 1e6);
    }
}

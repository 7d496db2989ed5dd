//! The parameters of a table of keys in a catalog.
#![deny(clippy::indexing_slicing)]

use super::form::KeyForm;
use super::row_bounds::RowBounds;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Serialize};
use sotto_core::params::REQUIRED_FAILURE_LOG2;
use sotto_core::{ParamsError, Result, SumElement, json};
use sotto_prg::PublicSeed;

/// Maximum number of rows that may have a key.
pub const MAX_PROBES: u32 = 4;

/// Maximum slots of a row.
pub const MAX_SLOTS: u32 = 1 << 16;

/// Maximum rows of a table.
pub const MAX_ROWS: u64 = 1 << 40;

/// Maximum bytes of a row.
pub const MAX_ROW_BYTES: u64 = 1 << 30;

/// The range of the bytes of a tag: enough to choose rows from, and no more than are hashed.
pub const TAG_BYTES: std::ops::RangeInclusive<u32> = 8..=16;

/// Maximum number of keys of a strip.
pub const MAX_STRIP_KEYS: u32 = 1 << 20;

/// The parameters that client and builder must agree on. A catalog has them under [`super::NAME`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Params {
    /// The form of keys.
    pub form: KeyForm,
    /// Bytes of the longest key, in that form, that can be looked up. All keys are hashed at this
    /// length.
    pub key_bytes: u32,
    /// Number of rows that may have a key, and that are fetched for it.
    pub probes: u32,
    /// Keys of a row, or of a strip of a band.
    pub slots: u32,
    /// Rows of the table, a multiple of `probes`; for a band, its strips.
    pub rows: u64,
    /// Bytes of a key's hash in a slot.
    pub tag_bytes: u32,
    /// The lengths of values.
    pub values: ValueLength,
    /// The key of the hash, drawn when the table is built.
    pub seed: PublicSeed,
    /// The choice of rows that gave every key a slot, counted from 0.
    pub attempt: u32,
    /// The bounds of rows, if just one row may have a key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cuts: Option<RowBounds>,
    /// The parameters of a band, if keys are sums of rows: strips have bounds like rows then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub band: Option<BandParams>,
}

/// The parameters of a band in a catalog.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BandParams {
    /// Rows of the table, each of which is a record.
    pub rows: u64,
    /// The elements that are added, as the scheme adds them.
    pub unit: SumElement,
    /// The seed of each strip, for which its bands have a solution.
    pub tries: StripSeeds,
}

/// The seeds of strips, a byte for each.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct StripSeeds(pub Vec<u8>);

impl From<StripSeeds> for String {
    fn from(tries: StripSeeds) -> String {
        STANDARD.encode(tries.0)
    }
}

impl TryFrom<String> for StripSeeds {
    type Error = &'static str;
    fn try_from(text: String) -> Result<Self, Self::Error> {
        STANDARD.decode(text).map(StripSeeds).map_err(|_| "tries are base64, with its padding")
    }
}

/// The lengths of values. Values of different lengths look alike, since every slot has space for
/// the longest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ValueLength {
    /// All values have this many bytes.
    Fixed(u32),
    /// Values have at most this many bytes. Slots hold the length, and zero bytes after the value.
    UpTo(u32),
}

impl ValueLength {
    /// Maximum bytes of a value.
    pub fn most(self) -> u32 {
        match self {
            ValueLength::Fixed(bytes) | ValueLength::UpTo(bytes) => bytes,
        }
    }

    /// Bytes of the length in a slot.
    pub fn length_bytes(self) -> u32 {
        match self {
            ValueLength::Fixed(_) => 0,
            ValueLength::UpTo(most) => (32 - most.leading_zeros()).div_ceil(8).max(1),
        }
    }
}

impl Params {
    /// Reads and checks the parameters of a catalog. Total: any bytes give parameters or an error.
    ///
    /// # Errors
    /// The errors of [`Self::check`].
    pub fn parse(text: &[u8]) -> Result<Self> {
        let plain =
            |e: serde_json::Error| e.to_string().chars().filter(|c| !c.is_control()).take(200).collect();
        let params: Params = json::from_slice(text).map_err(|e| refused("params", plain(e)))?;
        params.check()?;
        Ok(params)
    }

    /// Checks that these are a table's parameters, and that a missing key is not found more often
    /// than once in 2^40.
    ///
    /// # Errors
    /// [`ParamsError::Field`], [`ParamsError::Unreliable`].
    pub fn check(&self) -> Result<()> {
        let within = |field, value: u64, range: std::ops::RangeInclusive<u64>| match range.contains(&value) {
            true => Ok(()),
            false => Err(refused(field, format!("must be in {}..={}", range.start(), range.end()))),
        };
        within("key_bytes", self.key_bytes.into(), 1..=self.form.max_bytes().into())?;
        within("probes", self.probes.into(), 1..=MAX_PROBES.into())?;
        let most = if self.band.is_some() { MAX_STRIP_KEYS } else { MAX_SLOTS };
        within("slots", self.slots.into(), 1..=most.into())?;
        within("rows", self.rows, 1..=MAX_ROWS)?;
        within("tag_bytes", self.tag_bytes.into(), (*TAG_BYTES.start()).into()..=(*TAG_BYTES.end()).into())?;
        within("values", self.values.most().into(), 0..=MAX_ROW_BYTES)?;
        let cut = self.cuts.as_ref().map(RowBounds::rows);
        if cut != (self.probes == 1).then_some(self.rows) {
            return Err(refused(
                "cuts",
                "must be one for each row with one probe, and absent otherwise".to_owned(),
            )
            .into());
        }
        if !self.rows.is_multiple_of(self.probes.into()) {
            return Err(refused("rows", "must be a multiple of probes".to_owned()).into());
        }
        within("slots", self.row_bytes(), 1..=MAX_ROW_BYTES)
            .map_err(|_| refused("slots", format!("must make a row of at most {MAX_ROW_BYTES} bytes")))?;
        if let Some(band) = &self.band {
            within("band", band.rows, 1..=MAX_ROWS)?;
            if self.probes != 1 || band.tries.0.len() as u64 != self.rows {
                return Err(
                    refused("band", "must have one probe, and a seed for each strip".to_owned()).into()
                );
            }
            within("rows", self.table_row_bytes(), 1..=MAX_ROW_BYTES)
                .map_err(|_| refused("rows", format!("must make a row of at most {MAX_ROW_BYTES} bytes")))?;
        }
        let (log2, required) = (self.false_positive_log2(), REQUIRED_FAILURE_LOG2);
        if log2 > f64::from(required) {
            return Err(ParamsError::Unreliable { log2, required }.into());
        }
        Ok(())
    }

    /// Bytes of a slot: tag, length, value.
    pub fn slot_bytes(&self) -> u64 {
        u64::from(self.tag_bytes) + u64::from(self.values.length_bytes()) + u64::from(self.values.most())
    }

    /// Bytes of an entry of a band.
    pub(super) fn entry_bytes(&self, unit: SumElement) -> u64 {
        self.slot_bytes().next_multiple_of(unit.bytes() as u64)
    }

    /// Bytes of a row of slots; for a band, of a strip before it is solved.
    pub fn row_bytes(&self) -> u64 {
        self.slot_bytes() * u64::from(self.slots)
    }

    /// Rows of the table.
    pub fn table_rows(&self) -> u64 {
        self.band.as_ref().map_or(self.rows, |band| band.rows)
    }

    /// Bytes of a row of the table.
    pub fn table_row_bytes(&self) -> u64 {
        let of_band = |band: &BandParams| self.entry_bytes(band.unit).saturating_mul(self.rows);
        self.band.as_ref().map_or(self.row_bytes(), of_band)
    }

    /// log2 of a bound on the probability that a missing key is found.
    ///
    /// In a band, a missing key's tag is found if it equals the sum of the rows of its band. These
    /// are a random function's choice, and the probabilities of the sums of a strip add to 1,
    /// whatever they are: so over all tags that is at most one tag for each strip.
    pub fn false_positive_log2(&self) -> f64 {
        let strips = if self.band.is_some() { 1 } else { 0 };
        false_positive_log2(self.rows as f64 * f64::from(self.slots + strips), self.tag_bytes)
    }
}

/// log2 of the probability that one of `keys` present keys has the tag of a missing one: at most 2
/// * 2^(-8 * `tag_bytes`) each, where the 2 is for the tag that two hashes share.
pub(super) fn false_positive_log2(keys: f64, tag_bytes: u32) -> f64 {
    keys.log2() + 1.0 - 8.0 * f64::from(tag_bytes)
}

fn refused(field: &'static str, why: String) -> ParamsError {
    ParamsError::Field { field, why }
}

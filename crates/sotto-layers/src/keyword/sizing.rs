//! The sizes of a table of keys, which follow from the number of keys and the lengths of their
//! values, not from their slots. The options of a table, and the reasons why it cannot be built.

use crate::keyword::form::KeyForm;
use crate::keyword::params::{
    BandParams, MAX_ROWS, Params, StripSeeds, TAG_BYTES, ValueLength, false_positive_log2,
};
use crate::keyword::row_bounds::{CELLS, MAX_CUT_ROWS, RowBounds};
use crate::keyword::{band, occupancy};
use sotto_core::{Error, ParamsError, SumElement};
use sotto_prg::PublicSeed;

/// Slots up to this width are four to a row, wider ones two: see the README for what that costs.
const NARROW_BYTES: u64 = 512;

/// The number of keys, and the lengths of their values.
#[derive(Debug, Clone)]
pub struct KeyStats {
    /// The options of the table.
    pub options: BuildOptions,
    /// Number of keys.
    pub keys: u64,
    /// Bytes of the shortest value.
    pub shortest: u32,
    /// Bytes of the longest value.
    pub longest: u32,
}

/// The sizes of a table of keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KeywordSizes {
    /// Rows of the table.
    pub rows: u64,
    /// Bytes of a row.
    pub row_bytes: u64,
    /// Bytes of the row bounds in the catalog.
    pub catalog_bytes: u64,
}

impl KeyStats {
    /// The sizes of a table of these keys, with the given numbers of probes and slots.
    ///
    /// # Errors
    /// [`BuildError::NoKeys`], [`BuildError::TooMany`], [`BuildError::Refused`].
    pub fn sizes(&self, probes: u32, slots: u32) -> Result<KeywordSizes, BuildError> {
        let params =
            self.params(BuildOptions { probes, slots: Some(slots), strips: None, ..self.options.clone() })?;
        let catalog_bytes = if probes == 1 { params.rows.div_ceil(3) * 4 } else { 0 };
        Ok(KeywordSizes { rows: params.rows, row_bytes: params.row_bytes(), catalog_bytes })
    }

    /// The sizes of a table of these keys in a band.
    ///
    /// # Errors
    /// The errors of [`Self::sizes`].
    pub fn band_sizes(&self, strips: u64, unit: SumElement) -> Result<KeywordSizes, BuildError> {
        let params =
            self.params(BuildOptions { probes: 1, strips: Some((strips, unit)), ..self.options.clone() })?;
        let (rows, row_bytes) = (params.table_rows(), params.table_row_bytes());
        // Bounds and seeds of strips.
        Ok(KeywordSizes { rows, row_bytes, catalog_bytes: 2 * (strips.div_ceil(3) * 4) })
    }

    fn params(&self, options: BuildOptions) -> Result<Params, BuildError> {
        if self.keys == 0 {
            return Err(BuildError::NoKeys);
        }
        let params = params_for(&options, self.keys, values(&options, self.shortest, self.longest))?;
        params.check()?;
        Ok(params)
    }
}

pub(super) fn values(options: &BuildOptions, shortest: u32, longest: u32) -> ValueLength {
    match options.width {
        ValueWidth::UpTo(most) => ValueLength::UpTo(most),
        ValueWidth::Longest if shortest == longest => ValueLength::Fixed(longest),
        ValueWidth::Longest => ValueLength::UpTo(longest),
    }
}

/// The parameters of a table, as far as they follow from the number of keys.
pub(super) fn params_for(
    options: &BuildOptions,
    keys: u64,
    values: ValueLength,
) -> Result<Params, BuildError> {
    let keys = keys.max(options.headroom);
    let (rows, slots) = match options.strips {
        Some((strips, _)) => {
            let slots = u32::try_from(band::strip_keys_for(keys, strips.max(1)));
            (strips, slots.map_err(|_| BuildError::TooMany { limit: MAX_KEYS })?)
        }
        None => {
            let slots = options.slots.unwrap_or(if u64::from(values.most()) <= NARROW_BYTES { 4 } else { 2 });
            (occupancy::rows_for(keys, options.probes, slots), slots)
        }
    };
    let most = if options.probes == 1 { MAX_CUT_ROWS } else { MAX_ROWS };
    if rows > most || rows.saturating_mul(slots.into()) > u32::MAX.into() {
        return Err(BuildError::TooMany { limit: MAX_KEYS });
    }
    let is_sure = |tag_bytes: &u32| {
        let strips = if options.strips.is_some() { 1 } else { 0 };
        false_positive_log2(rows as f64 * f64::from(slots.saturating_add(strips)), *tag_bytes)
            <= options.false_positive_log2
    };
    let tag_bytes = TAG_BYTES.into_iter().find(is_sure).ok_or(ParamsError::Field {
        field: "false_positive_log2",
        why: format!("must be reached by a tag of up to {} bytes", TAG_BYTES.end()),
    });
    let tag_bytes = tag_bytes.map_err(Error::from)?;
    let of_band = |(strips, unit)| BandParams {
        rows: band::rows_for(slots),
        unit,
        tries: StripSeeds(vec![0; strips as usize]),
    };
    let band = options.strips.map(of_band);
    let params = Params { values, slots, rows, tag_bytes, band, ..smallest(options) };
    Ok(Params { cuts: even(&params), ..params })
}

/// Rows with equally many cells, for a table of one probe.
fn even(params: &Params) -> Option<RowBounds> {
    let rows = usize::try_from(params.rows).ok().filter(|_| params.probes == 1)?;
    RowBounds::new(vec![CELLS as u8; rows])
}

/// The smallest possible table with these options.
pub(super) fn smallest(options: &BuildOptions) -> Params {
    Params {
        form: options.form,
        key_bytes: options.key_bytes,
        probes: options.probes,
        slots: options.slots.unwrap_or(1),
        rows: options.probes.into(),
        tag_bytes: *TAG_BYTES.start(),
        values: ValueLength::UpTo(0),
        seed: options.seed,
        attempt: 0,
        cuts: (options.probes == 1).then(|| RowBounds::new(vec![CELLS as u8])).flatten(),
        band: None,
    }
}

/// Maximum number of keys, so that keys and slots can be numbered.
pub(super) const MAX_KEYS: u64 = 1 << 31;

/// The options of a table of keys.
#[derive(Debug, Clone)]
pub struct BuildOptions {
    /// The form of keys.
    pub form: KeyForm,
    /// Bytes of the longest possible key, in that form.
    pub key_bytes: u32,
    /// The lengths of values.
    pub width: ValueWidth,
    /// Number of rows that may have a key, each of which is fetched.
    pub probes: u32,
    /// Keys in a row; `None` for a number that fits the width of values.
    pub slots: Option<u32>,
    /// For a band, the number of its strips and the elements that are added.
    pub strips: Option<(u64, SumElement)>,
    /// Number of keys that the table has space for, if more than it starts with.
    pub headroom: u64,
    /// log2 of the accepted probability that a missing key is found.
    pub false_positive_log2: f64,
    /// The key of the hash. It is public, but must be unknown when keys are chosen.
    pub seed: PublicSeed,
}

/// The space of a slot for a value. A longer value is refused, never truncated or spread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ValueWidth {
    /// The length of the longest value of the data.
    Longest,
    /// At most this many bytes, so that longer values can come later.
    UpTo(u32),
}

impl BuildOptions {
    /// Keys of a form, with the defaults that suit most tables.
    pub fn new(form: KeyForm, seed: PublicSeed) -> Self {
        BuildOptions {
            form,
            key_bytes: form.default_bytes(),
            width: ValueWidth::Longest,
            probes: 2,
            slots: None,
            strips: None,
            headroom: 0,
            false_positive_log2: -64.0,
            seed,
        }
    }
}

/// The reason why a table cannot be built. Keys are counted from 1.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BuildError {
    /// A key without bytes.
    #[error("key {entry} is empty")]
    EmptyKey {
        /// The number of the key.
        entry: u64,
    },
    /// A key above the maximum length.
    #[error("key {entry} has {bytes} bytes, above the maximum of {limit}")]
    LongKey {
        /// The number of the key.
        entry: u64,
        /// Bytes of the key.
        bytes: u64,
        /// Maximum bytes of a key.
        limit: u64,
    },
    /// A value above the maximum length.
    #[error("the value of key {entry} has {bytes} bytes, above the maximum of {limit}")]
    LongValue {
        /// The number of the key.
        entry: u64,
        /// Bytes of the value.
        bytes: u64,
        /// Maximum bytes of a value.
        limit: u64,
    },
    /// A key that occurs twice.
    #[error("key {second} is the same as key {first}")]
    Duplicate {
        /// The number of its first occurrence.
        first: u64,
        /// The number of its second occurrence.
        second: u64,
    },
    /// More keys, or space for more, than a table can have.
    #[error("the table has more than {limit} slots")]
    TooMany {
        /// Maximum number of keys.
        limit: u64,
    },
    /// A table without keys.
    #[error("the table has no keys")]
    NoKeys,
    /// No choice of rows has a slot for every key.
    #[error("{rows} rows have no slot for some key")]
    Crowded {
        /// Rows of the table.
        rows: u64,
    },
    /// The second pass differs from the first.
    #[error("key {entry} differs between the two passes")]
    Changed {
        /// The number of the key.
        entry: u64,
    },
    /// Options that no table can have.
    #[error(transparent)]
    Refused(#[from] Error),
}

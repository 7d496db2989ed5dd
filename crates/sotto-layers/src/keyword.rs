//! Values by key: a cuckoo table, of which a lookup fetches the few rows that may have the key.
//!
//! | module | contents |
//! |---|---|
//! | [`params`] | the checked parameters of such a table in a catalog |
//! | `tag` | keys to tags, and tags to rows |
//! | [`row_bounds`] | one row for each key, with public row bounds |
//! | [`band`], `band_solve` | keys in sums of rows, for schemes that add rows |
//! | `slot` | a key's tag and value in a row, and finding them there |
//! | [`multi_key`] | several keys in one request, over a batch code |
//! | [`build`] | the server's half: placing keys, in two passes over the data |
//! | [`sizing`] | the options of a table, and its sizes by the number of keys |
//! | `occupancy` | the number of rows for a number of keys, and the moves that place every key |
//! | [`edit`] | the server's half: changing values and adding keys, row by row |
//! | [`form`] | one spelling for each key: domains, addresses, text, digests |
//!
//! A key's *tag* is a hash of it, and each row has a few *slots*, each for a tag and a value. The
//! tag determines the rows that may have the key, one row in each part of the table (*probes*), and
//! the builder moves keys until every key has a slot (Pagh and Rodler, *Cuckoo Hashing*, 2004; with
//! several slots, Dietzfelbinger and Weidling, 2007). With one probe there is no choice, and the
//! builder chooses the bounds of rows instead ([`row_bounds`]). Or a key's slot is the sum of a few
//! rows ([`band`]).
//!
//! **Lookups reveal nothing.** A lookup fetches as many rows for a missing key as for a present
//! one, and it compares the tag with every slot of every fetched row, always with the same work.
//!
//! **Wrong answers.** A missing key is taken for a present one if their tags are equal. Rows follow
//! from the tag, so that happens if any key of the table has that tag: with probability of at most
//! the number of slots, times 2, over 2^(8 * `tag_bytes`), where the 2 is for the one tag that two
//! hashes share. Builders choose the tag such that this is at most 2^-64, and parameters where it
//! is above 2^-40 are refused. Present keys are always found.
//!
//! The seed of the hash is public. Anyone who chooses keys after it is known can search for two
//! keys of one tag, at the price of 2^(4 * `tag_bytes`) hashes, or for a missing key that seems
//! present, at 2^(8 * `tag_bytes`) over the number of keys. 16 bytes of tag put both out of reach.

pub mod band;
mod band_solve;
pub mod build;
pub mod edit;
pub mod form;
pub mod multi_key;
mod occupancy;
pub mod params;
pub mod row_bounds;
pub mod sizing;
mod slot;
mod tag;

pub use band_solve::SolvedStrip;
pub use build::{KeyPlacement, KeywordBuilder};
pub use edit::{EditError, TableEdit};
pub use form::{KeyError, KeyForm};
pub use multi_key::MultiKeyword;
pub use params::{BandParams, Params, ValueLength};
pub use row_bounds::RowBounds;
pub use sizing::{BuildError, BuildOptions, ValueWidth};
pub use sizing::{KeyStats, KeywordSizes};

use sotto_core::{CryptoRng, Misuse, PeerMisbehaved, Result, Row};
use tag::{KeyDigest, KeyHash};
use zeroize::Zeroizing;

/// The layer's name in a catalog.
pub const NAME: &str = "keyword/1";

/// A key in its [`KeyForm`]. Wiped on drop.
pub type Key = Zeroizing<Vec<u8>>;

/// The value of a key. Wiped on drop.
pub type Value = Row;

/// Lookups of keys in a table of these parameters.
#[derive(Debug, Clone)]
pub struct Keyword {
    params: Params,
    hash: KeyHash,
}

/// The secret plan of one key. Wiped on drop.
#[derive(Debug)]
pub struct Plan {
    digest: Zeroizing<KeyDigest>,
    ones: Option<Zeroizing<u128>>,
}

impl Plan {
    /// The mask of the rows to add, from the planned row on, in tables whose keys are sums of rows;
    /// the lowest bit is the first row.
    pub fn row_mask(&self) -> Option<u128> {
        self.ones.as_deref().copied()
    }
}

impl Keyword {
    /// The layer of a table with these parameters.
    ///
    /// # Errors
    /// The errors of [`Params::check`].
    pub fn new(params: Params) -> Result<Self> {
        params.check()?;
        let hash = KeyHash::new(&params.seed, params.key_bytes);
        Ok(Keyword { params, hash })
    }

    /// Reads the parameters of a catalog. Total: any bytes give a layer or an error.
    ///
    /// # Errors
    /// The errors of [`Params::check`].
    pub fn parse(params: &[u8]) -> Result<Self> {
        Keyword::new(Params::parse(params)?)
    }

    /// The parameters of the table.
    pub fn params(&self) -> &Params {
        &self.params
    }

    /// The hash of a key; an error if no key can have its length.
    fn digest(&self, key: &[u8]) -> Result<Zeroizing<KeyDigest>> {
        if key.is_empty() {
            return Err(Misuse::Rule("the key must not be empty").into());
        }
        let digest = self.hash.digest(key).map(|digest| Zeroizing::new(digest.cut(self.params.tag_bytes)));
        digest.ok_or_else(|| {
            Misuse::Rule("the key must be at most as long as the longest key of the table").into()
        })
    }

    /// The layer with the seeds of its strips, as they were found when the strips were solved.
    pub fn with_tries(mut self, tries: Vec<u8>) -> Self {
        if let Some(band) = &mut self.params.band {
            band.tries = params::StripSeeds(tries);
        }
        self
    }

    /// The rows that may have a key, one in each part of the table; for a band, its strip.
    fn rows(&self, digest: KeyDigest) -> impl Iterator<Item = u64> + use<> {
        let Params { probes, rows, attempt, .. } = self.params;
        let part = rows / u64::from(probes);
        let cut = self.params.cuts.as_ref().map(|cuts| cuts.row_of(digest, attempt));
        let row = move |probe| cut.unwrap_or_else(|| digest.choice(attempt, probe, part));
        (0..probes).map(move |probe| u64::from(probe) * part + row(probe))
    }

    /// Whether a row may have a key, for public keys.
    fn may_lie(&self, digest: KeyDigest, row: u64) -> bool {
        match &self.params.cuts {
            Some(cuts) => cuts.row_of_public(digest, self.params.attempt) == row,
            None => self.rows(digest).any(|candidate| candidate == row),
        }
    }

    /// The strip of a key. Every strip is read.
    fn strip(&self, digest: KeyDigest) -> u64 {
        self.rows(digest).next().unwrap_or(0)
    }

    /// Reads a key's value from the fetched rows.
    fn read(&self, digest: KeyDigest, rows: &[Row]) -> Result<Option<Value>> {
        if let (Some(band), [sum]) = (&self.params.band, rows) {
            let slot = band.slot(&self.params, self.strip(digest), sum)?;
            return slot::find(&self.params, digest, &[slot]);
        }
        let want = self.params.row_bytes();
        for row in rows {
            let got = row.len() as u64;
            if got != want {
                return Err(PeerMisbehaved::Length { what: "row of slots", got, want }.into());
            }
        }
        slot::find(&self.params, digest, rows)
    }
}

impl sotto_core::Layer for Keyword {
    /// A key in its form.
    type Request = [u8];
    /// The value of the key, or `None` if the table does not have it.
    type Reply = Option<Value>;
    type Plan = Plan;

    fn shards(&self) -> Vec<u64> {
        vec![self.params.table_rows()]
    }

    fn visits(&self) -> Vec<usize> {
        vec![0; self.params.probes as usize]
    }

    /// Does not use the generator: a key's rows are fixed, whether it is present or not. Where keys
    /// are sums of rows, the planned row is the first of them, and [`Plan::row_mask`] has the
    /// others.
    fn plan(&self, key: &[u8], _: &mut dyn CryptoRng) -> Result<(Vec<u64>, Plan)> {
        let digest = self.digest(key)?;
        let Some(band) = &self.params.band else {
            return Ok((self.rows(*digest).collect(), Plan { digest, ones: None }));
        };
        let tried = band.tried(self.strip(*digest));
        let ones = band::BandHash::new(&self.params, band).of(*digest, tried);
        Ok((vec![ones.first], Plan { digest, ones: Some(Zeroizing::new(ones.ones)) }))
    }

    fn assemble(&self, plan: Plan, rows: Vec<Row>) -> Result<Option<Value>> {
        if rows.len() != self.params.probes as usize {
            return Err(Misuse::Rule("there must be a row for each lookup").into());
        }
        self.read(*plan.digest, &rows)
    }
}

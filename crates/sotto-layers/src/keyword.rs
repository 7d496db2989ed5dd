//! Values by key: a cuckoo table, of which a lookup fetches the few rows where the key may lie.
//!
//! | module | what lives there |
//! |---|---|
//! | [`params`] | what a catalog says of such a table, checked |
//! | `tag` | keys to tags, and tags to rows |
//! | [`cuts`] | one row for each key, where that is public |
//! | [`band`] | keys in sums of rows, for schemes that add rows up |
//! | `slot` | how a key's tag and value lie in a row, and how they are found there |
//! | [`many`] | several keys in one request, over a batch code |
//! | [`build`] | the server's half: keys to places, in two passes over the data |
//! | [`counted`] | what a table takes, by how many keys there are |
//! | `crowd` | how many rows so many keys need, and the moves that make room |
//! | [`edit`] | the server's half: values changed and keys added, row by row |
//! | [`form`] | one spelling for each key: domains, addresses, text, digests |
//!
//! A key's *tag* is a hash of it, and each row has a few *slots*, each with room for a tag and a value. The tag says in
//! which rows the key may lie, one row in each part of the table (*probes*), and the builder moves keys around
//! until everyone has a place (Pagh and Rodler, *Cuckoo Hashing*, 2004; with several slots, Dietzfelbinger and Weidling, 2007).
//! With one probe there is nothing to choose from, and the builder says instead where rows begin ([`cuts`]). Or a key's slot is
//! the sum of a few rows ([`band`]).
//!
//! **What is asked tells nothing.** A lookup fetches as many rows for a key that is missing as for one that is there, and it
//! compares the tag with every slot of every row that came, always with the same work.
//!
//! **Wrong answers.** A missing key is taken for a present one if their tags are equal. Rows follow from the tag, so that
//! happens if any key of the table has that tag: with probability of at most the number of slots, times 2, over 2^(8 *
//! `tag_bytes`), where the 2 is for the one tag that two hashes share. Builders choose the tag so that this is at most 2^-64,
//! and nobody accepts parameters where it is above 2^-40. Present keys are always found.
//!
//! The seed of the hash is public. Who chooses keys after it is known can search for two keys of one tag, at the price of
//! 2^(4 * `tag_bytes`) hashes, or for a missing key that seems present at 2^(8 * `tag_bytes`) over the number of keys. 16 bytes
//! of tag put both out of reach.

pub mod band;
pub mod build;
pub mod edit;
pub mod form;
pub mod multi_key;
mod occupancy;
pub mod params;
mod rebalance;
pub mod row_bounds;
pub mod sizing;
mod slot;
mod tag;

pub use band::{BandParams, SolvedStrip};
pub use build::{BuildError, BuildOptions, KeyPlacement, KeywordBuilder, ValueWidth};
pub use edit::{EditError, TableEdit};
pub use form::{KeyError, KeyForm};
pub use multi_key::MultiKeyword;
pub use params::{Params, ValueLength};
pub use row_bounds::RowBounds;
pub use sizing::{KeyStats, KeywordSizes};

use sotto_core::{CryptoRng, Misuse, PeerMisbehaved, Result, Row};
use tag::{KeyDigest, KeyHash};
use zeroize::Zeroizing;

/// The layer's name in a catalog.
pub const NAME: &str = "keyword/1";

/// A key in its [`KeyForm`]. Wiped on drop.
pub type Key = Zeroizing<Vec<u8>>;

/// What a key stands for. Wiped on drop.
pub type Value = Row;

/// Lookups of keys in a table of these parameters.
#[derive(Debug, Clone)]
pub struct Keyword {
    params: Params,
    hash: KeyHash,
}

/// What is remembered of a key. Wiped on drop.
#[derive(Debug)]
pub struct Plan {
    digest: Zeroizing<KeyDigest>,
    ones: Option<Zeroizing<u128>>,
}

impl Plan {
    /// Which rows are added up, from the one that was planned for on, in tables whose keys lie in sums; the lowest bit first.
    pub fn row_mask(&self) -> Option<u128> {
        self.ones.as_deref().copied()
    }
}

impl Keyword {
    /// A table with these parameters.
    ///
    /// # Errors
    /// As [`Params::check`].
    pub fn new(params: Params) -> Result<Self> {
        params.check()?;
        let hash = KeyHash::new(&params.seed, params.key_bytes);
        Ok(Keyword { params, hash })
    }

    /// Reads the parameters that a catalog gives. Total: any bytes give a layer or an error.
    ///
    /// # Errors
    /// As [`Params::check`].
    pub fn parse(params: &[u8]) -> Result<Self> {
        Keyword::new(Params::parse(params)?)
    }

    /// The parameters.
    pub fn params(&self) -> &Params {
        &self.params
    }

    /// The hash of a key that can be asked for.
    fn digest(&self, key: &[u8]) -> Result<Zeroizing<KeyDigest>> {
        if key.is_empty() {
            return Err(Misuse::Rule("an empty key stands for nothing").into());
        }
        let digest = self.hash.digest(key).map(|digest| Zeroizing::new(digest.cut(self.params.tag_bytes)));
        digest.ok_or_else(|| Misuse::Rule("the key is longer than any key of the table").into())
    }

    /// The same with these tries of strips, as they were solved.
    pub fn with_tries(mut self, tries: Vec<u8>) -> Self {
        if let Some(band) = &mut self.params.band {
            band.tries = band::StripSeeds(tries);
        }
        self
    }

    /// The rows where a key may lie, one in each part of the table; the strip that it is of.
    fn rows(&self, digest: KeyDigest) -> impl Iterator<Item = u64> + use<> {
        let Params { probes, rows, attempt, .. } = self.params;
        let part = rows / u64::from(probes);
        let cut = self.params.cuts.as_ref().map(|cuts| cuts.row_of(digest, attempt));
        let row = move |probe| cut.unwrap_or_else(|| digest.choice(attempt, probe, part));
        (0..probes).map(move |probe| u64::from(probe) * part + row(probe))
    }

    /// Whether a key may lie in a row, for whoever has no key to hide.
    fn may_lie(&self, digest: KeyDigest, row: u64) -> bool {
        match &self.params.cuts {
            Some(cuts) => cuts.row_of_public(digest, self.params.attempt) == row,
            None => self.rows(digest).any(|candidate| candidate == row),
        }
    }

    /// The strip that a key is of. Every strip is looked at.
    fn strip(&self, digest: KeyDigest) -> u64 {
        self.rows(digest).next().unwrap_or(0)
    }

    /// What the fetched rows say of a key.
    fn read(&self, digest: KeyDigest, rows: &[Row]) -> Result<Option<Value>> {
        if let (Some(band), [sum]) = (&self.params.band, rows) {
            let slot = band.slot(&self.params, self.strip(digest), sum)?;
            return slot::find(&self.params, digest, &[slot]);
        }
        let want = self.params.row_bytes();
        for row in rows {
            let got = row.len() as u64;
            if got != want {
                return Err(PeerMisbehaved::Length { what: "a row of slots", got, want }.into());
            }
        }
        slot::find(&self.params, digest, rows)
    }
}

impl sotto_core::Layer for Keyword {
    /// A key in its form.
    type Request = [u8];
    /// Its value, or `None` if the table does not have the key.
    type Reply = Option<Value>;
    type Plan = Plan;

    fn shards(&self) -> Vec<u64> {
        vec![self.params.table_rows()]
    }

    fn visits(&self) -> Vec<usize> {
        vec![0; self.params.probes as usize]
    }

    /// The generator is not drawn from: a key's rows are its own, whether it is there or not. Where keys lie in sums of rows, the
    /// row is the first of them, and [`Plan::ones`] says which they are.
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
            return Err(Misuse::Rule("a row for each lookup").into());
        }
        self.read(*plan.digest, &rows)
    }
}

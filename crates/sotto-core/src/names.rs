//! Small types for the names and numbers of the domain, so that they cannot be confused with each
//! other; and what a scheme is and rests on: facts that `sotto schemes` prints, and from which the
//! tables of the documentation are written.

use serde::{Deserialize, Serialize};
use std::fmt;
use zeroize::Zeroizing;

/// A scheme's stable name on the wire, such as `simplepir/1`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct SchemeId(pub &'static str);

impl fmt::Display for SchemeId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }
}

/// Index of a *record*, which is the unit that a scheme fetches. The table layer maps rows to
/// records.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct RecordIndex(pub u64);

/// A recovered record. Wiped on drop; its `Debug` output shows only its length.
#[derive(Clone, PartialEq, Eq)]
pub struct Record(pub Zeroizing<Vec<u8>>);

impl Record {
    /// Wraps recovered bytes.
    pub fn new(bytes: Vec<u8>) -> Self {
        Record(Zeroizing::new(bytes))
    }

    /// The record's bytes.
    pub fn bytes(&self) -> &[u8] {
        &self.0
    }
}

impl fmt::Debug for Record {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Record({} bytes)", self.0.len())
    }
}

/// The number of an immutable version of a table. The first is 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(transparent)]
pub struct Epoch(pub u64);

impl fmt::Display for Epoch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

/// BLAKE3 digest of a scheme's id and its literal parameters, which pins a session to both.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct ParamsDigest(pub [u8; 32]);

impl ParamsDigest {
    /// Computes the digest of `scheme` and the canonical JSON of its literal.
    pub fn of(scheme: SchemeId, literal_json: &[u8]) -> Self {
        let mut h = blake3::Hasher::new_derive_key("sotto 2026 params digest v1");
        h.update(&(scheme.0.len() as u64).to_le_bytes());
        h.update(scheme.0.as_bytes());
        h.update(literal_json);
        ParamsDigest(*h.finalize().as_bytes())
    }
}

impl fmt::Display for ParamsDigest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|b| write!(f, "{b:02x}"))
    }
}

impl fmt::Debug for ParamsDigest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ParamsDigest({self})")
    }
}

/// The publication, the protection and the state of a scheme.
///
/// ```
/// use sotto_core::{Assumption, Hiding, SchemeMetadata};
///
/// const METADATA: SchemeMetadata = SchemeMetadata {
///     title: "SimplePIR (USENIX Security 2023), ring form",
///     paper: "https://eprint.iacr.org/2022/949",
///     hiding: &[Hiding::Encryption],
///     assumptions: &[Assumption::RingLwe],
///     client_keeps: "a hint for each table and epoch, the same for every client",
///     ..SchemeMetadata::new(env!("CARGO_PKG_NAME"))
/// };
/// assert_eq!(METADATA.hiding[0].to_string(), "encryption");
/// assert_eq!(METADATA.server_keeps, "nothing");
/// assert!(!METADATA.is_baseline);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SchemeMetadata {
    /// Name and publication, in one line.
    pub title: &'static str,
    /// Address of the paper.
    pub paper: &'static str,
    /// Cargo package that implements the scheme.
    pub package: &'static str,
    /// The means that hide the row from the servers.
    pub hiding: &'static [Hiding],
    /// The assumptions on which privacy rests, for parameters that `select` chooses.
    pub assumptions: &'static [Assumption],
    /// The private data that a client keeps from one lookup to the next.
    pub client_keeps: &'static str,
    /// The data that a server keeps for each client.
    pub server_keeps: &'static str,
    /// Whether the client detects every wrong answer, without proofs in the rows.
    pub is_verified: bool,
    /// What a server learns from whether a client refuses an answer, where records are verified, unless
    /// [`ParamsReport::abort_leakage`](crate::ParamsReport::abort_leakage) says that it is more.
    pub abort_leakage: AbortLeakage,
    /// Whether the scheme is here to be compared with, and another one serves its purpose better.
    pub is_baseline: bool,
}

impl SchemeMetadata {
    /// The facts of a scheme of which only the package is known: nothing is kept on either side.
    pub const fn new(package: &'static str) -> Self {
        SchemeMetadata {
            title: "",
            paper: "",
            package,
            hiding: &[],
            assumptions: &[],
            client_keeps: "nothing",
            server_keeps: "nothing",
            is_verified: false,
            abort_leakage: AbortLeakage::Row,
            is_baseline: false,
        }
    }
}

/// What a server learns from whether a client that verifies records refuses its answer, if catalog and
/// artifacts are an honest publisher's.
///
/// ```
/// use sotto_core::AbortLeakage;
///
/// // A client that demands authenticated answers accepts up to the errors of a query.
/// assert!(AbortLeakage::Nothing.is_authenticated() && AbortLeakage::QueryErrors.is_authenticated());
/// assert!(!AbortLeakage::Row.is_authenticated());
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum AbortLeakage {
    /// Nothing: the server knows beforehand whether the client refuses.
    Nothing,
    /// One bit of the secrets of that query alone, which depends on nothing that is looked up.
    QueryErrors,
    /// One bit that the server chooses, such as whether the row is in one half of the table.
    Row,
}

impl AbortLeakage {
    /// Whether a refusal depends on nothing that is looked up.
    pub const fn is_authenticated(self) -> bool {
        !matches!(self, AbortLeakage::Row)
    }

    /// What a refusal reveals, in words.
    pub const fn statement(self) -> &'static str {
        match self {
            AbortLeakage::Nothing => "nothing",
            AbortLeakage::QueryErrors => "a bit of that query's errors, and nothing of the row",
            AbortLeakage::Row => "a bit of the row, of the server's choice",
        }
    }
}

/// A means to hide the row that a client looks up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Hiding {
    /// The query is encrypted, and the server computes the answer without the key.
    Encryption,
    /// The client prepares secret hints, and a query names rows that look chosen at random.
    Preparation,
    /// Each of two servers gets a part of the query that looks random.
    Splitting,
    /// The client downloads the whole table, and sends no queries.
    Download,
}

impl Hiding {
    /// The name of the means.
    pub const fn name(self) -> &'static str {
        match self {
            Hiding::Encryption => "encryption",
            Hiding::Preparation => "preparation",
            Hiding::Splitting => "splitting",
            Hiding::Download => "download",
        }
    }
}

impl std::fmt::Display for Hiding {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}

/// A cryptographic assumption.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Assumption {
    /// Learning with errors.
    Lwe,
    /// Learning with errors over rings.
    RingLwe,
    /// Security of a key that encrypts functions of itself.
    CircularSecurity,
    /// AES-128 as a pseudorandom function.
    Aes,
}

impl Assumption {
    /// The usual name of the assumption.
    pub const fn name(self) -> &'static str {
        match self {
            Assumption::Lwe => "LWE",
            Assumption::RingLwe => "ring LWE",
            Assumption::CircularSecurity => "circular security",
            Assumption::Aes => "AES",
        }
    }
}

impl std::fmt::Display for Assumption {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}

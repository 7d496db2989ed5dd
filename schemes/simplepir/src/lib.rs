//! SimplePIR (Henzinger, Hong, Corrigan-Gibbs, Meiklejohn, Vaikuntanathan; USENIX Security 2023).
//!
//! The table is a matrix D of signed bytes, `l` rows by `m` columns; a record is one column. A
//! client holds the hint H = D A for a public matrix A, sends a Regev encryption of a unit vector,
//! receives D times it, subtracts H s and rounds: the whole column. A is made of ring blocks, so
//! that H and the encryptions cost number-theoretic transforms and not dense products. The lattice,
//! encryptions and hints are those of [`sotto_silent::lwe`]. README.md has the symbol table, the
//! deviations from the paper, and what an update reveals.
//!
//! | module | contents |
//! |---|---|
//! | [`literal`] | parameters as a catalog states them, with sizes, costs and bounds, and their selection |
//! | [`client`] | the paper's Query and Recover |
//! | [`delta`] | the delta file that moves a hint to the next epoch, and applying it |
//! | `server` | matrix and hint, the pass of an answer, updates (feature `server`) |
//! | [`verisimplepir`] | `verisimplepir/1`: answers that are verified against the very table |
#![forbid(unsafe_code)]
#![cfg_attr(not(test), deny(clippy::indexing_slicing))]

pub mod client;
pub mod delta;
pub mod literal;
#[cfg(feature = "server")]
pub mod server;
pub mod verisimplepir;

pub use verisimplepir::VERIFIED;

use sotto_core::{AbortLeakage, Assumption, Caps, Hiding, SchemeEntry, SchemeId, SchemeMetadata};
use sotto_silent::lwe::hint::HintDownload;
use sotto_silent::{MatrixScheme, Method};

/// The method of SimplePIR.
pub struct SimplePir;

impl Method for SimplePir {
    const ID: SchemeId = SchemeId("simplepir/1");
    const METADATA: SchemeMetadata = SchemeMetadata {
        title: "SimplePIR (USENIX Security 2023), ring form",
        paper: "https://eprint.iacr.org/2022/949",
        hiding: &[Hiding::Encryption],
        assumptions: &[Assumption::RingLwe],
        client_keeps: "a hint for each table and epoch, the same for every client",
        abort_leakage: AbortLeakage::QueryErrors,
        ..SchemeMetadata::new(env!("CARGO_PKG_NAME"))
    };
    const CAPS: Caps<MatrixScheme<Self>> = Caps::NONE.patch().update_image().sum().parts();
    type Literal = literal::ParamsLiteral;
    type Keys = ();
    type Prepare = HintDownload;
    type Client = client::Client;
    #[cfg(feature = "server")]
    type Server = server::Server;
}

/// The registry entry of this scheme.
///
/// ```
/// use sotto_core::{RecordIndex, TableShape};
/// use sotto_simplepir::ENTRY;
/// use sotto_testkit::memory::{MemoryRows, MemorySink};
/// use std::sync::Arc;
///
/// // The publisher chooses parameters, and encodes the table's records.
/// let params = (ENTRY.select)(&TableShape::new(1000, 8, 1))?;
/// let report = (ENTRY.report)(&params)?;
/// assert!(report.security.bits >= 128.0 && report.failure_log2 <= -40.0);
/// let bytes: Vec<u8> = (0..report.records * report.record_bytes).map(|i| i as u8).collect();
/// let records = MemoryRows::new(report.record_bytes as usize, bytes);
/// let sink = MemorySink::new();
/// (ENTRY.server.encode)(&params, &records, &sink)?;
/// let image = Arc::new(sink.into_image());
/// let server = (ENTRY.server.open)(&params, image.clone())?;
///
/// // A client downloads what it needs, and asks.
/// let rng = &mut sotto_prg::system_rng()?;
/// let mut prepare = (ENTRY.prepare)(&params, rng)?;
/// for need in prepare.needs() {
///     prepare.absorb(need.artifact, image.artifact(need.artifact).ok_or("no such artifact")?)?;
/// }
/// let mut client = prepare.finish()?;
/// let (queries, secret) = client.query(RecordIndex(2), rng)?;
///
/// // The server answers queries of several clients in one pass.
/// let session = server.admit(&client.keys())?;
/// let answers = server.answer_many(&[(&session, &queries[0])]);
/// let answers = answers.into_iter().collect::<Result<Vec<_>, _>>()?;
/// let width = report.record_bytes as usize;
/// assert_eq!(client.recover(secret, &answers)?.bytes(), &records.bytes()[2 * width..3 * width]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub static ENTRY: SchemeEntry = SchemeEntry::of::<MatrixScheme<SimplePir>>();

//! Spiral (Menon, Wu; IEEE S&P 2022), with its variants: Stream (selectors are sent, not expanded), Pack (n² plain
//! ciphertexts are folded each on its own and packed at the end), StreamPack (both).
//!
//! ```
//! use sotto_core::{Client as _, Params as _, TableShape};
//! use sotto_cube::CubeScheme;
//! use sotto_spiral::Spiral;
//! use sotto_testkit::{rng::seeded, served::InProcessServer};
//!
//! // Parameters for 1000 rows of 32 bytes, and a server of a table of that shape.
//! type Params = sotto_cube::params::Params<Spiral>;
//! let params = Params::check(Params::select(&TableShape::new(1000, 32, 1))?)?;
//! let server = InProcessServer::<CubeScheme<Spiral>>::new(params);
//!
//! // A query tells the server nothing; its answer is read with the secret that stays here.
//! let mut client = server.client("client");
//! let (query, secret) = server.query(&mut client, 3, &mut seeded("query"));
//! let answer = server.answer(&client, &query);
//! assert_eq!(client.recover(secret, answer)?.bytes(), server.row(3));
//! # Ok::<(), sotto_core::Error>(())
//! ```
//!
//! The machinery is that of [`sotto_cube`], which FSpiral shares. README.md has the symbol table,
//! the parameter sets, the deviations from the paper, and figures.
//!
#![forbid(unsafe_code)]
#![cfg_attr(not(test), deny(clippy::indexing_slicing))]

use sotto_core::{Assumption, Hiding, SchemeEntry, SchemeId, SchemeMetadata};
use sotto_cube::literal::{GadgetTriple, TableForm, Upload, WhenTried};
use sotto_cube::{CubeScheme, Family, Template, rings};

/// The family of Spiral.
pub struct Spiral;

impl Family for Spiral {
    const ID: SchemeId = SchemeId("spiral/1");
    const METADATA: SchemeMetadata = SchemeMetadata {
        title: "Spiral (S&P 2022) and its Stream, Pack and StreamPack variants",
        paper: "https://eprint.iacr.org/2022/368",
        hiding: &[Hiding::Encryption],
        assumptions: &[Assumption::RingLwe, Assumption::CircularSecurity],
        client_keeps: "its secret key",
        server_keeps: "keys of 1 to 3 MB, more for large answers",
        ..SchemeMetadata::new(env!("CARGO_PKG_NAME"))
    };

    fn templates() -> &'static [Template] {
        &SETS
    }
}

/// The registry entry of this scheme.
pub static ENTRY: SchemeEntry = SchemeEntry::of::<CubeScheme<Spiral>>();

/// Digits of the paper's gadgets, whose bases are the t-th roots of q, as the closest power-of-two
/// gadget that is not coarser: t digits of the base 2^b with b = ceil(56 / t), and no more of them
/// than the modulus has.
const fn exact(t: u8) -> GadgetTriple {
    let b = 56u8.div_ceil(t);
    [56u8.div_ceil(b), b, 0]
}

/// A set of the paper: (n, nu2, log2 p) and the digits (t_GSW, t_conv, t_exp) of its Table, on its
/// ring. Bits of the further dimensions are always expanded with digits of one bit.
const fn paper(
    name: &'static str,
    about: &'static str,
    (form, upload): (TableForm, Upload),
    (n, nu2, p_log2): (u8, u8, u8),
    (gsw, conv, exp): (u8, u8, u8),
) -> Template {
    Template {
        name,
        about,
        tried: WhenTried::ByName,
        ring: rings::SPIRAL,
        upload,
        form,
        n,
        p_log2,
        nu2: nu2..=nu2,
        expand: exact(exp),
        expand_right: exact(56),
        convert: exact(conv),
        fold: exact(gsw),
        pack: exact(conv),
        sent_bits: [56, 56, 56],
    }
}

const BASE: (TableForm, Upload) = (TableForm::Matrix, Upload::Expanded);
const STREAM: (TableForm, Upload) = (TableForm::Matrix, Upload::Direct);
const PACK: (TableForm, Upload) = (TableForm::Packed, Upload::Expanded);
const STREAM_PACK: (TableForm, Upload) = (TableForm::Packed, Upload::Direct);

/// A set on the ring with one prime of 50 bits, where everything is one word.
const fn ours(name: &'static str, about: &'static str, (form, n): (TableForm, u8), p_log2: u8) -> Template {
    Template {
        name,
        about,
        tried: WhenTried::Always,
        ring: rings::SMALL,
        upload: Upload::Expanded,
        form,
        n,
        p_log2,
        nu2: 0..=9,
        expand: [8, 7, 0],
        expand_right: [10, 5, 0],
        convert: [6, 9, 0],
        fold: [4, 10, 10],
        pack: [3, 13, 11],
        sent_bits: [50, 50, 50],
    }
}

/// A set with selectors sent one by one: their noise is that of fresh ciphertexts, so p can be
/// 2^16.
const fn streamed(name: &'static str, about: &'static str, (form, n): (TableForm, u8)) -> Template {
    Template {
        tried: WhenTried::ForRateGoal,
        upload: Upload::Direct,
        fold: [2, 14, 22],
        pack: [2, 16, 18],
        ..ours(name, about, (form, n), 16)
    }
}

/// Every set, ours first.
pub static SETS: [Template; 22] = [
    ours("plain", "N = 2048, q of 50 bits, p = 2^9, one polynomial to an answer", (TableForm::Plain, 1), 9),
    ours("pack-2", "the same, four polynomials to an answer", (TableForm::Packed, 2), 9),
    ours("pack-4", "the same, sixteen polynomials to an answer", (TableForm::Packed, 4), 9),
    ours("pack-8", "the same, 64 polynomials to an answer", (TableForm::Packed, 8), 9),
    streamed(
        "stream",
        "selectors sent one by one, p = 2^16, one polynomial to an answer",
        (TableForm::Plain, 1),
    ),
    streamed("stream-pack-4", "the same, sixteen polynomials to an answer", (TableForm::Packed, 4)),
    streamed("stream-pack-8", "the same, 64 polynomials to an answer", (TableForm::Packed, 8)),
    streamed(
        "stream-pack-16",
        "the same, 256 polynomials to an answer: the best rate",
        (TableForm::Packed, 16),
    ),
    paper("paper-1m-256", "the paper's Spiral for 2^20 x 256 B", BASE, (2, 7, 8), (8, 4, 8)),
    paper("paper-1m-256-pack", "the paper's SpiralPack for 2^20 x 256 B", PACK, (2, 6, 8), (8, 4, 8)),
    paper("paper-1m-256-stream", "the paper's SpiralStream for 2^20 x 256 B", STREAM, (2, 6, 8), (5, 4, 1)),
    paper(
        "paper-1m-256-stream-pack",
        "the paper's SpiralStreamPack for 2^20 x 256 B",
        STREAM_PACK,
        (4, 3, 10),
        (2, 56, 1),
    ),
    paper("paper-256k-30k", "the paper's Spiral for 2^18 x 30 KB", BASE, (2, 9, 8), (9, 4, 8)),
    paper("paper-256k-30k-pack", "the paper's SpiralPack for 2^18 x 30 KB", PACK, (4, 8, 8), (8, 4, 16)),
    paper(
        "paper-256k-30k-stream",
        "the paper's SpiralStream for 2^18 x 30 KB",
        STREAM,
        (2, 8, 15),
        (4, 32, 1),
    ),
    paper(
        "paper-256k-30k-stream-pack",
        "the paper's SpiralStreamPack for 2^18 x 30 KB",
        STREAM_PACK,
        (4, 6, 15),
        (3, 56, 1),
    ),
    paper("paper-16k-100k", "the paper's Spiral for 2^14 x 100 KB", BASE, (2, 5, 9), (9, 4, 16)),
    paper("paper-16k-100k-pack", "the paper's SpiralPack for 2^14 x 100 KB", PACK, (8, 4, 7), (6, 32, 8)),
    paper(
        "paper-16k-100k-stream",
        "the paper's SpiralStream for 2^14 x 100 KB",
        STREAM,
        (2, 5, 14),
        (4, 16, 1),
    ),
    paper(
        "paper-16k-100k-stream-pack",
        "the paper's SpiralStreamPack for 2^14 x 100 KB",
        STREAM_PACK,
        (5, 3, 16),
        (3, 56, 1),
    ),
    paper(
        "paper-stream-pack",
        "the paper's SpiralStreamPack of the highest rate",
        STREAM_PACK,
        (12, 9, 19),
        (3, 56, 1),
    ),
    paper("spiral-rs", "the set the authors' later program ships with", PACK, (2, 6, 9), (10, 4, 16)),
];

//! FSpiral (Luo, Wang; Cryptography 9(1), 2025): a query is expanded modulo Q = q q', where keys
//! are large and their noise is small; the result is switched to q, and the table is multiplied and
//! folded there.
//!
//! ```
//! use sotto_core::{Client as _, Params as _, TableShape};
//! use sotto_cube::CubeScheme;
//! use sotto_fspiral::FSpiral;
//! use sotto_testkit::{rng::seeded, served::InProcessServer};
//!
//! // Parameters for 1000 rows of 32 bytes, and a server of a table of that shape.
//! type Params = sotto_cube::params::Params<FSpiral>;
//! let params = Params::check(Params::select(&TableShape::new(1000, 32, 1))?)?;
//! let server = InProcessServer::<CubeScheme<FSpiral>>::new(params);
//!
//! // A query tells the server nothing; its answer is read with the secret that stays here.
//! let mut client = server.client("client");
//! let (query, secret) = server.query(&mut client, 3, &mut seeded("query"));
//! let answer = server.answer(&client, &query);
//! assert_eq!(client.recover(secret, answer)?.bytes(), server.row(3));
//! # Ok::<(), sotto_core::Error>(())
//! ```
//!
//! The machinery is that of [`sotto_cube`], which Spiral shares. README.md has the symbol table,
//! the parameter sets, the deviations from the paper, and figures.
//!
#![forbid(unsafe_code)]
#![cfg_attr(not(test), deny(clippy::indexing_slicing))]

use sotto_core::{Assumption, Hiding, SchemeEntry, SchemeId, SchemeMetadata};
use sotto_cube::literal::{GadgetTriple, TableForm, Upload, WhenTried};
use sotto_cube::{CubeScheme, Family, Template, rings};

/// The family of FSpiral.
pub struct FSpiral;

impl Family for FSpiral {
    const ID: SchemeId = SchemeId("fspiral/1");
    const METADATA: SchemeMetadata = SchemeMetadata {
        title: "FSpiral (Cryptography 2025), small queries and answers",
        paper: "https://doi.org/10.3390/cryptography9010013",
        hiding: &[Hiding::Encryption],
        assumptions: &[Assumption::RingLwe, Assumption::CircularSecurity],
        client_keeps: "its secret key",
        server_keeps: "keys of 1 to 3 MB, 2 to 7 MB in memory",
        ..SchemeMetadata::new(env!("CARGO_PKG_NAME"))
    };

    fn templates() -> &'static [Template] {
        &SETS
    }
}

/// The registry entry of this scheme.
pub static ENTRY: SchemeEntry = SchemeEntry::of::<CubeScheme<FSpiral>>();

/// A set of the default profile: N = 4096, q and q' just below 2^50, p = 2^16. After the switch to
/// q the rounding is most of a selector's noise, so that two digits with a large base suffice where
/// the paper's modulus takes six; for the same reason bodies of queries and keys need not have
/// their lowest bits.
const fn large(name: &'static str, about: &'static str, form: TableForm, n: u8) -> Template {
    Template {
        name,
        about,
        tried: WhenTried::Always,
        ring: rings::LARGE,
        upload: Upload::Expanded,
        form,
        n,
        p_log2: 16,
        nu2: 0..=12,
        expand: [2, 31, 38],
        expand_right: [2, 31, 38],
        convert: [2, 31, 38],
        fold: [2, 17, 16],
        pack: [2, 17, 16],
        sent_bits: [66, 90, 50],
    }
}

/// A set of the profile with the smallest queries: N = 2048, one prime below 2^50 without a switch
/// of moduli, so digits must be fine.
const fn small(
    name: &'static str,
    about: &'static str,
    (form, n): (TableForm, u8),
    p_log2: u8,
    left: GadgetTriple,
    right: GadgetTriple,
) -> Template {
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
        expand: left,
        expand_right: right,
        convert: [6, 9, 0],
        fold: [4, 10, 10],
        pack: [3, 13, 11],
        sent_bits: [50, 50, 50],
    }
}

/// A set in the paper's own ring.
const fn paper(
    name: &'static str,
    about: &'static str,
    form: TableForm,
    n: u8,
    upload: Upload,
    p_log2: u8,
) -> Template {
    Template {
        name,
        about,
        tried: WhenTried::ByName,
        ring: rings::FSPIRAL,
        upload,
        form,
        n,
        p_log2,
        nu2: 0..=9,
        expand: [6, 15, 0],
        expand_right: [6, 15, 0],
        convert: [7, 10, 10],
        fold: [4, 14, 0],
        pack: [4, 14, 0],
        sent_bits: [80, 80, 56],
    }
}

/// Every set, the default first.
pub static SETS: [Template; 15] = [
    large("default", "N = 4096, q and q' of 50 bits, p = 2^16: the fastest", TableForm::Plain, 1),
    large("pack-2", "the same, four polynomials to an answer", TableForm::Packed, 2),
    large("pack-4", "the same, sixteen polynomials to an answer", TableForm::Packed, 4),
    large("pack-8", "the same, 64 polynomials to an answer", TableForm::Packed, 8),
    Template {
        tried: WhenTried::ForRateGoal,
        ..large("pack-16", "the same, 256 polynomials to an answer", TableForm::Packed, 16)
    },
    small(
        "small",
        "N = 2048, q of 50 bits, p = 2^10: the smallest queries and answers",
        (TableForm::Plain, 1),
        10,
        [10, 5, 0],
        [17, 3, 0],
    ),
    small("small-8", "the same with p = 2^8", (TableForm::Plain, 1), 8, [6, 9, 0], [10, 5, 0]),
    small(
        "small-pack-2",
        "the same with p = 2^9, four polynomials to an answer",
        (TableForm::Packed, 2),
        9,
        [8, 7, 0],
        [10, 5, 0],
    ),
    small(
        "small-pack-4",
        "the same with p = 2^9, sixteen polynomials to an answer",
        (TableForm::Packed, 4),
        9,
        [8, 7, 0],
        [10, 5, 0],
    ),
    paper(
        "paper",
        "Luo and Wang: q = q1 q2 of 56 bits, q' of 24 bits, p = 2^18",
        TableForm::Plain,
        1,
        Upload::Expanded,
        18,
    ),
    paper(
        "paper-pack",
        "the same, four polynomials to an answer",
        TableForm::Packed,
        2,
        Upload::Expanded,
        18,
    ),
    Template {
        fold: [3, 14, 14],
        sent_bits: [56, 80, 56],
        ..paper(
            "paper-stream",
            "the same, selectors sent one by one, p = 2^20",
            TableForm::Plain,
            1,
            Upload::Direct,
            20,
        )
    },
    Template {
        fold: [3, 14, 14],
        sent_bits: [56, 80, 56],
        ..paper(
            "paper-stream-pack",
            "the same, four polynomials to an answer",
            TableForm::Packed,
            2,
            Upload::Direct,
            20,
        )
    },
    Template {
        tried: WhenTried::ByName,
        upload: Upload::Direct,
        sent_bits: [50, 90, 50],
        ..large("stream", "the default ring, selectors sent one by one", TableForm::Plain, 1)
    },
    Template {
        tried: WhenTried::ByName,
        upload: Upload::Direct,
        sent_bits: [50, 90, 50],
        ..large("stream-pack", "the same, 64 polynomials to an answer", TableForm::Packed, 8)
    },
];

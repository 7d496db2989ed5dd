//! Parameter sets.

use sotto_cube::literal::{GadgetTriple, TableForm, Upload};
use sotto_cube::rings;
use sotto_cube::template::{Template, WhenTried};

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

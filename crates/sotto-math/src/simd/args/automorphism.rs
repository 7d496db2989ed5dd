//! The automorphisms X -> X^k of the ring, on slots.
//!
//! The slot that holds the value at `psi^e` of `f(X^k)` receives the value of `f` at `psi^(k e)`:
//! an automorphism permutes the slots. Three facts about the slot order make the permutation cheap.
//! Write the exponent of a slot as `2 r + 1`; then `r` becomes `k r + (k - 1) / 2` modulo `n`, so
//! that the low bits of the new `r` depend on the low bits of the old one alone.
//!
//! 1. The low bits of `r`, reversed, are the number of the square of 64 slots. So whole squares
//!    move, and within a square the order depends on one number below 64: the carry out of the low
//!    bits.
//! 2. In a square `r` has three bits `m` that name the lane and above them three bits `h` that name
//!    the row, each reversed. The new lane depends on the old lane alone: all rows are permuted
//!    alike.
//! 3. The new row is `k h` plus the carry out of `m`: in each lane, rows rotate by a number that
//!    the lane fixes. Three conditional moves by 1, 2 and 4 rows do that.

/// The automorphism X -> X^k for one length, as a permutation of slots.
#[cfg_attr(not(target_arch = "x86_64"), expect(dead_code, reason = "some are for vector backends alone"))]
#[derive(Debug, Clone)]
pub struct Automorphism {
    k: usize,
    /// Source of each square of 64 slots.
    pub(crate) squares: Vec<SquareSource>,
    /// Source lane of each lane, by the carry modulo 8.
    pub(crate) lanes: [Lanes; 8],
    /// Lanes whose rows rotate by 1, by 2 and by 4, by the carry.
    pub(crate) turns: Vec<[u8; 3]>,
    /// Rows of a square that receive the rotated rows, in the order of `h`: `k h` in reversed bits.
    pub(crate) rows: [usize; 8],
    /// Source slot of each slot of a square, by the carry: lanes and rows combined.
    pub(crate) orders: Vec<[u8; 64]>,
}

/// The source of a square, and the carry into it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SquareSource {
    pub(crate) square: u32,
    pub(crate) carry: u8,
}

/// Eight lane numbers, in a register's alignment.
#[derive(Debug, Clone, Copy)]
#[repr(C, align(64))]
pub(crate) struct Lanes(pub(crate) [u64; 8]);

impl Automorphism {
    pub(crate) fn new(n: usize, k: usize) -> Option<Self> {
        if k.is_multiple_of(2) || k >= 2 * n {
            return None;
        }
        let squares = n / 64;
        let bits = squares.trailing_zeros();
        let origin = |square: usize| {
            // Shifted twice, since a shift by all bits is refused: with a single square, r has no
            // bits.
            let r = square.reverse_bits() >> (usize::BITS - 1 - bits) >> 1;
            let image = k * r + (k - 1) / 2;
            let from = (image % squares).reverse_bits() >> (usize::BITS - 1 - bits) >> 1;
            SquareSource { square: from as u32, carry: (image / squares % 64) as u8 }
        };
        let image = |lane: usize, carry: usize| k * brev3(lane) + carry;
        let lanes = [0, 1, 2, 3, 4, 5, 6, 7];
        let turn = |carry: usize, by: usize| {
            let turned = |lane: usize| ((image(lane, carry) / 8) & by).min(1) << lane;
            lanes.map(turned).into_iter().sum::<usize>() as u8
        };
        let order = |carry: usize| {
            std::array::from_fn(|slot| {
                let (row, lane) = (brev3(slot / 8), slot % 8);
                let lane_image = image(lane, carry);
                (8 * brev3((k * row + lane_image / 8) % 8) + brev3(lane_image % 8)) as u8
            })
        };
        Some(Automorphism {
            k,
            rows: lanes.map(|h| brev3(k * h % 8)),
            orders: (0..64).map(order).collect(),
            squares: (0..squares).map(origin).collect(),
            lanes: lanes.map(|carry| Lanes(lanes.map(|lane| brev3(image(lane, carry) % 8) as u64))),
            turns: (0..64).map(|carry| [1, 2, 4].map(|by| turn(carry, by))).collect(),
        })
    }

    /// The exponent `k` of the automorphism.
    pub fn k(&self) -> usize {
        self.k
    }
}

/// Reverses three bits.
fn brev3(i: usize) -> usize {
    (i & 1) << 2 | i & 2 | i >> 2 & 1
}

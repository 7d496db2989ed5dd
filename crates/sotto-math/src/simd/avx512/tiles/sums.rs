//! Sums of products that are reduced once, at the end of a run, in both forms of words.

use crate::simd::args::tiles::packing::WordPacking;
use crate::simd::args::tiles::{OneResidue, TwoResidues};
use crate::simd::avx512::products::below;
use crate::simd::avx512::registers::load;
use core::arch::x86_64::*;

/// The packing of words of a form.
pub(super) const fn packing<const PAIR: bool>() -> WordPacking {
    if PAIR { WordPacking::Pairs } else { WordPacking::Residues }
}

/// Constants of the reductions, in every lane.
#[derive(Clone, Copy)]
pub(super) struct Sums {
    /// The modulus, or both primes.
    q: [__m512i; 2],
    /// 2^52 - q: added instead of subtracting q, since products are only added.
    minus_q: [__m512i; 2],
    /// floor(2^52 / q).
    barrett: [__m512i; 2],
    /// For residues 2^52 mod q, for pairs 2^44 mod q.
    fold: [__m512i; 2],
    /// floor(2^52 fold / q), for residues.
    fold_quotient: __m512i,
    /// Multiples of 2^104 mod q from none to seven, for residues.
    fold_twice: __m512i,
    mask_52: __m512i,
}

impl Sums {
    #[target_feature(enable = "avx512f")]
    pub(super) fn residue(form: &OneResidue) -> Self {
        let modulus = &form.modulus;
        let q = modulus.value();
        let fold = form.two_52;
        let twice = modulus.mul(fold, fold);
        let mut multiples = [0u64; 8];
        for i in 1..8 {
            multiples[i] = modulus.add(multiples[i - 1], twice);
        }
        Sums {
            q: [every(q); 2],
            minus_q: [every((1 << 52) - q); 2],
            barrett: [every((1 << 52) / q); 2],
            fold: [every(fold); 2],
            fold_quotient: every(((u128::from(fold) << 52) / u128::from(q)) as u64),
            fold_twice: load(&multiples),
            mask_52: every((1 << 52) - 1),
        }
    }

    #[target_feature(enable = "avx512f")]
    pub(super) fn pair(form: &TwoResidues) -> Self {
        let [first, second] = form.moduli.map(|q| q.value());
        let zero = _mm512_setzero_si512();
        Sums {
            q: [every(first), every(second)],
            minus_q: [every((1 << 52) - first), every((1 << 52) - second)],
            barrett: [every((1 << 52) / first), every((1 << 52) / second)],
            fold: [every((1 << 44) % first), every((1 << 44) % second)],
            fold_quotient: zero,
            fold_twice: zero,
            mask_52: every((1 << 52) - 1),
        }
    }

    /// Starts a sum with a reduced word.
    #[inline]
    #[target_feature(enable = "avx512f")]
    pub(super) fn open<const PAIR: bool>(&self, word: __m512i) -> [__m512i; 2] {
        if PAIR {
            [_mm512_and_si512(word, every(u64::from(u32::MAX))), _mm512_srli_epi64::<32>(word)]
        } else {
            [word, _mm512_setzero_si512()]
        }
    }

    /// Makes the factors of both halves of a sum from a word. The multiplication for pairs ignores
    /// upper halves.
    #[inline]
    #[target_feature(enable = "avx512f")]
    pub(super) fn halves<const PAIR: bool>(word: __m512i) -> [__m512i; 2] {
        if PAIR { [word, _mm512_srli_epi64::<32>(word)] } else { [word, word] }
    }

    /// Adds the part of the last row's word in a line of a bunch, below the parts of the lines
    /// before it: the free bits are the highest. `LAST` is for the bunch's last line.
    #[inline]
    #[target_feature(enable = "avx512f,avx512vbmi2")]
    pub(super) fn gather<const PAIR: bool, const LAST: bool>(word: __m512i, line: __m512i) -> __m512i {
        match (PAIR, LAST) {
            (true, _) => _mm512_shldi_epi32::<4>(word, line),
            (false, false) => _mm512_shldi_epi64::<12>(word, line),
            (false, true) => _mm512_shldi_epi64::<14>(word, line),
        }
    }

    /// Extracts a line's own word, as a factor. The multiplication of residues ignores the bits
    /// from the 52nd on.
    #[inline]
    #[target_feature(enable = "avx512f")]
    pub(super) fn own<const PAIR: bool, const LAST: bool>(line: __m512i) -> __m512i {
        if PAIR || LAST { _mm512_and_si512(line, every(packing::<PAIR>().own())) } else { line }
    }

    /// Adds a product.
    #[inline]
    #[target_feature(enable = "avx512f,avx512ifma")]
    pub(super) fn add<const PAIR: bool>(sum: [__m512i; 2], a: [__m512i; 2], b: [__m512i; 2]) -> [__m512i; 2] {
        if PAIR {
            [
                _mm512_add_epi64(sum[0], _mm512_mul_epu32(a[0], b[0])),
                _mm512_add_epi64(sum[1], _mm512_mul_epu32(a[1], b[1])),
            ]
        } else {
            [_mm512_madd52lo_epu64(sum[0], a[0], b[0]), _mm512_madd52hi_epu64(sum[1], a[1], b[1])]
        }
    }

    /// Reduces a sum of at most 32 products to a word.
    #[inline]
    #[target_feature(enable = "avx512f,avx512ifma")]
    pub(super) fn close<const PAIR: bool>(&self, sum: [__m512i; 2]) -> __m512i {
        if PAIR {
            let [first, second] = [self.close_half::<0>(sum[0]), self.close_half::<1>(sum[1])];
            _mm512_or_si512(first, _mm512_slli_epi64::<32>(second))
        } else {
            self.close_residue(sum)
        }
    }

    /// Computes `lo + 2^52 hi` modulo q, with both halves below 2^59.
    #[inline]
    #[target_feature(enable = "avx512f,avx512ifma")]
    fn close_residue(&self, [lo, hi]: [__m512i; 2]) -> __m512i {
        let zero = _mm512_setzero_si512();
        let [q, minus_q] = [self.q[0], self.minus_q[0]];
        // 32 products of factors below 2^50 have upper halves below 2^48: with the carry, the sum
        // is below 3 * 2^52, and its bits from the 52nd on are an index of the multiples.
        let hi = _mm512_add_epi64(hi, _mm512_srli_epi64::<52>(lo));
        let top = _mm512_permutexvar_epi64(_mm512_srli_epi64::<52>(hi), self.fold_twice);
        // Shoup's product, below 2q; the multiplier reads the low 52 bits alone.
        let quotient = _mm512_madd52hi_epu64(zero, hi, self.fold_quotient);
        let middle = _mm512_madd52lo_epu64(_mm512_madd52lo_epu64(zero, hi, self.fold[0]), quotient, minus_q);
        // Barrett's remainder, below 2q.
        let lo = _mm512_and_si512(lo, self.mask_52);
        let quotient = _mm512_madd52hi_epu64(zero, lo, self.barrett[0]);
        let low = _mm512_madd52lo_epu64(lo, quotient, minus_q);
        let low = below(_mm512_and_si512(low, self.mask_52), q);
        let middle = below(_mm512_and_si512(middle, self.mask_52), q);
        below(_mm512_add_epi64(below(_mm512_add_epi64(low, middle), q), top), q)
    }

    /// Reduces any `x` modulo one of the primes: 44 bits stay, 20 are folded onto them.
    #[inline]
    #[target_feature(enable = "avx512f,avx512ifma")]
    fn close_half<const I: usize>(&self, x: __m512i) -> __m512i {
        let low = _mm512_and_si512(x, every((1 << 44) - 1));
        // Below 2^44 + 2^48.
        let x = _mm512_madd52lo_epu64(low, _mm512_srli_epi64::<44>(x), self.fold[I]);
        let quotient = _mm512_madd52hi_epu64(_mm512_setzero_si512(), x, self.barrett[I]);
        let r = _mm512_madd52lo_epu64(x, quotient, self.minus_q[I]);
        below(_mm512_and_si512(r, self.mask_52), self.q[I])
    }
}

#[inline]
#[target_feature(enable = "avx512f")]
fn every(x: u64) -> __m512i {
    _mm512_set1_epi64(x as i64)
}

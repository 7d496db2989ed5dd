//! AES by its instructions (AES-NI).

use super::find::either16;
use super::registers::Xmm;
use crate::simd::args::aes::Aes;
use crate::simd::args::{Needle, PART};
use crate::simd::scalar::Pairs;
use crate::simd::{Blocks, generic};
use zeroize::Zeroizing;

/// Proof that this processor has AVX2 and AES. Only the probe makes one.
pub(in crate::simd) struct AesNi(());

impl AesNi {
    pub(in crate::simd) fn probe() -> Option<&'static dyn Blocks> {
        static PROVEN: AesNi = AesNi(());
        (is_x86_feature_detected!("avx2") && is_x86_feature_detected!("aes")).then_some(&PROVEN)
    }
}

compiled_aes!(AesNi);
compiled_single!("avx2,aes", Xmm::with_aes());

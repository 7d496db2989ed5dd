//! AES by its instructions (ARM's cryptographic extension).

use super::find::either16;
use super::registers::Register16;
use crate::simd::args::aes::Aes;
use crate::simd::args::{Needle, PART};
use crate::simd::scalar::Pairs;
use crate::simd::{Blocks, generic};
use std::arch::is_aarch64_feature_detected;
use zeroize::Zeroizing;

/// Proof that this processor has NEON and AES. Only the probe makes one.
pub(super) struct NeonAes(());

impl NeonAes {
    pub(super) fn probe() -> Option<&'static dyn Blocks> {
        static PROVEN: NeonAes = NeonAes(());
        (is_aarch64_feature_detected!("neon") && is_aarch64_feature_detected!("aes")).then_some(&PROVEN)
    }
}

compiled_aes!(NeonAes);
compiled_single!("neon,aes", Register16::with_aes());

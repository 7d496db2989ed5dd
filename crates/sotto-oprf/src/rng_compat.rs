//! The project's generators, as the `voprf` crate takes them.
//!
//! That crate uses the traits of `rand_core` 0.6 and the project those of 0.10, so this is the only
//! place where both are named. Output of the generator is passed on unchanged.

use rand_core::CryptoRng;

/// A generator of the project, with the traits of `rand_core` 0.6.
pub(crate) struct RngCompat<'a>(pub(crate) &'a mut dyn CryptoRng);

impl rand_core_06::RngCore for RngCompat<'_> {
    fn next_u32(&mut self) -> u32 {
        self.0.next_u32()
    }

    fn next_u64(&mut self) -> u64 {
        self.0.next_u64()
    }

    fn fill_bytes(&mut self, out: &mut [u8]) {
        self.0.fill_bytes(out);
    }

    fn try_fill_bytes(&mut self, out: &mut [u8]) -> Result<(), rand_core_06::Error> {
        self.0.fill_bytes(out);
        Ok(())
    }
}

impl rand_core_06::CryptoRng for RngCompat<'_> {}

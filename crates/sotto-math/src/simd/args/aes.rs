//! Keys of AES-128.

#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
use super::key_schedule;
use ::aes::cipher::KeyInit;
use core::fmt;
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
use zeroize::Zeroize;

/// AES-128 under one key, wiped on drop.
pub struct Aes {
    /// The cipher without vector instructions, which wipes itself.
    pub(crate) plain: ::aes::Aes128,
    /// The round keys of FIPS 197, section 5.2, for backends with instructions for a round.
    #[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
    pub(crate) rounds: [[u8; 16]; 11],
}

impl Aes {
    /// Expands a key to its round keys.
    pub fn new(key: &[u8; 16]) -> Self {
        Aes {
            plain: ::aes::Aes128::new(key.into()),
            #[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
            rounds: key_schedule::expand(key),
        }
    }
}

impl fmt::Debug for Aes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Aes(..)")
    }
}

#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
impl Drop for Aes {
    fn drop(&mut self) {
        self.rounds.zeroize();
    }
}

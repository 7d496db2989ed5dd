//! Secret randomness: the only access to the operating system's generator.

use crate::ChaCha20Rng;
use rand_core::{Infallible, Rng, SeedableRng, TryCryptoRng, TryRng};
use std::fmt;
use zeroize::Zeroizing;

/// Opens a generator keyed by 32 bytes from the operating system.
///
/// # Errors
/// [`EntropyError`] if the operating system gives no randomness. Nothing secret may be sampled
/// then, so the caller has to stop.
pub fn system_rng() -> Result<SystemRng, EntropyError> {
    let mut key = Zeroizing::new([0u8; 32]);
    getrandom::fill(key.as_mut()).map_err(|_| EntropyError)?;
    Ok(SystemRng { rng: ChaCha20Rng::from_seed(*key) })
}

/// A generator that outlives one query. Before each use it mixes in fresh bytes of the operating
/// system.
///
/// A forked process, and a machine that was restored from a snapshot, has the generator twice.
/// Without fresh bytes both copies would draw the same secrets for two queries, and a server that
/// receives both queries learns their difference. The time is mixed in too, where there is a clock:
/// in a restored machine the operating system's generator may repeat itself.
///
/// ```
/// use sotto_prg::{PublicSeed, ReseedingRng};
///
/// let mut generator = ReseedingRng::open()?;
/// let first = PublicSeed::fresh(generator.draw()?);
/// let second = PublicSeed::fresh(generator.draw()?);
/// assert_ne!(first, second);
/// # Ok::<(), sotto_prg::EntropyError>(())
/// ```
pub struct ReseedingRng {
    rng: SystemRng,
}

impl ReseedingRng {
    /// Opens a generator keyed by the operating system.
    ///
    /// # Errors
    /// [`EntropyError`], like [`system_rng`].
    pub fn open() -> Result<Self, EntropyError> {
        Ok(ReseedingRng { rng: system_rng()? })
    }

    /// Mixes in fresh bytes, and returns the generator to draw from for one query.
    ///
    /// # Errors
    /// [`EntropyError`]. The generator must then not be used for secrets.
    pub fn draw(&mut self) -> Result<&mut SystemRng, EntropyError> {
        let mut fresh = Zeroizing::new([0u8; 32]);
        getrandom::fill(fresh.as_mut()).map_err(|_| EntropyError)?;
        self.mix(&fresh, &time());
        Ok(&mut self.rng)
    }

    /// Replaces the key by a hash of the generator's next output, fresh bytes and the time: it is
    /// as unpredictable as the best of them.
    fn mix(&mut self, fresh: &[u8; 32], time: &[u8; 16]) {
        let mut material = Zeroizing::new([0u8; 80]);
        let (own, others) = material.split_at_mut(32);
        self.rng.rng.fill_bytes(own);
        others.iter_mut().zip(fresh.iter().chain(time)).for_each(|(byte, other)| *byte = *other);
        let key = Zeroizing::new(blake3::derive_key(CONTEXT, material.as_ref()));
        self.rng.rng = ChaCha20Rng::from_seed(*key);
    }
}

/// Context of the hash that derives the next key.
const CONTEXT: &str = "sotto 2026 fresh randomness v1";

/// Nanoseconds since 1970, by a clock that continues while a machine is suspended; zero in a
/// browser, whose process cannot be forked.
fn time() -> [u8; 16] {
    #[cfg(not(all(target_arch = "wasm32", target_os = "unknown")))]
    let nanos =
        std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).map_or(0, |time| time.as_nanos());
    #[cfg(all(target_arch = "wasm32", target_os = "unknown"))]
    let nanos = 0u128;
    nanos.to_le_bytes()
}

impl fmt::Debug for ReseedingRng {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("FreshRng")
    }
}

/// A generator for secrets: ChaCha20 keyed by the operating system.
///
/// It cannot be cloned, because two clients that draw the same secrets and errors would reveal each
/// other's queries. It is overwritten when dropped.
pub struct SystemRng {
    rng: ChaCha20Rng,
}

impl SystemRng {
    fn wipe(&mut self) {
        // The whole state, the key and the buffered output, is replaced. The optimizer must believe
        // that the state is read afterwards, or it may drop the write.
        self.rng = ChaCha20Rng::from_seed([0; 32]);
        std::hint::black_box(&self.rng);
    }
}

impl Drop for SystemRng {
    fn drop(&mut self) {
        self.wipe();
    }
}

impl TryRng for SystemRng {
    type Error = Infallible;

    fn try_next_u32(&mut self) -> Result<u32, Infallible> {
        self.rng.try_next_u32()
    }

    fn try_next_u64(&mut self) -> Result<u64, Infallible> {
        self.rng.try_next_u64()
    }

    fn try_fill_bytes(&mut self, out: &mut [u8]) -> Result<(), Infallible> {
        self.rng.try_fill_bytes(out)
    }
}

impl TryCryptoRng for SystemRng {}

impl fmt::Debug for SystemRng {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SystemRng")
    }
}

/// The operating system gives no randomness: neither getrandom(2) nor /dev/urandom can be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EntropyError;

impl fmt::Display for EntropyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("cannot read randomness from the operating system")
    }
}

impl std::error::Error for EntropyError {}

#[cfg(test)]
mod tests {
    use super::*;
    use rand_core::Rng;

    #[test]
    fn the_primitive_is_chacha20() {
        // Key and nonce zero, block 0: RFC 8439, appendix A.1, test vector 1.
        let mut out = [0u8; 16];
        ChaCha20Rng::from_seed([0; 32]).fill_bytes(&mut out);
        assert_eq!(out, 0x76b8e0ada0f13d90405d6ae55386bd28u128.to_be_bytes());
    }

    #[test]
    fn two_generators_differ() {
        let (mut a, mut b) = (system_rng().unwrap(), system_rng().unwrap());
        assert_ne!((a.next_u64(), a.next_u64()), (b.next_u64(), b.next_u64()));
    }

    #[test]
    fn all_draws_follow_one_key() {
        let mut rng = SystemRng { rng: ChaCha20Rng::from_seed([0; 32]) };
        assert_eq!(rng.next_u32(), 0x76b8e0adu32.swap_bytes());
        assert_eq!(rng.next_u64(), 0xa0f13d90405d6ae5u64.swap_bytes());
        let mut rest = [0u8; 4];
        rng.fill_bytes(&mut rest);
        assert_eq!(rest, [0x53, 0x86, 0xbd, 0x28]);
    }

    #[test]
    fn wiping_forgets_the_key() {
        let mut rng = SystemRng { rng: ChaCha20Rng::from_seed([9; 32]) };
        rng.next_u64();
        rng.wipe();
        assert_eq!(rng.next_u64(), ChaCha20Rng::from_seed([0; 32]).next_u64());
    }

    /// Makes the same generator in two processes, as after a fork or a restored snapshot.
    fn twins() -> [ReseedingRng; 2] {
        [(); 2].map(|()| ReseedingRng { rng: SystemRng { rng: ChaCha20Rng::from_seed([7; 32]) } })
    }

    #[test]
    fn twins_draw_different_secrets() {
        let drawn = twins().map(|mut twin| twin.draw().unwrap().next_u64());
        assert_ne!(drawn[0], drawn[1]);
        // Each of the three inputs alone changes the key.
        let mixed = |seed: u8, fresh: u8, time: u8| {
            let mut rng = ReseedingRng { rng: SystemRng { rng: ChaCha20Rng::from_seed([seed; 32]) } };
            rng.mix(&[fresh; 32], &[time; 16]);
            rng.rng.next_u64()
        };
        let same = mixed(1, 1, 1);
        assert_eq!(same, mixed(1, 1, 1));
        for other in [mixed(2, 1, 1), mixed(1, 2, 1), mixed(1, 1, 2)] {
            assert_ne!(same, other);
        }
    }

    #[test]
    fn time_goes_on() {
        let before = time();
        std::thread::sleep(std::time::Duration::from_millis(2));
        assert_ne!(before, time());
    }

    #[test]
    fn it_does_not_print_itself() {
        assert_eq!(
            format!("{:?} {:?}", system_rng().unwrap(), ReseedingRng::open().unwrap()),
            "SystemRng FreshRng"
        );
    }
}

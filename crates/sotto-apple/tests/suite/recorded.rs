//! The recorded files: a few of them lie in `tests/data`, all of them where `SOTTO_APPLE_RECORDED` says.

use sotto_apple::codec::Codec;
use sotto_apple::sets::{Weak, find};
use sotto_bfv::mulpir::Kit;
use sotto_lattice::bgv::{Secret, SlotRing};
use std::path::PathBuf;
use std::sync::LazyLock;
use zeroize::Zeroizing;

pub fn folder() -> PathBuf {
    std::env::var_os("SOTTO_APPLE_RECORDED")
        .map_or_else(|| concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data").into(), PathBuf::from)
}

pub fn read(name: &str) -> Vec<u8> {
    std::fs::read(folder().join(name)).unwrap_or_else(|e| panic!("{name}: {e}"))
}

pub fn words(name: &str) -> Vec<u64> {
    read(name).as_chunks::<4>().0.iter().map(|x| u64::from(u32::from_le_bytes(*x))).collect()
}

pub static CODEC: LazyLock<Codec> = LazyLock::new(|| {
    Codec::new(find("n_4096_logq_27_28_28_logt_5").unwrap().kit(Weak::Refused).unwrap().0).unwrap()
});

pub fn kit() -> &'static Kit {
    CODEC.kit()
}

pub fn secret(name: &str) -> Secret {
    let coefficients = read(name).iter().map(|x| i32::from(*x as i8)).collect();
    Secret::again(kit().ring(), Zeroizing::new(coefficients)).unwrap()
}

/// Lists of bytes, each with its length before.
pub fn lists(name: &str) -> Vec<Vec<u8>> {
    let bytes = read(name);
    let (mut rest, mut out) = (bytes.as_slice(), Vec::new());
    while let Some((len, left)) = rest.split_first_chunk() {
        let (list, left) = left.split_at(u32::from_le_bytes(*len) as usize);
        out.push(list.to_vec());
        rest = left;
    }
    assert!(rest.is_empty());
    let _ = kit().ring().ring().degree();
    out
}

//! The list. A scheme is one line here and one dependency line in `Cargo.toml`; plain data, so that
//! nothing runs before `main` and a wasm build carries only the schemes it asked for.

use sotto_core::SchemeEntry;

/// Every scheme this build was compiled with.
pub static SCHEMES: &[&SchemeEntry] = &[];

/// The scheme with this id, such as `simplepir/1`, if this build carries it.
pub fn find(id: &str) -> Option<&'static SchemeEntry> {
    SCHEMES.iter().copied().find(|entry| entry.id.0 == id)
}

//! The list of schemes. A scheme is one line here and one dependency line in `Cargo.toml`; plain
//! data, so that nothing runs before `main` and a wasm build carries only the schemes that it
//! enables.

use sotto_core::SchemeEntry;

/// Every scheme of this build. If several versions have one name, the name alone means the last.
pub static SCHEMES: &[&SchemeEntry] = &[
    #[cfg(feature = "simplepir")]
    &simplepir::ENTRY,
    #[cfg(feature = "simplepir")]
    &simplepir::VERIFIED,
    #[cfg(feature = "doublepir")]
    &doublepir::ENTRY,
    #[cfg(feature = "ypir")]
    &ypir::ENTRY,
    #[cfg(feature = "ypir-sp")]
    &ypir_sp::ENTRY,
    #[cfg(feature = "inspire")]
    &inspire::ENTRY,
    #[cfg(feature = "inspire-two")]
    &inspire_two::ENTRY,
    #[cfg(feature = "kspir")]
    &kspir::ENTRY,
    #[cfg(feature = "hintless")]
    &hintless::ENTRY,
    #[cfg(feature = "fspiral")]
    &fspiral::ENTRY,
    #[cfg(feature = "spiral")]
    &spiral::ENTRY,
    #[cfg(feature = "onionpir")]
    &onionpir::ENTRY,
    #[cfg(feature = "s3pir")]
    &s3pir::ENTRY,
    #[cfg(feature = "s3pir")]
    &s3pir::TWO,
    #[cfg(feature = "piano")]
    &piano::ENTRY,
    #[cfg(feature = "dpf")]
    &dpf::AUTHENTICATED,
    #[cfg(feature = "dpf")]
    &dpf::ENTRY,
    #[cfg(feature = "checklist")]
    &checklist::ENTRY,
    #[cfg(feature = "lp-treepir")]
    &lp_treepir::ENTRY,
    #[cfg(feature = "bgvpir")]
    &bgvpir::ENTRY,
    #[cfg(feature = "sealpir")]
    &sealpir::ENTRY,
    #[cfg(feature = "fastpir")]
    &fastpir::ENTRY,
    #[cfg(feature = "vbpir")]
    &vbpir::ENTRY,
    #[cfg(feature = "pirana")]
    &pirana::ENTRY,
    #[cfg(feature = "trivial")]
    &trivial::ENTRY,
];

/// The scheme with this id, such as `simplepir/1`, if this build carries it.
pub fn find(id: &str) -> Option<&'static SchemeEntry> {
    SCHEMES.iter().copied().find(|entry| entry.id.0 == id)
}

/// The scheme with this id, or the last version of the scheme with this name, such as `simplepir`.
pub fn find_by_name(name: &str) -> Option<&'static SchemeEntry> {
    let is_named = |entry: &&SchemeEntry| entry.id.0.split('/').next() == Some(name);
    find(name).or_else(|| SCHEMES.iter().copied().rfind(is_named))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_found_and_name_one_scheme_each() {
        for entry in SCHEMES {
            let found = find(entry.id.0).map(|found| std::ptr::eq(found, *entry));
            assert_eq!(found, Some(true), "{} names two schemes", entry.id);
            let version = entry.id.0.split_once('/').and_then(|(_, version)| version.parse::<u32>().ok());
            assert!(version.is_some(), "{} is not of the form name/version", entry.id);
        }
        assert!(find("clear/1").is_none() && find("").is_none());
    }

    #[cfg(feature = "simplepir")]
    #[test]
    fn simplepir_is_on_the_list() {
        assert_eq!(find("simplepir/1").map(|entry| entry.servers), Some(1));
    }
}

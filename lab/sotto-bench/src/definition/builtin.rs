//! The definitions under `lab/sotto-bench/definitions`, embedded in the program so that they run from any
//! folder.

/// A definition that ships with the toolkit.
#[derive(Debug, Clone, Copy)]
pub struct BuiltinDefinition {
    /// The bare name, as [`super::load`] takes it.
    pub name: &'static str,
    /// The TOML text.
    pub text: &'static str,
}

macro_rules! definitions {
    ($($name:literal),* $(,)?) => {
        &[$(BuiltinDefinition {
            name: $name,
            text: include_str!(concat!("../../definitions/", $name, ".toml")),
        }),*]
    };
}

/// Every definition that ships with the toolkit.
pub fn shipped() -> &'static [BuiltinDefinition] {
    definitions![
        "quick",
        "scan-1gib",
        "all-schemes",
        "choosing",
        "rows-256b",
        "rows-256b-large",
        "single-bits",
        "rows-64b",
        "rows-32kib",
        "rows-100kb",
        "narrow-rows",
        "keyless",
        "keyless-growth",
        "wallet",
        "bfv-family",
        "grid",
        "chain-state",
        "spiral-quick",
        "spiral-family",
        "spiral-256mib",
        "spiral-1gib",
        "spiral-small",
        "spiral-growth",
        "spiral-stream",
        "onion-256mib",
        "s3pir-quick",
        "s3pir-20",
        "s3pir-24",
        "s3pir-28-8",
        "s3pir-28",
        "s3pir-256",
        "dpf-batch",
        "bgvpir-quick",
        "bgvpir-table1",
        "bgvpir-fig4",
        "bgvpir-fig5",
        "tree-quick",
        "tree-setup",
        "tree-index",
        "tree-online",
        "tree-tables",
        "regression-schemes",
    ]
}

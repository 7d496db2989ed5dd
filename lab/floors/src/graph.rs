//! Crates and edges, as plain data: the law is tested on graphs that no cargo has seen.

/// The crates of the workspace, and what the client's half pulls in.
#[derive(Debug, Default)]
pub(crate) struct Graph {
    pub(crate) crates: Vec<Crate>,
    pub(crate) client_half: Vec<LinkedPackage>,
    /// Files of the whole workspace, from its folder on: code, manifests, the specification, and documents that list
    /// schemes or tests.
    pub(crate) files: Vec<Source>,
    /// Packages that a crate links which depends on the client alone, without features.
    pub(crate) first_lookup: Vec<LinkedPackage>,
}

impl Graph {
    /// Number of edges between crates of the workspace, tests aside.
    pub(crate) fn edges(&self) -> usize {
        self.crates.iter().map(|krate| krate.needs.len()).sum()
    }
}

/// One crate of the workspace.
#[derive(Debug, Default)]
pub(crate) struct Crate {
    pub(crate) name: String,
    /// The folder above it: `crates`, `schemes`, `tools`.
    pub(crate) folder: String,
    /// Crates of the workspace that it is built from, without those that only its tests need.
    pub(crate) needs: Vec<String>,
    /// Root files: a library's `lib.rs`, a binary's `main.rs`.
    pub(crate) roots: Vec<Source>,
    /// Every file under `src` and `tests`.
    pub(crate) sources: Vec<Source>,
}

/// A file: its path, from the crate's folder on where it is one of a crate's, and its text.
#[derive(Debug, Default)]
pub(crate) struct Source {
    pub(crate) path: String,
    pub(crate) text: String,
}

/// A package that is linked into the client's half when built for wasm32, with its features.
#[derive(Debug, Default)]
pub(crate) struct LinkedPackage {
    pub(crate) name: String,
    pub(crate) features: Vec<String>,
}

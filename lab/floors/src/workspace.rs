//! The graph of this workspace, asked of cargo.

use crate::graph::{Crate, Graph, LinkedPackage, Source};
use cargo_metadata::camino::{Utf8Path, Utf8PathBuf};
use cargo_metadata::{DependencyKind, Metadata, MetadataCommand, Package, Target};
use std::error::Error;
use std::process::Command;
use std::{env, fs};

/// The crate that depends on the client as its users do.
const FIRST_LOOKUP: &str = "first-lookup";

/// The folder of schemes, whose packages are named `sotto-` and their folder.
const SCHEMES: &str = "schemes";

/// The folder in it with the schemes that others are compared with.
const BASELINES: &str = "baselines";

type Fallible<T> = Result<T, Box<dyn Error>>;

/// Reads the workspace in the current folder.
pub(crate) fn read() -> Fallible<Graph> {
    let metadata = MetadataCommand::new().no_deps().exec()?;
    let crates = metadata.workspace_packages().into_iter().map(|package| read_crate(&metadata, package));
    let crates = crates.collect::<Fallible<Vec<Crate>>>()?;
    let client_half = client_half(&crates)?;
    let root = &metadata.workspace_root;
    let documents = ["Cargo.toml", "Makefile", "SECURITY.md", "docs/schemes.md", "crates/README.md"];
    let mut files = documents
        .map(|name| read_source(root, &root.join(name)))
        .into_iter()
        .collect::<Fallible<Vec<_>>>()?;
    for folder in ["bindings", "crates", "guests", "lab", "schemes"] {
        read_sources(root, &root.join(folder), &mut files)?;
    }
    for entry in root.join("spec").read_dir_utf8()? {
        let path = entry?.into_path();
        if path.extension() == Some("md") {
            files.push(read_source(root, &path)?);
        }
    }
    let first_lookup = linked(tree().args(["-p", FIRST_LOOKUP]))?;
    Ok(Graph { crates, client_half, first_lookup, files })
}

fn read_crate(metadata: &Metadata, package: &Package) -> Fallible<Crate> {
    let home = package.manifest_path.parent().ok_or("a manifest lies in no folder")?;
    let ours =
        |name: &str| metadata.workspace_packages().into_iter().find(|other| other.name.as_str() == name);
    let mut needs: Vec<String> = package
        .dependencies
        .iter()
        .filter(|edge| edge.kind != DependencyKind::Development)
        .filter_map(|edge| ours(&edge.name).map(crate_name))
        .collect();
    needs.sort();
    needs.dedup();
    // libFuzzer's program has an exported function, which the ban on unsafe code would refuse; it is ten lines long.
    let ships =
        |target: &&Target| target.required_features.is_empty() && (target.is_lib() || target.is_bin());
    let roots = package.targets.iter().filter(ships);
    let roots = roots.map(|target| read_source(home, &target.src_path)).collect::<Fallible<_>>()?;
    let mut sources = Vec::new();
    for folder in ["src", "tests"].map(|folder| home.join(folder)) {
        if folder.is_dir() {
            read_sources(home, &folder, &mut sources)?;
        }
    }
    Ok(Crate { name: crate_name(package), folder: group(home).into(), needs, roots, sources })
}

/// The folder of a crate's group. Baselines are schemes.
fn group(home: &Utf8Path) -> &str {
    let mut folders = home.ancestors().skip(1).filter_map(Utf8Path::file_name);
    match (folders.next(), folders.next()) {
        (Some(BASELINES), Some(SCHEMES)) => SCHEMES,
        (folder, _) => folder.unwrap_or_default(),
    }
}

/// The name of a crate in the rules: a scheme is its folder, since bare names are not ours to take for its package.
fn crate_name(package: &Package) -> String {
    let home = package.manifest_path.parent().filter(|home| group(home) == SCHEMES);
    home.and_then(Utf8Path::file_name).map_or_else(|| package.name.to_string(), str::to_owned)
}

fn read_source(home: &Utf8Path, path: &Utf8Path) -> Fallible<Source> {
    let text = fs::read_to_string(path).map_err(|error| format!("{path}: {error}"))?;
    Ok(Source { path: path.strip_prefix(home)?.to_string(), text })
}

fn read_sources(home: &Utf8Path, folder: &Utf8Path, into: &mut Vec<Source>) -> Fallible<()> {
    for entry in folder.read_dir_utf8()? {
        let path: Utf8PathBuf = entry?.into_path();
        if path.is_dir() {
            if path.file_name() != Some("target") {
                read_sources(home, &path, into)?;
            }
        } else if path.extension() == Some("rs") || path.file_name() == Some("Cargo.toml") {
            into.push(read_source(home, &path)?);
        }
    }
    Ok(())
}

/// Packages that `sotto-client` without features and every scheme's client half link for wasm32.
///
/// `cargo metadata` resolves features for the whole workspace at once, so a server elsewhere in it would
/// show up here; `cargo tree -p` resolves them for just these packages.
fn client_half(crates: &[Crate]) -> Fallible<Vec<LinkedPackage>> {
    let mut tree = tree();
    tree.args(["--target", "wasm32-unknown-unknown", "--no-default-features"]);
    let schemes = crates.iter().filter(|krate| krate.folder == SCHEMES);
    let half = schemes.map(|krate| format!("sotto-{}", krate.name)).chain(["sotto-client".to_owned()]);
    half.for_each(|package| {
        tree.args(["-p", &package]);
    });
    linked(&mut tree)
}

/// Asks what packages link, with their features.
fn tree() -> Command {
    let mut tree = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    tree.args(["tree", "--edges", "normal", "--prefix", "none", "--format", "{p}|{f}"]);
    tree
}

fn linked(tree: &mut Command) -> Fallible<Vec<LinkedPackage>> {
    let output = tree.output()?;
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).into_owned().into());
    }
    Ok(String::from_utf8(output.stdout)?.lines().filter_map(parse_linked).collect())
}

/// Parses `name v1.2.3 (path)|feature,feature`.
fn parse_linked(line: &str) -> Option<LinkedPackage> {
    let (package, features) = line.split_once('|')?;
    let home = package.trim_end_matches(" (*)").strip_suffix(')').and_then(|package| package.split_once('('));
    let scheme = home.map(|(_, home)| Utf8Path::new(home)).filter(|home| group(home) == SCHEMES);
    let scheme = scheme.and_then(Utf8Path::file_name);
    let name = scheme.or_else(|| package.split_whitespace().next())?.to_owned();
    // A package seen before is marked with a trailing ` (*)`.
    let features = features.trim_end_matches(" (*)").split(',').filter(|feature| !feature.is_empty());
    Some(LinkedPackage { name, features: features.map(str::to_owned).collect() })
}

#[cfg(test)]
mod tests {
    use super::parse_linked;

    #[test]
    fn lines_of_the_tree_are_read() {
        let linked = parse_linked("serde v1.0.2 (/a b/c)|derive,std (*)").unwrap();
        assert_eq!((linked.name.as_str(), linked.features), ("serde", vec!["derive".into(), "std".into()]));
        for home in ["schemes/dpf", "schemes/baselines/dpf"] {
            assert_eq!(parse_linked(&format!("sotto-dpf v1.0.0 (/a/{home})|")).unwrap().name, "dpf");
        }
        assert!(parse_linked("either v1.0.0|").unwrap().features.is_empty());
        assert!(parse_linked("").is_none());
    }
}

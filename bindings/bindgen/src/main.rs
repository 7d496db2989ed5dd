//! Makes the WebAssembly module and its JavaScript from the build of `sotto-web`:
//! `bindgen MODULE FOLDER`.
//!
//! It does what the command `wasm-bindgen` does. That command comes with its own lock file, whose
//! packages registries do not always have; here the versions are those of the workspace, and match
//! the crate's.
#![forbid(unsafe_code)]

use std::process::ExitCode;
use wasm_bindgen_cli_support::Bindgen;

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [module, folder] = words.as_slice() else {
        eprintln!("bindgen MODULE FOLDER");
        return ExitCode::from(2);
    };
    let mut bindgen = Bindgen::new();
    bindgen.input_path(module).out_name("sotto").typescript(false).remove_name_section(true);
    // The module is found beside its JavaScript, unless somebody says where it is.
    bindgen.omit_default_module_path(false);
    match bindgen.web(true).and_then(|bindgen| bindgen.generate(folder)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{module}: {error:#}");
            ExitCode::FAILURE
        }
    }
}

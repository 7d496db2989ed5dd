//! `cargo run -p floors`: fails when a dependency edge points upward, and when another rule of the house is broken that a
//! look at the files can tell.
//!
//! | module | contents |
//! |---|---|
//! | [`cycles`] | modules that import each other in a cycle |
//! | [`modules`] | the modules of a crate and what they import from each other |
//! | [`law`] | the table of floors, and every rule over a graph of crates |
//! | [`lists`] | where schemes are named: the lines that a new one needs |
//! | [`names`] | names of types, modules and constants that may not come back |
//! | [`paths`] | paths of source files that documents name |
//! | [`style`] | width, words, and how bytes of others are read |
//! | [`graph`] | crates and edges, without cargo |
//! | [`workspace`] | the graph of this workspace, asked of cargo |
#![forbid(unsafe_code)]

mod cycles;
mod graph;
mod law;
mod lists;
mod modules;
mod names;
mod paths;
mod style;
mod workspace;

use std::process::ExitCode;

fn main() -> ExitCode {
    let graph = match workspace::read() {
        Ok(graph) => graph,
        Err(error) => {
            eprintln!("floors: {error}");
            return ExitCode::from(2);
        }
    };
    print!("{}", law::map(&graph));
    let violations = violations(&graph);
    for rule in &violations {
        eprintln!("floors: {rule}");
    }
    if violations.is_empty() {
        println!(
            "{} crates, {} edges, none upward; {} files",
            graph.crates.len(),
            graph.edges(),
            graph.files.len()
        );
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}

/// Every rule that the workspace breaks, in words.
fn violations(graph: &graph::Graph) -> Vec<String> {
    let mut violations = law::violations(graph);
    violations.extend(lists::violations(graph));
    violations.extend(cycles::violations(graph));
    violations.extend(names::violations(graph));
    violations.extend(paths::violations(graph));
    violations.extend(style::violations(graph, law::knows_layers));
    violations
}

#[cfg(test)]
mod tests {
    /// The rules of `make floors`, as one test among all.
    #[test]
    fn this_workspace_keeps_the_law() {
        let graph = super::workspace::read().unwrap();
        assert_eq!(super::violations(&graph), Vec::<String>::new());
    }
}

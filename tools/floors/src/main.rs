//! `cargo run -p floors`: fails when a dependency edge points upward.
//!
//! | module | what lives there |
//! |---|---|
//! | [`law`] | the table of floors, and every rule over a graph of crates |
//! | [`graph`] | crates and edges, without cargo |
//! | [`workspace`] | the graph of this workspace, asked of cargo |
#![forbid(unsafe_code)]

mod graph;
mod law;
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
    let broken = law::broken(&graph);
    for rule in &broken {
        eprintln!("floors: {rule}");
    }
    if broken.is_empty() {
        println!("{} crates, {} edges, none upward", graph.crates.len(), graph.edges());
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}

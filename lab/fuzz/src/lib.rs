//! One fuzz target per decoder and per file parser: a function from any bytes to whether they were
//! taken. It panics if the bytes do harm, or if what was taken does not survive being written again.
//!
//! | module | what it feeds |
//! |---|---|
//! | `apple` | requests, responses and tables of Apple's protocol |
//! | `wire` | frames, refusals, headers |
//! | `catalog` | catalogs, signed and plain; keys |
//! | `lattice` | polynomials of ciphertexts, and answers |
//! | `layers` | parameters of layers, and rows that are none |
//! | `ohttp` | messages, keys and sealed requests of Oblivious HTTP |
//! | `oprf` | elements, proofs, keys and masked rows of symmetric tables |
//! | `pass` | keys, requests and tokens of Privacy Pass, and the file of users |
//! | `scheme` | every registered scheme's keys, messages, artifacts, literals and client states |
//! | `upkeep` | their orders and supplies, where a server makes hints |
//! | `image` | image files and their first page |
//! | `ingest` | source files of every format, and files of changes |
//! | `keys` | changed keys of tables that are asked by key, and the rows that are kept for them |
//! | `state` | what a client reads back of its own state |
//! | `tlog` | keys, checkpoints, proofs and entries of transparency logs; witnesses |
//! | `vector` | recorded lookups |
//! | `text` | server configurations and bench definitions |
//! | [`smoke`] | the runner for stable Rust: seeds, mutations, counts |
//!
//! `make fuzz TARGET=ask` gives one to libFuzzer. `make test` runs each for a second, and
//! `make fuzz-smoke SECONDS=60` for longer; they need nothing but cargo.
#![forbid(unsafe_code)]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a target that panics has found something"
)]

mod apple;
mod catalog;
mod image;
mod ingest;
mod keys;
mod lattice;
mod layers;
mod ohttp;
mod oprf;
mod pass;
mod scheme;
pub mod smoke;
mod state;
mod text;
mod tlog;
mod upkeep;
mod vector;
mod wire;

/// A target, and inputs to start from.
pub struct Target {
    /// Its name.
    pub name: &'static str,
    /// Feeds it; says whether the bytes were taken.
    pub run: fn(&[u8]) -> bool,
    /// Inputs that are taken.
    pub seeds: fn() -> Vec<Vec<u8>>,
}

macro_rules! targets {
    ($($name:ident: $module:ident, $seeds:ident;)*) => {
        /// Every target.
        pub static TARGETS: &[Target] = &[
            $(Target { name: stringify!($name), run: $module::$name, seeds: $module::$seeds },)*
        ];
    };
}

targets! {
    ask: wire, asks;
    answer: wire, answers;
    keys: wire, keyses;
    order: wire, orders;
    supply: wire, supplies;
    stream: wire, streams;
    stream_answer: wire, stream_answers;
    evaluation: wire, evaluations;
    evaluated: wire, evaluateds;
    problem: wire, problems;
    timing: wire, timings;
    apple_config: apple, configs;
    apple_key: apple, keys;
    apple_queries: apple, querieses;
    apple_response: apple, responses;
    apple_bucket: apple, buckets;
    apple_database: apple, databases;
    apple_description: apple, descriptions;
    apple_sealed: apple, sealeds;
    pass_key: pass, pass_keys;
    pass_request: pass, pass_requests;
    pass_header: pass, pass_headers;
    pass_users: pass, pass_userses;
    ohttp_request: ohttp, requests;
    ohttp_response: ohttp, responses;
    ohttp_keys: ohttp, keyses;
    ohttp_sealed: ohttp, sealeds;
    ohttp_answer: ohttp, answers;
    ohttp_ring: ohttp, rings;
    signed_catalog: catalog, signed_catalogs;
    signed_stack: catalog, signed_stacks;
    plain_catalog: catalog, plain_catalogs;
    keyword_params: layers, keyword_paramses;
    pbc_params: layers, pbc_paramses;
    public_key: catalog, public_keys;
    signing_key: catalog, signing_keys;
    oprf_elements: oprf, elementses;
    oprf_answer: oprf, oprf_answers;
    oprf_key: oprf, oprf_keys;
    masked_row: oprf, masked_rows;
    p384_element: oprf, p384_elements;
    p384_answer: oprf, p384_answers;
    p384_key: oprf, p384_keys;
    scheme_params: scheme, paramses;
    scheme_keys: scheme, keyses;
    scheme_query: scheme, queries;
    scheme_answer: scheme, answers;
    scheme_unit: scheme, units;
    scheme_hint: scheme, hints;
    scheme_delta: scheme, deltas;
    scheme_state: scheme, states;
    scheme_journal: scheme, journals;
    scheme_rows_delta: scheme, rows_deltas;
    scheme_checkpoint: scheme, checkpoints;
    scheme_order: upkeep, orders;
    scheme_supply: upkeep, supplies;
    bgv_body: lattice, bgv_bodies;
    bgv_answer: lattice, bgv_answers;
    image_header: image, headers;
    image_file: image, files;
    ingest_csv: ingest, csvs;
    ingest_compressed: ingest, compressed;
    ingest_jsonl: ingest, jsonls;
    ingest_parquet: ingest, parquets;
    ingest_ranges: ingest, ranges;
    ingest_raw: ingest, raws;
    update_changes: ingest, changes;
    update_keys: keys, key_changes;
    kept_rows: keys, keepings;
    table_source: keys, sources;
    table_written: keys, writtens;
    state_record: state, records;
    state_head: state, heads;
    state_about: state, abouts;
    state_pass: state, passes;
    registered_keys: state, keyrings;
    vector: vector, vectors;
    log_checkpoint: tlog, checkpoints;
    log_key: tlog, keys;
    log_head: tlog, heads;
    log_proof: tlog, proofs;
    log_entries: tlog, bundles;
    log_line: tlog, lines;
    log_history: tlog, histories;
    log_path: tlog, paths;
    witness_key: tlog, witnesses;
    witness_note: tlog, cosigned;
    server_config: text, server_configs;
    bench_definition: text, bench_definitions;
}

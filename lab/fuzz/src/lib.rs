//! One fuzz target per decoder and per file parser: a function from any bytes to whether they were
//! taken. It panics if the bytes do harm, or if what was taken does not survive being written again.
//!
//! | module | what it feeds |
//! |---|---|
//! | `apple` | requests, responses and tables of Apple's protocol |
//! | `anonymity` | messages, keys and sealed requests of Oblivious HTTP; keys and tokens of Privacy Pass |
//! | `wire` | frames, refusals, headers; polynomials of ciphertexts |
//! | `catalog` | catalogs, signed and plain; keys; parameters of layers, and rows that are none |
//! | `oprf` | elements, proofs, keys and masked rows of symmetric tables |
//! | `scheme` | every registered scheme's keys, messages, artifacts, literals, client states, orders and supplies |
//! | `image` | image files and their first page |
//! | `files` | server configurations, bench definitions, recorded lookups, a client's own state |
//! | `ingest` | source files of every format, files of changes, and what is kept beside a table |
//! | `tlog` | keys, checkpoints, proofs and entries of transparency logs; witnesses; policies |
//! | [`smoke`] | the runner for stable Rust: seeds, mutations, counts |
//!
//! `make fuzz TARGET=query_request` gives one to libFuzzer, and `lab/fuzz/campaign SECONDS` one after
//! another; it keeps small inputs that reach new code in `kept/`, and counts in `record.csv`. `make
//! test` runs each for a quarter of a second, and `make fuzz-smoke SECONDS=60` for longer; they need
//! nothing but cargo.
#![forbid(unsafe_code)]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a target that panics has found something"
)]

mod anonymity;
mod apple;
mod catalog;
mod files;
mod image;
mod ingest;
mod oprf;
mod scheme;
pub mod smoke;
mod tlog;
mod wire;

use sotto_catalog::HexBytes;

/// A target, and inputs to start from.
pub struct Target {
    /// Name of the target.
    pub name: &'static str,
    /// Runs the target on bytes; returns whether they were accepted.
    pub run: fn(&[u8]) -> bool,
    /// Inputs that are accepted.
    pub seeds: fn() -> Vec<Vec<u8>>,
}

impl Target {
    /// Inputs that campaigns of libFuzzer kept, from `lab/fuzz/kept`: a line of hexadecimal digits
    /// each.
    ///
    /// # Errors
    /// A description, for a file with other lines.
    pub fn kept(&self) -> Result<Vec<Vec<u8>>, String> {
        let file = format!(concat!(env!("CARGO_MANIFEST_DIR"), "/kept/{}.hex"), self.name);
        let lines = std::fs::read_to_string(&file).unwrap_or_default();
        let input = |line: &str| line.parse().map(|HexBytes(input)| input);
        lines.lines().map(input).collect::<Result<_, _>>().map_err(|error| format!("{file}: {error}"))
    }
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
    query_request: wire, query_requests;
    answer: wire, answers;
    keys: wire, keyses;
    hint_request: wire, hint_requests;
    hint_response: wire, hint_responses;
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
    pass_key: anonymity, pass_keys;
    pass_request: anonymity, pass_requests;
    pass_header: anonymity, pass_headers;
    pass_users: anonymity, pass_userses;
    ohttp_request: anonymity, requests;
    ohttp_response: anonymity, responses;
    ohttp_keys: anonymity, keyses;
    ohttp_sealed: anonymity, sealeds;
    ohttp_answer: anonymity, answers;
    ohttp_ring: anonymity, rings;
    signed_catalog: catalog, signed_catalogs;
    signed_stack: catalog, signed_stacks;
    plain_catalog: catalog, plain_catalogs;
    keyword_params: catalog, keyword_paramses;
    pbc_params: catalog, pbc_paramses;
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
    scheme_hint_request: scheme, scheme_hint_requests;
    scheme_hint_response: scheme, scheme_hint_responses;
    bgv_body: wire, bgv_bodies;
    bgv_answer: wire, bgv_answers;
    image_header: image, headers;
    image_file: image, files;
    ingest_csv: ingest, csvs;
    ingest_compressed: ingest, compressed;
    ingest_jsonl: ingest, jsonls;
    ingest_parquet: ingest, parquets;
    ingest_ranges: ingest, ranges;
    ingest_raw: ingest, raws;
    update_changes: ingest, changes;
    update_keys: ingest, key_changes;
    kept_rows: ingest, keepings;
    table_source: ingest, sources;
    table_written: ingest, writtens;
    state_record: files, records;
    state_head: files, heads;
    state_about: files, abouts;
    state_transaction: files, transactions;
    state_pass: files, passes;
    registered_keys: files, keyrings;
    vector: files, vectors;
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
    log_policy: tlog, policies;
    server_config: files, server_configs;
    bench_definition: files, bench_definitions;
}

//! Parameters of layers, and rows that are none.

use sotto_core::{Layer, Row};
use sotto_layers::batch_code::Params;
use sotto_layers::batch_code::code::CodeSizes;
use sotto_layers::{BatchCode, Keyword};
use sotto_prg::PublicSeed;
use sotto_testkit::rng::seeded;

/// Most bytes of rows that are made up to be looked at.
const ROW_BYTES: u64 = 1 << 16;

/// The parameters of a table of keys. What is taken is written again, and any rows are looked through.
pub(crate) fn keyword_params(data: &[u8]) -> bool {
    let Ok(keyword) = Keyword::parse(data) else { return false };
    let text = serde_json::to_vec(keyword.params()).expect("what was read is written");
    assert_eq!(Keyword::parse(&text).expect("what was written is read").params(), keyword.params());
    let (rows, plan) = keyword.plan(b"k", &mut seeded("keyword")).expect("a key of one byte is a key");
    assert!(
        rows.len() == keyword.visits().len() && rows.iter().all(|row| *row < keyword.params().table_rows())
    );
    let width = keyword.params().table_row_bytes();
    if width <= ROW_BYTES {
        let row = |at: usize| Row::new(data.iter().copied().cycle().skip(at).take(width as usize).collect());
        // Values have no more bytes than the table says, whatever the rows hold.
        let value = keyword.assemble(plan, (0..rows.len()).map(row).collect());
        if let Ok(Some(value)) = value {
            assert!(value.len() <= keyword.params().values.most() as usize);
        }
    }
    true
}

/// Tables of all forms and both kinds of values.
pub(crate) fn keyword_paramses() -> Vec<Vec<u8>> {
    let seed = "5e".repeat(32);
    let params = |form: &str, key_bytes: u32, values: &str| {
        format!(
            "{{\"form\":\"{form}\",\"key_bytes\":{key_bytes},\"probes\":2,\"slots\":4,\"rows\":100,\"tag_bytes\":10,\
             \"values\":{{\"{values}\":20}},\"seed\":\"{seed}\",\"attempt\":0}}"
        )
        .into_bytes()
    };
    let cut = format!(
        "{{\"form\":\"ip\",\"key_bytes\":16,\"probes\":1,\"slots\":40,\"rows\":3,\"tag_bytes\":10,\
         \"values\":{{\"fixed\":2}},\"seed\":\"{seed}\",\"attempt\":5,\"cuts\":\"UDBA\"}}"
    );
    let band = cut.trim_end_matches('}');
    let band =
        format!("{band},\"band\":{{\"rows\":150,\"unit\":\"pair\",\"tries\":\"AAEC\"}}}}").into_bytes();
    let cut = cut.into_bytes();
    vec![
        params("bytes", 255, "fixed"),
        params("text", 4096, "up-to"),
        params("domain", 253, "up-to"),
        params("email", 254, "fixed"),
        params("ip", 16, "up-to"),
        params("sha1", 20, "fixed"),
        params("sha256", 32, "up-to"),
        params("md5", 16, "fixed"),
        params("phone", 16, "up-to"),
        cut,
        band,
    ]
}

/// The parameters of a batch code. What is taken is written again, and a request is planned.
pub(crate) fn pbc_params(data: &[u8]) -> bool {
    let Ok(params) = Params::parse(data) else { return false };
    let text = serde_json::to_vec(&params).expect("what was read is written");
    assert_eq!(Params::parse(&text).expect("what was written is read"), params);
    let code: BatchCode = params.code().expect("what was read is in order");
    if params.batch > 1000 {
        // A request is planned in a second or more, which is too long to try many.
        return true;
    }
    let (rows, plan) =
        code.plan(&[0, params.rows - 1][..params.batch.min(2)], &mut seeded("pbc")).expect("a request");
    let (shards, visits) = (code.shards(), code.visits());
    assert!(rows.iter().zip(&visits).all(|(row, shard)| *row < shards[*shard]) && rows.len() == visits.len());
    // Rows may be wanted that cannot be had at once; then that is said.
    if let Ok(reply) = code.assemble(plan, vec![Row::new(vec![7]); visits.len()]) {
        assert_eq!(reply.len(), params.batch.min(2));
    }
    true
}

/// Codes with buckets, with spare lookups beside them, and with nothing else.
pub(crate) fn pbc_paramses() -> Vec<Vec<u8>> {
    let fit = |rows, items| CodeSizes::fit(rows, items).expect("a code");
    let spare = CodeSizes { rows: 1000, items: 20, copies: 3, buckets: 18, spare: 2 };
    [fit(1000, 12), fit(1 << 20, 64), fit(50, 3), fit(5000, 300), spare]
        .map(|sizes| {
            serde_json::to_vec(&Params::new(sizes, PublicSeed([3; 32]))).expect("parameters are JSON")
        })
        .to_vec()
}

//! Bytes of a plan are exactly the scheme's own.

use super::{keys, plan_of, rows};
use sotto_core::{Goal, TableShape};
use sotto_db::RowProofs;
use sotto_db::layout::LayoutSearch as Layout;
use sotto_plan::{KeyChoice, SearchScope, ServerTrust, Workload, plan};

#[test]
fn every_row_has_the_bytes_of_its_parameters() {
    let workload = Workload { trust: ServerTrust::TwoServers, ..rows(20_000, 40) };
    let offers = plan(&workload, SearchScope::default(), None).unwrap().offers;
    assert!(offers.len() > sotto_registry::SCHEMES.len() / 2, "{} fit", offers.len());
    for offer in offers {
        let entry = sotto_registry::find(&offer.choice.scheme).unwrap();
        let goal = Goal::ALL.into_iter().find(|goal| goal.name() == offer.choice.goal).unwrap();
        let shape = TableShape { goal, ..TableShape::new(20_000, 40, offer.choice.lookups) };
        let layout = Layout { entry, rows: 20_000, shape }.choose(RowProofs::IfCheap).unwrap();
        let report = (entry.report)(&layout.params).unwrap();
        let (costs, each) = (report.costs, (layout.packing.records_per_row() * entry.query_servers) as u64);
        let id = entry.id;
        assert_eq!(offer.up_bytes, costs.query_bytes * each, "{id}");
        assert_eq!(offer.down_bytes, costs.answer_bytes * each, "{id}");
        assert_eq!(offer.keys_bytes, costs.keys_bytes * entry.query_servers as u64, "{id}");
        assert_eq!(offer.params_digests, [report.digest.to_string()], "{id}");
        assert_eq!(offer.choice.verified, layout.path.is_some() || entry.is_downloadable(), "{id}");
        assert!(
            offer.memory_bytes == costs.resident_bytes && offer.once_bytes >= costs.artifact_bytes,
            "{id}"
        );
        assert!(offer.failure_log2.is_none_or(|log2| log2 <= -40.0), "{id}");
        assert!(offer.security_bits.is_none_or(|bits| bits >= 128.0), "{id}");
        assert_eq!(entry.hint_server.is_some(), offer.hints_bytes > 0, "{id}");
        // A download is asked nothing, so no number of requests is too many.
        let capacity = offer.capacity.filter(|capacity| capacity.is_finite());
        assert_eq!(
            (capacity.is_none(), offer.capacity.is_none()),
            (entry.is_downloadable(), entry.is_downloadable()),
            "{id}"
        );
    }
}

#[test]
fn a_key_takes_a_lookup_of_each_row_where_it_may_lie() {
    for id in ["simplepir/1", "fspiral/1", "vbpir/1"] {
        let offer = plan_of(&keys(5000, 12), id).offers.remove(0);
        let probes = match offer.choice.keys {
            Some(KeyChoice::Rows { probes, .. }) => u64::from(probes),
            Some(KeyChoice::Sums) => 1,
            None => panic!("keys lie somewhere"),
        };
        assert_eq!(offer.queries % probes, 0, "{}", offer.choice.scheme);
    }
}

#[test]
fn a_round_asks_each_table_of_its_code() {
    let workload = Workload { batch: Some(40), ..rows(4096, 32) };
    let offers = ["vbpir/1", "simplepir/1"].map(|id| plan_of(&workload, id).offers.remove(0));
    // A scheme that queries all buckets at once has fewer tables.
    assert!(offers[0].tables <= 2 && offers[1].tables > 20);
    assert!(offers.iter().all(|offer| offer.choice.batch == Some(40) && !offer.choice.verified));
    // The code rarely fails, and so do all lookups together.
    assert!(offers.iter().all(|offer| offer.failure_log2.is_some_and(|log2| log2 <= -39.0)));
}

/// A few rows of a small table are one query to copies of it, whose keys are counted once.
#[test]
fn a_few_rows_are_a_query_to_copies() {
    let [one, five] = [None, Some(5)].map(|batch| {
        let workload = Workload { batch, ..rows(2048, 512) };
        plan_of(&workload, "ypir-sp/2").offers.remove(0)
    });
    assert_eq!((five.tables, five.queries), (1, 1));
    let saved = 5 * one.up_bytes - five.up_bytes;
    // Four keys of 2048 words of 40 bits at least are saved. A bucket has a word of some 24 bits for
    // each of its records, where one lookup has fewer, for several records each.
    assert!(saved > 4 * 10_240 - 5 * 2048 * 3, "{} {}", one.up_bytes, five.up_bytes);
    // Five images, and that of one lookup with several records in a column is twice as large as each.
    assert!(five.memory_bytes > 2 * one.memory_bytes, "{} {}", one.memory_bytes, five.memory_bytes);
}

#[test]
fn a_masked_row_is_wider_and_opened() {
    let (plain, masked) = (rows(4096, 64), Workload { symmetric: true, ..rows(4096, 64) });
    let [plain, masked] = [plain, masked].map(|workload| {
        let trusted = Workload { trust: ServerTrust::TwoServers, ..workload };
        plan_of(&trusted, "dpf/1").offers.remove(0)
    });
    // Two servers with 24 more bytes each, and an element with its proof.
    assert_eq!(masked.down_bytes, plain.down_bytes + 2 * 24 + 32 + 64);
    assert!(masked.choice.symmetric && masked.leaks.len() == plain.leaks.len() + 1);
}

//! The schemes that an encoder takes by itself, at a dozen shapes. Who changes a cost, a scheme's
//! work or the price of a byte sees here what that changes for publishers.

use super::{keys, rows};
use sotto_plan::{SearchScope, TableData, Workload, plan, refusal_unless_named};

/// The best scheme and the second, without proofs.
fn chosen(data: TableData, lookups: u64) -> [String; 2] {
    let workload = Workload::of_epoch(data, lookups);
    let refuses = refusal_unless_named;
    let scope = SearchScope { refuses: Some(&refuses), unproven: true, ..SearchScope::default() };
    let plan = plan(&workload, scope, None).unwrap();
    [0, 1].map(|i| plan.offers[i].choice.scheme.split('/').next().unwrap().to_owned())
}

#[test]
fn what_is_taken_unasked() {
    let of_rows = |count, bytes| rows(count, bytes).data;
    let table = [
        ("trivial, verisimplepir", of_rows(3, 16), 1, "three rows are smaller than any query"),
        ("trivial, verisimplepir", keys(18, 8).data, 100, "so are 18 keys"),
        ("ypir-sp, inspire-two", of_rows(1 << 16, 32), 1, "2 MiB, asked once: a query without keys or hint"),
        ("trivial, ypir-sp", of_rows(1 << 16, 32), 100, "2 MiB, asked often: a download"),
        ("ypir-sp, inspire-two", of_rows(1 << 18, 32), 100, "8 MiB: masks once and small queries are less"),
        ("trivial, simplepir", of_rows(1 << 18, 32), 1000, "8 MiB, asked very often: a download again"),
        (
            "ypir-sp, inspire-two",
            keys(1_000_000, 16).data,
            100,
            "20 MiB of keys and values: two rows for each key",
        ),
        ("ypir-sp, inspire", of_rows(1 << 20, 256), 1, "256 MiB, asked once: only masks are fetched first"),
        ("ypir-sp, inspire", of_rows(1 << 20, 256), 100, "256 MiB, asked often: a hint does not pay yet"),
        ("ypir-sp, simplepir", of_rows(1 << 20, 256), 1000, "256 MiB, asked very often: a hint is next"),
        ("ypir-sp, inspire-two", of_rows(1 << 22, 256), 100, "1 GiB: the same on a larger table"),
        ("ypir-sp, inspire-two", of_rows(1 << 24, 8), 100, "128 MiB of narrow rows"),
        ("fspiral, spiral", of_rows(1000, 1_000_000), 100, "1 GB of a thousand rows: rate counts"),
    ];
    let differs = |(expected, data, lookups, reason)| {
        let found = chosen(data, lookups).join(", ");
        (found != expected).then(|| format!("{lookups} lookups, {reason}: {found}, not {expected}"))
    };
    let differences: Vec<String> = table.into_iter().filter_map(differs).collect();
    assert!(differences.is_empty(), "{differences:#?}");
}

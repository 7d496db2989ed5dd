//! No silent abort: once a server was contacted, what it sees does not depend on what is looked up,
//! whatever the publisher did meanwhile. The request is sent, and the error is reported afterwards.

use crate::common::{NAME, Server, World, as_addresses, boxed, resolve, server_of, server_with};
use sotto_catalog::{KeyKind, LayerEntry, TableKind};
use sotto_client::transport::InProcessTransport;
use sotto_client::transport::Request;
use sotto_client::{ClientError, Lookup, LookupResult, Table};
use sotto_layers::keyword::{KeyForm, NAME as KEYWORD, Params, ValueLength};
use sotto_prg::PublicSeed;
use sotto_testkit::transcript::{TranscriptRecorder, tells_nothing};
use sotto_wire::query::QueryHead;

/// What a publisher does after a table was opened and before it is queried.
type Publisher = (&'static str, fn(&mut World));

const ROWS: u64 = 300;
const WIDTH: u64 = 16;

/// Rows that exist, rows that a smaller table lacks, and rows that never existed.
const LOOKUPS: [Lookup<'_>; 12] = [
    Lookup::Row(0),
    Lookup::Row(7),
    Lookup::Row(250),
    Lookup::Row(ROWS - 1),
    Lookup::Row(ROWS),
    Lookup::Row(u64::MAX),
    Lookup::Bit(0),
    Lookup::Bit(250 * 8 * WIDTH),
    Lookup::Bit(ROWS * 8 * WIDTH),
    Lookup::Bit(u64::MAX),
    Lookup::Key("4"),
    Lookup::Key("no row"),
];

const KEYS: [Lookup<'_>; 9] = [
    Lookup::Key("10.0.0.1"),
    Lookup::Key("10.0.250.1"),
    Lookup::Key("10.1.43.0"),
    Lookup::Key("11.0.0.0"),
    Lookup::Key("9.255.255.255"),
    Lookup::Key(""),
    Lookup::Key("no address"),
    Lookup::Row(250),
    Lookup::Row(ROWS),
];

const PUBLISHERS: [Publisher; 5] = [
    ("a table that stays", |_| ()),
    ("another epoch", |world| world.update(&[3])),
    ("a smaller table", |world| shrink(world, 200)),
    ("a table of one row", |world| shrink(world, 1)),
    ("blocks that begin elsewhere", |world| {
        world.update(&[]);
        let empty = sotto_catalog::HexBytes(vec![0]);
        world.catalog.kind = TableKind::Range { key: KeyKind::Ipv4, block: 16, first: 0x0a00_0000, empty };
    }),
];

fn shrink(world: &mut World, rows: u64) {
    world.update(&[]);
    world.catalog.rows = rows;
}

fn name(request: &Request) -> String {
    format!("{:?} {} {:?}", request.method, request.path, request.range)
}

/// Opens a table, lets its publisher act, makes the lookups, and returns what the servers received.
fn look<T>(
    make: impl Fn() -> Vec<Server>,
    publisher: fn(&mut World),
    transcript: &TranscriptRecorder,
    ask: impl FnOnce(&mut Table) -> Result<T, ClientError>,
) -> Result<T, ClientError> {
    let servers = make();
    let lines = servers.iter().map(|server| boxed(server.transport())).collect();
    let mut table = Table::over_all(lines, NAME).resolve(resolve).state_in_memory().open().unwrap();
    for server in &servers {
        server.with(publisher);
        server.received();
    }
    let outcome = ask(&mut table);
    for (i, server) in servers.iter().enumerate() {
        for request in server.received() {
            transcript.note(format!("server {i}"), name(&request), request.body.len());
        }
    }
    outcome
}

fn one(scheme: &'static str) -> impl Fn() -> Vec<Server> {
    move || vec![server_of(scheme, ROWS, WIDTH)]
}

fn addresses() -> Vec<Server> {
    let server = server_of("clear/1", ROWS, WIDTH);
    as_addresses(&server);
    vec![server]
}

#[test]
fn one_wish_is_like_another() {
    for (name, publisher) in PUBLISHERS {
        tells_nothing(name, &LOOKUPS, |lookup, seen| {
            look(one("clear/1"), publisher, seen, |table| table.get_all(&[*lookup]))
        });
        tells_nothing(&format!("{name}, by address"), &KEYS, |lookup, seen| {
            look(addresses, publisher, seen, |table| table.get_all(&[*lookup]))
        });
    }
}

#[test]
fn so_it_is_in_company() {
    for (name, publisher) in PUBLISHERS {
        tells_nothing(name, &LOOKUPS, |lookup, seen| {
            let lookups = [Lookup::Row(0), *lookup, Lookup::Bit(9)];
            look(one("clear/1"), publisher, seen, |table| table.get_all(&lookups))
        });
    }
}

#[test]
fn a_wish_that_cannot_be_granted_spoils_no_other() {
    for (make, lookups) in
        [(&addresses as &dyn Fn() -> Vec<Server>, &KEYS[..]), (&one("clear/1"), &LOOKUPS[..])]
    {
        tells_nothing("one by one", lookups, |lookup, seen| {
            let each = look(make, |_| (), seen, |table| table.get_each(&[*lookup, Lookup::Row(3)]))?;
            assert!(each[1].is_ok(), "{lookup:?}");
            each.into_iter().collect::<Result<Vec<_>, _>>()
        });
    }
}

#[test]
fn so_it_is_with_every_kind_of_client() {
    // Keys, states, streamed rows, a hint server, two servers, and a real scheme.
    let pair = |scheme: &'static str| {
        move || {
            let servers = [(); 2].map(|()| server_of(scheme, ROWS, WIDTH));
            servers[1].with(|world| world.role = 1);
            servers.into()
        }
    };
    for (name, publisher) in &PUBLISHERS[..3] {
        let check = |scheme: &str, make: &dyn Fn() -> Vec<Server>| {
            tells_nothing(&format!("{name}, {scheme}"), &LOOKUPS, |lookup, seen| {
                look(make, *publisher, seen, |table| table.get_all(&[*lookup]))
            });
        };
        for scheme in ["clear-keyed/1", "clear-rows/1", "clear-state/1", "simplepir/1", "s3pir/1", "piano/1"]
        {
            check(scheme, &one(scheme));
        }
        for scheme in ["clear-two/1", "clear-helped/1", "dpf/1", "checklist/1"] {
            check(scheme, &pair(scheme));
        }
    }
}

#[test]
fn a_stream_comes_whole_whatever_row_it_is() {
    for (name, publisher) in PUBLISHERS {
        let make = || vec![server_of("clear-stream/1", ROWS, 4096)];
        tells_nothing(name, &[0, 7, 250, ROWS - 1, ROWS, u64::MAX], |row, seen| {
            let mut out = Vec::new();
            let streamed = look(make, publisher, seen, |table| table.stream(*row, &mut out));
            assert_eq!(
                out.len(),
                if streamed.is_ok() { 4096 } else { 0 },
                "nothing of another row is written"
            );
            streamed
        });
        tells_nothing(name, &["0", "250", "300", "no row", "10.0.0.16"], |key, seen| {
            look(make, publisher, seen, |table| table.stream_key(key, &mut Vec::new()))
        });
    }
}

/// Makes a table a keyword table.
fn keyed(world: &mut World, probes: u32, key_bytes: u32) {
    let (values, seed) =
        (ValueLength::Fixed(world.catalog.row_bytes as u32 - 12), PublicSeed([probes as u8; 32]));
    let params = Params {
        form: KeyForm::Domain,
        key_bytes,
        probes,
        slots: 1,
        rows: world.catalog.rows,
        tag_bytes: 12,
        values,
        seed,
        attempt: 0,
        cuts: None,
        band: None,
    };
    world.catalog.kind = TableKind::Keyword;
    world.catalog.layers = vec![LayerEntry { name: KEYWORD.to_owned(), params: serde_json::json!(params) }];
}

/// Makes a table a keyword table whose values are sums of rows. It is not solved, so no key is found.
fn summed(world: &mut World) {
    keyed(world, 1, 40);
    let [layer] = &mut world.catalog.layers[..] else { panic!("the layer of keys") };
    // A strip of entries of 16 bytes, and cells that are all its.
    let parts = [
        ("rows", "1"),
        ("cuts", "\"QA==\""),
        ("band", "{\"rows\":300,\"unit\":\"byte\",\"tries\":\"AA==\"}"),
    ];
    for (name, part) in parts {
        layer.params[name] = serde_json::from_str(part).unwrap();
    }
}

#[test]
fn keys_in_sums_are_alike_too() {
    // Rows that are records, as they are for so few lookups.
    let make = || {
        let server = server_with("simplepir/1", ROWS, WIDTH, 1);
        server.with(summed);
        vec![server]
    };
    let lookups = [
        Lookup::Key("one.example"),
        Lookup::Key("other.example"),
        Lookup::Key("no domain"),
        Lookup::Key(""),
        Lookup::Row(3),
    ];
    let publishers: [Publisher; 3] = [
        ("a table that stays", |_| ()),
        ("another epoch", |world| world.update(&[])),
        ("keys in rows", |world| {
            world.update(&[]);
            keyed(world, 2, 40);
        }),
    ];
    for (name, publisher) in publishers {
        tells_nothing(name, &lookups, |lookup, seen| {
            look(make, publisher, seen, |table| table.get_all(&[*lookup]))
        });
    }
}

#[test]
fn keys_are_alike_also_where_they_are_none() {
    let make = || {
        let server = server_of("clear/1", ROWS, WIDTH);
        server.with(|world| keyed(world, 2, 40));
        vec![server]
    };
    let long = "a-long-name.".repeat(4) + "example";
    let lookups = [
        Lookup::Key("one.example"),
        Lookup::Key("other.example"),
        Lookup::Key(&long),
        Lookup::Key("no domain at all"),
        Lookup::Key(""),
        Lookup::Row(3),
        Lookup::Bit(3),
    ];
    let publishers: [Publisher; 4] = [
        ("a table that stays", |_| ()),
        ("another epoch", |world| world.update(&[])),
        ("more rows to a key, and longer keys", |world| {
            world.update(&[]);
            keyed(world, 3, 80);
        }),
        ("no keys any more", |world| {
            world.update(&[]);
            world.catalog.kind = TableKind::Index;
            world.catalog.layers.clear();
        }),
    ];
    for (name, publisher) in publishers {
        tells_nothing(name, &lookups, |lookup, seen| {
            let granted =
                look(make, publisher, seen, |table| table.get_all(&[*lookup, Lookup::Key("two.example")]));
            // The rows of the last publisher belong to no key.
            granted.or_else(|error| match (name, error.code()) {
                ("no keys any more", "no-such-row") if *lookup == lookups[0] => {
                    Ok(Vec::<LookupResult>::new())
                }
                _ => Err(error),
            })
        });
    }
}

/// Rows of so many lookups each that two rows do not fit one request.
fn wide(scheme: &'static str) -> impl Fn() -> Vec<Server> {
    move || vec![server_of(scheme, 12, 33 << 10)]
}

#[test]
fn a_key_whose_rows_do_not_fit_one_request_is_asked_in_several() {
    let make = || {
        let servers = wide("clear/1")();
        servers[0].with(|world| keyed(world, 2, 40));
        servers
    };
    let publishers: [Publisher; 3] = [
        ("a table that stays", |_| ()),
        ("another epoch", |world| world.update(&[])),
        ("three rows to a key", |world| {
            world.update(&[]);
            keyed(world, 3, 40);
        }),
    ];
    let lookups =
        [Lookup::Key("one.example"), Lookup::Key("other.example"), Lookup::Key("no domain"), Lookup::Row(3)];
    for (name, publisher) in publishers {
        tells_nothing(name, &lookups, |lookup, seen| {
            look(make, publisher, seen, |table| table.get_all(&[*lookup, Lookup::Key("two.example")]))
        });
    }
}

#[test]
fn the_rows_of_a_key_are_of_one_epoch_whenever_the_next_one_comes() {
    let [server] = &wide("clear/1")()[..] else { panic!("one server") };
    server.with(|world| keyed(world, 2, 40));
    let (world, mut queries) = (server.clone(), 0);
    let transport = InProcessTransport::new(move |request: &Request| {
        queries += usize::from(request.path.ends_with("/ask"));
        if queries == 2 {
            queries += 1;
            world.with(|world| world.update(&[]));
        }
        world.with(|world| world.call(request))
    });
    let mut table = Table::over(transport, NAME).resolve(resolve).open().unwrap();
    table.find("one.example").unwrap();
    let queries = server.received().into_iter().filter(|request| request.path.ends_with("/ask"));
    let epochs: Vec<u64> = queries.map(|ask| QueryHead::parse(&ask.body).unwrap().pin.epoch.0).collect();
    assert_eq!(epochs, [1, 1, 2, 2], "the second is refused, and both are asked anew");
}

#[test]
fn more_wishes_than_a_request_holds_make_several_none_of_which_is_left_out() {
    // Rows past the end, in the first, in the middle and in the last of four requests, and nowhere.
    let past_end = [[0; 4], [9, 0, 0, 0], [0, 9, 0, 0], [0, 0, 0, 9], [9, 9, 9, 9]];
    for scheme in ["clear/1", "clear-keyed/1"] {
        tells_nothing(scheme, &past_end, |past_end, seen| {
            let rows = past_end.map(|past_end| 3 + past_end);
            look(
                wide(scheme),
                |_| (),
                seen,
                |table| {
                    let got = table.get_many(&rows);
                    let last = table.last_lookup().unwrap();
                    assert_eq!((last.requests, last.rows), (4, 4), "{scheme}");
                    got
                },
            )
        });
    }
    // Answers that cannot be read stop nothing and cause no further request, so that a server which
    // damages one does not learn whether it was read.
    tells_nothing("an answer that is spoilt", &[4, 0, 1, 2, 3], |spoilt, seen| {
        let servers = wide("clear/1")();
        let mut table = servers[0].table().open().unwrap();
        let (spoilt, mut queries) = (*spoilt, 0);
        servers[0].received();
        servers[0].tamper_asks(move |body| {
            if queries == spoilt {
                let last = body.len() - 1;
                body[last] ^= 1;
            }
            queries += 1;
        });
        let outcome = table.get_many(&[1, 2, 3, 4]);
        for request in servers[0].received() {
            seen.note("server", name(&request), request.body.len());
        }
        outcome
    });
}

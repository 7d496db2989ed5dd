//! Tables with a hint server: it receives hint requests and never a query, and the query server
//! receives queries and never a hint request.
use crate::common::{NAME, Server, resolve, server_of, value};
use sotto_client::transport::{Response, Transport, TransportError};
use sotto_client::{ClientError, Table};
use sotto_wire::{Problem, ProblemCode, hints};

fn server(role: u8) -> Server {
    let server = server_of("clear-helped/1", 100, 32);
    server.with(|world| world.role = role);
    server
}

fn pair() -> [Server; 2] {
    [0, 1].map(server)
}

fn open(servers: &[Server; 2]) -> Result<Table, ClientError> {
    let transports = servers.each_ref().map(|server| Box::new(server.transport()) as Box<dyn Transport>);
    Table::over_all(transports.into(), NAME).resolve(resolve).state_in_memory().open()
}

/// The requests to each server other than for the catalog: the last part of the path, and the body.
fn received(server: &Server) -> Vec<(String, Vec<u8>)> {
    let posts = server.received().into_iter().filter(|request| !request.body.is_empty());
    posts.map(|request| (request.path.rsplit('/').next().unwrap().to_owned(), request.body)).collect()
}

fn paths(server: &Server) -> Vec<String> {
    received(server).into_iter().map(|(path, _)| path).collect()
}

#[test]
fn hints_are_ordered_when_they_run_out_and_each_server_sees_its_part() {
    let servers = pair();
    let mut table = open(&servers).unwrap();
    for row in 0..7 {
        assert_eq!(table.get(row).unwrap(), value(row, 32));
    }
    assert_eq!(paths(&servers[0]), ["ask"; 7]);
    assert_eq!(paths(&servers[1]), ["hints"; 3], "three lookups to a supply");
    assert_eq!((table.stats().hint_requests.requests, table.stats().query_requests.requests), (3, 7));
    // Several rows at once take several hints.
    assert_eq!(table.get_many(&[99, 0, 99, 5]).unwrap().len(), 4);
    assert_eq!(paths(&servers[1]), ["hints"]);
}

#[test]
fn orders_do_not_depend_on_what_is_asked() {
    let requests = |rows: [u64; 5]| {
        let servers = pair();
        let mut table = open(&servers).unwrap();
        rows.iter().for_each(|&row| drop(table.get(row).unwrap()));
        // The upper half of a hint request's number names the client, which differs each time.
        received(&servers[1])
            .into_iter()
            .map(|(path, body)| (path, body[hints::HEAD_BYTES..][..4].to_vec()))
            .collect::<Vec<_>>()
    };
    assert_eq!(requests([0, 1, 2, 3, 4]), requests([99, 99, 99, 99, 0]));
}

#[test]
fn hints_can_be_ordered_before_they_are_needed() {
    let servers = pair();
    let mut table = open(&servers).unwrap();
    assert!(table.refill_hints().unwrap());
    assert!(!table.refill_hints().unwrap(), "enough for now");
    received(&servers[1]);
    table.get(1).unwrap();
    assert!(table.refill_hints().unwrap());
    servers[1].tamper(|_, _| Err(TransportError::Lost(String::new())));
    for row in 0..5 {
        assert_eq!(table.get(row).unwrap(), value(row, 32), "the helper is not needed meanwhile");
    }
    let error = table.get(5).unwrap_err();
    assert_eq!(error.code(), "connection-lost");
    assert!(error.to_string().starts_with("server 1: "), "{error}");
}

#[test]
fn an_order_that_was_lost_is_sent_again_bit_for_bit() {
    let servers = pair();
    let mut table = open(&servers).unwrap();
    servers[1].tamper(|_, _| Err(TransportError::Lost(String::new())));
    table.get(1).unwrap_err();
    assert_eq!(paths(&servers[0]), [""; 0], "nothing is asked without a hint");
    servers[1].with(|world| world.tamper = None);
    table.get(1).unwrap();
    let [(_, first), (_, again)] = &received(&servers[1])[..] else { panic!("two orders") };
    assert_eq!(first, again);
}

#[test]
fn a_supply_that_is_none_is_refused_and_costs_no_hint() {
    let servers = pair();
    let mut table = open(&servers).unwrap();
    let request = |table: &mut Table| table.refill_hints().unwrap_err();
    for at in 0..48 {
        servers[1].tamper(move |_, mut response| {
            response.body[at] ^= 1;
            Ok(response)
        });
        assert_eq!(request(&mut table).code(), "bad-answer", "byte {at}");
    }
    servers[1].tamper(|_, mut response| {
        response.body.pop();
        Ok(response)
    });
    assert_eq!(request(&mut table).code(), "bad-answer");
    // A well-formed response to another request, which the scheme has to refuse.
    servers[1].tamper(|_, mut response| {
        response.body[48] ^= 1;
        Ok(response)
    });
    assert_eq!(request(&mut table).code(), "peer-misbehaved");
    let busy = Problem::new(ProblemCode::Busy, "later").to_bytes();
    servers[1].tamper(move |_, _| Ok(Response::new(429, busy.clone())));
    assert_eq!(request(&mut table).code(), "busy");
    servers[1].with(|world| world.tamper = None);
    assert_eq!(table.get(7).unwrap(), value(7, 32));
}

/// The client that made a hint request.
fn client(request: &[u8]) -> [u8; 4] {
    *request[hints::HEAD_BYTES + 4..].first_chunk().unwrap()
}

#[test]
fn other_servers_or_another_order_of_them_is_another_client() {
    let servers = [0, 1, 1].map(server);
    let [first, helper, other] = servers.each_ref().map(Server::http);
    let dir = tempfile::tempdir().unwrap();
    let get = |urls: [&str; 2], row| {
        let table = Table::connect_all(&urls, NAME).resolve(resolve);
        table.state_dir(dir.path().join("states")).rollback_dir(dir.path().join("rollback")).open()?.get(row)
    };
    assert_eq!(get([&first, &helper], 1).unwrap(), value(1, 32));
    assert_eq!(get([&first, &other], 2).unwrap(), value(2, 32));
    // Neither server learns what the other knows of a client's hints.
    let bodies = [1, 2].map(|i: usize| received(&servers[i]));
    let [[(_, one)], [(_, two)]] = bodies.each_ref().map(Vec::as_slice) else { panic!("{bodies:?}") };
    assert_ne!(client(one), client(two));
    assert_eq!(get([&helper, &first], 3).unwrap_err().code(), "wrong-server");
    let [(_, swapped)] = &received(&servers[0])[2..] else { panic!("the third is an order") };
    assert!(client(swapped) != client(one) && client(swapped) != client(two));
    assert_eq!(get([&first, &helper], 4).unwrap(), value(4, 32));
    assert!(paths(&servers[1]).is_empty(), "the first state is as it was");
    assert_eq!(std::fs::read_dir(dir.path().join("states")).unwrap().count(), 3);
}

/// A table with a real hint server.
fn real(scheme: &str, rows: u64, row_bytes: u64) -> Table {
    let servers = [0, 1].map(|role| {
        let server = server_of(scheme, rows, row_bytes);
        server.with(|world| world.role = role);
        server
    });
    open(&servers).unwrap()
}

#[test]
fn a_full_ask_is_answered_however_few_hints_a_supply_has() {
    for (rows, row_bytes) in [(3, 5), (40, 5), (1000, 5), (20, 40_000)] {
        let mut table = real("s3pir-two/1", rows, row_bytes as u64);
        let most = table.session().max_rows() as u64;
        let expected: Vec<u64> = (0..most).map(|i| i % rows).collect();
        for _ in 0..3 {
            assert_eq!(
                table.get_many(&expected).unwrap()[1],
                value(1, row_bytes),
                "{rows} rows, {most} at once"
            );
        }
    }
}

#[test]
fn a_key_that_is_used_up_is_renewed_without_an_error() {
    let mut table = real("s3pir-two/1", 3, 5);
    let key = table.report().costs.budget;
    for i in 0..2 * key + 3 {
        assert_eq!(table.get(i % 3).unwrap(), value(i % 3, 5), "lookup {i} of keys for {key}");
    }
}

#[test]
fn a_row_is_in_one_record_where_clients_keep_hints() {
    let servers = pair();
    for server in &servers {
        server.with(|world| (world.catalog.rows, world.catalog.row_bytes) = (50, 64));
    }
    assert_eq!(open(&servers).unwrap_err().code(), "catalog-disagrees");
}

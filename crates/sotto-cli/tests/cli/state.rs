//! Durable state of clients: the budget from call to call, and copies that are detected; and tables of
//! two servers: processes that are killed on either side, and epochs that come to one server first.

use crate::harness::{Folder, Outcome, Served, program, sotto, wait};
use crate::relay::Relay;
use serde_json::Value;
use sotto_wire::{hints, query};
use std::collections::HashSet;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        match entry.file_type().unwrap().is_dir() {
            true => copy(&entry.path(), &to.join(entry.file_name())),
            false => drop(std::fs::copy(entry.path(), to.join(entry.file_name())).unwrap()),
        }
    }
}

/// Encodes a table of `rows` rows, whose clients have durable state.
fn encode(folder: &Folder, scheme: &str, rows: u32) -> String {
    let rows: Vec<u8> = (0..rows).flat_map(|row| row.wrapping_mul(2_654_435_761).to_le_bytes()).collect();
    let source = folder.write("rows.bin", &rows);
    folder.encode("table", &source, &format!("--row-bytes 4 --scheme {scheme}"))
}

fn served(folder: &Folder, rows: u32) -> Served {
    Served::start(&[&encode(folder, "s3pir", rows)])
}

fn right(row: u32) -> String {
    row.wrapping_mul(2_654_435_761).to_le_bytes().map(|byte| format!("{byte:02x}")).concat()
}

fn value(got: &Value) -> &str {
    got["answers"][0]["hex"].as_str().unwrap()
}

#[test]
fn hints_last_from_call_to_call_and_a_copy_of_them_is_not_used() {
    let folder = Folder::new();
    let server = served(&folder, 2000);
    let (cache, rollback) = (folder.text("cache"), folder.text("rollback"));
    let get = |state: &str, row: &str| {
        let table = ["get", "--server", &server.url, "--table", "table", "--row", row, "--cache", &cache];
        sotto(&[&table[..], &["--state", state, "--rollback-dir", &rollback, "--json"]].concat())
    };

    let state = folder.text("state");
    let first = get(&state, "17").json();
    assert_eq!(value(&first), right(17));
    assert!(first["once"]["artifact_bytes"].as_u64().unwrap() >= 8000, "{first}");
    let second = get(&state, "1999").json();
    assert_eq!(value(&second), right(1999));
    assert_eq!(second["once"]["artifact_bytes"], 0, "{second}");
    assert_eq!(second["budget"].as_u64().unwrap() + 1, first["budget"].as_u64().unwrap());
    assert!(second["events"].as_array().unwrap().is_empty(), "{second}");

    let shown = sotto(&["inspect", "--state", &state, "--json"]).json();
    let shown = &shown["states"][0];
    assert_eq!(shown["budget"], second["budget"]);
    assert_eq!((shown["table"].as_str(), shown["scheme"].as_str()), (Some("table"), Some("s3pir/1")));
    assert_eq!((shown["epoch"].as_u64(), shown["unsettled"].as_u64()), (Some(1), Some(0)));

    let cloned = folder.text("cloned");
    copy(&folder.at("state"), &folder.at("cloned"));
    let third = get(&cloned, "5").json();
    assert_eq!(value(&third), right(5));
    assert_eq!(third["budget"], first["budget"], "its hints are new: {third}");
    let said = third["events"][0].as_str().unwrap();
    assert!(said.contains("was discarded") && said.contains("cloned"), "{said}");
    let fourth = get(&state, "6").json();
    assert_eq!(fourth["budget"].as_u64().unwrap() + 1, second["budget"].as_u64().unwrap(), "{fourth}");
}

#[test]
fn a_scheme_that_needs_a_state_says_so() {
    let folder = Folder::new();
    let server = served(&folder, 1000);
    let table = ["get", "--server", &server.url, "--table", "table", "--row", "1", "--no-cache"];
    sotto(&table).fails(2, &["state", "--state DIR"]);
    let state = folder.text("state");
    sotto(&[&table[..], &["--state", &state]].concat()).fails(2, &["--rollback-dir DIR"]);
}

#[test]
fn hints_are_made_before_they_are_needed() {
    let folder = Folder::new();
    let server = served(&folder, 400);
    let (state, rollback) = (folder.text("state"), folder.text("rollback"));
    let call = |verb: &str, more: &[&str]| {
        let table = [verb, "--server", &server.url, "--table", "table", "--no-cache"];
        sotto(&[&table[..], &["--state", &state, "--rollback-dir", &rollback, "--json"], more].concat())
    };
    let first = call("prepare", &[]).json();
    let whole = first["budget"].as_u64().unwrap();
    assert!(first["artifact_bytes"].as_u64().unwrap() >= 1600, "{first}");
    let again = call("prepare", &[]).json();
    assert_eq!((again["artifact_bytes"].as_u64(), again["budget"].as_u64()), (Some(0), Some(whole)));
    let now = call("prepare", &["--force", "--preparation-rate", "100000000"]).json();
    assert!(now["artifact_bytes"].as_u64().unwrap() >= 1600, "{now}");
    assert!(now["events"][0].as_str().unwrap().contains("renewed"), "{now}");

    // Until fewer are left than a quarter: from there on each call makes a part of the next ones, and none waits for it.
    let (mut left, mut most) = (whole, whole);
    let many: Vec<&str> = (0..50).flat_map(|_| ["--row", "7"]).collect();
    while left >= whole / 4 && left > 50 {
        left = call("get", &many).json()["budget"].as_u64().unwrap();
    }
    for _ in 0..100 {
        let got = call("get", &["--row", "399"]).json();
        assert_eq!(got["answers"][0]["hex"].as_str().unwrap(), "dfaa7698", "{got}");
        most = got["budget"].as_u64().unwrap();
        if most > whole / 2 {
            break;
        }
    }
    assert!(most > whole / 2, "{most} of {whole} are left: the next ones never came");
}

#[test]
fn what_is_not_used_up_is_not_prepared() {
    let folder = Folder::new();
    let server = Served::start(&[&folder.words(10)]);
    let table = ["prepare", "--server", &server.url, "--table", "words", "--no-cache"];
    sotto(&table).fails(2, &["unlimited queries"]);
}

const ROWS: u32 = 2000;

struct Scene {
    folder: Folder,
    dir: String,
    servers: [Served; 2],
    relays: [Relay; 2],
}

fn events(got: &Value) -> String {
    got["events"].to_string()
}

impl Scene {
    fn new(scheme: &str) -> Self {
        let folder = Folder::new();
        let dir = encode(&folder, scheme, ROWS);
        let servers = ["0", "1"].map(|role| Served::start(&[&dir, "--role", role]));
        let relays = servers.each_ref().map(|server| Relay::to(&server.url));
        Scene { folder, dir, servers, relays }
    }

    fn args(&self, row: u32) -> Vec<String> {
        let mut args = vec!["get", "--table", "table", "--json"];
        self.relays.iter().for_each(|relay| args.extend(["--server", &relay.url]));
        let mut args: Vec<String> = args.into_iter().map(str::to_owned).collect();
        for (name, folder) in [("--cache", "cache"), ("--state", "state"), ("--rollback-dir", "rollback")] {
            args.extend([name.to_owned(), self.folder.text(folder)]);
        }
        args.extend(["--row".to_owned(), row.to_string()]);
        args
    }

    fn get(&self, row: u32) -> Outcome {
        sotto(&self.args(row))
    }

    /// A client process that runs in the background.
    fn spawn(&self, row: u32) -> Child {
        let mut command = Command::new(program());
        command.args(self.args(row)).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
    }

    /// Kills a client while its next request to a server is in flight, and lets the request arrive or not.
    fn kill_at(&self, server: usize, row: u32, arrives: bool) {
        let mut client = None;
        let go_on = self.relays[server].hold(|| client = Some(self.spawn(row)));
        let mut client = client.unwrap();
        client.kill().unwrap();
        wait(&mut client);
        match arrives {
            true => go_on.send(()).unwrap(),
            false => drop(go_on),
        }
    }

    /// The query requests to a server, without the heads of their frames, which name an epoch.
    fn query_bodies(&self, server: usize) -> Vec<Vec<u8>> {
        self.relays[server].posted("/ask", query::HEAD_BYTES)
    }

    fn orders(&self) -> Vec<Vec<u8>> {
        self.relays[1].posted("/hints", hints::HEAD_BYTES)
    }
}

/// Whether requests that arrived more than once arrived consecutively: a retry with the same bytes.
fn repeats_are_together(mut sent: Vec<Vec<u8>>) -> bool {
    sent.dedup();
    let distinct: HashSet<&Vec<u8>> = sent.iter().collect();
    distinct.len() == sent.len()
}

#[test]
fn a_client_of_two_servers_is_killed_and_moves_on() {
    let mut scene = Scene::new("s3pir-two");
    // While it orders its first hints.
    scene.kill_at(1, 3, true);
    let first = scene.get(17).json();
    assert_eq!(value(&first), right(17));
    let orders = scene.orders();
    assert!(orders.len() > 1 && orders[0] == orders[1], "the same order again");
    // During a query, before and after its request was answered.
    for arrives in [false, true] {
        let before = scene.query_bodies(0).len();
        scene.kill_at(0, 5, arrives);
        let next = scene.get(6).json();
        assert_eq!(value(&next), right(6));
        assert!(events(&next).contains("again"), "{next}");
        let query_bodies = scene.query_bodies(0);
        assert_eq!(query_bodies.len(), before + 3);
        assert!(
            query_bodies[before] == query_bodies[before + 1]
                && query_bodies[before] != query_bodies[before + 2]
        );
    }
    // The server that answers, in the middle of an ask; and then the one that makes hints.
    let mut client = None;
    let go_on = scene.relays[0].hold(|| client = Some(scene.spawn(7)));
    scene.servers[0].child.kill().unwrap();
    wait(&mut scene.servers[0].child);
    drop(go_on);
    assert_eq!(wait(&mut client.unwrap()).code(), Some(5));
    scene.servers[1].child.kill().unwrap();
    wait(&mut scene.servers[1].child);
    for (role, server) in ["0", "1"].into_iter().zip(&mut scene.servers) {
        *server = Served::start(&[&scene.dir, "--role", role]);
    }
    scene.relays.iter().zip(&scene.servers).for_each(|(relay, server)| relay.lead_to(&server.url));
    assert_eq!(value(&scene.get(1999).json()), right(1999));
    // Whenever.
    for i in 0..12 {
        let mut client = scene.spawn(100 + i);
        std::thread::sleep(Duration::from_millis(u64::from(i) * 6));
        client.kill().unwrap();
        wait(&mut client);
    }
    let last = scene.get(8).json();
    assert_eq!(value(&last), right(8));
    assert!(!events(&last).contains("was discarded"), "{last}");

    // The next epoch comes to one server first.
    let changes = scene.folder.write("changes.csv", "8,0badf00d\n");
    assert_eq!(sotto(&["update", &scene.dir, &changes]).code, 0);
    scene.servers[0].reload();
    assert_eq!(value(&scene.get(8).json()), right(8), "where both are");
    scene.servers[1].reload();
    let moved = scene.get(8).json();
    assert_eq!(value(&moved), "0badf00d");
    assert!(events(&moved).contains("from epoch 1 to 2"), "{moved}");
    assert_eq!(moved["once"]["hint_bytes"], 0, "hints were taken along: {moved}");
    assert_eq!(value(&scene.get(17).json()), right(17));

    assert!(repeats_are_together(scene.orders()), "an order was repeated after another one");
    assert!(repeats_are_together(scene.query_bodies(0)) && repeats_are_together(scene.query_bodies(1)));
    assert!(scene.relays[0].posted("/hints", 0).is_empty(), "who answers saw an order");
    assert!(scene.query_bodies(1).is_empty(), "the helper saw a query");
    // The offsets in a request are those of its hint: no two requests have the same ones.
    let mut query_bodies = scene.query_bodies(0);
    query_bodies.dedup();
    let shown = sotto(&["inspect", &scene.dir, "--json"]).json();
    let partitions = shown["catalog"]["params"]["partitions"].as_u64().unwrap() as usize;
    let offsets: HashSet<&[u8]> = query_bodies.iter().map(|body| &body[partitions.div_ceil(8)..]).collect();
    assert!(
        offsets.len() == query_bodies.len() && query_bodies.len() > 8,
        "{} of {}",
        offsets.len(),
        query_bodies.len()
    );

    // The state belongs to these two servers, in this order.
    let state = scene.folder.text("state");
    let states =
        || sotto(&["inspect", "--state", &state, "--json"]).json()["states"].as_array().unwrap().len();
    assert_eq!(states(), 1);
    let mut args = scene.args(1);
    args.swap(5, 7);
    args.retain(|arg| arg != "--json");
    sotto(&args).fails(6, &["order of the servers' roles"]);
    assert_eq!(value(&scene.get(9).json()), right(9));
    assert_eq!(states(), 2);
}

//! Clients that make lookups, each with a table of its own; every answer is compared with the content
//! of the row. And clients that break off: in the middle of a head, of a body, of an answer, or in
//! silence; and clients that send requests over HTTP/2 and let no answer arrive.
//!
//! Those use sockets of their own, since no real client would break off in these ways. The test looks
//! for what they leave behind at the server.

use crate::failure::Result;
use crate::lab::bench::load as local_server;
use crate::lab::bench::soak::mixed;
use crate::lab::bench::soak::report::SoakContext;
use sotto_client::transport::Request;
use sotto_client::{ClientError, Table};
use sotto_wire::frame::FRAME_HEADER_BYTES;
use sotto_wire::routes;
use std::collections::VecDeque;
use std::io::{Read, Write};
use std::net::{Shutdown, TcpStream};
use std::time::{Duration, Instant};

/// Maximum time that a client waits for a busy server.
const MAX_WAIT: Duration = Duration::from_secs(20);

/// Number of lookups after which a client checks for a new epoch by itself; every other client
/// never does, and is notified by the server.
const REFRESH: u64 = 40;

/// Number of tables that a newcomer keeps open before it returns to the oldest, and closes it.
const OPEN_TABLES: usize = 3;

fn open(context: &SoakContext<'_>) -> Option<Table> {
    let opened =
        Table::connect(&context.url, context.table.as_str()).max_wait(MAX_WAIT).state_in_memory().open();
    match opened {
        Ok(table) => {
            context.results().opened += 1;
            Some(table)
        }
        Err(error) => {
            context.failed("opening", &error);
            std::thread::sleep(Duration::from_millis(100));
            None
        }
    }
}

/// Looks up one row. Returns whether it was answered; if not, the client starts over.
fn look_up(context: &SoakContext<'_>, table: &mut Table, number: u64) -> bool {
    let row = mixed(number) % context.rows.rows.max(1);
    let (before, began) = (table.catalog().epoch, Instant::now());
    match table.get(row) {
        Ok(value) => {
            let ms = began.elapsed().as_secs_f64() * 1e3;
            let epoch = table.last_lookup().map_or(table.catalog().epoch, |lookup| lookup.epoch);
            context.check(row, epoch.0, &value);
            let mut results = context.results();
            results.ms.push(ms as f32);
            results.moved += u64::from(epoch != before);
            true
        }
        Err(error) => {
            context.failed("a lookup", &error);
            false
        }
    }
}

/// Fetches the catalog, and moves on if it has changed.
fn refresh(context: &SoakContext<'_>, table: &mut Table) -> Result<(), ClientError> {
    let is_other = table.refresh()?;
    context.results().moved += u64::from(is_other);
    Ok(())
}

/// Looks up a row each `every`, and keeps its table open for as long as that succeeds.
pub(crate) fn steady(context: &SoakContext<'_>, client: u64, every: Duration) {
    let (mut table, mut lookups, mut due) = (None, 0_u64, Instant::now());
    while !context.is_over() {
        // A late client does not catch up, so that the load stays the same.
        std::thread::sleep(due.saturating_duration_since(Instant::now()));
        due = Instant::now().max(due) + every;
        let Some(open) = table.as_mut() else {
            table = open(context);
            continue;
        };
        lookups += 1;
        let is_answered = look_up(context, open, lookups ^ (client << 40));
        let is_refresh_due = client.is_multiple_of(2) && lookups.is_multiple_of(REFRESH);
        let is_usable = is_answered
            && (!is_refresh_due
                || refresh(context, open).map_err(|e| context.failed("following an update", &e)).is_ok());
        if !is_usable {
            table = None;
        }
    }
}

/// Opens a table, with keys if there are any, makes a lookup, pauses, makes another, and leaves.
pub(crate) fn newcomers(context: &SoakContext<'_>, pause: Duration) {
    let (mut tables, mut number) = (VecDeque::new(), 1_u64 << 60);
    while !context.is_over() {
        if let Some(mut table) = open(context) {
            number += 1;
            if look_up(context, &mut table, number) {
                tables.push_back(table);
            }
        }
        if tables.len() > OPEN_TABLES
            && let Some(mut oldest) = tables.pop_front()
        {
            number += 1;
            look_up(context, &mut oldest, number);
        }
        std::thread::sleep(pause);
    }
}

/// Timeout, longer than the server's for a body, and for a client that reads nothing.
const TIMEOUT: Duration = Duration::from_secs(12);

/// Number of uses of a request, which belongs to a session and an epoch, before it is made again.
const RENEWAL: u64 = 30;

/// Number of requests of a client that reads none of their answers.
const UNREAD: u32 = 8;

/// One client in this many stays silent until the server closes the connection, which takes
/// seconds.
const SILENT: u64 = 12;

/// Points at which clients break off.
const BREAK_POINTS: [BreakPoint; 6] = [
    BreakPoint { name: "in a request header", run: in_a_head },
    BreakPoint { name: "in a query request", run: in_a_query },
    BreakPoint { name: "in a registration", run: in_keys },
    BreakPoint { name: "before an answer", run: before_an_answer },
    BreakPoint { name: "in an answer", run: in_an_answer },
    BreakPoint { name: "in a file", run: in_a_file },
];

/// Number of points, with the two that take seconds.
pub(super) const POINTS: usize = BREAK_POINTS.len() + 2;

struct BreakPoint {
    name: &'static str,
    run: fn(&BreakTarget) -> std::io::Result<()>,
}

/// A valid request, and what else is needed to break off.
struct BreakTarget {
    address: String,
    query: Request,
    keys: String,
    keys_bytes: usize,
    file: String,
}

/// Breaks off again and again, with a pause in between.
pub(crate) fn break_off(context: &SoakContext<'_>, pause: Duration) {
    let mut target = None;
    for attempt in 0_u64.. {
        if context.is_over() {
            return;
        }
        if attempt.is_multiple_of(RENEWAL) {
            target = BreakTarget::new(context).or(target);
        }
        std::thread::sleep(pause);
        let Some(target) = &target else { continue };
        let point = BREAK_POINTS.iter().cycle().nth((attempt % BREAK_POINTS.len() as u64) as usize);
        let Some(point) = point else { return };
        let (name, result) = match attempt % SILENT {
            last if last == SILENT - 1 => ("while idle", in_silence(target)),
            last if last == SILENT / 2 => ("behind a closed window", behind_a_closed_window(target)),
            _ => (point.name, (point.run)(target)),
        };
        // A server that breaks the connection first has the same to clean up.
        let _ = result;
        *context.results().aborted.entry(name).or_default() += 1;
    }
}

impl BreakTarget {
    fn new(context: &SoakContext<'_>) -> Option<Self> {
        let mut session = local_server::open(&[&context.url], context.table).ok()?;
        let mut rng = sotto_prg::system_rng().ok()?;
        let query = session.query(&[0], &mut rng).ok()?.requests().first().cloned()?;
        let largest = session.catalog().artifacts.iter().max_by_key(|artifact| artifact.bytes);
        let table = context.table.as_str();
        Some(BreakTarget {
            address: context.url.strip_prefix("http://")?.to_owned(),
            query,
            keys: routes::keys(table),
            keys_bytes: usize::try_from(session.report().costs.keys_bytes).ok()?,
            file: largest.map_or_else(
                || routes::table(table, None),
                |largest| routes::artifact(&largest.digest.to_string()),
            ),
        })
    }

    fn connect(&self) -> std::io::Result<TcpStream> {
        let stream = TcpStream::connect(&self.address)?;
        stream.set_read_timeout(Some(TIMEOUT))?;
        stream.set_write_timeout(Some(TIMEOUT))?;
        Ok(stream)
    }

    /// Sends `bytes` as the length of a body, and the first part of it.
    fn post(&self, path: &str, bytes: usize, body: &[u8]) -> std::io::Result<TcpStream> {
        let mut stream = self.connect()?;
        write!(
            stream,
            "POST {path} HTTP/1.1\r\nhost: x\r\ncontent-type: {}\r\ncontent-length: {bytes}\r\n\r\n",
            routes::OCTETS
        )?;
        stream.write_all(body)?;
        Ok(stream)
    }

    fn half(&self) -> &[u8] {
        self.query.body.get(..self.query.body.len() / 2).unwrap_or_default()
    }

    fn whole(&self) -> std::io::Result<TcpStream> {
        self.post(&self.query.path, self.query.body.len(), &self.query.body)
    }
}

fn in_a_head(target: &BreakTarget) -> std::io::Result<()> {
    target.connect()?.write_all(format!("POST {} HTTP/1.1\r\nhost: ", target.query.path).as_bytes())
}

fn in_a_query(target: &BreakTarget) -> std::io::Result<()> {
    target.post(&target.query.path, target.query.body.len(), target.half()).map(drop)
}

/// Breaks off in a registration: the frame's head is valid, and the rest never arrives completely.
fn in_keys(target: &BreakTarget) -> std::io::Result<()> {
    let head = target.query.body.get(..FRAME_HEADER_BYTES).unwrap_or_default();
    let half = [head, vec![0; target.keys_bytes / 2].as_slice()].concat();
    target.post(&target.keys, FRAME_HEADER_BYTES + target.keys_bytes, &half).map(drop)
}

fn before_an_answer(target: &BreakTarget) -> std::io::Result<()> {
    target.whole()?.shutdown(Shutdown::Both)
}

/// Breaks off in an answer: the system reports unread bytes of a closed socket as a reset.
fn in_an_answer(target: &BreakTarget) -> std::io::Result<()> {
    target.whole()?.read_exact(&mut [0; 16])
}

fn in_a_file(target: &BreakTarget) -> std::io::Result<()> {
    let mut stream = target.connect()?;
    write!(stream, "GET {} HTTP/1.1\r\nhost: x\r\n\r\n", target.file)?;
    stream.read_exact(&mut [0; 200])
}

/// Sends half of a body, and then nothing, until the server closes the connection.
fn in_silence(target: &BreakTarget) -> std::io::Result<()> {
    let mut stream = target.post(&target.query.path, target.query.body.len(), target.half())?;
    stream.read_to_end(&mut Vec::new()).map(drop)
}

/// Sends requests over HTTP/2 with a receive window of 0, so that no byte of an answer can be sent,
/// and waits until the server closes the connection.
fn behind_a_closed_window(target: &BreakTarget) -> std::io::Result<()> {
    let mut stream = target.connect()?;
    stream.write_all(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")?;
    // SETTINGS_INITIAL_WINDOW_SIZE is 0 (RFC 9113, section 6.5.2).
    stream.write_all(&http2_frame(4, 0, 0, &[0, 4, 0, 0, 0, 0]))?;
    let head = http2_head(&target.query.path, target.query.body.len());
    for number in 0..UNREAD {
        let id = 2 * number + 1;
        // END_HEADERS, and END_STREAM with the last of the body.
        stream.write_all(&http2_frame(1, 4, id, &head))?;
        let mut left = target.query.body.chunks(HTTP2_FRAME).peekable();
        while let Some(part) = left.next() {
            stream.write_all(&http2_frame(0, u8::from(left.peek().is_none()), id, part))?;
        }
    }
    stream.read_to_end(&mut Vec::new()).map(drop)
}

/// Maximum length of an HTTP/2 frame before settings change it.
const HTTP2_FRAME: usize = 16_384;

/// A frame of HTTP/2 (RFC 9113, section 4.1).
fn http2_frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let length = u32::try_from(payload.len()).unwrap_or(u32::MAX).to_be_bytes();
    let [_, length @ ..] = length;
    [&length[..], &[kind, flags], &stream.to_be_bytes(), payload].concat()
}

/// The header fields of a request: from HPACK's static table, and literals that are not added to it
/// (RFC 7541, appendix A and section 6.2.2).
fn http2_head(path: &str, bytes: usize) -> Vec<u8> {
    const POST: u8 = 0x83;
    const HTTP: u8 = 0x86;
    const AUTHORITY: &[u8] = &[1];
    const PATH: &[u8] = &[4];
    const CONTENT_LENGTH: &[u8] = &[0x0f, 13];
    const CONTENT_TYPE: &[u8] = &[0x0f, 16];
    let bytes = bytes.to_string();
    let fields = [(PATH, path), (AUTHORITY, "x"), (CONTENT_LENGTH, &bytes), (CONTENT_TYPE, routes::OCTETS)];
    let mut head = vec![POST, HTTP];
    for (name, value) in fields {
        head.extend_from_slice(name);
        // A length of 127 and more continues in the next bytes, seven bits each.
        let mut left = value.len();
        if left < 127 {
            head.push(left as u8);
        } else {
            head.push(127);
            left -= 127;
            while left >= 128 {
                head.push((left % 128) as u8 | 128);
                left /= 128;
            }
            head.push(left as u8);
        }
        head.extend_from_slice(value.as_bytes());
    }
    head
}

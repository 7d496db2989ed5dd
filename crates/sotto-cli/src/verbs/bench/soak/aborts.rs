//! Clients that break off: in the middle of a head, of a body, of an answer, or in silence.
//!
//! They speak over sockets of their own, since no client of ours would. What they leave behind at the server is what is
//! looked for.

use super::super::served;
use super::book::World;
use sotto_client::transport::Request;
use sotto_wire::pin::PIN_BYTES;
use sotto_wire::routes;
use std::io::{Read, Write};
use std::net::{Shutdown, TcpStream};
use std::time::Duration;

/// Longer than the server waits for a body, and for a client that reads nothing.
const PATIENCE: Duration = Duration::from_secs(12);

/// A request is of a session, and of an epoch: it is made anew after so many.
const MADE_ANEW: u64 = 30;

/// How long a client that means to be silent says nothing is the server's to end. It takes seconds: one in so many does it.
const SILENT: u64 = 12;

/// Where each broke off.
const PLACES: [Place; 6] = [
    Place { name: "in a head", run: in_a_head },
    Place { name: "in an ask", run: in_an_ask },
    Place { name: "in keys", run: in_keys },
    Place { name: "before an answer", run: before_an_answer },
    Place { name: "in an answer", run: in_an_answer },
    Place { name: "in a file", run: in_a_file },
];

struct Place {
    name: &'static str,
    run: fn(&Victim) -> std::io::Result<()>,
}

/// A request that would be answered, and what else is needed to break off.
struct Victim {
    address: String,
    ask: Request,
    keys: String,
    keys_bytes: usize,
    file: String,
}

/// Breaks off, again and again, with a pause between.
pub(super) fn run(world: &World<'_>, pause: Duration) {
    let mut victim = None;
    for turn in 0_u64.. {
        if world.is_over() {
            return;
        }
        if turn.is_multiple_of(MADE_ANEW) {
            victim = Victim::new(world).or(victim);
        }
        std::thread::sleep(pause);
        let Some(victim) = &victim else { continue };
        let place = PLACES.iter().cycle().nth((turn % PLACES.len() as u64) as usize);
        let Some(place) = place else { return };
        let (name, broke) = match turn % SILENT {
            last if last == SILENT - 1 => ("in silence", in_silence(victim)),
            _ => (place.name, (place.run)(victim)),
        };
        // A server that cuts a connection first has the same to clean up.
        let _ = broke;
        *world.book().aborted.entry(name).or_default() += 1;
    }
}

impl Victim {
    fn new(world: &World<'_>) -> Option<Self> {
        let mut session = served::open(&[&world.url], world.table).ok()?;
        let mut rng = sotto_prg::system_rng().ok()?;
        let ask = session.ask(&[0], &mut rng).ok()?.requests().first().cloned()?;
        let largest = session.catalog().artifacts.iter().max_by_key(|artifact| artifact.bytes);
        let table = world.table.as_str();
        Some(Victim {
            address: world.url.strip_prefix("http://")?.to_owned(),
            ask,
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
        stream.set_read_timeout(Some(PATIENCE))?;
        stream.set_write_timeout(Some(PATIENCE))?;
        Ok(stream)
    }

    /// Sends so many bytes of a body of so many.
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
        self.ask.body.get(..self.ask.body.len() / 2).unwrap_or_default()
    }

    fn whole(&self) -> std::io::Result<TcpStream> {
        self.post(&self.ask.path, self.ask.body.len(), &self.ask.body)
    }
}

fn in_a_head(victim: &Victim) -> std::io::Result<()> {
    victim.connect()?.write_all(format!("POST {} HTTP/1.1\r\nhost: ", victim.ask.path).as_bytes())
}

fn in_an_ask(victim: &Victim) -> std::io::Result<()> {
    victim.post(&victim.ask.path, victim.ask.body.len(), victim.half()).map(drop)
}

/// The frame's head is right, and what follows is not looked at: it never comes to its end.
fn in_keys(victim: &Victim) -> std::io::Result<()> {
    let head = victim.ask.body.get(..PIN_BYTES).unwrap_or_default();
    let half = [head, vec![0; victim.keys_bytes / 2].as_slice()].concat();
    victim.post(&victim.keys, PIN_BYTES + victim.keys_bytes, &half).map(drop)
}

fn before_an_answer(victim: &Victim) -> std::io::Result<()> {
    victim.whole()?.shutdown(Shutdown::Both)
}

/// What is unread when a socket is closed is told to the other end as a reset.
fn in_an_answer(victim: &Victim) -> std::io::Result<()> {
    victim.whole()?.read_exact(&mut [0; 16])
}

fn in_a_file(victim: &Victim) -> std::io::Result<()> {
    let mut stream = victim.connect()?;
    write!(stream, "GET {} HTTP/1.1\r\nhost: x\r\n\r\n", victim.file)?;
    stream.read_exact(&mut [0; 200])
}

/// Half of a body, and then nothing, until the server has had enough.
fn in_silence(victim: &Victim) -> std::io::Result<()> {
    let mut stream = victim.post(&victim.ask.path, victim.ask.body.len(), victim.half())?;
    stream.read_to_end(&mut Vec::new()).map(drop)
}

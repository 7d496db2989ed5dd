//! What the thread does: from the first request to a client that is written down and of the newest epoch.

use super::super::event::Voice;
use super::super::rows::stream;
use super::super::servers::Servers;
use super::super::vetted::now;
use super::super::{Event, Progress, Stage, Traffic};
use super::notes::Notes;
use super::pace::{Clock, Signal, Why};
use crate::session::way::Way;
use crate::session::{Action, Config, Opening, Session};
use crate::state::about::{At, Snapshot};
use crate::state::checkpoint::{Ahead, Found};
use crate::transport::{Request, Response, TransportError};
use crate::{ClientError, Result};
use sotto_catalog::Hex32;
use sotto_core::{Artifact, Epoch, Error, StateEntry};
use sotto_prg::ReseedingRng;
use std::sync::Arc;
use std::time::Duration;

/// The pause after a first failure. It doubles each time, up to the longest.
const FIRST_PAUSE: Duration = Duration::from_secs(1);
const LONGEST_PAUSE: Duration = Duration::from_secs(300);
/// How often a table that has moved on is opened anew at once. Whoever says so chooses how often, so then it has to wait.
const CHANGES_AT_ONCE: u32 = 2;

/// A client that is ready to take another one's place.
pub(crate) struct Prepared {
    pub(crate) session: Session,
    /// Where it is written down; `None` for one that has its state in memory.
    pub(crate) snapshot: Option<Snapshot>,
    /// What came for it.
    pub(crate) traffic: Traffic,
}

/// What came of a preparation.
pub(crate) enum Outcome {
    Ready(Box<Prepared>),
    /// It was stopped. What it had is written down.
    Stopped,
    /// Somebody waited for it, and it cannot go on.
    Failed(ClientError),
}

/// All that a thread needs to prepare a client.
pub(crate) struct Work {
    pub(crate) config: Config,
    /// The epoch of the client there is.
    pub(crate) epoch: Epoch,
    pub(crate) servers: Servers,
    /// Where it is written down; `None` for a client whose state is in memory.
    pub(crate) ahead: Option<Ahead>,
    /// How a preparation is read back, with the parameters it takes; `None` for a client that has keys and no state.
    pub(crate) how: Option<(&'static StateEntry, Vec<u8>)>,
    /// The digest of those.
    pub(crate) params: Hex32,
    pub(crate) signal: Arc<Signal>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) rng: ReseedingRng,
    pub(crate) events: Voice<Event>,
    pub(crate) progress: Voice<Progress>,
    pub(crate) from: From,
    pub(crate) traffic: Traffic,
}

/// How far a preparation is.
pub(crate) enum From {
    /// Whatever is written down, or nothing.
    Disk,
    /// What an opening has come to.
    Half(Box<Opening>),
    /// A client that is whole, and has to be of the newest epoch yet.
    Whole(Box<Session>),
}

impl Work {
    /// Does it all. After a failure, again and again, unless somebody waits.
    pub(crate) fn run(mut self) -> Outcome {
        let mut pause = FIRST_PAUSE;
        let mut changes = 0;
        loop {
            let before = self.traffic.down;
            let error = match self.attempt() {
                Ok(Some(prepared)) => return Outcome::Ready(Box::new(prepared)),
                Ok(None) => return Outcome::Stopped,
                Err(error) => error,
            };
            if self.signal.is_stopped() {
                return Outcome::Stopped;
            }
            if self.traffic.down > before {
                pause = FIRST_PAUSE;
            }
            if is_change(&error) && changes < CHANGES_AT_ONCE {
                changes += 1;
                continue;
            }
            if self.signal.is_waited_for() {
                return Outcome::Failed(error);
            }
            self.events.tell(Event::BrokeOff(error.to_string()));
            self.clock.pause(pause, Why::Failure, &self.signal);
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
    }

    /// Goes on until the client is there, or nobody wants it, or something fails.
    fn attempt(&mut self) -> Result<Option<Prepared>> {
        loop {
            match std::mem::replace(&mut self.from, From::Disk) {
                From::Disk => self.from = From::Half(Box::new(self.begin()?)),
                From::Half(mut opening) => match self.advance(&mut opening) {
                    Ok(()) => self.from = From::Whole(Box::new(opening.finish()?)),
                    Err(changed) if is_change(&changed) => {
                        self.forget(changed.to_string())?;
                        return Err(changed);
                    }
                    Err(error) => {
                        self.from = From::Half(opening);
                        return Err(error);
                    }
                },
                From::Whole(mut session) => match self.ripen(&mut session) {
                    Ok(()) => return self.write_down(*session),
                    Err(ClientError::NoWay { from, to, why }) => {
                        self.forget(format!("the table moved from epoch {from} to {to}, and {why}"))?;
                        return Err(ClientError::EpochChanged { asked: from, newest: Some(to) });
                    }
                    // What changed cannot be read, and perhaps the client is not what it was any more.
                    Err(error @ (ClientError::Core(Error::Peer(_)) | ClientError::Catalog(_))) => {
                        self.forget(error.to_string())?;
                        return Err(error);
                    }
                    Err(error) => {
                        self.from = From::Whole(session);
                        return Err(error);
                    }
                },
            }
        }
    }

    fn begin(&mut self) -> Result<Opening> {
        let config = self.config.clone();
        let found = match (&self.ahead, &self.how) {
            (Some(ahead), Some((entry, literal))) => ahead.resume((entry, literal))?,
            _ => Found::Nothing,
        };
        Ok(match found {
            Found::Half(half) => {
                self.events.tell(Event::Resumed(half.epoch));
                Opening::resuming(config, half)
            }
            Found::Useless(why) => {
                self.forget(why)?;
                Opening::new(config)
            }
            Found::Nothing => Opening::new(config),
        })
    }

    /// Throws away what is written down, and says why.
    fn forget(&mut self, why: String) -> Result<()> {
        if let Some(ahead) = &self.ahead {
            ahead.forget()?;
        }
        self.events.tell(Event::Anew(why));
        Ok(())
    }

    /// Takes an opening to its end, and writes down now and then how far it is.
    fn advance(&mut self, opening: &mut Opening) -> Result<()> {
        loop {
            match opening.next() {
                Action::Ready => return Ok(()),
                Action::Recall(_) => opening.recalled(None)?,
                Action::Catalog { server, request } | Action::Keys { server, request } => {
                    opening.tell(now());
                    let response = self.call(server, &request)?;
                    opening.feed(&response, self.rng.draw()?)?;
                    self.check(opening)?;
                }
                Action::Fetch(fetch) if fetch.artifact == Artifact::Rows => self.stream_rows(opening)?,
                Action::Fetch(fetch) => {
                    let response = self.call(0, &fetch.request)?;
                    opening.feed(&response, self.rng.draw()?)?;
                }
            }
        }
    }

    /// Refuses a table of other parameters: a state is of one set. Keys are not: a client with nothing else is as good for the
    /// epoch that the table has come to as for the one it was at.
    fn check(&self, opening: &Opening) -> Result<()> {
        match opening.catalog() {
            Some(new) if self.how.is_some() && new.params_digest != self.params => {
                let why = "its parameters changed";
                Err(ClientError::NoWay { from: self.epoch, to: new.epoch, why })
            }
            _ => Ok(()),
        }
    }

    fn stream_rows(&mut self, opening: &mut Opening) -> Result<()> {
        let Work { servers, ahead, signal, rng, progress, traffic, .. } = self;
        let mut notes = ahead.clone().map(|ahead| Notes::new(ahead, opening));
        let streamed = stream(servers.first(), opening, rng.draw()?, &mut |opening, taken| {
            traffic.add(0, taken.came);
            progress.tell(Progress { stage: Stage::Ahead, done: taken.done, total: taken.total });
            // A client that lacks nothing any more is finished.
            if signal.is_stopped() && opening.checkpoint().is_some() {
                return Err(TransportError::Lost("nobody wants it any more".to_owned()).into());
            }
            notes.as_mut().map_or(Ok(()), |notes| notes.taken(opening, taken))
        });
        if let (Err(_), Some(notes)) = (&streamed, &mut notes) {
            notes.write(opening)?;
        }
        streamed
    }

    /// Takes a client along to the newest epoch: its table may have moved on while the rows came.
    fn ripen(&mut self, session: &mut Session) -> Result<()> {
        let mut newest = Opening::succeeding(self.config.clone(), session);
        while newest.catalog().is_none() || newest.wants_tree() {
            let (server, request) = match newest.next() {
                Action::Catalog { server, request } => (server, request),
                Action::Fetch(fetch) => (0, fetch.request),
                Action::Recall(_) => {
                    newest.recalled(None)?;
                    continue;
                }
                _ => break,
            };
            newest.tell(now());
            let response = self.call(server, &request)?;
            newest.feed(&response, self.rng.draw()?)?;
        }
        let (from, to) = (session.epoch(), newest.catalog().map_or(session.epoch(), |new| new.epoch));
        if self.how.is_none() {
            let why = "its parameters changed";
            let goes_on = newest.is_continued();
            return if goes_on { session.follow(newest) } else { Err(ClientError::NoWay { from, to, why }) };
        }
        let Some(basis) = session.basis().filter(|_| newest.catalog() != Some(session.catalog())) else {
            return Ok(());
        };
        let mut way = newest.way(basis)?;
        loop {
            while let Some(request) = wanted(&way) {
                let response = self.call(0, &request)?;
                way.feed(&response)?;
            }
            match way.take()? {
                Some(stretch) => session.step(stretch)?,
                None => break,
            }
        }
        if newest.catalog() != Some(session.catalog()) {
            let why = "there are other rows under the same epoch";
            return Err(ClientError::NoWay { from, to, why });
        }
        Ok(())
    }

    /// Writes the client down whole. `None` if nobody wants it any more.
    fn write_down(&mut self, mut session: Session) -> Result<Option<Prepared>> {
        let snapshot = match &self.ahead {
            None => None,
            Some(ahead) => {
                let at = At::of(session.catalog());
                match ahead.whole(session.client(), at) {
                    Ok(None) => return Ok(None),
                    Ok(written) => written,
                    Err(error) => {
                        self.from = From::Whole(Box::new(session));
                        return Err(error);
                    }
                }
            }
        };
        Ok(Some(Prepared { session, snapshot, traffic: self.traffic }))
    }

    fn call(&mut self, server: u8, request: &Request) -> Result<Response> {
        let response = self.servers.call(server, request)?;
        self.traffic.add(request.body.len() as u64, response.body.len() as u64);
        Ok(response)
    }
}

/// What a way wants to be sent, if anything.
fn wanted(way: &Way) -> Option<Request> {
    match way.next() {
        Action::Catalog { request, .. } => Some(request),
        Action::Fetch(fetch) => Some(fetch.request),
        _ => None,
    }
}

/// Whether the table has moved on.
fn is_change(error: &ClientError) -> bool {
    matches!(error, ClientError::EpochChanged { .. } | ClientError::NoCommonEpoch { .. })
}

//! The setup of a session: its requests in order, stored bytes, and what an error leaves.
use crate::common::{CHUNK, Server, server, server_of, value};
use sotto_client::session::{ByteSource, FetchRange, RequestPurpose, SetupIo};
use sotto_client::transport::{Request, Response};
use sotto_client::{ClientError, SessionSetup};
use sotto_core::{Artifact, CryptoRng};
use sotto_prg::ChaCha20Rng;
use sotto_testkit::rng;

/// Carries requests to a server, offers stored bytes of the hint, and records what happens.
struct Recorder {
    server: Server,
    rng: ChaCha20Rng,
    stored: Vec<u8>,
    purposes: Vec<RequestPurpose>,
    verified: Vec<(ByteSource, usize)>,
}

impl Recorder {
    fn of(server: &Server) -> Self {
        let (server, rng) = (server.clone(), rng::seeded("steps"));
        Recorder { server, rng, stored: Vec::new(), purposes: Vec::new(), verified: Vec::new() }
    }
}

impl SetupIo for Recorder {
    fn call(&mut self, _: u8, purpose: RequestPurpose, request: &Request) -> Result<Response, ClientError> {
        self.purposes.push(purpose);
        Ok(self.server.with(|world| world.call(request))?)
    }

    fn rng(&mut self) -> Result<&mut dyn CryptoRng, ClientError> {
        Ok(&mut self.rng)
    }

    fn cached(&mut self, fetch: &FetchRange) -> Result<Vec<u8>, ClientError> {
        let range = fetch.range.start as usize..fetch.range.end as usize;
        let end = range.end.min(self.stored.len());
        Ok(self.stored.get(range.start..end).unwrap_or_default().to_vec())
    }

    fn verified(&mut self, _: &FetchRange, bytes: &[u8], source: ByteSource) -> Result<(), ClientError> {
        self.verified.push((source, bytes.len()));
        Ok(())
    }
}

/// The ranges of artifacts that were requested since the last call.
fn ranges(server: &Server) -> Vec<(u64, u64)> {
    let of = |request: Request| request.range.map(|range| (range.start, range.end));
    server.received().into_iter().filter_map(of).collect()
}

#[test]
fn catalog_artifacts_keys_ready() {
    let server = server_of("clear-keyed/1", 40_000, 32);
    let (mut io, mut setup) = (Recorder::of(&server), SessionSetup::new(server.config()));
    setup.complete(&mut io).unwrap();
    let order = [RequestPurpose::Catalog, RequestPurpose::Artifact(Artifact::Hint), RequestPurpose::Keys];
    assert_eq!(io.purposes, order);
    assert_eq!(ranges(&server), [(0, 320_000)], "all of it fits in one fetch");
    let mut session = setup.finish().unwrap();
    let ask = session.query(&[39_999, 0], &mut io.rng).unwrap();
    let [request] = ask.requests() else { panic!("there is one server") };
    assert_eq!(request.limit, session.sizes().answer_frame_bytes(2));
    let answer = server.with(|world| world.call(request)).unwrap();
    assert_eq!(session.recover(ask, &[answer]).unwrap(), [value(39_999, 32), value(0, 32)]);
}

#[test]
fn held_bytes_count_as_far_as_they_are_right() {
    let server = server(40_000, 32);
    let hint = server.with(|world| world.hint());
    let mut damaged = hint.clone();
    damaged[3 * CHUNK] ^= 1;
    let (rest, all) = (hint.len() - 3 * CHUNK, hint.len());
    use ByteSource::{Cached, Fetched};
    for (stored, verified) in [
        (&hint[..CHUNK - 1], &[(Cached, 0), (Fetched, all)][..]),
        (&damaged, &[(Cached, 3 * CHUNK), (Cached, 0), (Fetched, rest)]),
        (&hint, &[(Cached, all)]),
    ] {
        let mut io = Recorder { stored: stored.to_vec(), ..Recorder::of(&server) };
        let mut setup = SessionSetup::new(server.config());
        setup.complete(&mut io).unwrap();
        assert_eq!(io.verified, verified);
        assert!(setup.finish().is_ok());
    }
    assert_eq!(ranges(&server), [(0, 320_000), (3 * CHUNK as u64, 320_000)]);
}

#[test]
fn a_step_that_failed_can_be_tried_again() {
    let server = server(40_000, 32);
    let (mut io, mut setup) = (Recorder::of(&server), SessionSetup::new(server.config()));
    for bad in [Response::new(200, b"{}".to_vec()), Response::new(503, Vec::new())] {
        server.tamper(move |_, _| Ok(bad.clone()));
        setup.complete(&mut io).unwrap_err();
        assert!(setup.catalog().is_none());
    }
    server.tamper(|request, mut response| {
        if request.range.is_some() {
            response.body[2 * CHUNK] ^= 1;
        }
        Ok(response)
    });
    setup.complete(&mut io).unwrap_err();
    server.with(|world| world.tamper = None);
    server.received();
    setup.complete(&mut io).unwrap();
    assert_eq!(ranges(&server), [(2 * CHUNK as u64, 320_000)], "what was right is not fetched again");
    assert!(setup.finish().is_ok());
}

#[test]
fn a_setup_that_is_not_complete_is_no_session() {
    let server = server(40_000, 32);
    assert_eq!(SessionSetup::new(server.config()).finish().unwrap_err().code(), "misuse");
    let mut setup = SessionSetup::new(server.config());
    setup.fetch_catalog(&mut Recorder::of(&server)).unwrap();
    assert_eq!(setup.finish().unwrap_err().code(), "misuse");
}

#[test]
fn a_session_id_has_sixteen_bytes() {
    let server = server_of("clear-keyed/1", 10, 32);
    let (mut io, mut setup) = (Recorder::of(&server), SessionSetup::new(server.config()));
    for len in [0, 15, 17] {
        server.tamper(move |request, honest| {
            let id = Response::new(200, vec![1; len]);
            Ok(if request.path.ends_with("/keys") { id } else { honest })
        });
        assert_eq!(setup.complete(&mut io).unwrap_err().code(), "peer-misbehaved");
    }
    assert_eq!(io.purposes[2..], [RequestPurpose::Keys; 3]);
}

#[test]
fn nothing_prints_what_is_asked() {
    let server = server(300, 32);
    let mut session = server.session();
    let ask = session.query(&[271], &mut rng::seeded("print")).unwrap();
    assert!(!format!("{ask:?} {session:?}").contains("271"));
}

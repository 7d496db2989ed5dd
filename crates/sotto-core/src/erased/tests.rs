//! Capabilities in every order, of a scheme that has all of them and does nothing.

use super::*;
use crate::{
    BatchScheme, Client, Costs, HintScheme, HintServer, Image, Misuse, PendingOf, Prepare, Record,
    RecordChange, RecordIndex, RecordSource, Section, Security, Server, Sink, Stateful, StreamScheme,
    StreamServer, TableShape, UpdateImage,
};
use std::io::{Read, Write};
use std::sync::Arc;
use zeroize::Zeroizing;

/// A scheme with all capabilities; `CAPS` says which of them it names, and in which order.
struct Toy<const CAPS: char>;

#[derive(Clone)]
struct Nothing;

impl Params for Nothing {
    type Literal = ();
    fn select(_: &TableShape) -> Result<()> {
        Ok(())
    }
    fn check((): ()) -> Result<Self> {
        Ok(Nothing)
    }
    fn literal(&self) -> &() {
        &()
    }
    fn report(&self) -> ParamsReport {
        let security = Security { bits: f64::INFINITY, model: String::new(), core_svp: None };
        let (digest, costs, details) = (ParamsDigest([0; 32]), Costs::default(), Vec::new());
        ParamsReport {
            digest,
            records: 1,
            record_bytes: 0,
            costs,
            security,
            failure_log2: 0.0,
            abort_leakage: None,
            details,
        }
    }
}

impl<const C: char> Scheme for Toy<C> {
    const ID: SchemeId = SchemeId("toy/1");
    const METADATA: crate::SchemeMetadata = crate::SchemeMetadata::new("");
    type Params = Nothing;
    type Fan<T> = crate::OneServer<T>;
    type Keys = ();
    type Query = ();
    type Answer = ();
    type Prepare = Nothing;
    type Client = Nothing;
    type Server = Nothing;
    const CAPS: Caps<Self> = match C {
        'a' => Caps::NONE.stream().update_image(),
        'b' => Caps::NONE.update_image().stream(),
        'c' => Caps::NONE.hint_server().patch().update_image(),
        'd' => Caps::NONE.update_image().patch().hint_server(),
        'e' => Caps::NONE.state().hint_server(),
        'f' => Caps::NONE.hint_server().state(),
        'g' => Caps::NONE.stream().state(),
        'h' => Caps::NONE.patch(),
        'i' => Caps::NONE.batch().stream(),
        'j' => Caps::NONE.stream().batch(),
        'k' => Caps::NONE.state().batch(),
        _ => Caps::NONE,
    };
}

impl<const C: char> Prepare<Toy<C>> for Nothing {
    fn begin(_: &Nothing, _: &mut dyn CryptoRng) -> Result<Self> {
        Ok(Nothing)
    }
    fn finish(self) -> Result<Self> {
        Ok(self)
    }
}

impl<const C: char> Client<Toy<C>> for Nothing {
    type Pending = ();
    fn keys(&self) {}
    fn query(&mut self, _: RecordIndex, _: &mut dyn CryptoRng) -> Result<(crate::OneServer<()>, ())> {
        Ok((crate::OneServer(()), ()))
    }
    fn recover(&mut self, (): (), _: crate::OneServer<()>) -> Result<Record> {
        Ok(Record::new(Vec::new()))
    }
}

impl<const C: char> Server<Toy<C>> for Nothing {
    type Session = ();
    fn encode(_: &Nothing, _: &dyn RecordSource, _: &dyn Sink) -> Result<()> {
        Ok(())
    }
    fn open(_: &Nothing, _: Arc<dyn Image>) -> Result<Self> {
        Ok(Nothing)
    }
    fn records(_: &Nothing, _: Arc<dyn Image>) -> Result<Box<dyn RecordSource>> {
        Err(Misuse::Rule("there are no records").into())
    }
    fn admit(&self, (): ()) -> Result<()> {
        Ok(())
    }
    /// Every second query has no answer, and the last one is forgotten.
    fn answer_many(&self, queries: Vec<(&(), ())>) -> Vec<Result<()>> {
        let bad = |at| if at % 2 == 1 { Err(Misuse::Rule("odd").into()) } else { Ok(()) };
        (0..queries.len().saturating_sub(1)).map(bad).collect()
    }
}

impl<const C: char> PatchArtifact for Toy<C> {
    fn patch(_: &Nothing, _: Artifact, _: &mut [u8], _: &[u8]) -> Result<()> {
        Ok(())
    }
}

impl<const C: char> UpdateImage for Toy<C> {
    fn update_image(_: &Nothing, _: &[RecordChange], _: &dyn Sink) -> Result<()> {
        Ok(())
    }
}

impl<const C: char> StreamScheme for Toy<C> {
    type UnitAnswer = ();
    fn units(_: &Nothing) -> u64 {
        1
    }
    fn unit_bytes(_: &Nothing) -> usize {
        0
    }
    fn recover_unit(_: &mut Nothing, (): &(), _: u64, (): ()) -> Result<Record> {
        Ok(Record::new(Vec::new()))
    }
}

impl<const C: char> BatchScheme for Toy<C> {
    fn buckets(_: &Nothing) -> u64 {
        2
    }
    fn query_buckets(
        _: &mut Nothing,
        places: &[u64],
        _: &mut dyn CryptoRng,
    ) -> Result<(crate::OneServer<()>, ())> {
        crate::check_bucket_places(places, 2, 5)?;
        Ok((crate::OneServer(()), ()))
    }
    fn recover_buckets(_: &mut Nothing, (): (), _: crate::OneServer<()>) -> Result<Vec<Record>> {
        Ok((0..2).map(|_| Record::new(Vec::new())).collect())
    }
}

impl<const C: char> StreamServer for Toy<C> {
    type Prepared = ();
    fn prepare(_: &Nothing, (): &(), (): ()) -> Result<()> {
        Ok(())
    }
    fn unit(_: &Nothing, (): &(), _: u64) -> Result<()> {
        Ok(())
    }
}

impl<const C: char> Stateful for Toy<C> {
    fn save(_: &Nothing, _: &Nothing, _: &mut dyn Write) -> Result<()> {
        Ok(())
    }
    fn load(_: &Nothing, _: &mut dyn Read) -> Result<Nothing> {
        Ok(Nothing)
    }
    fn journal(_: &mut Nothing) -> Zeroizing<Vec<u8>> {
        Zeroizing::default()
    }
    fn replay(_: &mut Nothing, _: &[u8]) -> Result<()> {
        Ok(())
    }
    fn query_number((): &PendingOf<Self>) -> u64 {
        0
    }
    fn reopen_query(_: &mut Nothing, _: u64) -> Result<()> {
        Ok(())
    }
    fn reject(_: &mut Nothing, _: u64) {}
    fn apply_delta(_: &mut Nothing, _: &[u8]) -> Result<()> {
        Ok(())
    }
    fn checkpoint(_: &Nothing, _: &Nothing, _: &mut dyn Write) -> Result<()> {
        Ok(())
    }
    fn resume(_: &Nothing, _: &mut dyn Read) -> Result<Nothing> {
        Ok(Nothing)
    }
    fn absorbed_bytes(_: &Nothing) -> u64 {
        0
    }
}

impl<const C: char> HintScheme for Toy<C> {
    const HINT_SERVER: usize = 1;
    type HintRequest = ();
    type HintResponse = ();
    fn next_hint_request(_: &mut Nothing) -> Result<Option<()>> {
        Ok(None)
    }
    fn apply_hint_response(_: &mut Nothing, (): ()) -> Result<()> {
        Ok(())
    }
}

impl<const C: char> HintServer for Toy<C> {
    fn answer_hint_request(_: &Nothing, (): ()) -> Result<()> {
        Ok(())
    }
}

/// An image without sections.
struct Blank;

impl Image for Blank {
    fn section(&self, _: Section) -> Option<&[u8]> {
        None
    }
}

/// The capabilities that a scheme's entry, its clients, their preparations and its servers report.
fn names<const C: char>() -> Vec<&'static str> {
    let entry = SchemeEntry::of::<Toy<C>>();
    let prepare = (entry.prepare)(b"null", &mut NoCoins).unwrap();
    let checkpoint = prepare.checkpoint().is_some();
    let mut client = prepare.finish().unwrap();
    let server = (entry.server.open)(b"null", Arc::new(Blank)).unwrap();
    assert_eq!(entry.units.is_some(), client.units().is_some(), "{C}: units");
    assert_eq!(entry.units.is_some(), server.stream().is_some(), "{C}: stream");
    assert_eq!(entry.batch.is_some(), client.batch().is_some(), "{C}: batch");
    assert_eq!(entry.state.is_some(), client.state().is_some(), "{C}: state");
    assert_eq!(entry.state.is_some(), checkpoint, "{C}: checkpoint");
    assert_eq!(entry.hint_server.is_some(), client.hint_client().is_some(), "{C}: hint server");
    assert_eq!(entry.hint_server.is_some(), server.hint_server().is_some(), "{C}: hint_server");
    assert_eq!(entry.servers, if entry.hint_server.is_some() { 2 } else { 1 });
    if let Some(state) = entry.state {
        let mut loaded = (state.load)(b"null", &mut &b""[..]).unwrap();
        let resumed = (state.resume)(b"null", &mut &b""[..]).unwrap();
        assert!(resumed.checkpoint().is_some() && loaded.state().is_some());
        assert_eq!(loaded.hint_client().is_some(), entry.hint_server.is_some(), "{C}: a client read back");
    }
    let all = [
        ("patch", entry.patch.is_some()),
        ("update_image", entry.server.update_image.is_some()),
        ("stream", entry.units.is_some()),
        ("batch", entry.batch.is_some()),
        ("state", entry.state.is_some()),
        ("hint_server", entry.hint_server.is_some()),
    ];
    all.into_iter().filter_map(|(name, there)| there.then_some(name)).collect()
}

/// A generator that must not be used.
struct NoCoins;

impl rand_core::TryRng for NoCoins {
    type Error = std::convert::Infallible;
    fn try_next_u32(&mut self) -> Result<u32, Self::Error> {
        Ok(0)
    }
    fn try_next_u64(&mut self) -> Result<u64, Self::Error> {
        Ok(0)
    }
    fn try_fill_bytes(&mut self, _: &mut [u8]) -> Result<(), Self::Error> {
        Ok(())
    }
}
impl rand_core::TryCryptoRng for NoCoins {}

#[test]
fn capabilities_add_up_in_any_order() {
    assert_eq!(names::<'a'>(), ["update_image", "stream"]);
    assert_eq!(names::<'b'>(), names::<'a'>());
    assert_eq!(names::<'c'>(), ["patch", "update_image", "state", "hint_server"]);
    assert_eq!(names::<'d'>(), names::<'c'>());
    assert_eq!(names::<'e'>(), ["state", "hint_server"]);
    assert_eq!(names::<'f'>(), names::<'e'>());
    assert_eq!(names::<'i'>(), ["stream", "batch"]);
    assert_eq!(names::<'j'>(), names::<'i'>());
    assert!(names::<'z'>().is_empty());
}

#[test]
fn results_keep_their_order_and_none_is_missing() {
    let server = (SchemeEntry::of::<Toy<'z'>>().server.open)(b"null", Arc::new(Blank)).unwrap();
    let session = server.admit(b"").unwrap();
    let queries: [&[u8]; 5] = [b"", b"!", b"", b"", b""];
    let queries: Vec<_> = queries.iter().map(|query| (&session, *query)).collect();
    let kinds: Vec<String> = server
        .answer_many(&queries)
        .into_iter()
        .map(|answer| answer.map_or_else(|error| error.to_string(), |_| "ok".into()))
        .collect();
    assert_eq!(kinds[0], "ok");
    assert!(kinds[1].contains("empty message"), "{kinds:?}");
    assert!(kinds[2].contains("odd") && kinds[3] == "ok", "{kinds:?}");
    assert!(kinds[4].contains("an answer for each"), "{kinds:?}");
    assert!(Server::<Toy<'z'>>::answer(&Nothing, &(), ()).is_err());
}

#[test]
#[should_panic(expected = "cannot stream")]
fn a_state_and_a_stream_contradict_each_other() {
    SchemeEntry::of::<Toy<'g'>>();
}

#[test]
#[should_panic(expected = "has no batches")]
fn a_state_and_batches_contradict_each_other() {
    SchemeEntry::of::<Toy<'k'>>();
}

#[test]
#[should_panic(expected = "needs the step update_image()")]
fn a_patch_needs_who_writes_its_deltas() {
    SchemeEntry::of::<Toy<'h'>>();
}

#[test]
fn one_record_of_each_bucket_is_asked_for() {
    let entry = SchemeEntry::of::<Toy<'i'>>();
    assert_eq!(entry.batch.unwrap()(b"null").unwrap(), 2);
    let mut client = (entry.prepare)(b"null", &mut NoCoins).unwrap().finish().unwrap();
    let batch = client.batch().unwrap();
    let (queries, pending) = batch.query_buckets(&[4, 4], &mut NoCoins).unwrap();
    assert_eq!(queries, [[0u8; 0]]);
    assert!(matches!(batch.recover_buckets(pending, &[]), Err(crate::Error::Peer(_))));
    let (_, pending) = batch.query_buckets(&[0, 4], &mut NoCoins).unwrap();
    assert_eq!(batch.recover_buckets(pending, &[Vec::new()]).unwrap().len(), 2);
    assert!(matches!(
        batch.recover_buckets(AnyPending(Box::new(7)), &[]),
        Err(crate::Error::Misuse(Misuse::ForeignValue(_)))
    ));
    let refused = |places: &[u64]| match crate::check_bucket_places(places, 2, 5) {
        Err(crate::Error::Misuse(misuse)) => misuse,
        other => panic!("{places:?} gave {other:?}"),
    };
    assert_eq!(refused(&[0, 5]), Misuse::IndexPastEnd { index: 5, len: 5 });
    assert_eq!(refused(&[u64::MAX, 0]), Misuse::IndexPastEnd { index: u64::MAX, len: 5 });
    assert!([&[][..], &[0], &[0; 3]].map(refused).iter().all(|misuse| matches!(misuse, Misuse::Rule(_))));
}

#[test]
fn a_table_of_buckets_is_for_schemes_with_batches() {
    let select = |entry: SchemeEntry, rows, buckets| {
        let outcome = (entry.select)(&TableShape { buckets, ..TableShape::new(rows, 1, 1) });
        outcome.map(drop).map_err(|error| error.to_string())
    };
    let (plain, batched) = (SchemeEntry::of::<Toy<'z'>>(), SchemeEntry::of::<Toy<'i'>>());
    assert_eq!((select(plain, 6, 1), select(batched, 6, 3)), (Ok(()), Ok(())));
    assert!(select(plain, 6, 3).unwrap_err().contains("toy/1 fetches one record"));
    assert!(select(batched, 7, 3).unwrap_err().contains("7 rows do not divide into 3 equal buckets"));
    assert!(select(batched, 6, 0).unwrap_err().contains("at least one bucket"));
}

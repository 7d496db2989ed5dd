//! Properties of frames: encoding is inverted by decoding, all other bytes are refused, and nothing
//! panics.

use proptest::prelude::*;
use sotto_core::{Epoch, ParamsDigest, UnitLayout};
use sotto_wire::{
    FrameError, FrameHeader, ProblemCode, SessionId, answer, evaluate, hints, keys, query, stream,
};

fn pin() -> impl Strategy<Value = FrameHeader> {
    (any::<u8>(), any::<u64>(), any::<[u8; 32]>()).prop_map(|(server, epoch, digest)| FrameHeader {
        server,
        epoch: Epoch(epoch),
        digest: ParamsDigest(digest),
    })
}

fn equal_items() -> impl Strategy<Value = Vec<Vec<u8>>> {
    (1usize..9, 0usize..40)
        .prop_flat_map(|(count, each)| prop::collection::vec(prop::collection::vec(any::<u8>(), each), count))
}

proptest! {
    #[test]
    fn ask_round_trips(pin in pin(), session in any::<[u8; 16]>(), queries in equal_items()) {
        let body = query::encode(&pin, &SessionId(session), &queries).unwrap();
        let head = query::QueryHead::parse(&body).unwrap();
        prop_assert_eq!(head.pin, pin);
        prop_assert_eq!(head.session.0, session);
        prop_assert_eq!(usize::from(head.count), queries.len());
        prop_assert_eq!(head.queries(&body, queries[0].len()).unwrap(), queries);
    }

    #[test]
    fn answer_round_trips(pin in pin(), answers in equal_items()) {
        let body = answer::encode(&pin, &answers).unwrap();
        let got = answer::decode(&body, &pin, answers.len() as u16, answers[0].len()).unwrap();
        prop_assert_eq!(got, answers);
    }

    #[test]
    fn keys_round_trip(pin in pin(), bytes in prop::collection::vec(any::<u8>(), 0..100)) {
        let body = keys::encode(&pin, &bytes);
        let head = keys::KeysHead::parse(&body).unwrap();
        prop_assert_eq!(head.pin, pin);
        prop_assert_eq!(head.keys(&body, bytes.len()).unwrap(), &bytes[..]);
    }

    #[test]
    fn stream_round_trips(
        pin in pin(), session in any::<[u8; 16]>(), first in any::<u64>(), units in any::<u64>(),
        query in prop::collection::vec(any::<u8>(), 0..100),
    ) {
        let head = stream::StreamHead { pin, session: SessionId(session), first, units };
        let body = stream::encode(&head, &query);
        prop_assert_eq!(stream::StreamHead::parse(&body).unwrap(), head);
        prop_assert_eq!(head.query(&body, query.len()).unwrap(), &query[..]);
        for len in 0..body.len() {
            let cut = stream::StreamHead::parse(&body[..len]);
            prop_assert!(cut.and_then(|head| head.query(&body[..len], query.len()).map(drop)).is_err());
        }
        let answer: [u8; 48] = stream::answer_head(&pin).try_into().unwrap();
        prop_assert_eq!(stream::check_answer_head(&answer, &pin), Ok(()));
        for bit in 0..answer.len() * 8 {
            let mut flipped = answer;
            flipped[bit / 8] ^= 1 << (bit % 8);
            prop_assert!(stream::check_answer_head(&flipped, &pin).is_err());
        }
    }

    #[test]
    fn every_truncation_and_extension_is_refused(pin in pin(), items in equal_items(), extra in 1usize..9) {
        let each = items[0].len();
        let count = items.len() as u16;
        let asked = query::encode(&pin, &SessionId::NONE, &items).unwrap();
        let answered = answer::encode(&pin, &items).unwrap();
        let longer = |body: &[u8]| [body, &vec![0; extra]].concat();
        let ask_ok = |body: &[u8]| query::QueryHead::parse(body).and_then(|h| h.queries(body, each).map(drop)).is_ok();
        for len in 0..asked.len() {
            prop_assert!(!ask_ok(&asked[..len]), "an ask of {len} bytes was taken");
        }
        for len in 0..answered.len() {
            prop_assert!(answer::decode(&answered[..len], &pin, count, each).is_err());
        }
        prop_assert!(!ask_ok(&longer(&asked)));
        prop_assert!(answer::decode(&longer(&answered), &pin, count, each).is_err());
    }

    #[test]
    fn a_flipped_bit_in_an_answer_head_is_refused(pin in pin(), items in equal_items(), bit in 0usize..answer::HEAD_BYTES * 8) {
        let mut body = answer::encode(&pin, &items).unwrap();
        body[bit / 8] ^= 1 << (bit % 8);
        prop_assert!(answer::decode(&body, &pin, items.len() as u16, items[0].len()).is_err());
    }

    #[test]
    fn any_bytes_are_judged_without_panic(body in prop::collection::vec(any::<u8>(), 0..200), pin in pin(), each in 0usize..50) {
        let requests = [query::MAGIC, keys::MAGIC, hints::MAGIC, stream::MAGIC, evaluate::MAGIC];
        let answers = [answer::MAGIC, hints::RESPONSE_MAGIC, evaluate::RESPONSE_MAGIC];
        for magic in requests.into_iter().chain(answers) {
            let mut body = body.clone();
            for (at, byte) in magic.iter().chain(&[1]).enumerate().take(body.len()) {
                body[at] = *byte;
            }
            let _ = query::QueryHead::parse(&body).map(|head| head.queries(&body, each).map(|q| q.len()));
            let _ = keys::KeysHead::parse(&body).map(|head| head.keys(&body, each).map(<[u8]>::len));
            let _ = stream::StreamHead::parse(&body).map(|head| head.query(&body, each).map(<[u8]>::len));
            let _ = evaluate::EvaluationHead::parse(&body).map(|head| head.elements(&body).map(|elements| elements.len()));
            let _ = evaluate::decode_answer(&body, &pin, each as u16);
            let _ = hints::HintRequestHead::parse(&body).map(|head| head.payload(&body, each).map(<[u8]>::len));
            let _ = hints::decode_response(&body, &pin, each).map(<[u8]>::len);
            let _ = answer::decode(&body, &pin, 3, each).map(|a| a.len());
        }
    }
}

const PIN: FrameHeader = FrameHeader { server: 0, epoch: Epoch(7), digest: ParamsDigest([9; 32]) };

/// The example in `spec/wire.md`, as bytes.
#[test]
fn the_bytes_are_those_of_the_spec() {
    let mut want = b"sotq\x01\x00\x02\x00\x07\0\0\0\0\0\0\0".to_vec();
    want.extend([9; 32]);
    want.extend([5; 16]);
    want.extend(b"aabb");
    assert_eq!(query::encode(&PIN, &SessionId([5; 16]), &[b"aa", b"bb"]).unwrap(), want);

    let mut want = b"sota\x01\x00\x01\x00\x07\0\0\0\0\0\0\0".to_vec();
    want.extend([9; 32]);
    want.extend(b"cc");
    assert_eq!(answer::encode(&PIN, &[b"cc"]).unwrap(), want);

    let mut want = b"sotk\x01\x00\x00\x00\x07\0\0\0\0\0\0\0".to_vec();
    want.extend([9; 32]);
    want.extend(b"keys");
    assert_eq!(keys::encode(&PIN, b"keys"), want);

    let mut want = b"sots\x01\x00\x01\x00\x07\0\0\0\0\0\0\0".to_vec();
    want.extend([9; 32]);
    want.extend([5; 16]);
    want.extend(b"\x03\0\0\0\0\0\0\0\x04\0\0\0\0\0\0\0aa");
    let head = stream::StreamHead { pin: PIN, session: SessionId([5; 16]), first: 3, units: 4 };
    assert_eq!(stream::encode(&head, b"aa"), want);

    let mut want = b"sotu\x01\x00\x00\x00\x07\0\0\0\0\0\0\0".to_vec();
    want.extend([9; 32]);
    assert_eq!(stream::answer_head(&PIN), want);

    for (magic, made) in
        [(b"soto", hints::encode(&PIN, b"dd")), (b"soth", hints::encode_response(&PIN, b"dd"))]
    {
        let mut want = magic.to_vec();
        want.extend(b"\x01\x00\x01\x00\x07\0\0\0\0\0\0\0");
        want.extend([9; 32]);
        want.extend(b"dd");
        assert_eq!(made, want);
    }
}

#[test]
fn each_field_is_refused_by_name() {
    let good = query::encode(&PIN, &SessionId::NONE, &[b"aa"]).unwrap();
    let with = |at: usize, byte: u8| {
        let mut body = good.clone();
        body[at] = byte;
        query::QueryHead::parse(&body)
    };
    assert_eq!(with(0, b'S'), Err(FrameError::Magic));
    assert_eq!(with(4, 2), Err(FrameError::Version(2)));
    assert_eq!(with(4, 2).unwrap_err().code(), ProblemCode::WrongVersion);
    assert_eq!(with(6, 0), Err(FrameError::Count { got: 0 }));
    let refused = |at, byte| PIN.check(&with(at, byte).unwrap().pin).unwrap_err().code();
    assert_eq!(refused(5, 1), ProblemCode::WrongServer);
    assert_eq!(refused(8, 6), ProblemCode::StaleEpoch);
    assert_eq!(refused(16, 0), ProblemCode::WrongParams);

    let mut reserved = keys::encode(&PIN, b"");
    reserved[6] = 1;
    assert_eq!(keys::KeysHead::parse(&reserved), Err(FrameError::Reserved));
}

#[test]
fn hint_requests_and_responses_have_one_size_and_one_item() {
    let (request, response) = (hints::encode(&PIN, b"dd"), hints::encode_response(&PIN, b"dd"));
    let decode_request = |body: &[u8]| {
        hints::HintRequestHead::parse(body).and_then(|head| head.payload(body, 2).map(<[u8]>::to_vec))
    };
    let decode_response = |body: &[u8]| hints::decode_response(body, &PIN, 2).map(<[u8]>::to_vec);
    assert_eq!(
        (decode_request(&request), decode_response(&response)),
        (Ok(b"dd".to_vec()), Ok(b"dd".to_vec()))
    );
    assert_eq!(
        (decode_request(&response), decode_response(&request)),
        (Err(FrameError::Magic), Err(FrameError::Magic))
    );
    for len in 0..50 {
        assert!(decode_request(&request[..len]).is_err() && decode_response(&response[..len]).is_err());
    }
    let mut two = request.clone();
    two[6] = 2;
    assert_eq!(decode_request(&two), Err(FrameError::Count { got: 2 }));
    let mut foreign = response.clone();
    foreign[5] = 1;
    assert_eq!(decode_response(&foreign), Err(FrameError::Server { got: 1, want: 0 }));
    assert_eq!(hints::frame_bytes(2), request.len() as u64);
    assert_eq!(hints::frame_bytes(u64::MAX), u64::MAX);
}

#[test]
fn units_past_the_record_are_refused() {
    let units = UnitLayout { count: 5, bytes: 2, answer_bytes: 10 };
    let head = |first, units| stream::StreamHead { pin: PIN, session: SessionId::NONE, first, units };
    for (first, count) in [(0, 5), (4, 1), (0, 1)] {
        assert_eq!(head(first, count).check(&units), Ok(()));
        assert_eq!(head(first, count).answer_bytes(&units), 48 + 10 * count);
    }
    for (first, count) in [(0, 0), (0, 6), (5, 1), (4, 2), (u64::MAX, 1), (1, u64::MAX)] {
        assert_eq!(head(first, count).check(&units), Err(FrameError::Units { len: 5 }));
    }
    assert_eq!(FrameError::Units { len: 5 }.code(), ProblemCode::Malformed);
    let good = stream::encode(&head(0, 5), b"aa");
    for (at, byte, error) in [
        (0, b'S', FrameError::Magic),
        (4, 2, FrameError::Version(2)),
        (6, 2, FrameError::Count { got: 2 }),
        (6, 0, FrameError::Count { got: 0 }),
    ] {
        let mut bad = good.clone();
        bad[at] = byte;
        assert_eq!(stream::StreamHead::parse(&bad), Err(error));
    }
}

#[test]
fn frames_of_unequal_or_no_items_are_not_made() {
    assert_eq!(answer::encode::<&[u8]>(&PIN, &[]), Err(FrameError::Count { got: 0 }));
    assert_eq!(answer::encode(&PIN, &vec![b""; 65536]), Err(FrameError::Count { got: 65536 }));
    let unequal: [&[u8]; 2] = [b"a", b"bb"];
    assert_eq!(answer::encode(&PIN, &unequal), Err(FrameError::Length { got: 2, want: 1 }));
}

#[test]
fn a_request_changes_its_session_and_nothing_else() {
    let (before, after) = (SessionId([5; 16]), SessionId([6; 16]));
    let mut request = query::encode(&PIN, &before, &[b"aa", b"bb"]).unwrap();
    assert!(query::replace_session(&mut request, &after));
    assert_eq!(request, query::encode(&PIN, &after, &[b"aa", b"bb"]).unwrap());
    let mut answer = answer::encode(&PIN, &[[7; 64]]).unwrap();
    let kept = answer.clone();
    assert!(!query::replace_session(&mut answer, &after));
    assert_eq!(answer, kept);
}

#[test]
fn a_session_id_does_not_print() {
    assert_eq!(format!("{:?}", SessionId([7; 16])), "SessionId(..)");
}

#[test]
fn evaluations_have_a_size_that_their_number_fixes() {
    let elements = |count: u8| (0..count).map(|i| [i; 32]).collect::<Vec<_>>();
    for count in [1, 2, 64] {
        let (asked, proof) = (elements(count), [9; 64]);
        let request = evaluate::encode(&PIN, &asked).unwrap();
        let answer = evaluate::encode_response(&PIN, &asked, &proof).unwrap();
        let count = u16::from(count);
        assert_eq!(request.len() as u64, evaluate::request_bytes(count));
        assert_eq!(answer.len() as u64, evaluate::answer_bytes(count));
        let head = evaluate::EvaluationHead::parse(&request).unwrap();
        assert_eq!((head.pin, head.count, head.elements(&request).unwrap()), (PIN, count, asked.clone()));
        assert_eq!(evaluate::decode_answer(&answer, &PIN, count).unwrap(), (asked, proof));
        // Another number than was asked for.
        let refused = FrameError::Count { got: u64::from(count) };
        assert_eq!(evaluate::decode_answer(&answer, &PIN, count + 1), Err(refused));
        let read = |body: &[u8]| evaluate::EvaluationHead::parse(body).and_then(|head| head.elements(body));
        for length in 0..request.len() {
            assert!(read(&request[..length]).is_err());
        }
        for length in 0..answer.len() {
            assert!(evaluate::decode_answer(&answer[..length], &PIN, count).is_err());
        }
        assert!(read(&[&request[..], &[0]].concat()).is_err());
        assert!(evaluate::decode_answer(&[&answer[..], &[0]].concat(), &PIN, count).is_err());
        assert!(read(&answer).is_err() && evaluate::decode_answer(&request, &PIN, count).is_err());
    }
    for count in [0, 65] {
        let refused = FrameError::Count { got: u64::from(count) };
        assert_eq!(evaluate::encode(&PIN, &elements(count)), Err(refused));
        let mut request = evaluate::encode(&PIN, &elements(1)).unwrap();
        request[6..8].copy_from_slice(&u16::from(count).to_le_bytes());
        assert_eq!(evaluate::EvaluationHead::parse(&request), Err(refused), "no element of it is read");
    }
}

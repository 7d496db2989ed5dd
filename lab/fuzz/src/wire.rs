//! Frames, refusals and headers; and polynomials of ring-LWE ciphertexts, before any scheme makes
//! something of them. What is taken is written again and must be the same bytes.

use sotto_core::{Epoch, ParamsDigest, UnitLayout};
use sotto_lattice::bgv::wire::{body_bytes, put_body, take_body};
use sotto_lattice::bgv::{Answer, AnswerBits, Pow2, RnsRing};
use sotto_math::modulus::Modulus;
use sotto_prg::PublicSeed;
use sotto_wire::{FrameHeader, Problem, ProblemCode, SessionId, Timing, evaluate};
use std::sync::OnceLock;

/// Items of this many bytes, in every frame here.
const ITEM: usize = 24;

fn pin() -> FrameHeader {
    FrameHeader { server: 0, epoch: Epoch(7), digest: ParamsDigest([9; 32]) }
}

fn items(count: usize) -> Vec<Vec<u8>> {
    (0..count).map(|i| vec![i as u8; ITEM]).collect()
}

/// An ask frame.
pub(crate) fn query_request(data: &[u8]) -> bool {
    let Ok(head) = sotto_wire::query::QueryHead::parse(data) else { return false };
    let Ok(queries) = head.queries(data, ITEM) else { return false };
    let again =
        sotto_wire::query::encode(&head.pin, &head.session, &queries).expect("what was read is written");
    assert!(again == data);
    true
}

/// Asks of one and of several queries.
pub(crate) fn query_requests() -> Vec<Vec<u8>> {
    [1, 5]
        .map(|count| sotto_wire::query::encode(&pin(), &SessionId([3; 16]), &items(count)).unwrap())
        .to_vec()
}

/// An answer frame.
pub(crate) fn answer(data: &[u8]) -> bool {
    let accepted = |count| {
        let Ok(answers) = sotto_wire::answer::decode(data, &pin(), count, ITEM) else { return false };
        assert!(sotto_wire::answer::encode(&pin(), &answers).is_ok_and(|again| again == data));
        true
    };
    [1, 5].map(accepted).contains(&true)
}

/// Answers to one and to several queries.
pub(crate) fn answers() -> Vec<Vec<u8>> {
    [1, 5].map(|count| sotto_wire::answer::encode(&pin(), &items(count)).unwrap()).to_vec()
}

/// A keys frame.
pub(crate) fn keys(data: &[u8]) -> bool {
    let Ok(head) = sotto_wire::keys::KeysHead::parse(data) else { return false };
    let Ok(keys) = head.keys(data, ITEM) else { return false };
    assert!(sotto_wire::keys::encode(&head.pin, keys) == data);
    true
}

/// Keys, right and short.
pub(crate) fn keyses() -> Vec<Vec<u8>> {
    vec![sotto_wire::keys::encode(&pin(), &[7; ITEM])]
}

/// A hint request.
pub(crate) fn hint_request(data: &[u8]) -> bool {
    let Ok(head) = sotto_wire::hints::HintRequestHead::parse(data) else { return false };
    let Ok(request) = head.payload(data, ITEM) else { return false };
    assert!(sotto_wire::hints::encode(&head.pin, request) == data);
    true
}

pub(crate) fn hint_requests() -> Vec<Vec<u8>> {
    vec![sotto_wire::hints::encode(&pin(), &[7; ITEM])]
}

/// What an order is answered with.
pub(crate) fn hint_response(data: &[u8]) -> bool {
    let Ok(hint_response) = sotto_wire::hints::decode_response(data, &pin(), ITEM) else { return false };
    assert!(sotto_wire::hints::encode_response(&pin(), hint_response) == data);
    true
}

pub(crate) fn hint_responses() -> Vec<Vec<u8>> {
    vec![sotto_wire::hints::encode_response(&pin(), &[7; ITEM])]
}

/// A request for a record in units.
pub(crate) fn stream(data: &[u8]) -> bool {
    let Ok(head) = sotto_wire::stream::StreamHead::parse(data) else { return false };
    let Ok(query) = head.query(data, ITEM) else { return false };
    assert!(sotto_wire::stream::encode(&head, query) == data);
    let units = UnitLayout { count: 9, bytes: 1, answer_bytes: u64::MAX / 4 };
    if head.check(&units).is_ok() {
        assert!(head.units >= 1 && head.units <= 9 && head.first <= 9 - head.units);
        assert!(head.answer_bytes(&units) >= units.answer_bytes);
    }
    true
}

/// Requests for all units, and for the last.
pub(crate) fn streams() -> Vec<Vec<u8>> {
    let head = |first, units| sotto_wire::stream::StreamHead {
        pin: pin(),
        session: SessionId([3; 16]),
        first,
        units,
    };
    [(0, 9), (8, 1)]
        .map(|(first, units)| sotto_wire::stream::encode(&head(first, units), &[7; ITEM]))
        .to_vec()
}

/// The head of a response in units: there is one that is right.
pub(crate) fn stream_answer(data: &[u8]) -> bool {
    let Ok(head) = data.try_into() else { return false };
    let taken = sotto_wire::stream::check_answer_head(head, &pin()).is_ok();
    assert_eq!(taken, data == sotto_wire::stream::answer_head(&pin()));
    taken
}

pub(crate) fn stream_answers() -> Vec<Vec<u8>> {
    vec![sotto_wire::stream::answer_head(&pin())]
}

/// A request for evaluations.
pub(crate) fn evaluation(data: &[u8]) -> bool {
    let Ok(head) = evaluate::EvaluationHead::parse(data) else { return false };
    let Ok(elements) = head.elements(data) else { return false };
    assert!(evaluate::encode(&head.pin, &elements).is_ok_and(|again| again == data));
    true
}

/// Requests for one and for several.
pub(crate) fn evaluations() -> Vec<Vec<u8>> {
    [1, 5].map(|count| evaluate::encode(&pin(), &vec![[7; 32]; count]).unwrap()).to_vec()
}

/// What a request for evaluations is answered with.
pub(crate) fn evaluated(data: &[u8]) -> bool {
    let accepted = |count| {
        let Ok((elements, proof)) = evaluate::decode_answer(data, &pin(), count) else { return false };
        assert!(evaluate::encode_response(&pin(), &elements, &proof).is_ok_and(|again| again == data));
        true
    };
    [1, 5].map(accepted).contains(&true)
}

/// Answers to one and to several.
pub(crate) fn evaluateds() -> Vec<Vec<u8>> {
    [1, 5].map(|count| evaluate::encode_response(&pin(), &vec![[7; 32]; count], &[9; 64]).unwrap()).to_vec()
}

/// A refusal's body. Everything is taken: a body that is not ours has a meaning too.
pub(crate) fn problem(data: &[u8]) -> bool {
    for status in [200, 409, 503, 999] {
        let problem = Problem::read(status, data);
        let shown = problem.to_string();
        assert!(!shown.contains(|c: char| c.is_control()), "a terminal would act on {shown:?}");
        assert!(Problem::read(status, &problem.to_bytes()) == problem);
    }
    true
}

/// A refusal with each code.
pub(crate) fn problems() -> Vec<Vec<u8>> {
    let problem = |code: &ProblemCode| Problem::new(*code, "why").with_epoch(Epoch(3)).to_bytes();
    ProblemCode::ALL.iter().map(problem).collect()
}

/// The timing header.
pub(crate) fn timing(data: &[u8]) -> bool {
    let Some((text, timing)) =
        std::str::from_utf8(data).ok().and_then(|text| Some((text, Timing::parse(text)?)))
    else {
        return false;
    };
    assert_eq!(timing.to_header(), text);
    true
}

pub(crate) fn timings() -> Vec<Vec<u8>> {
    vec![Timing::default().to_header().into_bytes()]
}

/// A small ring with two primes and a special one, whose limbs leave no bit unused but whose words have values to spare.
fn ring() -> &'static RnsRing<Pow2> {
    static RING: OnceLock<RnsRing<Pow2>> = OnceLock::new();
    RING.get_or_init(|| {
        let prime = |q| Modulus::new(q).expect("a prime below 2^50");
        let primes: Vec<Modulus> = Pow2::PRIMES.into_iter().take(3).map(prime).collect();
        let ring = Pow2::new(64, prime(65537), &primes).expect("primes that are 1 modulo 2n");
        RnsRing::new(ring).expect("primes that are 1 modulo t")
    })
}

/// A body of BGV, at the level of keys or at one of ciphertexts. What is taken is reduced, and written again it is the same.
pub(crate) fn bgv_body(data: &[u8]) -> bool {
    let rns = ring();
    let levels = [Some(rns.full()), Some(rns.top()), rns.level(1)];
    let taken = levels.into_iter().flatten().filter(|level| {
        let Some(body) = take_body(rns, *level, data) else { return false };
        for (plan, limb) in rns.plans(*level).zip(body.chunks_exact(64)) {
            assert!(limb.iter().all(|word| *word < plan.modulus().value()));
        }
        let mut bytes = Vec::new();
        put_body(rns, *level, &body, &mut bytes);
        assert!(bytes == data && bytes.len() == body_bytes(rns, *level));
        true
    });
    taken.count() > 0
}

/// Bodies of every level.
pub(crate) fn bgv_bodies() -> Vec<Vec<u8>> {
    let rns = ring();
    let body = |level| {
        let mut bytes = Vec::new();
        put_body(rns, level, &rns.mask(level, &PublicSeed([1; 32]), "body", 0), &mut bytes);
        bytes
    };
    [Some(rns.full()), Some(rns.top()), rns.level(1)].into_iter().flatten().map(body).collect()
}

/// An answer of BGV. What is taken is the same when written again.
pub(crate) fn bgv_answer(data: &[u8]) -> bool {
    let (rns, bits) = (ring(), answer_bits());
    let Some(answer) = Answer::take(rns, bits, data) else { return false };
    let mut bytes = Vec::new();
    answer.put(bits, &mut bytes);
    assert!(bytes == data && bytes.len() == bits.bytes(rns));
    true
}

/// The least and the greatest one.
pub(crate) fn bgv_answers() -> Vec<Vec<u8>> {
    let bytes = answer_bits().bytes(ring());
    vec![vec![0; bytes], vec![0xFF; bytes]]
}

fn answer_bits() -> AnswerBits {
    AnswerBits::new(ring(), 19, 26).expect("widths that fit")
}

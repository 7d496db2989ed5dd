//! The noise of whole lookups, measured with the secret, agrees with the model within 0.3 bit.

use super::CubeTable;
use crate::client::Prepare;
use crate::literal::{TableForm, Template, Upload, WhenTried};
use crate::params::{Family, Params};
use crate::whitening::whiten;
use crate::{Answer, encode, rings};
use sotto_core::{
    Client as _, OneServer, Params as _, Prepare as _, RecordIndex, SchemeId, SchemeMetadata, Server as _,
    TableShape,
};
use sotto_lattice::ciphertext::Ciphertext;
use sotto_lattice::encrypt::phase;
use sotto_lattice::ring::ModulusLevel;
use sotto_lattice::secret::SecretKey;
use sotto_math::bits;
use sotto_testkit::memory::{MemoryRows, MemorySink};
use sotto_testkit::rng::seeded;
use std::sync::Arc;

/// A family with the parameter sets below.
struct Measured;

const LARGE: Template = Template {
    name: "large",
    about: "",
    tried: WhenTried::ByName,
    ring: rings::LARGE,
    upload: Upload::Expanded,
    form: TableForm::Plain,
    n: 1,
    p_log2: 16,
    nu2: 3..=3,
    expand: [2, 31, 38],
    expand_right: [2, 31, 38],
    convert: [2, 31, 38],
    fold: [2, 17, 16],
    pack: [2, 17, 16],
    sent_bits: [66, 90, 50],
};
const SMALL: Template = Template {
    name: "small",
    ring: rings::SMALL,
    p_log2: 9,
    expand: [8, 7, 0],
    expand_right: [10, 5, 0],
    convert: [6, 9, 0],
    fold: [4, 10, 10],
    pack: [3, 13, 11],
    sent_bits: [50, 50, 50],
    ..LARGE
};
const CUT: Template = Template {
    name: "cut",
    p_log2: 11,
    expand: [15, 3, 5],
    expand_right: [15, 3, 5],
    convert: [4, 10, 10],
    fold: [3, 8, 26],
    sent_bits: [41, 48, 50],
    ..SMALL
};
const WIDE: Template = Template {
    name: "fspiral",
    ring: rings::FSPIRAL,
    p_log2: 18,
    expand: [6, 15, 0],
    expand_right: [6, 15, 0],
    convert: [7, 10, 10],
    fold: [4, 14, 0],
    pack: [4, 14, 0],
    sent_bits: [80, 80, 56],
    ..LARGE
};
const MATRIX: Template = Template {
    name: "matrix",
    ring: rings::SPIRAL,
    form: TableForm::Matrix,
    n: 2,
    p_log2: 8,
    expand: [8, 7, 0],
    expand_right: [14, 4, 0],
    convert: [4, 14, 0],
    fold: [8, 7, 0],
    pack: [4, 14, 0],
    sent_bits: [56, 56, 56],
    ..LARGE
};

static SETS: [Template; 9] = [
    LARGE,
    Template { name: "large-pack", form: TableForm::Packed, n: 2, ..LARGE },
    Template { name: "large-stream", upload: Upload::Direct, sent_bits: [50, 90, 50], ..LARGE },
    SMALL,
    Template { name: "small-pack", form: TableForm::Packed, n: 2, ..SMALL },
    CUT,
    WIDE,
    MATRIX,
    Template { name: "matrix-stream", upload: Upload::Direct, fold: [5, 12, 0], ..MATRIX },
];

impl Family for Measured {
    const ID: SchemeId = SchemeId("measured/1");
    const METADATA: SchemeMetadata = SchemeMetadata::new("");

    fn templates() -> &'static [Template] {
        &SETS
    }
}

/// Mean squares of the errors of some steps.
#[derive(Default)]
struct Squares {
    sum: f64,
    count: f64,
}

impl Squares {
    /// Adds the error of a polynomial's phase against q / p times its data.
    fn add(
        &mut self,
        params: &Params<Measured>,
        secret: &SecretKey,
        cipher: &Ciphertext,
        body: usize,
        data: &[u64],
    ) {
        let ring = &params.ring;
        let phase = phase(ring, ModulusLevel::Main, secret, cipher.comp(0), cipher.comp(body));
        let (q, p) = (ring.q().value() as i128, 1i128 << params.literal.p_log2);
        for (phase, word) in phase.iter().zip(data) {
            // p phase - q data, modulo p q, over p.
            let off = (p * phase - q * i128::from(*word)).rem_euclid(p * q);
            let off = if off > p * q / 2 { off - p * q } else { off } as f64 / p as f64;
            self.sum += off * off;
            self.count += 1.0;
        }
    }

    /// log2 of the measured over the predicted deviation.
    fn off(&self, variance: f64) -> f64 {
        (self.sum / self.count / variance).log2() / 2.0
    }
}

/// Fills a table with bytes, by its parameters.
type Fill = fn(&Params<Measured>, &mut [u8], &mut dyn sotto_core::CryptoRng);

fn random(_: &Params<Measured>, bytes: &mut [u8], rng: &mut dyn sotto_core::CryptoRng) {
    rng.fill_bytes(bytes);
}

/// Rows made by somebody who knows the whitening stream: every whitened coefficient is -p/2, which
/// puts most of a polynomial's weight on one frequency. For tables whose records are one polynomial
/// of 16-bit words.
fn made_against_the_mask(params: &Params<Measured>, bytes: &mut [u8], _: &mut dyn sotto_core::CryptoRng) {
    for (record, bytes) in (0..).zip(bytes.chunks_mut(params.literal.record_bytes as usize)) {
        bytes.chunks_mut(2).for_each(|word| word.copy_from_slice(&[0, 0x80]));
        whiten(&params.literal.mask, record, 0, bytes);
    }
}

fn measure(set: &str, fill: Fill) -> [f64; 3] {
    let rng = &mut seeded(set);
    let shape = TableShape { set: Some(set.to_owned()), ..TableShape::new(150, 2000, 1) };
    let shape = TableShape {
        row_bytes: SETS.iter().find(|known| known.name == set).unwrap().unit_bytes().unwrap(),
        ..shape
    };
    let params: Params<Measured> = Params::check(Params::<Measured>::select(&shape).unwrap()).unwrap();
    let (records, width) = (params.grid.records(), params.literal.record_bytes as usize);
    let mut bytes = vec![0; records as usize * width];
    fill(&params, &mut bytes, rng);
    let sink = MemorySink::new();
    encode::encode(&params, &MemoryRows::new(width, bytes.clone()), &sink).unwrap();
    let cube = CubeTable::open(&params, Arc::new(sink.into_image())).unwrap();
    let data = |record: u64, k: usize| {
        let part = params.grid.bytes_of_part(k as u64);
        let mut part = bytes[record as usize * width..][part].to_vec();
        whiten(&params.literal.mask, record, k as u64, &mut part);
        bits::unpack_words(&part, params.literal.p_log2.into(), params.n()).unwrap()
    };

    let [mut first, mut folded, mut packed] = [(); 3].map(|()| Squares::default());
    for _ in 0..4 {
        let prepare = Prepare::<Measured>::begin(&params, rng).unwrap();
        let mut client = Prepare::<Measured>::finish(prepare).unwrap();
        let session = cube.admit(client.keys()).unwrap();
        let record = 77;
        let (OneServer(query), pending) = client.query(RecordIndex(record), rng).unwrap();
        let query = cube.prepare(&session, &query).unwrap();
        // The second pass reuses the buffers of the first one, and its sums must not contain their
        // contents.
        drop(cube.first_dimension(0, &[&query]));
        let columns = cube.first_dimension(0, &[&query]).remove(0);
        assert!(cube.buffers.sums.take().is_none(), "{set}: room is not used again");
        let (row, _) = params.grid.place(record);
        let side = usize::from(params.literal.n);
        let secrets: Vec<&SecretKey> = match params.literal.form {
            TableForm::Matrix => client.packed.iter().collect(),
            TableForm::Plain | TableForm::Packed => vec![&client.secret],
        };
        // In the plain and packed forms a group of columns is a polynomial of the unit; in the
        // matrix form it is a column of the matrix, whose entries are bodies.
        let k = |group: usize, body: usize| if secrets.len() > 1 { body * side + group } else { group };
        let groups = params.grid.layout().cols() / params.grid.columns();
        for group in 0..groups {
            let start = group * params.grid.columns();
            for (column, cipher) in
                cube.columns(&columns, start..start + params.grid.columns()).iter().enumerate()
            {
                let other = params.grid.record(row, column);
                if other >= records {
                    continue;
                }
                for (body, secret) in secrets.iter().enumerate() {
                    first.add(&params, secret, cipher, body + 1, &data(other, k(group, body)));
                }
            }
        }
        let ciphers = cube.fold(columns, &query);
        for (group, cipher) in ciphers.iter().enumerate() {
            for (body, secret) in secrets.iter().enumerate() {
                folded.add(&params, secret, cipher, body + 1, &data(record, k(group, body)));
            }
        }
        if params.literal.form == TableForm::Packed {
            for (j, cipher) in cube.params.pack(&ciphers, &query.pack).iter().enumerate() {
                for (i, secret) in client.packed.iter().enumerate() {
                    packed.add(&params, secret, cipher, i + 1, &data(record, i * side + j));
                }
            }
        }
        let answer = cube.respond(ciphers, &query);
        let answer = sotto_core::Client::recover(&mut client, pending, OneServer(Answer(vec![answer])));
        assert!(answer.unwrap().bytes() == &bytes[record as usize * width..][..width], "{set}");
    }
    let noise = &params.noise;
    let packed = if packed.count > 0.0 { packed.off(noise.packed) } else { 0.0 };
    [first.off(noise.first), folded.off(noise.folded), packed]
}

#[test]
fn measured_noise_is_within_a_third_of_a_bit_of_the_model() {
    for set in &SETS {
        let off = measure(set.name, random);
        println!("{}: first {:+.2}, folded {:+.2}, packed {:+.2}", set.name, off[0], off[1], off[2]);
        assert!(off.iter().all(|off| off.abs() < 0.3), "{}: {off:?}", set.name);
    }
}

/// The failure bound counts such rows at 3 times the variance, in the mean over all keys, which is
/// 0.8 bits; for a few clients it is more or less.
#[test]
fn rows_made_against_the_mask_add_the_noise_that_they_are_counted_with() {
    let [first, ..] = measure("large", made_against_the_mask);
    println!("first {first:+.2}");
    assert!((0.3..1.8).contains(&first), "{first}");
}

//! How long one step of a ring protocol takes, on one thread: minimum and median, in microseconds.
//!
//! `cargo run --release -p sotto-lattice --example steps`. Keys are random words, as good as any for time.

use sotto_lattice::automorphism::AutomorphismKey;
use sotto_lattice::cipher::Cipher;
use sotto_lattice::convert::ConversionKey;
use sotto_lattice::encrypt::{Masks, mask};
use sotto_lattice::expand::{Counts, Expansion, element};
use sotto_lattice::gsw::Gsw;
use sotto_lattice::keyswitch::SwitchKey;
use sotto_lattice::lower::lower;
use sotto_lattice::ring::{Level, Ring};
use sotto_lattice::scratch::Scratch;
use sotto_math::gadget::Gadget;
use sotto_math::modulus::Modulus;
use sotto_prg::PublicSeed;
use std::time::Instant;

const SEED: PublicSeed = PublicSeed([1; 32]);
const MASKS: Masks<'static> = Masks { seed: &SEED, label: "mask", first: 0 };

/// Leaves of the expansion whose splits are timed, with all that it allocates.
const LEAVES: usize = 16;

type Digits = (u32, u32, u32);

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let narrow = [1125899904679937, 1125899903991809].map(Modulus::new);
    let composite = Modulus::new(268369921).zip(Modulus::new(249561089));
    let composite = composite.and_then(|(q1, q2)| Modulus::composite(q1, q2));
    let small = Modulus::new(16760833);
    println!(
        "minimum / median, us{:12} {:>15} {:>15} {:>15} {:>15}",
        "", "split", "lower", "convert", "choose"
    );
    let lines: [(&str, usize, _, _, [Digits; 3]); 4] = [
        ("4096, 50 + 50 bits", 4096, narrow[0], narrow[1], [(2, 31, 38), (2, 31, 38), (2, 17, 16)]),
        ("4096, 56 + 24 bits", 4096, composite, small, [(6, 14, 0), (7, 10, 10), (4, 14, 0)]),
        ("2048, 50 bits", 2048, narrow[0], None, [(10, 5, 0), (10, 5, 0), (6, 9, 0)]),
        ("2048, 56 bits", 2048, composite, None, [(8, 7, 0), (8, 7, 0), (8, 7, 0)]),
    ];
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build()?;
    for (name, n, q, special, gadgets) in lines {
        let ring = q.and_then(|q| Ring::new(n, q, special)).ok_or("no such ring")?;
        let times = pool.install(|| steps(&ring, gadgets)).ok_or("no such gadget")?;
        let times = times.map(|(least, middle)| format!("{least:7.1}/{middle:7.1}"));
        println!("{name:32} {}", times.join(" "));
    }
    Ok(())
}

/// Splitting, lowering, converting and choosing.
fn steps(ring: &Ring, gadgets: [Digits; 3]) -> Option<[(f64, f64); 4]> {
    let (full, main) = (Level::Full, Level::Main);
    let [left, right, fold] = gadgets.map(|(l, base, drop)| Gadget::new(l, base, drop));
    let (left, right, fold) = (left?, right?, fold?);
    let words = |level, index| mask(ring, level, &SEED, "body", index);
    let bodies = |level, count: u32| (0..u64::from(count)).map(|i| words(level, i)).collect::<Vec<_>>();
    let cipher = |level, index| {
        Cipher::new(ring, level, &words(level, index), [words(level, index + 50).as_slice()].into_iter())
    };
    let mut scratch = Scratch::new(ring);

    let expansion = Expansion::new(ring, Counts { left: LEAVES, right: 0 })?;
    let key = |round| {
        let k = element(ring.n(), round);
        AutomorphismKey::assemble(ring, full, &left, k, &bodies(full, left.digits()), MASKS)
    };
    let keys: Vec<AutomorphismKey> = expansion.left_rounds().map(key).collect::<Option<_>>()?;
    let query = cipher(full, 0);
    let split = time(200, || {
        expansion.run(&keys, &[], query.clone(), |_, _| ());
    });

    let c = cipher(full, 1);
    let mut low = cipher(main, 2);
    let lowered = time(200, || lower(ring, &c, &mut low, &mut scratch));

    let square = SwitchKey::assemble(ring, full, &right, 1, &bodies(full, right.digits()), MASKS);
    let conversion = ConversionKey::plain(square)?;
    let rows: Vec<Cipher> = (0..u64::from(fold.digits())).map(|j| cipher(full, j)).collect();
    let converted = time(50, || {
        conversion.convert(ring, &fold, &rows, &mut scratch);
    });

    let gsw = Gsw::assemble(ring, main, &fold, 1, &bodies(main, 2 * fold.digits()), MASKS);
    let (mut zero, one) = (cipher(main, 3), cipher(main, 4));
    let chosen = time(200, || gsw.cmux(ring, &mut zero, &one, &mut scratch));
    let splits = (LEAVES - 1) as f64;
    Some([(split.0 / splits, split.1 / splits), lowered, converted, chosen])
}

/// Minimum and median.
fn time(runs: usize, mut f: impl FnMut()) -> (f64, f64) {
    let mut times: Vec<f64> = (0..runs)
        .map(|_| {
            let start = Instant::now();
            f();
            start.elapsed().as_secs_f64() * 1e6
        })
        .collect();
    times.sort_by(f64::total_cmp);
    (times[0], times[runs / 2])
}

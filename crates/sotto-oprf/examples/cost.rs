//! Time of masking a row, and of an evaluation at both ends:
//! `cargo run --release -p sotto-oprf --example cost`.
//!
//! Times are of one thread, the minimum of several runs, since other programs can only add to it.

use sotto_oprf::{Input, MaskVersion, RowMask, SecretKey, blind, p384};
use sotto_prg::system_rng;
use std::error::Error;
use std::hint::black_box;
use std::time::{Duration, Instant};

const RUNS: usize = 30;

/// Returns the minimum time of several runs, and the result of the last.
fn least<T>(mut work: impl FnMut() -> T) -> (Duration, T) {
    let mut timed = || {
        let start = Instant::now();
        let out = work();
        (start.elapsed(), out)
    };
    let mut best = timed();
    for _ in 1..RUNS {
        let (time, out) = timed();
        best = (time.min(best.0), out);
    }
    best
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut rng = system_rng()?;
    let key = SecretKey::generate(&mut rng)?;
    for bytes in [32, 1024] {
        let item = vec![7; bytes];
        let rows: Vec<Input> =
            (0..100).map(|row| Input::row("table", row, MaskVersion(1))).collect::<Result<_, _>>()?;
        let (time, _) = least(|| {
            for row in &rows {
                black_box(
                    key.at(row).map(|output| RowMask::new(&output).close(MaskVersion(1), &item)).is_ok(),
                );
            }
        });
        println!("mask a row of {bytes} bytes: {:.1} us", time.as_secs_f64() * 1e6 / rows.len() as f64);
    }
    for count in [1, 64] {
        let inputs =
            || (0..count).map(|row| Input::row("table", row, MaskVersion(1))).collect::<Result<_, _>>();
        let us = |time: Duration| time.as_secs_f64() * 1e6;
        let (blinding, blinded) = least(|| blind(inputs().unwrap_or_default(), &mut rng));
        let elements = blinded?.elements().to_vec();
        let (evaluating, answer) = least(|| key.evaluate(&elements, &mut rng));
        drop(answer?);
        let mut finishing = Duration::MAX;
        for _ in 0..RUNS {
            let blinded = blind(inputs()?, &mut rng)?;
            let answer = key.evaluate(blinded.elements(), &mut rng)?;
            let start = Instant::now();
            black_box(blinded.finish(&answer.elements, &answer.proof, &key.public())?);
            finishing = finishing.min(start.elapsed());
        }
        println!(
            "{count} evaluations: client blinds in {:.0} us, server evaluates in {:.0} us, client checks and unblinds \
            in {:.0} us",
            us(blinding),
            us(evaluating),
            us(finishing)
        );
    }
    other()
}

/// Measures the function over P-384, one input at a time.
fn other() -> Result<(), Box<dyn Error>> {
    let mut rng = system_rng()?;
    let key = p384::SecretKey::generate(&mut rng)?;
    let us = |time: Duration| time.as_secs_f64() * 1e6;
    let (at, _) = least(|| key.at(black_box(b"+15550000007")));
    println!("P-384: the function at a key in {:.0} us, {:.0} a second", us(at), 1e6 / us(at));
    let asked =
        || p384::blind(b"+15550000007".to_vec().into(), &mut system_rng()?).map_err(Box::<dyn Error>::from);
    let (blinding, blinded) = least(asked);
    let element = *blinded?.element();
    let (evaluating, _) = least(|| key.evaluate(&element, &mut rng));
    let mut finishing = Duration::MAX;
    for _ in 0..RUNS {
        let blinded = asked()?;
        let answer = key.evaluate(blinded.element(), &mut rng)?;
        let start = Instant::now();
        black_box(blinded.finish(&answer.element, &answer.proof, &key.public())?);
        finishing = finishing.min(start.elapsed());
    }
    let times = [blinding, evaluating, finishing].map(us);
    println!(
        "  client blinds in {:.0} us, server evaluates in {:.0} us, client finishes in {:.0} us",
        times[0], times[1], times[2]
    );
    Ok(())
}

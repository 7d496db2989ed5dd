//! What a card gives: its driver and limits, and passes of many sizes, compared with the processor's.
//!
//! `measure MEBIBYTES ROWS QUERIES,... [KERNEL]`: a table of rows of random bytes, `ROWS` of them,
//! multiplied by as many queries of 32-bit words; medians of eleven passes. With the name of a kernel,
//! that one and no other; with `all`, each of them. Without arguments, the cards.

#![forbid(unsafe_code)]

use rayon::prelude::*;
use sotto_core::PassQuery;
use sotto_gpu::{ByteMatrix, Card, GpuError, MemorySpeed, PassTimes};
use sotto_math::matrix::{PANEL_ROWS, PanelLayout, QueryPlanes, scan_u32};
use std::sync::Arc;
use std::time::{Duration, Instant};

const RUNS: usize = 11;

fn random(bytes: &mut [u8], seed: u64) {
    bytes.par_chunks_mut(1 << 20).enumerate().for_each(|(i, part)| {
        let mut x = (seed << 32 | i as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
        for word in part.as_chunks_mut().0 {
            x ^= x << 13;
            x ^= x >> 7;
            x ^= x << 17;
            *word = x.to_le_bytes();
        }
    });
}

fn on_the_processor(table: &[u8], layout: &PanelLayout, query: &QueryPlanes) -> Vec<u32> {
    let mut out = vec![0; layout.padded_rows()];
    table
        .par_chunks(16 * layout.panel_bytes())
        .zip(out.par_chunks_mut(16 * PANEL_ROWS))
        .for_each(|(panels, out)| scan_u32(panels, layout, &[query], &mut [out]));
    out
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort();
    times.get(times.len() / 2).copied().unwrap_or_default()
}

fn ms(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

fn per_second(bytes: u64, time: Duration) -> f64 {
    bytes as f64 / time.as_secs_f64() / 1e9
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let cards = Card::find();
    let [mebibytes, rows, queries, wanted @ ..] = args.as_slice() else {
        for card in &cards {
            println!("{card}");
            let gpu = card.open()?;
            println!(
                "  buffers of at most {} bytes; kernels: {}",
                gpu.max_buffer_bytes(),
                gpu.kernels().join(", ")
            );
            let speed = MemorySpeed::measure(&gpu, 1 << 30)?;
            let [read, copy] = [speed.read, speed.copy].map(|time| per_second(speed.bytes, time));
            println!("  memory: {read:.0} GB/s read, {copy:.0} GB/s copied, with the way to the card");
        }
        return Ok(());
    };
    let gpu = Arc::new(cards.first().ok_or(GpuError::NoCard)?.open()?);
    let rows: usize = rows.parse()?;
    let layout = PanelLayout::new(rows, (mebibytes.parse::<usize>()? << 20) / rows);
    let mut table = vec![0; layout.bytes()];
    random(&mut table, 1);
    let begin = Instant::now();
    let matrix = ByteMatrix::new(Arc::clone(&gpu), layout)?;
    matrix.write(0, &table)?;
    let wrote = begin.elapsed();
    let bytes = table.len() as u64;
    println!(
        "{mebibytes} MiB, {rows} rows, {} columns: {:.2} GiB of the card, written in {:.0} ms, {:.1} GB/s",
        layout.cols(),
        matrix.card_bytes() as f64 / f64::from(1 << 30),
        ms(wrote),
        per_second(bytes, wrote)
    );
    let batches: Vec<usize> = queries.split(',').map(str::parse).collect::<Result<_, _>>()?;
    let most = batches.iter().copied().max().unwrap_or(0);
    let query = |i: usize| {
        let mut words = vec![0; 4 * layout.cols()];
        random(&mut words, 2 + i as u64);
        let words: Vec<u32> = words.as_chunks().0.iter().map(|word| u32::from_le_bytes(*word)).collect();
        QueryPlanes::from_u32(&words, 4, &layout)
    };
    let queries: Vec<QueryPlanes> = (0..most).map(query).collect();
    println!(
        "queries  kernel                   multiply ms  table GB/s  T products/s  arrange  combine  wall ms  the same"
    );
    for count in batches {
        let of_batch: Vec<&QueryPlanes> = queries.iter().take(count).collect();
        let views = of_batch.iter().map(|query| PassQuery { planes: query.planes(), words: query.words() });
        let queries: Vec<PassQuery<'_>> = views.collect();
        let names = gpu.kernels();
        let chosen =
            |name: &&str| wanted.iter().any(|wanted| wanted == "all" || name.starts_with(wanted.as_str()));
        let mut kernels: Vec<Option<usize>> =
            names.iter().enumerate().filter(|(_, name)| chosen(name)).map(|(i, _)| Some(i)).collect();
        if kernels.is_empty() {
            kernels.push(None);
        }
        for kernel in kernels {
            // The first pass takes memory, and is the one that is compared.
            let words = matrix.times_u32_with(kernel, &queries)?;
            let ends = [of_batch.first(), of_batch.last()].into_iter().flatten();
            let same = ends
                .zip([words.first(), words.last()])
                .all(|(query, words)| words == Some(&on_the_processor(&table, &layout, query)));
            let mut runs: Vec<(PassTimes, Duration)> = Vec::new();
            for _ in 0..RUNS {
                let begin = Instant::now();
                matrix.times_u32_with(kernel, &queries)?;
                let wall = begin.elapsed();
                runs.push((matrix.last_times().unwrap_or_default(), wall));
            }
            let of = |part: fn(&(PassTimes, Duration)) -> Duration| median(runs.iter().map(part).collect());
            let multiply = of(|run| run.0.multiply);
            println!(
                "{count:7}  {:24} {:11.3} {:11.0} {:13.1} {:8.3} {:8.3} {:8.2}  {same}",
                kernel.and_then(|i| names.get(i)).unwrap_or(&"as chosen"),
                ms(multiply),
                per_second(bytes, multiply),
                per_second(bytes, multiply) * 4.0 * count as f64 / 1e3,
                ms(of(|run| run.0.arrange)),
                ms(of(|run| run.0.combine)),
                ms(of(|run| run.1)),
            );
        }
    }
    Ok(())
}

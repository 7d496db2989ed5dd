//! Measures how long a keyword table takes to be written to a file, opened, and updated: `filed
//! ROWS VALUE_BYTES THREADS FOLDER`.
#![expect(clippy::unwrap_used, reason = "an example that measures")]

use sotto_apple::image::{KeywordRows, PreviousEpoch, UseCaseOptions, encode, open};
use sotto_apple::sets::WeakParams;
use sotto_db::encode::in_pool;
use sotto_db::{Progress, TableDir};
use std::path::PathBuf;
use std::sync::Mutex;
use std::time::{Duration, Instant};

fn main() {
    let mut arguments = std::env::args().skip(1);
    let mut next =
        |otherwise: usize| arguments.next().map_or(otherwise, |argument| argument.parse().unwrap());
    let (count, value_bytes, threads) = (next(100_000), next(2), next(1));
    let folder = PathBuf::from(arguments.next().unwrap_or("target/filed".into()));
    let _ = std::fs::remove_dir_all(&folder);
    let lock = TableDir::create(&folder).unwrap().lock().unwrap();
    let value = |i: usize| (0..value_bytes).map(|j| (i * 31 + j * 7) as u8).collect::<Vec<u8>>();
    let mut rows = KeywordRows::default();
    (0..count).for_each(|i| rows.push(format!("+15550{i:08}").as_bytes(), &value(i)).unwrap());
    let how = UseCaseOptions::new("filed");
    let stages = Stages::new();
    in_pool(Some(threads), || encode(rows, &how, &lock, &|at| stages.at(at))).unwrap().unwrap();
    stages.say("written");

    let start = Instant::now();
    let opened = open(&folder, WeakParams::Reject).unwrap();
    println!("opened in {:?}: {:?}", start.elapsed(), opened.description.shards);

    // One key in a hundred changes, spread over the table.
    let changes = (0..count).step_by(100).map(|i| (format!("+15550{i:08}").into_bytes(), Some(value(i + 1))));
    let changes = changes.collect();
    let stages = Stages::new();
    let update = PreviousEpoch::open(&lock, WeakParams::Reject).unwrap().change_keys(changes).unwrap();
    println!("read in {:?}: {:?}", stages.0.elapsed(), update.tally());
    let (_, made) = in_pool(Some(threads), || update.apply(&|at| stages.at(at))).unwrap().unwrap();
    stages.say(&format!("{made} plaintexts made anew, updated"));
}

/// Start time of each stage, by a clock and in processor time.
struct Stages(Instant, Duration, Mutex<Vec<(&'static str, Duration, Duration)>>);

impl Stages {
    fn new() -> Self {
        Stages(Instant::now(), processor(), Mutex::default())
    }

    fn at(&self, progress: Progress) {
        let mut all = self.2.lock().unwrap();
        if all.last().is_none_or(|(stage, ..)| *stage != progress.stage) {
            all.push((progress.stage, self.0.elapsed(), processor() - self.1));
        }
    }

    fn say(&self, what: &str) {
        let all = self.2.lock().unwrap();
        let end = (self.0.elapsed(), processor() - self.1);
        println!("{what} in {:.2?}, {:.2?} of processor time", end.0, end.1);
        let ends = all.iter().skip(1).map(|(_, clock, processor)| (*clock, *processor)).chain([end]);
        for ((stage, clock, processor), end) in all.iter().zip(ends) {
            println!("  {stage:8} {:.2?}, {:.2?}", end.0 - *clock, end.1 - *processor);
        }
    }
}

/// Processor time of all threads of this process, as Linux counts it: on a shared machine it is
/// more reliable than a clock.
fn processor() -> Duration {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    // After the name, which may contain spaces: the twelfth and the thirteenth field, in hundredths
    // of a second.
    let fields = stat.rsplit_once(')').map_or("", |(_, rest)| rest).split_whitespace().skip(11).take(2);
    Duration::from_millis(fields.filter_map(|field| field.parse::<u64>().ok()).sum::<u64>() * 10)
}

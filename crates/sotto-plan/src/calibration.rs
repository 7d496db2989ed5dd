//! Calibration of a machine: the time of a unit of each scheme's work, from a few small tables that
//! were measured on it, and the time of reading memory.
//!
//! [`Costs::server_ops`](sotto_core::Costs) counts work; a [`CalibrationSample`] says how long it
//! took. Times lie on lines through the samples, so that constant costs, which no scheme counts, are
//! included. Small tables stay in caches, so a [`MemorySample`] says what reading a large one takes:
//! no scheme that reads its whole table is faster than that.

use crate::interpolation::{interpolated, line};
use serde::{Deserialize, Serialize};
use sotto_core::work;
use std::path::Path;

/// Name and version of the file format.
pub const FORMAT: &str = "sotto-calibration/2";

/// Largest size of the file in bytes: a sample takes a few hundred.
const MAX_BYTES: u64 = 1 << 20;

/// Measured speeds of a machine.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Calibration {
    /// Format of the file, always [`FORMAT`].
    pub format: String,
    /// Description of the machine: processor, kernels, version of sotto.
    pub machine: String,
    /// Number of threads of the samples with several threads.
    pub threads: u32,
    /// Times of reading memory, one or more. Files of earlier formats have none, and are refused by
    /// their format.
    #[serde(default)]
    pub memory: Vec<MemorySample>,
    /// Samples, one or more for each scheme.
    pub samples: Vec<CalibrationSample>,
    /// Seconds that the measurement took.
    pub took_s: f64,
}

/// Measured times of reading a buffer in order: the shortest of several, in nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MemorySample {
    /// Bytes of the buffer.
    pub bytes: u64,
    /// Nanoseconds of a read on one thread.
    pub read_ns: f64,
    /// Nanoseconds of a read with all threads.
    pub threads_ns: f64,
}

/// Work of a lookup, by which its time is predicted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LookupWork {
    /// Work of one server, as the scheme reports it.
    pub server_ops: u64,
    /// Work of the client.
    pub client_ops: u64,
    /// Bytes of the table.
    pub table_bytes: u64,
}

/// Measured times of a scheme on one table: the shortest of several runs, in nanoseconds.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CalibrationSample {
    /// Name of the scheme, with its version.
    pub scheme: String,
    /// Rows of the table.
    pub rows: u64,
    /// Bytes of a row.
    pub row_bytes: u64,
    /// Work of one server for a lookup, as the scheme reports it.
    pub server_ops: u64,
    /// Work of the client for a lookup.
    pub client_ops: u64,
    /// Nanoseconds of a lookup on one thread of a server.
    pub server_ns: f64,
    /// Nanoseconds of a pass of [`Self::pass_lookups`] lookups on one thread.
    pub pass_ns: f64,
    /// Number of lookups that shared the pass.
    pub pass_lookups: u32,
    /// Nanoseconds of a lookup with all threads of a server.
    pub threads_ns: f64,
    /// Nanoseconds of a client to make a query and recover its answer.
    pub client_ns: f64,
    /// Nanoseconds to encode the table with all threads.
    pub encode_ns: f64,
    /// Times of the table in parts, if the scheme supports parts.
    pub parts: Option<PartSample>,
}

/// Measured times of a table in parts.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PartSample {
    /// Number of parts.
    pub parts: u32,
    /// Nanoseconds of the partial answer of one part, on one thread.
    pub partial_ns: f64,
    /// Nanoseconds to join all partial answers into an answer.
    pub join_ns: f64,
    /// Bytes of a partial answer.
    pub partial_bytes: u64,
    /// Bytes of an answer.
    pub answer_bytes: u64,
}

/// Speed of a scheme on a machine, for one amount of work.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SchemeRate {
    /// Nanoseconds of a lookup on one thread of a server.
    pub server_ns: f64,
    /// Nanoseconds of the client for a lookup.
    pub client_ns: f64,
    /// Time that each further lookup of a shared pass adds, relative to the first: 1 where sharing
    /// gains nothing.
    pub own: f64,
    /// Efficiency of further threads, relative to perfect scaling: 0 to 1.
    pub spread: f64,
    /// Nanoseconds to encode the table, with all threads of the measured machine.
    pub encode_ns: Option<f64>,
}

/// Overhead of a table in parts.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PartRate {
    /// Work of all parts relative to that of the whole table.
    pub all: f64,
    /// Nanoseconds to join one partial answer.
    pub join: f64,
    /// Bytes of a partial answer relative to those of an answer.
    pub long: f64,
}

/// Why there is no calibration.
#[derive(Debug, thiserror::Error)]
pub enum CalibrationError {
    /// The file does not exist or cannot be read.
    #[error("{0}")]
    Storage(#[from] std::io::Error),
    /// The file is not a calibration.
    #[error("damaged: {0}")]
    Damaged(String),
    /// The calibration is of another machine, or another version of sotto.
    #[error("measured on another machine or by another version: {0}")]
    OtherMachine(String),
}

impl Calibration {
    /// Reads the calibration of the named machine from a file.
    ///
    /// # Errors
    /// [`CalibrationError`].
    pub fn recall(file: &Path, machine: &str) -> Result<Self, CalibrationError> {
        if std::fs::metadata(file)?.len() > MAX_BYTES {
            return Err(CalibrationError::Damaged(format!("the file has more than {MAX_BYTES} bytes")));
        }
        let text = std::fs::read(file)?;
        let read: Calibration =
            serde_json::from_slice(&text).map_err(|why| CalibrationError::Damaged(why.to_string()))?;
        read.check().map_err(CalibrationError::Damaged)?;
        if read.machine != machine { Err(CalibrationError::OtherMachine(read.machine)) } else { Ok(read) }
    }

    /// Writes the calibration to a file atomically: two programs may write at the same time.
    ///
    /// # Errors
    /// The errors of the file system.
    pub fn keep(&self, file: &Path) -> std::io::Result<()> {
        if let Some(folder) = file.parent() {
            std::fs::create_dir_all(folder)?;
        }
        let aside = file.with_extension(format!("{}.tmp", std::process::id()));
        std::fs::write(&aside, serde_json::to_string_pretty(self)?)?;
        std::fs::rename(&aside, file)
    }

    /// Checks that all values can be results of a measurement.
    fn check(&self) -> Result<(), String> {
        if self.format != FORMAT {
            return Err(format!(
                "the format is {:?}, expected {FORMAT}",
                self.format.chars().take(40).collect::<String>()
            ));
        }
        let is_time = |ns: &f64| ns.is_finite() && *ns > 0.0;
        let read = |memory: &MemorySample| {
            memory.bytes > 0 && [memory.read_ns, memory.threads_ns].iter().all(is_time)
        };
        let measured = |sample: &CalibrationSample| {
            let times =
                [sample.server_ns, sample.pass_ns, sample.threads_ns, sample.client_ns, sample.encode_ns];
            let parts = sample.parts.map_or([1.0, 1.0], |parts| [parts.partial_ns, parts.join_ns]);
            let counts = [sample.server_ops, sample.client_ops, sample.rows, sample.row_bytes];
            let parted = sample.parts.is_none_or(|parts| parts.parts > 0 && parts.answer_bytes > 0);
            times.iter().chain(&parts).all(is_time)
                && parted
                && sample.pass_lookups > 0
                && !counts.contains(&0)
        };
        let is_whole = self.threads > 0
            && !self.memory.is_empty()
            && self.memory.iter().all(read)
            && self.samples.iter().all(measured);
        if is_whole {
            Ok(())
        } else {
            Err("a value in the calibration is not a valid time or count".to_owned())
        }
    }

    /// Samples of a scheme, the one with the least work first.
    fn samples_of(&self, scheme: &str) -> Vec<&CalibrationSample> {
        let mut samples: Vec<_> = self.samples.iter().filter(|sample| sample.scheme == scheme).collect();
        samples.sort_by_key(|sample| sample.server_ops);
        samples
    }

    /// Speed of a scheme at a lookup with the given work; `None` if it was not measured.
    pub fn rate(&self, scheme: &str, work: LookupWork) -> Option<SchemeRate> {
        let samples = self.samples_of(scheme);
        let last = samples.last()?;
        let points =
            |point: fn(&CalibrationSample) -> (f64, f64)| samples.iter().map(move |sample| point(sample));
        let server = points(|sample| (sample.server_ops as f64, sample.server_ns));
        let client = points(|sample| (sample.client_ops as f64, sample.client_ns));
        let encode = points(|sample| (sample.table_bytes(), sample.encode_ns));
        let table_bytes = work.table_bytes as f64;
        let mut server_ns = line(server, work.server_ops as f64, LOOKUP_SLOPE);
        let mut spread = spread([last.server_ns, last.threads_ns], self.threads);
        if self.reads_all(last) {
            let read = self.read(table_bytes);
            server_ns = server_ns.max(read[0] / PASS_OF_READ);
            // A small table gains little from several threads, and reading a large one as much as
            // memory does.
            spread = spread.max(self::spread(read, self.threads));
        }
        Some(SchemeRate {
            server_ns,
            client_ns: line(client, work.client_ops as f64, LOOKUP_SLOPE),
            own: own(last),
            spread,
            encode_ns: Some(line(encode, table_bytes, ENCODE_SLOPE)),
        })
    }

    /// Overhead of parts of a scheme, if parts were measured. Small tables gain nothing from parts, so
    /// the largest sample decides.
    pub fn part_rate(&self, scheme: &str) -> Option<PartRate> {
        let last = *self.samples_of(scheme).last()?;
        last.parts.map(|parts| PartRate {
            all: parts.partial_ns * f64::from(parts.parts) / last.server_ns,
            join: parts.join_ns / f64::from(parts.parts),
            long: parts.partial_bytes as f64 / parts.answer_bytes as f64,
        })
    }

    /// Nanoseconds of reading so many bytes in order: on one thread, and with all.
    fn read(&self, bytes: f64) -> [f64; 2] {
        let each = |ns: &dyn Fn(&MemorySample) -> f64| {
            // Caches double in size, so rates are interpolated by the logarithm.
            let rates = self.memory.iter().map(|memory| {
                let size = memory.bytes as f64;
                (size.log2(), ns(memory) / size)
            });
            bytes * interpolated(rates, bytes.max(1.0).log2())
        };
        [each(&|memory| memory.read_ns), each(&|memory| memory.threads_ns)]
    }

    /// Whether a scheme reads its whole table for a lookup: those that do not are faster than a read.
    fn reads_all(&self, sample: &CalibrationSample) -> bool {
        sample.server_ns > READ_SHARE * self.read(sample.table_bytes())[0]
    }
}

/// Throughput of a pass over a table, relative to that of a plain read: kernels reach 80 to 95 %.
const PASS_OF_READ: f64 = 0.87;

/// Share of the time of reading a table, of which a scheme that reads all of it takes more: two
/// measurements of the same caches differ.
const READ_SHARE: f64 = 0.7;

impl CalibrationSample {
    /// Bytes of the table.
    fn table_bytes(&self) -> f64 {
        self.rows as f64 * self.row_bytes as f64
    }
}

impl SchemeRate {
    /// Speed without a calibration, computed from `sotto_core::work`. It is the same for all
    /// schemes: queries of a pass share nothing, and threads scale perfectly.
    pub fn usual(server_ops: u64, client_ops: u64) -> Self {
        let time = |ops: u64| ops as f64 / work::OPS_PER_NANOSECOND as f64;
        let (server_ns, client_ns) = (time(server_ops), time(client_ops));
        SchemeRate { server_ns, client_ns, own: 1.0, spread: 1.0, encode_ns: None }
    }
}

/// Least slope of a line beyond all points, relative to that of a line from zero: no constant cost is
/// more than half of a measured lookup.
const LOOKUP_SLOPE: f64 = 0.5;

/// The same for encoding, where a constant can be nearly all.
const ENCODE_SLOPE: f64 = 0.0;

/// Time that each further lookup of a pass takes, relative to the first.
fn own(sample: &CalibrationSample) -> f64 {
    let further = f64::from(sample.pass_lookups) - 1.0;
    if further <= 0.0 {
        return 1.0;
    }
    ((sample.pass_ns / sample.server_ns - 1.0) / further).clamp(0.01, 1.0)
}

/// Efficiency of a further thread, from the times of one thread and of all.
fn spread([one, all]: [f64; 2], threads: u32) -> f64 {
    if threads <= 1 {
        return 1.0;
    }
    ((one / all - 1.0) / (f64::from(threads) - 1.0)).clamp(0.0, 1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(server_ops: u64, server_ns: f64) -> CalibrationSample {
        CalibrationSample {
            scheme: "simplepir/1".into(),
            rows: 1000,
            row_bytes: 10,
            server_ops,
            client_ops: 10,
            server_ns,
            pass_ns: server_ns * 2.75,
            pass_lookups: 8,
            threads_ns: server_ns / 1.5,
            client_ns: 20.0,
            encode_ns: 30_000.0,
            parts: Some(PartSample {
                parts: 4,
                partial_ns: server_ns / 2.0,
                join_ns: 8.0,
                partial_bytes: 4,
                answer_bytes: 2,
            }),
        }
    }

    fn calibration() -> Calibration {
        let samples = vec![sample(1_000_000, 1000.0), sample(100, 0.4)];
        let memory = |bytes: u64, byte_ns: f64| MemorySample {
            bytes,
            read_ns: bytes as f64 * byte_ns,
            threads_ns: bytes as f64 * byte_ns / 1.8,
        };
        let memory = vec![memory(1 << 30, 0.04), memory(1 << 20, 0.01)];
        Calibration {
            format: FORMAT.into(),
            machine: "this".into(),
            threads: 2,
            memory,
            samples,
            took_s: 1.0,
        }
    }

    fn close(a: f64, b: f64) -> bool {
        (a / b - 1.0).abs() < 1e-6
    }

    #[test]
    fn times_go_along_lines_and_on_beyond_the_last() {
        let calibration = calibration();
        let rate = |server_ops| {
            let work = LookupWork { server_ops, client_ops: 10, table_bytes: 1 };
            calibration.rate("simplepir/1", work).unwrap()
        };
        assert!(close(rate(100).server_ns, 0.4) && close(rate(1_000_000).server_ns, 1000.0));
        assert!(close(rate(500_050).server_ns, 500.2));
        assert!(close(rate(1_999_900).server_ns, 1999.6));
        // Half of the first time is constant at most.
        assert!(close(rate(50).server_ns, 0.3));
        assert!(close(rate(100).own, 0.25));
        assert_eq!(
            calibration.rate("another/1", LookupWork { server_ops: 5, client_ops: 5, table_bytes: 5 }),
            None
        );
        let part_rate = calibration.part_rate("simplepir/1");
        assert_eq!(part_rate, Some(PartRate { all: 2.0, join: 2.0, long: 2.0 }));
        let at = |points: &[(f64, f64)], x| line(points.iter().copied(), x, LOOKUP_SLOPE);
        // Two samples of the same work are one point; neither falling times nor close points make a line.
        assert!(close(at(&[(4.0, 8.0), (4.0, 9.0)], 2.0), 4.0));
        assert!(close(at(&[(1.0, 8.0), (4.0, 4.0)], 8.0), 8.0));
        assert!(close(at(&[(4.0, 4.0), (5.0, 4.5)], 10.0), 9.0));
        // Neither do caches end again at every doubling.
        assert!(close(at(&[(1.0, 1.0), (2.0, 4.0)], 3.0), 6.0));
        assert_eq!(at(&[], 8.0), 0.0);
        // Nearly all of an encoding can be a constant.
        assert!(close(line([(1.0, 8.0), (2.0, 8.1)].into_iter(), 12.0, ENCODE_SLOPE), 9.1));
    }

    #[test]
    fn no_scheme_that_reads_its_table_is_faster_than_memory() {
        let mut calibration = calibration();
        let rate = |calibration: &Calibration, table_bytes| {
            let work = LookupWork { server_ops: 1_000_000, client_ops: 10, table_bytes };
            calibration.rate("simplepir/1", work).unwrap()
        };
        // Its largest table has 10,000 bytes, which memory gives in 100 ns.
        let small = rate(&calibration, 10_000);
        assert!(close(small.server_ns, 1000.0) && close(small.spread, 0.8));
        let large = |bytes: u32| rate(&calibration, bytes.into()).server_ns / f64::from(bytes) * PASS_OF_READ;
        assert!(close(large(1 << 30), 0.04));
        // Between two sizes, by the logarithm.
        assert!(close(large(1 << 25), 0.025));
        // A scheme that was faster than a read does not read all.
        for sample in &mut calibration.samples {
            (sample.rows, sample.row_bytes) = (1 << 20, 1);
        }
        let partial = rate(&calibration, 1 << 30);
        assert!(close(partial.server_ns, 1000.0) && close(partial.spread, 0.5));
        assert!(close(partial.encode_ns.unwrap(), 30_000.0 * 1024.0));
    }

    #[test]
    fn a_file_is_of_its_machine_and_whole() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("kept").join("calibration.json");
        assert!(matches!(Calibration::recall(&file, "this"), Err(CalibrationError::Storage(_))));
        calibration().keep(&file).unwrap();
        assert_eq!(Calibration::recall(&file, "this").unwrap(), calibration());
        assert!(matches!(Calibration::recall(&file, "that"), Err(CalibrationError::OtherMachine(_))));
        let mut bad = calibration();
        bad.samples[0].server_ns = 0.0;
        bad.keep(&file).unwrap();
        assert!(matches!(Calibration::recall(&file, "this"), Err(CalibrationError::Damaged(_))));
        for bad in [
            Calibration { format: "other".into(), ..calibration() },
            Calibration { memory: Vec::new(), ..calibration() },
            Calibration { threads: 0, ..calibration() },
        ] {
            bad.keep(&file).unwrap();
            assert!(matches!(Calibration::recall(&file, "this"), Err(CalibrationError::Damaged(_))));
        }
        let first =
            r#"{"format":"sotto-calibration/1","machine":"this","threads":2,"samples":[],"took_s":1.0}"#;
        std::fs::write(&file, first).unwrap();
        let refused = Calibration::recall(&file, "this").unwrap_err().to_string();
        assert!(refused.contains("expected sotto-calibration/2"), "{refused}");
        for text in ["", "{", "[]", "{\"format\":1}", "null"] {
            std::fs::write(&file, text).unwrap();
            assert!(
                matches!(Calibration::recall(&file, "this"), Err(CalibrationError::Damaged(_))),
                "{text}"
            );
        }
    }
}

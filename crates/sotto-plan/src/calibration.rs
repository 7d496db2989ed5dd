//! Calibration of a machine: the time of a unit of each scheme's work, from a few tables that were
//! measured on it.
//!
//! [`Costs::server_ops`](sotto_core::Costs) counts work; a [`CalibrationSample`] says how long it
//! took. One sample fits into the processor's caches and one does not. Times are interpolated
//! linearly between samples, and extrapolated beyond the last, so that constant costs, which no
//! scheme counts, are included. Below the first sample, time is proportional to work.

use serde::{Deserialize, Serialize};
use sotto_core::work;
use std::path::Path;

/// Name and version of the file format.
pub const FORMAT: &str = "sotto-calibration/1";

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
    /// Samples, one or more for each scheme.
    pub samples: Vec<CalibrationSample>,
    /// Seconds that the measurement took.
    pub took_s: f64,
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
    /// Nanoseconds to encode a byte of the table, with all threads of the measured machine.
    pub encode_byte: Option<f64>,
    /// Overhead of parts, if parts were measured.
    pub parts: Option<PartRate>,
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
        for sample in &self.samples {
            let times =
                [sample.server_ns, sample.pass_ns, sample.threads_ns, sample.client_ns, sample.encode_ns];
            let parts = sample.parts.map_or([1.0, 1.0], |parts| [parts.partial_ns, parts.join_ns]);
            let are_times = times.iter().chain(&parts).all(|ns| ns.is_finite() && *ns > 0.0);
            let counts = [sample.server_ops, sample.client_ops, sample.rows, sample.row_bytes];
            let parted = sample.parts.is_none_or(|parts| parts.parts > 0 && parts.answer_bytes > 0);
            if !are_times || !parted || sample.pass_lookups == 0 || counts.contains(&0) || self.threads == 0 {
                return Err("a value in the calibration is not a valid time or count".to_owned());
            }
        }
        Ok(())
    }

    /// Speed of a scheme at a lookup with the given work of server and client; `None` if it was not
    /// measured.
    pub fn rate(&self, scheme: &str, server_ops: u64, client_ops: u64) -> Option<SchemeRate> {
        let mut samples: Vec<&CalibrationSample> =
            self.samples.iter().filter(|sample| sample.scheme == scheme).collect();
        samples.sort_by_key(|sample| sample.server_ops);
        let last = samples.last()?;
        let between =
            |x: &dyn Fn(&CalibrationSample) -> u64, at: u64, y: &dyn Fn(&CalibrationSample) -> f64| {
                line(samples.iter().map(|sample| (x(sample) as f64, y(sample))), at as f64)
            };
        let server = between(&|sample| sample.server_ops, server_ops, &|sample| sample.server_ns);
        let client = between(&|sample| sample.client_ops, client_ops, &|sample| sample.client_ns);
        // Small tables gain nothing from several threads or from parts, so the largest sample
        // decides.
        let parts = last.parts.map(|parts| PartRate {
            all: parts.partial_ns * f64::from(parts.parts) / last.server_ns,
            join: parts.join_ns / f64::from(parts.parts),
            long: parts.partial_bytes as f64 / parts.answer_bytes as f64,
        });
        Some(SchemeRate {
            server_ns: server,
            client_ns: client,
            own: own(last),
            spread: spread(last, self.threads),
            encode_byte: Some(last.encode_ns / (last.rows as f64 * last.row_bytes as f64)),
            parts,
        })
    }
}

impl SchemeRate {
    /// Speed without a calibration, computed from `sotto_core::work`. It is the same for all
    /// schemes: queries of a pass share nothing, and threads scale perfectly.
    pub fn usual(server_ops: u64, client_ops: u64) -> Self {
        let time = |ops: u64| ops as f64 / work::OPS_PER_NANOSECOND as f64;
        let (server_ns, client_ns) = (time(server_ops), time(client_ops));
        SchemeRate { server_ns, client_ns, own: 1.0, spread: 1.0, encode_byte: None, parts: None }
    }
}

/// Value at `x` of the piecewise linear function through points, extrapolated beyond the last two
/// of them. Before the first point, and where the line would fall, the value is proportional to
/// `x`.
fn line(points: impl Iterator<Item = (f64, f64)>, x: f64) -> f64 {
    let mut points: Vec<(f64, f64)> = points.collect();
    points.sort_by(|a, b| a.0.total_cmp(&b.0));
    points.dedup_by(|b, a| a.0 == b.0);
    let above = points.iter().position(|point| point.0 >= x).unwrap_or(points.len().saturating_sub(1));
    let near = above.checked_sub(1).and_then(|below| points.get(below)).zip(points.get(above));
    match (near, points.get(above)) {
        (Some(((x0, y0), (x1, y1))), _) if y1 >= y0 => y0 + (y1 - y0) * (x - x0) / (x1 - x0),
        (_, Some((x1, y1))) => y1 * x / x1,
        _ => 0.0,
    }
}

/// Time that each further lookup of a pass takes, relative to the first.
fn own(sample: &CalibrationSample) -> f64 {
    let further = f64::from(sample.pass_lookups) - 1.0;
    if further <= 0.0 {
        return 1.0;
    }
    ((sample.pass_ns / sample.server_ns - 1.0) / further).clamp(0.01, 1.0)
}

/// Efficiency of a further thread.
fn spread(sample: &CalibrationSample, threads: u32) -> f64 {
    if threads <= 1 {
        return 1.0;
    }
    ((sample.server_ns / sample.threads_ns - 1.0) / (f64::from(threads) - 1.0)).clamp(0.0, 1.0)
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
        Calibration { format: FORMAT.into(), machine: "this".into(), threads: 2, samples, took_s: 1.0 }
    }

    #[test]
    fn times_go_along_lines_and_on_beyond_the_last() {
        let calibration = calibration();
        let rate = |ops| calibration.rate("simplepir/1", ops, 10).unwrap();
        let close = |a: f64, b: f64| (a / b - 1.0).abs() < 1e-6;
        assert!(close(rate(50).server_ns, 0.2) && close(rate(100).server_ns, 0.4));
        assert!(close(rate(1_000_000).server_ns, 1000.0));
        assert!(close(rate(500_050).server_ns, 500.2));
        assert!(close(rate(1_999_900).server_ns, 1999.6));
        assert!(close(rate(100).own, 0.25) && close(rate(100).spread, 0.5));
        assert_eq!(rate(5).parts, Some(PartRate { all: 2.0, join: 2.0, long: 2.0 }));
        assert_eq!(rate(5).encode_byte, Some(3.0));
        assert_eq!(calibration.rate("another/1", 5, 5), None);
        // Two samples of the same work are one point, and falling times do not make a line.
        assert!(close(line([(4.0, 8.0), (4.0, 9.0)].into_iter(), 2.0), 4.0));
        assert!(close(line([(1.0, 8.0), (4.0, 4.0)].into_iter(), 8.0), 8.0));
        assert_eq!(line(std::iter::empty(), 8.0), 0.0);
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
        Calibration { format: "other".into(), ..calibration() }.keep(&file).unwrap();
        assert!(matches!(Calibration::recall(&file, "this"), Err(CalibrationError::Damaged(_))));
        for text in ["", "{", "[]", "{\"format\":1}", "null"] {
            std::fs::write(&file, text).unwrap();
            assert!(
                matches!(Calibration::recall(&file, "this"), Err(CalibrationError::Damaged(_))),
                "{text}"
            );
        }
    }
}

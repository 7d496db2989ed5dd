//! Judging whether a ratio has fallen: a pure function of the measured ratio, the expected one, and
//! the conditions.

use serde::Serialize;

/// Divisor of the expected ratio, below which a ratio has fallen: no neighbor changes a quotient of
/// times in turns by so much, and a broken kernel does.
const SLACK: f64 = 1.8;

/// The verdict on a ratio.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// At least one attempt reached the minimum.
    #[serde(rename = "holds")]
    Passed,
    /// No attempt reached the minimum.
    #[serde(rename = "fallen")]
    Regressed,
    /// There is no expected ratio, or nothing was measured.
    NotJudged,
}

impl Verdict {
    /// Judges the attempts at a ratio; the best of them counts.
    pub(super) fn of(expected: Option<f64>, attempts: &[f64]) -> Self {
        match expected {
            None => Verdict::NotJudged,
            Some(_) if attempts.is_empty() => Verdict::NotJudged,
            Some(expected) if attempts.iter().any(|ratio| *ratio >= minimum(expected)) => Verdict::Passed,
            Some(_) => Verdict::Regressed,
        }
    }

    /// The verdict in a word, for the table.
    pub fn word(self) -> &'static str {
        match self {
            Verdict::Passed => "holds",
            Verdict::Regressed => "FALLEN",
            Verdict::NotJudged => "-",
        }
    }
}

/// The minimum for an expected ratio.
pub(super) fn minimum(expected: f64) -> f64 {
    expected / SLACK
}

/// The conditions that decide whether a run can be judged.
pub(super) struct Conditions<'a> {
    pub(super) backend: &'a str,
    pub(super) optimized: bool,
    pub(super) quick: bool,
    pub(super) huge_pages: bool,
}

/// The backends with expected ratios, in the order of the table's columns.
pub(super) const BACKENDS: [&str; 2] = ["avx512", "avx2"];

impl Conditions<'_> {
    /// The column of the table that applies, or the reason why none does.
    pub(super) fn column(&self) -> Result<usize, String> {
        if !self.optimized {
            return Err("the build is unoptimized; use `make bench-regression`".to_owned());
        }
        if self.quick {
            return Err("--quick has too few repetitions; omit it".to_owned());
        }
        if !self.huge_pages {
            return Err("the system has no huge pages, without which ratios differ".to_owned());
        }
        BACKENDS.iter().position(|backend| *backend == self.backend).ok_or_else(|| {
            format!("no ratios are known for {} kernels, only for {}", self.backend, BACKENDS.join(" and "))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FINE: Conditions<'_> =
        Conditions { backend: "avx512", optimized: true, quick: false, huge_pages: true };

    #[test]
    fn a_ratio_falls_only_far_below_what_is_expected() {
        let judge = |ratio| Verdict::of(Some(0.9), &[ratio]);
        assert_eq!([judge(0.9), judge(0.51), judge(40.0)], [Verdict::Passed; 3]);
        assert_eq!([judge(0.49), judge(0.0), judge(f64::NAN)], [Verdict::Regressed; 3]);
        assert_eq!(Verdict::of(Some(0.9), &[minimum(0.9)]), Verdict::Passed, "the end belongs to the band");
    }

    #[test]
    fn a_second_attempt_clears_the_first() {
        assert_eq!(Verdict::of(Some(1.0), &[0.3, 0.9]), Verdict::Passed);
        assert_eq!(Verdict::of(Some(1.0), &[0.3, 0.31]), Verdict::Regressed);
    }

    #[test]
    fn what_is_not_known_or_not_measured_is_not_judged() {
        assert_eq!(Verdict::of(None, &[0.0]), Verdict::NotJudged);
        assert_eq!(Verdict::of(Some(1.0), &[]), Verdict::NotJudged);
    }

    #[test]
    fn only_known_backends_in_their_best_conditions_are_judged() {
        assert_eq!(FINE.column(), Ok(0));
        assert_eq!(Conditions { backend: "avx2", ..FINE }.column(), Ok(1));
        for other in ["scalar", "avxvnni", "neon", ""] {
            assert!(Conditions { backend: other, ..FINE }.column().unwrap_err().contains("avx512 and avx2"));
        }
        assert!(Conditions { optimized: false, ..FINE }.column().is_err());
        assert!(Conditions { quick: true, ..FINE }.column().is_err());
        assert!(Conditions { huge_pages: false, ..FINE }.column().is_err());
    }
}

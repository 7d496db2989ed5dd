//! `sotto get --rounds`: lookups in rounds of one size at fixed times.

use crate::connect_args::duration;
use crate::failure::{Failure, Result};
use crate::screen::progress::{ProgressLine, StageUnit};
use sotto_client::table::CoverTraffic;
use sotto_client::{ClientError, Lookup, LookupResult};
use std::num::NonZeroUsize;
use std::time::Duration;

/// Rounds that are made whatever is looked up.
#[derive(Debug, clap::Args)]
pub(crate) struct CoverArgs {
    /// Number of rounds to make, one each --interval, whatever is looked up
    #[arg(long, value_name = "N", requires = "interval", conflicts_with_all = ["stream", "apple"], help_heading = COVER)]
    #[arg(value_parser = clap::value_parser!(u32).range(1..))]
    rounds: Option<u32>,
    /// Time from one round to the next: 30, 30s or 5m
    #[arg(long, value_name = "DURATION", requires = "rounds", value_parser = duration, help_heading = COVER)]
    interval: Option<Duration>,
    /// Number of lookups in each round
    #[arg(long, value_name = "N", default_value = "1", requires = "rounds", help_heading = COVER)]
    round_size: NonZeroUsize,
}

const COVER: &str = "Cover traffic";

impl CoverArgs {
    /// Refuses more lookups than the rounds have.
    pub(super) fn check(&self, lookups: usize) -> Result<()> {
        let Some(rounds) = self.rounds else { return Ok(()) };
        let room = (rounds as usize).saturating_mul(self.round_size.get());
        match lookups > room {
            true => Err(Failure::usage(format!("{lookups} lookups, and the rounds have only {room}"))
                .fix("make more --rounds, or larger ones (--round-size)")),
            false => Ok(()),
        }
    }

    /// Number of rounds in which these lookups are made, if each may have `max` lookups.
    pub(super) fn rounds(&self, lookups: usize, max: usize) -> usize {
        let each = |lookups: usize| lookups.div_ceil(max.max(1)).max(1);
        self.rounds.map_or(each(lookups), |rounds| rounds as usize * each(self.round_size.get()))
    }

    /// Makes the lookups at once, or in rounds; `look_up` makes those of one request.
    ///
    /// # Errors
    /// The last error of a round, if not all lookups were made after the last round.
    pub(super) fn look_up(
        &self,
        lookups: &[Lookup<'_>],
        bars: &ProgressLine,
        mut look_up: impl FnMut(&[Lookup<'_>]) -> LookupOutcome,
    ) -> LookupOutcome {
        let (Some(rounds), Some(interval)) = (self.rounds, self.interval) else { return look_up(lookups) };
        let mut cover = CoverTraffic::new(self.round_size, interval);
        let (mut results, mut failed) = (Vec::new(), None);
        for round in 0..rounds {
            bars.at("looking up", round.into(), rounds.into(), StageUnit::Count("rounds"));
            std::thread::sleep(cover.wait());
            match cover.round(lookups.get(results.len()..).unwrap_or_default(), &mut look_up) {
                Ok(more) => results.extend(more),
                Err(error) => failed = Some(error),
            }
        }
        match failed {
            Some(error) if results.len() < lookups.len() => Err(error),
            _ => Ok(results),
        }
    }
}

/// A result for each lookup, or the error of all.
type LookupOutcome = std::result::Result<Vec<std::result::Result<LookupResult, ClientError>>, ClientError>;

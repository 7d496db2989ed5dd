//! What every route shares.

use crate::batch::{Batch, Limits};
use crate::epochs::{Reloaded, Tables};
use crate::metrics::Metrics;
use crate::refusal::Refusal;
use crate::{Config, Source, StartError};
use sotto_wire::Code;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// A server without its sockets.
pub(crate) struct Service {
    pub(crate) tables: Tables,
    pub(crate) batch: Batch,
    pub(crate) metrics: Arc<Metrics>,
    pub(crate) read_timeout: Duration,
    in_flight: Arc<Semaphore>,
    stopping: AtomicBool,
}

impl Service {
    /// Opens every table and starts the worker.
    ///
    /// # Errors
    /// [`StartError`].
    pub(crate) fn open(config: &Config, sources: Vec<Box<dyn Source>>) -> Result<Self, StartError> {
        let metrics = Arc::new(Metrics::new());
        let tables = Tables::open(sources)?;
        let batch = Batch::start(Limits::of(config), config.threads, metrics.clone())?;
        Ok(Service {
            tables,
            batch,
            metrics,
            read_timeout: config.read_timeout(),
            in_flight: Arc::new(Semaphore::new(config.max_in_flight.min(Semaphore::MAX_PERMITS))),
            stopping: AtomicBool::new(false),
        })
    }

    /// A place for one request body in memory, until it is dropped.
    ///
    /// # Errors
    /// [`Code::Busy`], [`Code::ShuttingDown`].
    pub(crate) fn place(&self) -> Result<OwnedSemaphorePermit, Refusal> {
        if self.is_stopping() {
            return Err(Code::ShuttingDown.into());
        }
        self.in_flight.clone().try_acquire_owned().map_err(|_| Code::Busy.into())
    }

    /// From now on, takes no new work.
    pub(crate) fn stop(&self) {
        self.stopping.store(true, Ordering::Relaxed);
    }

    pub(crate) fn is_stopping(&self) -> bool {
        self.stopping.load(Ordering::Relaxed)
    }

    /// Looks for new epochs of every table. Blocks on files.
    pub(crate) fn reload(&self) -> Vec<(String, Reloaded)> {
        let reload = |slot: &crate::epochs::Slot| {
            let reloaded = slot.reload();
            if reloaded.refused.is_some() {
                self.metrics.epoch_refused();
            }
            (slot.name().to_string(), reloaded)
        };
        self.tables.all().map(reload).collect()
    }
}

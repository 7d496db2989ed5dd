//! What every route shares.

use crate::admission::{self, Sessions};
use crate::batch::{Batch, Limits};
use crate::effort::Effort;
use crate::epochs::{PATIENCE, Tables};
use crate::metrics::Metrics;
use crate::orders::Orders;
use crate::quota::Quota;
use crate::refusal::Refusal;
use crate::slot::{Looked, Slot};
use crate::stacks::Stacks;
use crate::{Config, Source, StartError};
use sotto_wire::Code;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// A server without its sockets.
pub(crate) struct Service {
    pub(crate) tables: Tables,
    pub(crate) stacks: Stacks,
    pub(crate) batch: Batch,
    pub(crate) orders: Orders,
    pub(crate) sessions: Sessions,
    pub(crate) metrics: Arc<Metrics>,
    pub(crate) open_streams: Arc<Quota>,
    pub(crate) open_orders: Arc<Quota>,
    pub(crate) effort: Arc<Effort>,
    pub(crate) evaluations: Effort,
    pub(crate) read_timeout: Duration,
    bodies: Arc<Semaphore>,
    room: u32,
    stopping: AtomicBool,
}

impl Service {
    /// Opens every table and starts the workers.
    ///
    /// # Errors
    /// [`StartError`].
    pub(crate) fn open(config: &Config, sources: Vec<Box<dyn Source>>) -> Result<Self, StartError> {
        let metrics = Arc::new(Metrics::new());
        let tables = Tables::open(sources)?;
        let stacks = Stacks::open(&config.stacks, &tables)?;
        let state = config.state.as_deref();
        let sessions = Sessions::open(&config.sessions, state, metrics.clone(), admission::now())?;
        let room = u32::try_from(config.max_in_flight_mib.saturating_mul(1024)).unwrap_or(u32::MAX);
        let batch = Batch::start(Limits::of(config), config.threads, metrics.clone())?;
        let micros = config.order_seconds_per_client.saturating_mul(1_000_000);
        let made = "as much was made for one address as may be in an hour";
        let effort = Arc::new(Effort::new(micros, made, Instant::now()));
        let evaluated = "as many evaluations were made for one address as may be in an hour";
        let evaluations = Effort::new(config.evaluations_per_client, evaluated, Instant::now());
        let orders = Orders::start(config.max_orders, config.order_threads, effort.clone(), metrics.clone())?;
        let streams =
            ["as many streams are open as may be", "as many streams are open as one address may have"];
        let hints = ["as many orders wait as may", "as many orders wait as one address may have"];
        Ok(Service {
            tables,
            stacks,
            batch,
            orders,
            sessions,
            open_streams: Quota::new(
                config.max_streams,
                config.streams_per_client,
                metrics.open_streams.clone(),
                streams,
            ),
            open_orders: Quota::new(
                config.max_orders,
                config.orders_per_client,
                metrics.open_orders.clone(),
                hints,
            ),
            effort,
            evaluations,
            metrics,
            read_timeout: config.read_timeout(),
            bodies: Arc::new(Semaphore::new(room as usize)),
            room,
            stopping: AtomicBool::new(false),
        })
    }

    /// Room in memory for a request body of at most `bytes`, until it is dropped. Counted in KiB; a body
    /// larger than all there is takes all of it.
    ///
    /// # Errors
    /// [`Code::Busy`], [`Code::ShuttingDown`].
    pub(crate) fn room_for(&self, bytes: u64) -> Result<OwnedSemaphorePermit, Refusal> {
        if self.is_stopping() {
            return Err(Code::ShuttingDown.into());
        }
        let wanted = u32::try_from(bytes.div_ceil(1024)).unwrap_or(u32::MAX).clamp(1, self.room);
        self.bodies.clone().try_acquire_many_owned(wanted).map_err(|_| Code::Busy.into())
    }

    /// From now on, takes no new work.
    pub(crate) fn stop(&self) {
        self.stopping.store(true, Ordering::Relaxed);
        self.tables.all().for_each(|slot| slot.stop());
        self.orders.close();
    }

    pub(crate) fn is_stopping(&self) -> bool {
        self.stopping.load(Ordering::Relaxed)
    }

    /// Looks for new epochs of every table. Blocks on files; large images are read by a thread of its own.
    pub(crate) fn reload(self: &Arc<Self>) -> Vec<(String, Looked)> {
        let mut patience = PATIENCE;
        let look = |slot: &Arc<Slot>| {
            let looked = slot.look(&mut patience);
            if looked.refused.is_some() {
                self.metrics.epoch_refused();
            }
            (slot.clone(), looked)
        };
        let looked: Vec<_> = self.tables.all().map(look).collect();
        self.stacks.reload(&self.tables);
        let begun = |(slot, looked): &(Arc<Slot>, Looked)| looked.begun.then(|| slot.clone());
        self.read_on(looked.iter().filter_map(begun).collect());
        looked.into_iter().map(|(slot, looked)| (slot.name(), looked)).collect()
    }

    /// Reads the images of these tables through on a thread of its own, one after the other: a disk does not get faster from two
    /// who read it.
    pub(crate) fn read_on(self: &Arc<Self>, slots: Vec<Arc<Slot>>) {
        if slots.is_empty() {
            return;
        }
        let (service, waiting) = (self.clone(), slots.clone());
        let read = move || {
            for slot in slots {
                if slot.read_on().refused.is_some() {
                    service.metrics.epoch_refused();
                }
                service.stacks.reload(&service.tables);
            }
        };
        if let Err(error) = std::thread::Builder::new().name("sotto-check".into()).spawn(read) {
            tracing::error!(%error, "no thread to read images on; they are looked for again later");
            waiting.iter().for_each(|slot| slot.put_off());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bodies_share_the_memory_they_are_given() {
        let config = Config { max_in_flight_mib: 1, threads: 1, ..Config::default() };
        let service = Service::open(&config, Vec::new()).unwrap();
        let code = |bytes| service.room_for(bytes).map(drop).map_err(|refusal| refusal.0.code);
        let half = service.room_for(512 << 10).unwrap();
        assert_eq!(code(512 << 10), Ok(()));
        assert_eq!(code((512 << 10) + 1), Err(Code::Busy));
        drop(half);
        // One that is larger than all there is takes all, once nobody else has any.
        let all = service.room_for(u64::MAX).unwrap();
        assert_eq!(code(0), Err(Code::Busy));
        drop(all);
        assert_eq!(code(0), Ok(()));
        service.stop();
        assert_eq!(code(0), Err(Code::ShuttingDown));
    }
}

//! The copies of an epoch's matrices that an accelerator answers from.

use crate::locked;
use sotto_catalog::TableName;
use sotto_core::{
    AcceleratedMatrix, Accelerator, AcceleratorError, AnyServer, Epoch, PassProducts, PassQuery,
};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex};
use std::time::Instant;

/// Who makes the passes over an epoch of a server that has an accelerator.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PassMaker {
    /// The accelerator, from its copies.
    Accelerator {
        /// The device and its driver.
        device: String,
        /// Bytes of the matrices that were copied.
        bytes: u64,
    },
    /// The processor, for this reason.
    Processor(String),
}

/// The accelerator of an epoch, and whether it has the epoch's matrices.
pub(super) struct EpochAccelerator {
    accelerator: Arc<dyn Accelerator>,
    /// Bytes that were copied, or the reason why none were; `None` before the first try.
    copied: Mutex<Option<Result<u64, AcceleratorError>>>,
}

impl EpochAccelerator {
    pub(super) fn new(accelerator: Arc<dyn Accelerator>) -> Self {
        EpochAccelerator { accelerator, copied: Mutex::default() }
    }

    /// Copies all matrices of the epoch, once; again only if there was too little memory.
    pub(super) fn copy(&self, server: &dyn AnyServer, table: &TableName, epoch: Epoch) {
        let mut copied = locked(&self.copied);
        if !matches!(*copied, None | Some(Err(AcceleratorError::Memory { .. }))) {
            return;
        }
        let began = Instant::now();
        let now = catch_unwind(AssertUnwindSafe(|| self.fill(server, table, epoch)));
        let now = now.unwrap_or_else(|_| Err(panicked()));
        match &now {
            _ if copied.as_ref() == Some(&now) => {}
            Ok(bytes) => {
                let (device, ms) = (&self.accelerator, began.elapsed().as_millis() as u64);
                tracing::info!(%table, %epoch, bytes, ms, "copied to {device}, which makes the passes");
            }
            Err(why) => tracing::warn!(%table, %epoch, %why, "the processor makes the passes"),
        }
        *copied = Some(now);
    }

    fn fill(&self, server: &dyn AnyServer, table: &TableName, epoch: Epoch) -> Result<u64, AcceleratorError> {
        let matrices = server.matrices();
        if matrices.is_empty() {
            return Err(AcceleratorError::Failed("the scheme has no passes for an accelerator".into()));
        }
        let copies = self.accelerator.copy(&matrices)?;
        for (matrix, copy) in matrices.iter().zip(copies) {
            let watched = WatchedMatrix { copy, table: table.clone(), epoch };
            matrix.slot.replace(Some(Box::new(watched)));
        }
        Ok(matrices.iter().map(|matrix| matrix.panels.len() as u64).sum())
    }

    /// Releases the copies, after the pass that is being made. The processor makes the passes from now
    /// on.
    pub(super) fn release(&self, server: &dyn AnyServer) {
        let mut copied = locked(&self.copied);
        if matches!(*copied, Some(Ok(_))) {
            server.matrices().iter().for_each(|matrix| matrix.slot.replace(None));
            *copied =
                Some(Err(AcceleratorError::Failed("a newer epoch has the accelerator's memory".into())));
        }
    }

    /// Who makes the passes, once that is decided.
    pub(super) fn maker(&self, server: &dyn AnyServer) -> Option<PassMaker> {
        Some(match locked(&self.copied).as_ref()? {
            Err(why) => PassMaker::Processor(why.to_string()),
            Ok(_) if !server.matrices().iter().all(|matrix| matrix.slot.is_filled()) => {
                PassMaker::Processor("the accelerator failed".into())
            }
            Ok(bytes) => PassMaker::Accelerator { device: self.accelerator.to_string(), bytes: *bytes },
        })
    }
}

/// A copy whose failures are logged.
struct WatchedMatrix {
    copy: Box<dyn AcceleratedMatrix>,
    table: TableName,
    epoch: Epoch,
}

impl WatchedMatrix {
    fn pass<T>(&self, pass: impl FnOnce(&dyn AcceleratedMatrix) -> PassProducts<T>) -> PassProducts<T> {
        let made = catch_unwind(AssertUnwindSafe(|| pass(self.copy.as_ref())));
        let made = made.unwrap_or_else(|_| Err(panicked()));
        if let Err(error) = &made {
            let (table, epoch) = (&self.table, self.epoch);
            tracing::error!(%table, %epoch, %error, "the accelerator failed: the processor makes this pass and the next \
                 ones");
        }
        made
    }
}

impl AcceleratedMatrix for WatchedMatrix {
    fn times_u32(&self, queries: &[PassQuery<'_>]) -> PassProducts<u32> {
        self.pass(|copy| copy.times_u32(queries))
    }

    fn times_planes(&self, queries: &[PassQuery<'_>]) -> PassProducts<i64> {
        self.pass(|copy| copy.times_planes(queries))
    }
}

fn panicked() -> AcceleratorError {
    AcceleratorError::Failed("the driver panicked".into())
}

//! Graphics cards: the one that `sotto serve --gpu` has passes made by.

use crate::failure::Result;
use sotto_core::Accelerator;
use sotto_server::ServerConfig;
use std::sync::Arc;

/// Opens the first card of the machine, if a server shall use one. A build without cards opens none, and
/// the server refuses to start.
#[cfg(feature = "gpu")]
pub(crate) fn accelerator(config: &ServerConfig) -> Result<Option<Arc<dyn Accelerator>>> {
    use crate::failure::{Exit, Failure};
    use sotto_gpu::{Card, CardAccelerator};
    if !config.gpu {
        return Ok(None);
    }
    let failed =
        |why: String| Failure::new(Exit::Missing, why).fix("see `sotto doctor`, or serve without --gpu");
    let cards = Card::find();
    let card = cards.first().ok_or_else(|| failed("no graphics card with a driver is found".into()))?;
    let max = (config.gpu_memory_mib > 0).then(|| config.gpu_memory_mib.saturating_mul(1 << 20));
    let opened = CardAccelerator::open(card, max).map_err(|error| failed(format!("{card}: {error}")))?;
    Ok(Some(Arc::new(opened)))
}

#[cfg(not(feature = "gpu"))]
pub(crate) fn accelerator(_: &ServerConfig) -> Result<Option<Arc<dyn Accelerator>>> {
    Ok(None)
}

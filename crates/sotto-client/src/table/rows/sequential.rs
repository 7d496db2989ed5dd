//! Fetching of parts when they are needed, on platforms without threads.

use super::{FetchedBody, RowFetcher};
use crate::Result;
use crate::transport::{Request, Transport};
use sotto_core::{Error, Misuse};

/// Runs `work` with a fetcher.
pub(super) fn fetching<T>(transport: &mut dyn Transport, work: impl FnOnce(&mut dyn RowFetcher) -> T) -> T {
    work(&mut SequentialFetcher { transport, ordered: None })
}

struct SequentialFetcher<'a> {
    transport: &'a mut dyn Transport,
    ordered: Option<Request>,
}

impl RowFetcher for SequentialFetcher<'_> {
    fn order(&mut self, request: Request) -> Result<()> {
        self.ordered = Some(request);
        Ok(())
    }

    fn bring(&mut self) -> Result<FetchedBody> {
        let request =
            self.ordered.take().ok_or(Error::from(Misuse::Rule("a part that comes was ordered")))?;
        let mut body = Vec::new();
        let outcome = self.transport.call_in_pieces(&request, &mut |bytes| {
            body.extend_from_slice(bytes);
            true
        });
        Ok(FetchedBody { body, outcome })
    }
}

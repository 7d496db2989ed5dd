//! The requests and responses of a lookup.

use crate::write::Writer;
use sotto_binding::vector::{self, Exchange};
use sotto_client::transport::{Request, Response};

/// A request that was sent, and its response.
pub(crate) struct RecordedExchange {
    pub(crate) server: u8,
    pub(crate) request: Request,
    pub(crate) response: Response,
}

impl RecordedExchange {
    pub(crate) fn written(&self, writer: &mut Writer) -> Exchange {
        let RecordedExchange { server, request, response } = self;
        Exchange {
            server: *server,
            method: vector::method(request.method).to_owned(),
            path: request.path.clone(),
            range: request.range.as_ref().map(vector::range),
            request: (!request.body.is_empty()).then(|| writer.request(&request.body)),
            status: response.status,
            response: writer.body(&response.body),
        }
    }
}

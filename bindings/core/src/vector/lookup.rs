//! A lookup over any transport, which is recorded or replayed.
#![cfg_attr(
    not(feature = "record"),
    allow(unreachable_pub, reason = "nobody else records without the feature")
)]

use super::VectorError;
use rand_core::SeedableRng;
use sotto_catalog::Hex32;
use sotto_client::Session;
use sotto_client::session::{RequestIo, SetupConfig};
use sotto_client::transport::{Request, Response, TransportError};
use sotto_core::CryptoRng;
use sotto_prg::ChaCha20Rng;

/// The generator of a vector's client.
pub fn generator(seed: &Hex32) -> ChaCha20Rng {
    ChaCha20Rng::from_seed(seed.0)
}

/// Opens a table, and looks a row up; returns the scheme's id and the row.
///
/// There is no clock, so no catalog has expired; and there is no cache, so everything is fetched.
///
/// # Errors
/// The errors of `send`, and [`VectorError::Client`].
pub fn lookup(
    config: SetupConfig,
    row: u64,
    rng: &mut dyn CryptoRng,
    send: &mut dyn FnMut(u8, &Request) -> Result<Response, VectorError>,
) -> Result<(String, Vec<u8>), VectorError> {
    let mut failed = None;
    let mut io = RequestIo::new(rng, |server, request| {
        send(server, request).map_err(|error| {
            let why = error.to_string();
            failed = Some(error);
            TransportError::Lost(why).into()
        })
    });
    let opened = Session::establish(config, &mut io);
    let mut session = match (opened, failed) {
        (Err(_), Some(failed)) => return Err(failed),
        (opened, _) => opened?,
    };
    while let Some(hint_request) = session.hint_request()? {
        let response = send(hint_request.server(), hint_request.request())?;
        session.apply_hint_response(&hint_request, &response)?;
    }
    let query = session.query(&[row], rng)?;
    let requests = (0..).zip(query.requests());
    let responses = requests.map(|(server, request)| send(server, request)).collect::<Result<Vec<_>, _>>()?;
    let mut rows = session.recover(query, &responses);
    if session.masked()?.is_some() {
        let evaluation = session.evaluation(&[row], rows, rng)?;
        let response = send(evaluation.server(), evaluation.request())?;
        rows = session.open(evaluation, &response);
    }
    let value = rows?.pop().ok_or(VectorError::OtherRow { row })?;
    Ok((session.catalog().scheme.clone(), value))
}

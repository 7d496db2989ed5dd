//! Downloads of static files, each chunk of which is verified against its digest.

use crate::failure::{Failure, Result};
use crate::screen::progress::{ProgressLine, StageUnit};
use sotto_catalog::ArtifactEntry;
use sotto_catalog::signed::MAX_SIGNED_BYTES;
use sotto_client::ClientError;
use sotto_client::transport::http::{HttpSettings, HttpTransport};
use sotto_client::transport::{Request, Transport};
use sotto_wire::routes::TableList;
use sotto_wire::sizes::MAX_TABLES_BYTES;
use sotto_wire::{Problem, routes};
use std::path::Path;

/// A connection to a server, which trusts the root certificates of a file in place of the web's.
pub(crate) fn connect(url: &str, trust_root: Option<&Path>) -> Result<HttpTransport> {
    Ok(HttpTransport::new(url, &http_settings(trust_root)?)?)
}

/// The usual settings, with the root certificates of a file in place of the web's.
pub(crate) fn http_settings(trust_root: Option<&Path>) -> Result<HttpSettings> {
    let settings = HttpSettings::default();
    Ok(match trust_root {
        Some(file) => settings.trust_file(file)?,
        None => settings,
    })
}

/// Downloads a signed catalog.
pub(crate) fn catalog(server: &mut HttpTransport, path: &str) -> Result<Vec<u8>> {
    fetch(server, Request::get(path.to_owned(), MAX_SIGNED_BYTES as u64))
}

/// Returns the body of a response.
pub(crate) fn fetch(server: &mut HttpTransport, request: Request) -> Result<Vec<u8>> {
    let response = server.call(&request)?;
    match response.is_success() {
        true => Ok(response.body),
        false => Err(ClientError::Refused(Problem::read(response.status, &response.body)).into()),
    }
}

/// The tables and stacks of a server.
pub(crate) fn tables(server: &mut HttpTransport) -> Result<TableList> {
    let body = fetch(server, Request::get(routes::TABLES.to_owned(), MAX_TABLES_BYTES))?;
    serde_json::from_slice(&body).map_err(|error| {
        Failure::peer(format!("the response is not a list of tables: {error}"))
            .fix("check that the address is that of a sotto server")
    })
}

/// Downloads a whole artifact, and verifies each chunk.
pub(crate) fn whole(
    server: &mut HttpTransport,
    entry: &ArtifactEntry,
    bars: &ProgressLine,
    take: &mut dyn FnMut(&[u8]) -> Result<()>,
) -> Result<()> {
    let path = routes::artifact(&entry.digest.to_string());
    let mut whole = blake3::Hasher::new();
    let mut done = 0;
    for (index, range) in (0..entry.chunks.len()).filter_map(|i| Some((i, entry.chunk_range(i)?))) {
        let chunk = fetch(server, Request::get_range(path.clone(), range))?;
        if !entry.is_chunk(index, &chunk) {
            return Err(damaged(entry));
        }
        whole.update(&chunk);
        take(&chunk)?;
        done += chunk.len() as u64;
        bars.at(entry.artifact.name(), done, entry.bytes, StageUnit::Bytes);
    }
    match whole.finalize() == blake3::Hash::from(entry.digest.0) {
        true => Ok(()),
        false => Err(damaged(entry)),
    }
}

fn damaged(entry: &ArtifactEntry) -> Failure {
    let name = entry.artifact.name();
    Failure::peer(format!("the server's {name} does not match the digests in its catalog"))
        .fix("tell the operator: the file is damaged, or a proxy changes it")
}

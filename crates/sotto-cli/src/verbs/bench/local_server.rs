//! Servers on loopback for benchmarks, and sessions with them that store nothing.

use crate::exit_mapping;
use crate::failure::{Failure, Result};
use sotto_client::session::{Action, SessionSetup, SetupConfig as Opens};
use sotto_client::transport::http::{HttpSettings, HttpTransport};
use sotto_client::transport::{Request, Response, Transport};
use sotto_client::{ClientError, Session};
use sotto_server::{RunningServer, TableStatus};
use std::time::Duration;

/// The address of a server.
pub(super) fn url(server: &RunningServer) -> String {
    format!("http://{}", server.public)
}

pub(super) fn http(url: &str) -> Result<HttpTransport> {
    HttpTransport::new(url, &HttpSettings::default()).map_err(|error| exit_mapping::client(error.into()))
}

pub(super) fn post(http: &mut HttpTransport, request: &Request) -> Result<Response> {
    let response = http.call(request).map_err(|error| exit_mapping::client(error.into()))?;
    if !response.is_success() {
        let status = response.status;
        return Err(Failure::internal(format!("the server refuses a query to its own table: {status}")));
    }
    Ok(response)
}

/// Waits until a server has verified its tables: before that it answers no queries.
pub(super) fn read_through(server: &RunningServer) -> Result<()> {
    loop {
        let standings = server.tables();
        for (name, standing) in &standings {
            if let TableStatus::Refused(why) = standing {
                return Err(Failure::internal(format!("the server refuses table {name}: {why}")));
            }
        }
        if !standings.iter().any(|(_, standing)| matches!(standing, TableStatus::Reading(..))) {
            return Ok(());
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Opens a session that stores nothing.
pub(super) fn open(urls: &[&str], table: &sotto_catalog::TableName) -> Result<Session> {
    let mut https = urls.iter().map(|url| http(url)).collect::<Result<Vec<_>>>()?;
    let mut rng = sotto_prg::system_rng().map_err(|_| exit_mapping::client(ClientError::NoEntropy))?;
    let count = u8::try_from(urls.len()).unwrap_or(u8::MAX);
    // The queries of a benchmark are no secret, and its hints end with it.
    let mut opening =
        SessionSetup::new(Opens { servers: count, in_memory: true, ..Opens::new(table.clone()) });
    loop {
        let (server, request) = match opening.next() {
            Action::Catalog { server, request } | Action::Keys { server, request } => (server, request),
            Action::Fetch(fetch) => (0, fetch.request),
            Action::Recall(_) => {
                opening.cached_artifact(None).map_err(exit_mapping::client)?;
                continue;
            }
            Action::Ready => return opening.finish().map_err(exit_mapping::client),
        };
        let Some(http) = https.get_mut(usize::from(server)) else {
            return Err(Failure::internal("a request without a server"));
        };
        let response = post(http, &request)?;
        opening.feed(&response, &mut rng).map_err(exit_mapping::client)?;
    }
}

//! Recording a lookup: a small table encoded and served like any other, and every message of a
//! client that queries it.

use crate::Failure;
use crate::cases::Case;
use crate::encoded_table::EncodedTable;
use crate::exchange::RecordedExchange;
use crate::secrets::Secrets;
use crate::seeds::derived;
use crate::write::{VectorFiles, Writer};
use sotto_binding::vector::{FORMAT, Vector, VectorError, VectorKey, generator, lookup};
use sotto_catalog::HexBytes;
use sotto_client::ClientError;
use sotto_client::session::SetupConfig;
use sotto_client::transport::http::{HttpSettings, HttpTransport};
use sotto_client::transport::{Request, Response, Transport};
use sotto_core::{Error, Misuse};
use sotto_server::Server;
use sotto_wire::{SessionId, query};

/// Encodes a case's table, serves it, fetches its row, and returns the vector's two files.
pub(crate) fn record(case: &Case) -> Result<VectorFiles, Failure> {
    let shelf = EncodedTable::encode(case)?;
    let servers = u8::try_from(case.entry.servers)?;
    let running: Vec<_> = (0..servers)
        .map(|role| {
            Server::start_with(&sotto_server::ServerConfig::on_free_ports(), vec![Box::new(shelf.at(role))])
        })
        .collect::<Result<_, _>>()?;
    let urls = running.iter().map(|running| format!("http://{}", running.public));
    let transports =
        urls.map(|url| HttpTransport::new(&url, &HttpSettings::default())).collect::<Result<_, _>>()?;
    let mut line = RecordingTransport { transports, sessions: Vec::new(), heard: Vec::new() };

    let key = shelf.key();
    let seed = derived("client", &case.name);
    let config = SetupConfig {
        pin: Some(key),
        servers,
        in_memory: true,
        ..SetupConfig::new(shelf.catalog.table.clone())
    };
    let (scheme, value) =
        lookup(config, case.row, &mut generator(&seed), &mut |server, request| line.send(server, request))?;
    if value != case.value() {
        return Err(format!("{}: the row that came is not that of the table", case.name).into());
    }
    for running in running {
        running.shutdown();
    }

    let secrets = Secrets { case, shelf: &shelf, seed, heard: &line.heard }.all()?;
    let mut writer = Writer::default();
    let exchanges = line.heard.iter().map(|heard| heard.written(&mut writer)).collect();
    let secrets = secrets.into_iter().map(|(name, bytes)| (name.to_owned(), writer.body(&bytes))).collect();
    let vector = Vector {
        format: FORMAT.to_owned(),
        about: case.about(),
        scheme,
        table: shelf.catalog.table.clone(),
        key: VectorKey(key),
        servers,
        seed,
        row: case.row,
        value: HexBytes(value),
        exchanges,
        secrets,
    };
    Ok(writer.finish(&case.name, &vector)?)
}

/// The connections to a table's servers, and the recorded messages.
struct RecordingTransport {
    transports: Vec<HttpTransport>,
    /// The id of each session as a vector has it, and as the server does. Servers draw ids at random, and vectors do not change
    /// from one recording to the next.
    sessions: Vec<(SessionId, SessionId)>,
    heard: Vec<RecordedExchange>,
}

impl RecordingTransport {
    fn send(&mut self, server: u8, request: &Request) -> Result<Response, VectorError> {
        let mut sent = request.clone();
        if request.path.ends_with("/ask")
            && let Ok(head) = query::QueryHead::parse(&request.body)
            && let Some((_, real)) = self.sessions.iter().find(|(written, _)| *written == head.session)
        {
            query::replace_session(&mut sent.body, real);
        }
        let transport = self.transports.get_mut(usize::from(server));
        let none = || ClientError::from(Error::from(Misuse::Rule("there is no such server")));
        let response = transport.ok_or_else(none)?.call(&sent).map_err(ClientError::from)?;
        let mut response = Response::new(response.status, response.body);
        if request.path.ends_with("/keys")
            && let Ok(real) = <[u8; 16]>::try_from(response.body.as_slice())
        {
            let written = blake3::hash(&request.body);
            let written = written.as_bytes().first_chunk().copied().unwrap_or_default();
            self.sessions.push((SessionId(written), SessionId(real)));
            response.body = written.to_vec();
        }
        self.heard.push(RecordedExchange { server, request: request.clone(), response: response.clone() });
        Ok(response)
    }
}

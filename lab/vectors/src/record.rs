//! Recording a lookup: a small table encoded and served like any other, and every message of a
//! client that queries it.

use crate::Failure;
use crate::cases::{Case, EncodedTable, derived};
use crate::secrets::Secrets;
use crate::write::{RecordedExchange, VectorFiles, Writer};
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
    let table = EncodedTable::encode(case)?;
    let servers = u8::try_from(case.entry.servers)?;
    let running: Vec<_> = (0..servers)
        .map(|role| {
            Server::start_with(&sotto_server::ServerConfig::on_free_ports(), vec![Box::new(table.at(role))])
        })
        .collect::<Result<_, _>>()?;
    let urls = running.iter().map(|running| format!("http://{}", running.public));
    let transports =
        urls.map(|url| HttpTransport::new(&url, &HttpSettings::default())).collect::<Result<_, _>>()?;
    let mut recorder = RecordingTransport { transports, sessions: Vec::new(), exchanges: Vec::new() };

    let key = table.key();
    let seed = derived("client", &case.name);
    let config = SetupConfig {
        pin: Some(key),
        servers,
        in_memory: true,
        ..SetupConfig::new(table.catalog.table.clone())
    };
    let (scheme, value) = lookup(config, case.row, &mut generator(&seed), &mut |server, request| {
        recorder.send(server, request)
    })?;
    if value != case.value() {
        return Err(format!("{}: the recovered row differs from the table", case.name).into());
    }
    for running in running {
        running.shutdown();
    }

    let secrets = Secrets { case, table: &table, seed, exchanges: &recorder.exchanges }.all()?;
    let mut writer = Writer::default();
    let exchanges = recorder.exchanges.iter().map(|exchange| exchange.written(&mut writer)).collect();
    let secrets = secrets.into_iter().map(|(name, bytes)| (name.to_owned(), writer.body(&bytes))).collect();
    let vector = Vector {
        format: FORMAT.to_owned(),
        about: case.about(),
        scheme,
        table: table.catalog.table.clone(),
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
    /// The id of each session in the vector, and at the server. Servers draw ids at random, and
    /// vectors do not change from one recording to the next.
    sessions: Vec<(SessionId, SessionId)>,
    exchanges: Vec<RecordedExchange>,
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
        self.exchanges.push(RecordedExchange {
            server,
            request: request.clone(),
            response: response.clone(),
        });
        Ok(response)
    }
}

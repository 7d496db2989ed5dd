//! Clients of real servers over HTTP: what they post, and responses that are changed on their way; and
//! lines that break.

use crate::common::{Server, boxed};
use sotto_client::transport::http::{HttpSettings, HttpTransport};
use sotto_client::transport::{Method, Request, Response, Transport, TransportError};
use sotto_server::{RunningServer, ServerConfig, StartError};
use std::path::Path;
use std::sync::{Arc, Mutex};

pub type Tamper = Box<dyn FnMut(&Request, &mut Response) + Send>;

/// What was posted to servers, and what changes their responses.
#[derive(Clone, Default)]
pub struct Wire {
    sent: Arc<Mutex<Vec<Request>>>,
    tamper: Arc<Mutex<Option<Tamper>>>,
}

impl Wire {
    /// A transport to this address.
    pub fn to(&self, url: &str) -> impl Transport + use<> {
        Watched { inner: HttpTransport::new(url, &HttpSettings::default()).unwrap(), wire: self.clone() }
    }

    /// Passes all further responses through `tamper`.
    pub fn tamper(&self, tamper: impl FnMut(&Request, &mut Response) + Send + 'static) {
        *self.tamper.lock().unwrap() = Some(Box::new(tamper));
    }

    /// Passes all further answers to queries through `tamper`.
    pub fn tamper_asks(&self, mut tamper: impl FnMut(&Request, &mut Response) + Send + 'static) {
        self.tamper(move |request, response| {
            if request.path.ends_with("/ask") {
                tamper(request, response);
            }
        });
    }

    /// What was posted since the last call.
    pub fn sent(&self) -> Vec<Request> {
        std::mem::take(&mut *self.sent.lock().unwrap())
    }
}

struct Watched {
    inner: HttpTransport,
    wire: Wire,
}

impl Transport for Watched {
    fn call(&mut self, request: &Request) -> Result<Response, TransportError> {
        if request.method == Method::Post {
            self.wire.sent.lock().unwrap().push(request.clone());
        }
        let mut response = self.inner.call(request)?;
        if let Some(tamper) = self.wire.tamper.lock().unwrap().as_mut() {
            tamper(request, &mut response);
        }
        Ok(response)
    }

    fn origin(&self) -> String {
        self.inner.origin()
    }
}

/// A line to a server in memory that breaks after the given numbers of bytes of a body, once each.
pub struct Breaking {
    inner: Box<dyn Transport>,
    /// The last is the first.
    after: Vec<usize>,
    /// The bytes that come at once.
    piece: usize,
    /// The server, if it drops all keys whenever the connection breaks.
    pub forgets: Option<Server>,
}

impl Breaking {
    pub fn new(server: &Server, after: &[usize], piece: usize) -> Self {
        let after = after.iter().rev().copied().collect();
        Breaking { inner: boxed(server.transport()), after, piece, forgets: None }
    }
}

impl Transport for Breaking {
    fn call(&mut self, request: &Request) -> Result<Response, TransportError> {
        self.inner.call(request)
    }

    fn call_in_pieces(
        &mut self,
        request: &Request,
        take: &mut dyn FnMut(&[u8]) -> bool,
    ) -> Result<Response, TransportError> {
        let mut response = self.inner.call(request)?;
        if !response.is_success() {
            return Ok(response);
        }
        let body = std::mem::take(&mut response.body);
        let cut = self.after.pop().unwrap_or(body.len());
        let refused = !body[..cut.min(body.len())].chunks(self.piece).all(take);
        if refused || cut >= body.len() {
            return Ok(response);
        }
        if let Some(server) = &self.forgets {
            server.with(|world| world.drop_sessions());
        }
        Err(TransportError::Lost("cut".to_owned()))
    }

    fn origin(&self) -> String {
        self.inner.origin()
    }
}

pub fn url(running: &RunningServer) -> String {
    format!("http://{}", running.public)
}

pub fn http(running: &RunningServer) -> HttpTransport {
    HttpTransport::new(&url(running), &HttpSettings::default()).unwrap()
}

/// Serves the stack in a folder.
pub fn serve_stack(dir: &Path) -> Result<RunningServer, StartError> {
    let stacks = vec![dir.to_owned()];
    sotto_server::Server::start(&ServerConfig {
        stacks,
        threads: 1,
        reload_seconds: 0,
        ..ServerConfig::on_free_ports()
    })
}

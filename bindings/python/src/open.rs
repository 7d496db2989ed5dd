//! Which table, whom to trust, where to keep things.

use crate::carrier::{Carrier, Raised};
use crate::fault::{self, Fault, work};
use crate::table::{Opened, Table};
use pyo3::prelude::*;
use sotto_catalog::PublicKey;
use sotto_client::stack::Batch;
use sotto_client::table::{Builder, Progress, Stage};
use sotto_client::transport::Transport;
use sotto_client::transport::retry::{Policy, Retrying};
use sotto_client::{ClientError, Stack};
use sotto_core::Artifact;
use sotto_wire::Code;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

/// What `sotto.connect` says, all of it by name.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct Options {
    pin: Option<String>,
    cache: Option<PathBuf>,
    key_file: Option<PathBuf>,
    state: Option<PathBuf>,
    anchor: Option<PathBuf>,
    in_memory: bool,
    fresh_keys: bool,
    verified: bool,
    timeout: f64,
    patience: f64,
    trust_root: Option<PathBuf>,
    insecure_plaintext: bool,
    progress: Option<Py<PyAny>>,
}

/// The same, understood.
struct How {
    pin: Option<PublicKey>,
    timeout: Duration,
    patience: Duration,
    rest: Options,
}

/// Opens a table, or a stack if there is no table of that name: at addresses, or over functions that carry requests.
#[pyfunction]
pub(crate) fn connect(
    py: Python<'_>,
    urls: Vec<String>,
    table: String,
    transports: Vec<Py<PyAny>>,
    options: Options,
) -> PyResult<Table> {
    let raised = Raised::default();
    let said = raised.clone();
    let opened = work(py, move || {
        fault::name(&table)?;
        let how = Arc::new(How::of(options)?);
        let to = To { urls, transports, raised: said.clone(), patience: how.patience };
        open(&to, &table, &how).map_err(|fault| fault.because(said.take()))
    })?;
    Ok(Table::new(opened, raised))
}

fn open(to: &To, name: &str, how: &Arc<How>) -> Result<Opened, Fault> {
    let missing = match to.table(name, how) {
        Ok(table) => return Ok(Opened::Table(Box::new(table))),
        Err(missing) if is_missing(&missing) => missing,
        Err(error) => return Err(error.into()),
    };
    match to.stack(name, how) {
        Ok(stack) => Ok(Opened::Stack(Box::new(Batch::new(stack)?))),
        // Neither: what was asked for was most likely a table.
        Err(error) if is_missing(&error) => Err(missing.into()),
        Err(error) => Err(error.into()),
    }
}

/// Whether a server says that it has nothing of that name.
fn is_missing(error: &ClientError) -> bool {
    matches!(error.root(), ClientError::Refused(problem) if problem.code == Code::NoSuchTable)
}

/// Where the servers are.
struct To {
    urls: Vec<String>,
    transports: Vec<Py<PyAny>>,
    raised: Raised,
    patience: Duration,
}

/// What is said of a table and of a stack in the same words.
macro_rules! opened {
    ($how:expr, $builder:expr) => {{
        let mut builder = $builder.timeout($how.timeout).patience($how.patience);
        if let Some(key) = $how.pin {
            builder = builder.pin(key);
        }
        if let Some(pem) = &$how.rest.trust_root {
            builder = builder.trust_root(pem);
        }
        if $how.rest.insecure_plaintext {
            builder = builder.insecure_plaintext();
        }
        if let Some(dir) = &$how.rest.cache {
            builder = builder.cache_dir(dir);
        }
        builder.open()
    }};
}

impl To {
    fn table(&self, name: &str, how: &Arc<How>) -> Result<sotto_client::Table, ClientError> {
        let builder = match self.transports.is_empty() {
            true => sotto_client::Table::connect_all(&self.urls(), name),
            false => sotto_client::Table::over_all(self.carriers(), name),
        };
        opened!(how, how.configure(builder))
    }

    fn stack(&self, name: &str, how: &Arc<How>) -> Result<Stack, ClientError> {
        let builder = match self.transports.is_empty() {
            true => Stack::connect_all(&self.urls(), name),
            false => {
                let to = Python::attach(|py| self.again(py));
                Stack::over(name, move || Ok(to.carriers()))
            }
        };
        let each = Arc::clone(how);
        opened!(how, builder.configure(move |builder| each.configure(builder)))
    }

    fn urls(&self) -> Vec<&str> {
        self.urls.iter().map(String::as_str).collect()
    }

    fn again(&self, py: Python<'_>) -> To {
        let transports = self.transports.iter().map(|call| call.clone_ref(py)).collect();
        To { urls: self.urls.clone(), transports, raised: self.raised.clone(), patience: self.patience }
    }

    /// The caller's functions, each of which waits for a busy server as our own connections do.
    fn carriers(&self) -> Vec<Box<dyn Transport>> {
        let calls = Python::attach(|py| self.again(py).transports);
        let each = (0..).zip(calls).map(|(server, call)| {
            let origin = self.urls.get(server).cloned().unwrap_or_else(|| format!("carried:{server}"));
            let carrier = Carrier { call, origin, raised: self.raised.clone() };
            let policy = Policy { patience: self.patience, ..Policy::default() };
            Box::new(Retrying::new(carrier, policy)) as Box<dyn Transport>
        });
        each.collect()
    }
}

impl How {
    fn of(options: Options) -> Result<Self, Fault> {
        let pin = options.pin.as_deref().map(str::parse).transpose().map_err(ClientError::from)?;
        let (timeout, patience) =
            (seconds("timeout", options.timeout)?, seconds("patience", options.patience)?);
        Ok(How { pin, timeout, patience, rest: options })
    }

    fn configure(&self, mut builder: Builder) -> Builder {
        builder = builder.patience(self.patience);
        if let Some(file) = &self.rest.key_file {
            builder = builder.key_file(file);
        }
        if let Some(dir) = &self.rest.state {
            builder = builder.state_dir(dir);
        }
        if let Some(dir) = &self.rest.anchor {
            builder = builder.anchor_dir(dir);
        }
        if self.rest.in_memory {
            builder = builder.state_in_memory();
        }
        if self.rest.fresh_keys {
            builder = builder.keys_age(Duration::ZERO);
        }
        if self.rest.verified {
            builder = builder.verified();
        }
        if let Some(told) = &self.rest.progress {
            let told = Python::attach(|py| told.clone_ref(py));
            builder = builder.progress(move |at| tell(&told, at));
        }
        builder
    }
}

fn seconds(what: &str, seconds: f64) -> Result<Duration, Fault> {
    let fix = "give a number of seconds, such as 60";
    Duration::try_from_secs_f64(seconds)
        .map_err(|_| Fault::misuse(format!("{what} is no length of time: {seconds}"), fix))
}

/// Tells a function how far something is. What it raises is printed, and stops nothing.
fn tell(told: &Py<PyAny>, at: Progress) {
    let stage = match at.stage {
        Stage::Catalog => "catalog",
        Stage::Waiting => "waiting",
        Stage::Artifact(Artifact::Rows) => "rows",
        Stage::Artifact(_) => "hint",
        Stage::Ahead => "ahead",
        Stage::Keys => "keys",
        Stage::Hints => "hints",
        Stage::Row => "row",
        _ => "ready",
    };
    Python::try_attach(|py| {
        if let Err(error) = told.call1(py, (stage, at.done, at.total)) {
            error.write_unraisable(py, Some(told.bind(py)));
        }
    });
}

//! Opens a table at some servers by its name, or a stack if there is no table of that name.

use crate::error::{self, BindingError};
use crate::options::{Options, ParsedOptions};
use crate::table_or_stack::TableOrStack;
use sotto_client::stack::BatchStack;
use sotto_client::table::{Progress, Stage, TableBuilder, TableEvent};
use sotto_client::transport::Transport;
use sotto_client::transport::retry::{RetryPolicy, RetryTransport};
use sotto_client::{ClientError, Stack, Table};
use sotto_core::Artifact;
use sotto_wire::Code;
use std::sync::Arc;

/// Makes a transport to each server, in the order of their roles. It is called once for each table
/// that is opened.
pub type TransportFactory = Arc<dyn Fn() -> Vec<Box<dyn Transport>> + Send + Sync>;

/// How the servers of a table are reached.
#[derive(Clone)]
pub enum Servers {
    /// Servers at these addresses.
    #[cfg(feature = "http")]
    Urls(Vec<String>),
    /// Servers behind functions of the caller, wrapped so that they wait for a busy server as HTTP
    /// connections do.
    Custom(TransportFactory),
}

/// Receives progress and events. Threads of the table may call it, too.
pub trait Listener: Send + Sync {
    /// Reports the progress of an opening: the stage, the bytes done, and the total, which is 0 if
    /// it is not known.
    fn progress(&self, stage: &'static str, done: u64, total: u64) {
        let _ = (stage, done, total);
    }

    /// Reports an event that went well, was repaired, or continues, in a sentence.
    fn event(&self, text: &str) {
        let _ = text;
    }
}

/// Opens a table or a stack.
///
/// # Errors
/// [`BindingError`], with whose fault and what to do.
pub fn open(
    servers: &Servers,
    name: &str,
    options: Options,
    listener: Option<Arc<dyn Listener>>,
) -> Result<TableOrStack, BindingError> {
    error::name(name)?;
    let to =
        Connection { servers: servers.clone(), options: Arc::new(ParsedOptions::of(options)?), listener };
    let missing = match to.table(name) {
        Ok(table) => return Ok(TableOrStack::Table(Box::new(table))),
        Err(missing) if is_missing(&missing) => missing,
        Err(error) => return Err(error.into()),
    };
    match to.stack(name) {
        Ok(stack) => Ok(TableOrStack::Stack(Box::new(BatchStack::new(stack)?))),
        // Neither exists: the caller most likely meant a table.
        Err(error) if is_missing(&error) => Err(missing.into()),
        Err(error) => Err(error.into()),
    }
}

/// Whether a server reports that it has nothing of that name.
fn is_missing(error: &ClientError) -> bool {
    matches!(error.root(), ClientError::Refused(problem) if problem.code == Code::NoSuchTable)
}

#[derive(Clone)]
struct Connection {
    servers: Servers,
    options: Arc<ParsedOptions>,
    listener: Option<Arc<dyn Listener>>,
}

/// Configures a table's builder and a stack's in the same way.
macro_rules! opened {
    ($options:expr, $builder:expr) => {{
        let mut builder = $builder.max_wait($options.max_wait);
        #[cfg(feature = "http")]
        {
            builder = builder.timeout($options.timeout);
            if let Some(pem) = &$options.rest.trust_root {
                builder = builder.trust_root(pem);
            }
            if $options.rest.insecure_plaintext {
                builder = builder.insecure_plaintext();
            }
        }
        if let Some(key) = $options.pin {
            builder = builder.pin(key);
        }
        if let Some(digest) = $options.snapshot {
            builder = builder.snapshot(digest);
        }
        if let Some(dir) = &$options.rest.cache {
            builder = builder.cache_dir(dir);
        }
        builder.open()
    }};
}

impl Connection {
    fn table(&self, name: &str) -> Result<Table, ClientError> {
        let builder = match &self.servers {
            #[cfg(feature = "http")]
            Servers::Urls(urls) => Table::connect_all(&strs(urls), name),
            Servers::Custom(transports) => Table::over_all(self.with_retries(transports), name),
        };
        opened!(self.options, self.configure(builder))
    }

    fn stack(&self, name: &str) -> Result<Stack, ClientError> {
        let builder = match &self.servers {
            #[cfg(feature = "http")]
            Servers::Urls(urls) => Stack::connect_all(&strs(urls), name),
            Servers::Custom(transports) => {
                let (to, transports) = (self.clone(), Arc::clone(transports));
                Stack::over(name, move || Ok(to.with_retries(&transports)))
            }
        };
        let each = self.clone();
        opened!(self.options, builder.configure(move |builder| each.configure(builder)))
    }

    fn with_retries(&self, transports: &TransportFactory) -> Vec<Box<dyn Transport>> {
        let policy = RetryPolicy { max_wait: self.options.max_wait, ..RetryPolicy::default() };
        let wait = |transport| Box::new(RetryTransport::new(transport, policy)) as Box<dyn Transport>;
        transports().into_iter().map(wait).collect()
    }

    fn configure(&self, builder: TableBuilder) -> TableBuilder {
        let builder = self.options.configure(builder);
        let Some(listener) = &self.listener else { return builder };
        let (far, happened) = (Arc::clone(listener), Arc::clone(listener));
        builder
            .progress(move |at: Progress| far.progress(stage(at.stage), at.done, at.total))
            .events(move |event: TableEvent| happened.event(&event.to_string()))
    }
}

#[cfg(feature = "http")]
fn strs(urls: &[String]) -> Vec<&str> {
    urls.iter().map(String::as_str).collect()
}

/// The name of a stage, in one word.
fn stage(stage: Stage) -> &'static str {
    match stage {
        Stage::Catalog => "catalog",
        Stage::Waiting => "waiting",
        Stage::Artifact(Artifact::Rows) => "rows",
        Stage::Artifact(_) => "hint",
        Stage::NextClient => "next-client",
        Stage::Keys => "keys",
        Stage::Hints => "hints",
        Stage::Row => "row",
        _ => "ready",
    }
}

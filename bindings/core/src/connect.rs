//! Opens a table at some servers by its name, or a stack if there is no table of that name.

use crate::error::{self, BindingError};
use crate::options::Options;
use crate::table_or_stack::TableOrStack;
use sotto_client::stack::BatchStack;
use sotto_client::table::{Builder, OpenOptions, Progress, Stage, TableEvent};
use sotto_client::transport::Transport;
use sotto_client::transport::retry::{RetryPolicy, RetryTransport};
use sotto_client::{ClientError, Stack, Table};
use sotto_core::Artifact;
use sotto_wire::ProblemCode;
use std::sync::Arc;
use std::time::Duration;

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
    let (options, servers) = (options.parse()?, servers.clone());
    let to = Connection { servers, options, listener };
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
    matches!(error.root(), ClientError::Refused(problem) if problem.code == ProblemCode::NoSuchTable)
}

struct Connection {
    servers: Servers,
    options: OpenOptions,
    listener: Option<Arc<dyn Listener>>,
}

impl Connection {
    fn table(&self, name: &str) -> Result<Table, ClientError> {
        let builder = match &self.servers {
            #[cfg(feature = "http")]
            Servers::Urls(urls) => Table::connect_all(&strs(urls), name),
            Servers::Custom(transports) => {
                Table::over_all(with_retries(transports, self.options.max_wait), name)
            }
        };
        self.configure(builder).open()
    }

    fn stack(&self, name: &str) -> Result<Stack, ClientError> {
        let builder = match &self.servers {
            #[cfg(feature = "http")]
            Servers::Urls(urls) => Stack::connect_all(&strs(urls), name),
            Servers::Custom(transports) => {
                let (transports, max_wait) = (Arc::clone(transports), self.options.max_wait);
                Stack::over(name, move || Ok(with_retries(&transports, max_wait)))
            }
        };
        self.configure(builder).open()
    }

    fn configure<T>(&self, builder: Builder<T>) -> Builder<T> {
        let builder = builder.options(self.options.clone());
        let Some(listener) = &self.listener else { return builder };
        let (far, happened) = (Arc::clone(listener), Arc::clone(listener));
        builder
            .progress(move |at: Progress| far.progress(stage(at.stage), at.done, at.total))
            .events(move |event: TableEvent| happened.event(&event.to_string()))
    }
}

fn with_retries(transports: &TransportFactory, max_wait: Duration) -> Vec<Box<dyn Transport>> {
    let policy = RetryPolicy { max_wait, ..RetryPolicy::default() };
    let wait = |transport| Box::new(RetryTransport::new(transport, policy)) as Box<dyn Transport>;
    transports().into_iter().map(wait).collect()
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

//! The servers of the measurement: existing servers, or servers that are started for a folder and
//! end with it.

use crate::exit_mapping;
use crate::failure::{Failure, Result};
use sotto_catalog::Catalog;
use sotto_client::transport::http::HttpSettings;
use sotto_db::{ImageFile, StackDir, TableDir};
use sotto_server::{RunningServer, Server, ServerConfig, TableConfig};
use std::path::{Path, PathBuf};

/// Servers, and the table or stack to query.
pub(super) struct LeakageTarget {
    /// Addresses of the servers, in the order of their roles.
    pub(super) urls: Vec<String>,
    pub(super) settings: HttpSettings,
    /// Name of the table or stack.
    pub(super) name: String,
    /// Whether it is a stack.
    pub(super) stack: bool,
    /// Epochs in the folder, if there is one.
    pub(super) epochs: Vec<u64>,
    /// Servers that were started, held during the measurement.
    _running: Vec<RunningServer>,
}

impl LeakageTarget {
    /// Uses the servers at these addresses.
    pub(super) fn there(urls: Vec<String>, settings: HttpSettings, name: String, stack: bool) -> Self {
        LeakageTarget { urls, settings, name, stack, epochs: Vec::new(), _running: Vec::new() }
    }

    /// Starts each server of a table's or stack's folder, or of an image, on loopback.
    pub(super) fn of_files(path: &Path) -> Result<Self> {
        if !path.exists() {
            let text = format!("no such file or folder: {}", path.display());
            return Err(
                Failure::missing(text).fix("give the directory of a table or stack, an image, or an address")
            );
        }
        if let Some(dir) = StackDir::find(path) {
            let (_, stack) = dir.read().map_err(exit_mapping::db)?;
            let first = stack.shards.first().map(|shard| dir.table(&shard.table));
            let first = first.ok_or_else(|| Failure::internal("the stack has no tables"))?;
            let image = TableDir::open(&first).and_then(|dir| dir.open_latest()).map_err(exit_mapping::db)?;
            let config = ServerConfig { stacks: vec![path.to_owned()], ..ServerConfig::on_free_ports() };
            return Self::started(config, stack.stack.to_string(), image.catalog(), Vec::new(), true);
        }
        let (table, image, epochs) = match path.is_file() {
            true => (TableConfig::path(path), ImageFile::open(path).map_err(exit_mapping::db)?, Vec::new()),
            false => {
                let dir = TableDir::open(path).map_err(exit_mapping::db)?;
                let epochs =
                    dir.epochs().map_err(exit_mapping::db)?.into_iter().map(|epoch| epoch.0).collect();
                (TableConfig::dir(PathBuf::from(path)), dir.open_latest().map_err(exit_mapping::db)?, epochs)
            }
        };
        let config = ServerConfig { tables: vec![table], ..ServerConfig::on_free_ports() };
        Self::started(config, image.catalog().table.to_string(), image.catalog(), epochs, false)
    }

    fn started(
        config: ServerConfig,
        name: String,
        catalog: &Catalog,
        epochs: Vec<u64>,
        stack: bool,
    ) -> Result<Self> {
        let start = |role| {
            Server::start(&ServerConfig { role, reload_seconds: 0, ..config.clone() })
                .map_err(exit_mapping::start)
        };
        let roles = 0..u8::try_from(catalog.servers).unwrap_or(u8::MAX);
        let running = roles.map(start).collect::<Result<Vec<_>>>()?;
        let urls = running.iter().map(|server| format!("http://{}", server.public)).collect();
        Ok(LeakageTarget { urls, settings: HttpSettings::default(), name, stack, epochs, _running: running })
    }
}

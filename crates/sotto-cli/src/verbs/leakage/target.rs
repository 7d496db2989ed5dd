//! Where lookups go: servers that are there, or servers of a folder that are started for this and end with it.

use crate::exit_mapping;
use crate::failure::{Failure, Result};
use sotto_catalog::Catalog;
use sotto_client::transport::http::HttpSettings;
use sotto_db::{ImageFile, StackDir, TableDir};
use sotto_server::{RunningServer, Server, ServerConfig, TableConfig};
use std::path::{Path, PathBuf};

/// Servers, and what is asked of them.
pub(super) struct LeakageTarget {
    /// Their addresses, in the order of their roles.
    pub(super) urls: Vec<String>,
    pub(super) settings: HttpSettings,
    /// What is asked: a table's name or a stack's.
    pub(super) name: String,
    /// Whether that is a stack.
    pub(super) stack: bool,
    /// Epochs whose files lie in the folder, if it is one.
    pub(super) epochs: Vec<u64>,
    /// Held while they are asked.
    _running: Vec<RunningServer>,
}

impl LeakageTarget {
    /// Servers at these addresses.
    pub(super) fn there(urls: Vec<String>, settings: HttpSettings, name: String, stack: bool) -> Self {
        LeakageTarget { urls, settings, name, stack, epochs: Vec::new(), _running: Vec::new() }
    }

    /// The folder of a table or a stack, or an image: each of its servers is started on loopback.
    pub(super) fn of_files(path: &Path) -> Result<Self> {
        if !path.exists() {
            let text = format!("there is no file or folder {}", path.display());
            return Err(
                Failure::missing(text).fix("give a table's folder, a stack's, an image, or an address")
            );
        }
        if let Some(dir) = StackDir::find(path) {
            let (_, stack) = dir.read().map_err(exit_mapping::db)?;
            let first = stack.shards.first().map(|shard| dir.table(&shard.table));
            let first = first.ok_or_else(|| Failure::internal("a stack without tables"))?;
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

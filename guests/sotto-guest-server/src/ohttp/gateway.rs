//! A gateway of Oblivious HTTP (RFC 9458): its keys, and the requests that it remembers.
//!
//! Keys are in a file of the state directory. They are renewed as those of tokens are: the newest
//! is published, and earlier ones open requests for a while. Requests are remembered in memory
//! alone, in the number that the configuration sets: what must not be done twice across a restart
//! has a token, which is spent on disk.

use super::OhttpConfig;
use arc_swap::ArcSwap;
use sotto_ohttp::gateway::{OpenError, OpenedRequest, ResponseSealer, open};
use sotto_ohttp::gateway_keys::{GatewayKeys, MAX_BYTES, RotationSchedule};
use sotto_ohttp::replay_filter::ReplayFilter;
use sotto_prg::{EntropyError, system_rng};
use sotto_server::StartError;
use sotto_server::database::private_file;
use sotto_server::extension::now;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

/// Name of the key file in the state directory.
const FILE: &str = "ohttp-keys";
/// Name of the next key file, before it replaces the current one.
const NEXT: &str = "ohttp-keys.next";

const FIX: &str = "delete the file, or give another directory with --state: clients then fetch new keys";

const DAY: u64 = 86_400;
const MIB: u64 = 1 << 20;

/// The state of a gateway, without its route.
pub(crate) struct Gateway {
    pub(crate) path: String,
    pub(crate) max_request_bytes: u64,
    pub(crate) max_response_bytes: u64,
    keys: ArcSwap<GatewayKeys>,
    state: Option<PathBuf>,
    replays: Mutex<ReplayFilter>,
}

impl Gateway {
    /// Loads the keys of an earlier run, or makes one.
    ///
    /// # Errors
    /// [`StartError`].
    pub(crate) fn open(config: &OhttpConfig, state: Option<&Path>) -> Result<Self, StartError> {
        let every = config.renew_days.saturating_mul(DAY);
        let rotation = RotationSchedule { every, after: every };
        let keys = match state {
            Some(dir) => read(rotation, &dir.join(FILE))?,
            None => {
                tracing::warn!(
                    "gateway keys are in memory only: after a restart, clients must fetch new ones"
                );
                GatewayKeys::new(rotation)
            }
        };
        let gateway = Gateway {
            path: config.path.clone(),
            max_request_bytes: config.max_request_mib.saturating_mul(MIB),
            max_response_bytes: config.max_response_mib.saturating_mul(MIB),
            keys: ArcSwap::from_pointee(keys),
            state: state.map(Path::to_owned),
            replays: Mutex::new(ReplayFilter::new(config.replay_window)),
        };
        gateway.turn()?;
        Ok(gateway)
    }

    /// Renews keys that are due. Blocks on the disk.
    pub(crate) fn renew_keys(&self) {
        if let Err(error) = self.turn() {
            tracing::error!(%error, "gateway keys could not be renewed; the previous ones stay in use");
        }
    }

    /// Renews keys in memory and on disk; keys that were not written are not published.
    fn turn(&self) -> Result<(), StartError> {
        let (keys, now) = (self.keys.load(), now());
        if !keys.is_due(now) {
            return Ok(());
        }
        let mut rng = system_rng().map_err(|EntropyError| StartError::Entropy)?;
        let next = keys.turned(now, &mut rng).ok_or(StartError::Entropy)?;
        if let Some(dir) = &self.state {
            write(dir, &next).map_err(|error| broken(&dir.join(FILE), error.to_string()))?;
        }
        self.keys.store(next.into());
        Ok(())
    }

    /// The published key configurations.
    pub(crate) fn published_keys(&self) -> Vec<u8> {
        self.keys.load().published()
    }

    /// Decrypts a request.
    pub(crate) fn open_request(&self, bytes: &[u8]) -> Result<OpenedRequest, OpenError> {
        open(self.keys.load().keys(), bytes)
    }

    /// Whether a request arrives for the first time, as far as is remembered.
    pub(crate) fn is_new(&self, reply: &ResponseSealer) -> bool {
        self.replays.lock().unwrap_or_else(PoisonError::into_inner).is_new(reply.request())
    }
}

fn broken(path: &Path, why: String) -> StartError {
    StartError::State { path: path.to_owned(), why, fix: FIX }
}

fn read(rotation: RotationSchedule, path: &Path) -> Result<GatewayKeys, StartError> {
    let text = match std::fs::File::open(path) {
        Ok(file) => {
            let mut text = zeroize::Zeroizing::new(String::new());
            let read = file.take(MAX_BYTES as u64 + 1).read_to_string(&mut text);
            read.map_err(|error| broken(path, error.to_string()))?;
            text
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(GatewayKeys::new(rotation)),
        Err(error) => return Err(broken(path, error.to_string())),
    };
    GatewayKeys::read(rotation, &text).ok_or_else(|| broken(path, "not a file of gateway keys".into()))
}

/// Writes the key file, which appears whole, for this user alone.
fn write(dir: &Path, keys: &GatewayKeys) -> io::Result<()> {
    let next = dir.join(NEXT);
    let mut file = private_file(&next)?;
    file.set_len(0)?;
    file.write_all(keys.to_text().as_bytes())?;
    file.sync_all()?;
    std::fs::rename(&next, dir.join(FILE))?;
    std::fs::File::open(dir)?.sync_all()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_outlive_the_server_and_what_is_no_file_of_keys_stops_it() {
        let root = tempfile::tempdir().unwrap();
        let dir = root.path().join("state");
        let open = |config: &OhttpConfig| Gateway::open(config, Some(&dir));
        let config = OhttpConfig::default();
        let keys = open(&config).unwrap().published_keys();
        assert_eq!(open(&config).unwrap().published_keys(), keys);
        assert_eq!(std::fs::read_dir(&dir).unwrap().count(), 1, "one file");
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            let mode = std::fs::metadata(dir.join(FILE)).unwrap().permissions().mode();
            assert_eq!(mode & 0o777, 0o600);
        }
        assert_ne!(Gateway::open(&config, None).unwrap().published_keys(), keys);
        std::fs::write(dir.join(FILE), "something else").unwrap();
        let refused = open(&config).err().unwrap().to_string();
        assert!(refused.contains("ohttp-keys") && refused.contains("delete the file"), "{refused}");
    }
}

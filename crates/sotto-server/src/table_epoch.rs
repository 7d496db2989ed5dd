//! One open epoch of a table: everything that is needed to answer for it.

mod acceleration;
mod files;

use crate::error::SourceError;
use crate::limits::counts;
use crate::locked;
use crate::pass_times::PassTimes;
use crate::session_store::SessionOwner;
use acceleration::EpochAccelerator;
pub use acceleration::PassMaker;
use bytes::Bytes;
use files::EpochFiles;
use sotto_catalog::{Catalog, Hex32, Packing, PublicKey, SignedCatalog, SymmetricLayer, TableName};
use sotto_core::{
    Accelerator, AnyServer, AnySession, Epoch, Image, ParamsDigest, ParamsReport, SchemeEntry, Section,
};
use sotto_db::image::FileIdentity;
use sotto_db::{ImageFile, ResidentImage, TablePlacement, Watcher};
use sotto_oprf::SecretKey;
use sotto_wire::{FrameHeader, MessageSizes, Problem, ProblemCode};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::{Duration, Instant};

/// Seconds before a catalog's expiry from which on a warning is logged.
const SOON: u64 = 24 * 3600;

/// An open epoch, which is immutable.
pub struct TableEpoch {
    scheme: &'static SchemeEntry,
    catalog: Catalog,
    key: PublicKey,
    table: Arc<str>,
    signed: Bytes,
    etag: String,
    pin: FrameHeader,
    sizes: MessageSizes,
    server: Box<dyn AnyServer>,
    accelerator: Option<EpochAccelerator>,
    image: Arc<dyn Image>,
    file: Option<EpochFiles>,
    default_session: Option<Arc<AnySession>>,
    retired: Retirement,
    /// Whether this server receives queries.
    is_queried: bool,
    /// Bytes of a hint request, if this is the hint server.
    hint_request_bytes: Option<u64>,
    /// Key that evaluates for clients of a symmetric table, if this is the server that does.
    oprf: Option<Arc<SecretKey>>,
    pass_times: Mutex<PassTimes>,
}

/// The time when an epoch ceased to be served, if it did. Requests in progress for it then end
/// after a while, however slowly their clients read: otherwise one client could keep every epoch
/// open that there ever was.
#[derive(Clone, Default)]
pub(crate) struct Retirement(Arc<OnceLock<Instant>>);

impl Retirement {
    pub(crate) fn is_over(&self, now: Instant, grace: Duration) -> bool {
        self.0.get().is_some_and(|since| now.saturating_duration_since(*since) > grace)
    }
}

/// A static file of an epoch, and the image file that contains it, if any.
pub(crate) struct StaticFile {
    pub(crate) image: Arc<dyn Image>,
    pub(crate) section: Section,
    pub(crate) file: Option<Arc<ImageFile>>,
    pub(crate) retired: Retirement,
}

/// What an epoch is opened from: the parts that an image file provides, or a test makes.
pub struct TableEpochParts {
    /// Scheme of the table.
    pub scheme: &'static SchemeEntry,
    /// Catalog with its signature.
    pub signed: SignedCatalog,
    /// Catalog, verified and parsed.
    pub catalog: Catalog,
    /// What the scheme reports about the catalog's parameters.
    pub report: ParamsReport,
    /// How rows are packed into records.
    pub packing: Packing,
    /// Opened server of the scheme.
    pub server: Box<dyn AnyServer>,
    /// Image that the epoch was opened from, which also contains its artifacts.
    pub image: Arc<dyn Image>,
}

impl TableEpoch {
    /// Number of the server that evaluates for clients of a symmetric table. One is enough, and so
    /// only one has the key.
    pub const EVALUATOR: u8 = 0;

    /// Opens an epoch of a table that is not symmetric.
    ///
    /// # Errors
    /// [`SourceError::Role`] if the scheme asks no server of this role; [`SourceError::Inconsistent`] if an artifact of
    /// the catalog is not in the image, or the scheme disagrees with the report about a size.
    pub fn new(parts: TableEpochParts, role: u8) -> Result<Self, SourceError> {
        TableEpoch::with_key(parts, role, None)
    }

    /// Opens an epoch of a table that may be symmetric, with the key that opens its rows. Server 0
    /// needs it, and no other does.
    ///
    /// # Errors
    /// As [`TableEpoch::new`]; [`SourceError::OprfKey`] without that key, or with another one.
    pub fn with_key(parts: TableEpochParts, role: u8, oprf: Option<SecretKey>) -> Result<Self, SourceError> {
        let TableEpochParts { scheme, signed, catalog, report, packing, server, image } = parts;
        if u32::from(role) >= catalog.servers {
            let (scheme, servers) = (catalog.scheme.clone(), catalog.servers);
            return Err(SourceError::Role { scheme, servers, role });
        }
        let oprf = match catalog.symmetric_layer()?.filter(|_| role == Self::EVALUATOR) {
            Some(masked) => Some(Arc::new(fitting(oprf, &masked)?)),
            None => None,
        };
        for entry in &catalog.artifacts {
            let bytes = image.section(Section::Public(entry.artifact)).map(|bytes| bytes.len() as u64);
            if bytes != Some(entry.bytes) {
                let name = entry.artifact.name();
                return Err(SourceError::Inconsistent(format!(
                    "artifact {name} is missing or has another size"
                )));
            }
        }
        let sizes = MessageSizes::new(&report.costs, packing.records_per_row());
        let of_scheme = [server.query_bytes(), server.answer_bytes(), server.keys_bytes()];
        if of_scheme.map(|bytes| bytes as u64) != [sizes.query_bytes, sizes.answer_bytes, sizes.keys_bytes] {
            return Err(SourceError::Inconsistent("message sizes differ from the parameters'".into()));
        }
        let helps = scheme.hint_server.is_some_and(|entry| entry.role == usize::from(role));
        let hint_request_bytes = helps
            .then(|| server.hint_server().map(|hint_server| hint_server.hint_request_bytes() as u64))
            .flatten();
        let default_session = match sizes.keys_bytes {
            0 => Some(Arc::new(server.admit(&[])?)),
            _ => None,
        };
        let digest = ParamsDigest(catalog.params_digest.0);
        let pin = FrameHeader { server: role, epoch: catalog.epoch, digest };
        Ok(TableEpoch {
            scheme,
            key: signed.public_key(),
            etag: etag(&signed),
            signed: Bytes::from(signed.to_bytes()),
            pin,
            sizes,
            server,
            accelerator: None,
            image,
            file: None,
            default_session,
            retired: Retirement::default(),
            is_queried: usize::from(role) < scheme.query_servers,
            hint_request_bytes,
            oprf,
            pass_times: Mutex::default(),
            table: catalog.table.as_str().into(),
            catalog,
        })
    }

    /// Attaches the files that the epoch is answered from: they are verified before the epoch goes
    /// live, unless they are trusted, and nothing is answered from them once one was written to or
    /// truncated. The first file contains what clients fetch, and the others what answers are
    /// computed from: the same file, or every part of a table in parts.
    pub fn of_files(
        mut self,
        front: &Arc<ImageFile>,
        answered: Vec<Arc<ResidentImage>>,
        trusted: bool,
    ) -> Self {
        self.file = Some(EpochFiles::new(front, answered, !trusted));
        self
    }

    /// Has an accelerator make the passes, if it takes the epoch's matrices: once the epoch is
    /// verified, before it goes live.
    #[must_use]
    pub fn with_accelerator(mut self, accelerator: Arc<dyn Accelerator>) -> Self {
        self.accelerator = Some(EpochAccelerator::new(accelerator));
        self
    }

    /// Who makes the passes, if the server has an accelerator, once that is decided.
    pub fn pass_maker(&self) -> Option<PassMaker> {
        self.accelerator.as_ref()?.maker(self.server())
    }

    /// Releases the copies that an accelerator has, after the pass that is being made.
    pub(crate) fn release_accelerator(&self) {
        if let Some(accelerator) = &self.accelerator {
            accelerator.release(self.server());
        }
    }

    /// The identities of the epoch's files.
    pub(crate) fn seals(&self) -> Option<Vec<FileIdentity>> {
        self.file.as_ref().map(EpochFiles::seals)
    }

    /// Number of bytes that [`TableEpoch::read_through`] reads: those of the files, and then the
    /// rows in them.
    pub(crate) fn unread_bytes(&self) -> u64 {
        let rows = self.catalog.rows.saturating_mul(self.catalog.row_bytes);
        self.file.as_ref().filter(|of| of.verified).map_or(0, |of| of.bytes(rows))
    }

    /// Verifies every section of the files against its digest, and the rows against the signed
    /// root, for as long as `go_on` returns `true`. Returns whether it reached the end.
    pub(crate) fn read_through(
        &self,
        watch: Watcher<'_>,
        go_on: &dyn Fn() -> bool,
    ) -> Result<bool, SourceError> {
        match &self.file {
            Some(of) if of.verified => of.read_through(self.scheme, watch, go_on),
            Some(of) => Ok(of.check().map(|()| true)?),
            None => Ok(true),
        }
    }

    /// Copies the sections that answers are computed from to huge pages, if that pays, and to the
    /// accelerator, if there is one: after verification, before the epoch goes live. To be called again
    /// only if there was no memory for it.
    pub(crate) fn decide_placement(&self) -> Result<(), SourceError> {
        self.copy_to_huge_pages()?;
        if let Some(accelerator) = &self.accelerator {
            accelerator.copy(self.server(), &self.catalog.table, self.catalog.epoch);
        }
        Ok(())
    }

    fn copy_to_huge_pages(&self) -> Result<(), SourceError> {
        let Some(of) = &self.file else { return Ok(()) };
        let before = of.residence();
        let no_memory = |error| SourceError::Unreadable(format!("not enough memory for a copy: {error}"));
        of.settle().map_err(no_memory)?;
        if let Some(now) = of.residence().filter(|now| before != Some(*now)) {
            let (table, epoch, bytes) = (&self.catalog.table, self.catalog.epoch, now.bytes);
            tracing::info!(%table, %epoch, bytes, "answering from the table {now}");
        }
        Ok(())
    }

    /// Where the epoch is in memory and on which pages, once that is decided; `None` for an epoch
    /// without files.
    pub fn residence(&self) -> Option<TablePlacement> {
        self.file.as_ref()?.residence()
    }

    /// Checks that the files are as they were when they were opened. If they are not, everything
    /// computed from an image's bytes is discarded.
    ///
    /// # Errors
    /// [`ProblemCode::NotReady`]: the next check of the files may find another one in its place.
    pub(crate) fn check(&self) -> Result<(), ProblemCode> {
        let Some(of) = &self.file else { return Ok(()) };
        of.check().map_err(|error| {
            if of.logs_loss() {
                let (table, epoch) = (&self.catalog.table, self.catalog.epoch);
                tracing::error!(%table, %epoch, %error, "an image was lost while served; its epoch is no longer \
                     answered");
            }
            ProblemCode::NotReady
        })
    }

    /// The key that signed the catalog.
    pub fn public_key(&self) -> PublicKey {
        self.key
    }

    /// The catalog.
    pub fn catalog(&self) -> &Catalog {
        &self.catalog
    }

    /// The header of every frame for this epoch.
    pub fn pin(&self) -> &FrameHeader {
        &self.pin
    }

    /// The role of this server, if the scheme has several servers.
    pub(crate) fn role(&self) -> Option<u8> {
        (self.catalog.servers > 1).then_some(self.pin.server)
    }

    /// The sizes of all messages.
    pub fn sizes(&self) -> &MessageSizes {
        &self.sizes
    }

    /// The signed catalog, and its entity tag.
    pub(crate) fn signed(&self) -> (Bytes, &str) {
        (self.signed.clone(), &self.etag)
    }

    /// Adds the time of a pass over the table.
    pub(crate) fn add_pass(&self, queries: usize, took: Duration) {
        locked(&self.pass_times).add(queries, took);
    }

    /// The number of queries that the next pass over the table may take, if the configuration
    /// allows `max`.
    pub(crate) fn pass_limit(&self, max: usize) -> usize {
        locked(&self.pass_times).limit(max)
    }

    /// The opened scheme.
    pub(crate) fn server(&self) -> &dyn AnyServer {
        self.server.as_ref()
    }

    /// Refuses a frame with queries for another one of the scheme's servers, which this one must
    /// not see.
    ///
    /// # Errors
    /// [`ProblemCode::WrongServer`].
    pub(crate) fn check_queried(&self) -> Result<(), Problem> {
        if self.is_queried {
            return Ok(());
        }
        let message = format!("server {} of this table takes no queries", self.pin.server);
        Err(Problem::new(ProblemCode::WrongServer, message))
    }

    /// Bytes of a hint request, if this is the hint server.
    pub(crate) fn hint_request_bytes(&self) -> Option<u64> {
        self.hint_request_bytes
    }

    /// The key that evaluates for clients of a symmetric table.
    ///
    /// # Errors
    /// [`ProblemCode::NotSymmetric`]; [`ProblemCode::WrongServer`] at a server that does not evaluate.
    pub(crate) fn evaluator(&self) -> Result<&Arc<SecretKey>, Problem> {
        let other = || match self.pin.server {
            Self::EVALUATOR => {
                Problem::new(ProblemCode::NotSymmetric, "this epoch of the table is not masked")
            }
            role => Problem::new(
                ProblemCode::WrongServer,
                format!("server {role} of this table makes no evaluations"),
            ),
        };
        self.oprf.as_ref().ok_or_else(other)
    }

    /// The session of queries for a scheme without keys.
    pub(crate) fn default_session(&self) -> Option<&Arc<AnySession>> {
        self.default_session.as_ref()
    }

    /// The owner of sessions for this table and these parameters.
    pub(crate) fn owner(&self) -> SessionOwner {
        SessionOwner { table: self.table.clone(), server: self.pin.server, digest: self.pin.digest }
    }

    /// Logs a warning if clients refuse the catalog already, or soon will.
    pub(crate) fn warn_of_its_end(&self) {
        warn_of_end(&self.catalog.table, self.catalog.epoch, self.catalog.expires);
    }

    /// Marks the epoch as no longer served.
    pub(crate) fn retire(&self) {
        let _ = self.retired.0.set(Instant::now());
    }

    /// The time when the epoch ceased to be served, if it did.
    pub(crate) fn retired(&self) -> &Retirement {
        &self.retired
    }

    /// The file of the artifact with this digest.
    pub(crate) fn artifact(&self, digest: &Hex32) -> Option<StaticFile> {
        let entry = self.catalog.artifacts.iter().find(|entry| entry.digest == *digest)?;
        // The route checks the file too; here a lost one gets its line in the log.
        let _ = self.check();
        let file = self.file.as_ref().and_then(|of| of.front().cloned());
        Some(StaticFile {
            image: self.image.clone(),
            section: Section::Public(entry.artifact),
            file,
            retired: self.retired.clone(),
        })
    }
}

/// Logs a warning if clients refuse a table or a stack already because of its age, or soon will.
pub(crate) fn warn_of_end(name: &TableName, epoch: Epoch, expires: Option<u64>) {
    let (Some(expires), now) = (expires, counts::of_day().as_secs()) else { return };
    match expires.checked_sub(now) {
        None | Some(0) => tracing::warn!(%name, %epoch, "the catalog has expired: clients refuse it"),
        Some(left) if left < SOON => {
            tracing::warn!(%name, %epoch, hours = left / 3600, "the catalog expires soon: publish the next epoch");
        }
        Some(_) => {}
    }
}

/// The key, if it is the one whose public half the catalog names.
fn fitting(key: Option<SecretKey>, masked: &SymmetricLayer) -> Result<SecretKey, SourceError> {
    let key = key.ok_or_else(|| SourceError::OprfKey("no key given".to_owned()))?;
    match key.public() == masked.key {
        true => Ok(key),
        false => Err(SourceError::OprfKey(
            "the key is that of other masks; restore the key of this table".to_owned(),
        )),
    }
}

impl std::fmt::Debug for TableEpoch {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "TableEpoch({} epoch {}", self.catalog.table, self.catalog.epoch)?;
        match self.catalog.servers {
            1 => write!(f, ")"),
            servers => write!(f, ", server {} of {servers})", self.pin.server),
        }
    }
}

/// The entity tag of a catalog. Its signature identifies its bytes as well as a digest would, and
/// is available.
pub(crate) fn etag(signed: &SignedCatalog) -> String {
    let signature = signed.signature.to_string();
    format!("\"{}\"", signature.get(..32).unwrap_or(&signature))
}

#[cfg(test)]
pub(crate) mod tests;

//! One open epoch of a table: what is needed to answer about it.

mod files;

use crate::sessions::SessionOwner;
use crate::{SourceError, clock, past_epoch};
use bytes::Bytes;
use files::EpochFiles;
use sotto_catalog::{Catalog, Hex32, Packing, PublicKey, SignedCatalog, SymmetricLayer, TableName};
use sotto_core::{AnyServer, AnySession, Epoch, Image, ParamsDigest, ParamsReport, SchemeEntry, Section};
use sotto_db::image::FileIdentity;
use sotto_db::{ImageFile, ResidentImage, TablePlacement, Watcher};
use sotto_oprf::SecretKey;
use sotto_wire::{Code, FrameHeader, MessageSizes, Problem};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

/// How long before a catalog's end it is said, in seconds.
const SOON: u64 = 24 * 3600;

/// An open epoch. Immutable.
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
    image: Arc<dyn Image>,
    file: Option<EpochFiles>,
    keyless: Option<Arc<AnySession>>,
    retired: Retirement,
    /// Whether this is one of the servers that queries go to.
    is_queried: bool,
    /// Bytes of an order, if this is the server that makes hints.
    order_bytes: Option<u64>,
    /// What evaluates for clients of a symmetric table, if this is the server that does.
    oprf: Option<Arc<SecretKey>>,
}

/// When an epoch ceased to be served, if it did. What is under way about it then ends after a while, however slowly its client
/// reads: otherwise one client could have every epoch that there ever was kept open.
#[derive(Clone, Default)]
pub(crate) struct Retirement(Arc<OnceLock<Instant>>);

impl Retirement {
    pub(crate) fn is_over(&self, now: Instant, grace: Duration) -> bool {
        self.0.get().is_some_and(|since| now.saturating_duration_since(*since) > grace)
    }
}

/// A static file of an epoch, and the image file it lies in, if it is one.
pub(crate) struct StaticFile {
    pub(crate) image: Arc<dyn Image>,
    pub(crate) section: Section,
    pub(crate) file: Option<Arc<ImageFile>>,
    pub(crate) retired: Retirement,
}

/// What a table is opened from: the parts an image file gives, or a test makes.
pub struct TableEpochParts {
    /// Its scheme.
    pub scheme: &'static SchemeEntry,
    /// The catalog as it is served.
    pub signed: SignedCatalog,
    /// The same catalog, verified and parsed.
    pub catalog: Catalog,
    /// What the scheme says of the catalog's parameters.
    pub report: ParamsReport,
    /// How rows lie in records.
    pub packing: Packing,
    /// The opened scheme.
    pub server: Box<dyn AnyServer>,
    /// The image it was opened from; artifacts are served out of it.
    pub image: Arc<dyn Image>,
}

impl TableEpoch {
    /// Which of a table's servers evaluates for clients of a symmetric one. One is enough, and so one has the key.
    pub const EVALUATOR: u8 = 0;

    /// Puts the parts together.
    ///
    /// # Errors
    /// [`SourceError::Role`] if the scheme asks no server of this role; [`SourceError::Inconsistent`] if an artifact of
    /// the catalog is not in the image, or the scheme disagrees with the report about a size.
    pub fn new(parts: TableEpochParts, role: u8) -> Result<Self, SourceError> {
        TableEpoch::with_key(parts, role, None)
    }

    /// Puts the parts of a table together that may be symmetric, with the key that opens its rows. Server 0 needs it, and no
    /// other does.
    ///
    /// # Errors
    /// As [`LiveTable::new`]; [`SourceError::OprfKey`] without that key, or with another one.
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
                return Err(SourceError::Inconsistent(format!("its {name} is missing or of another size")));
            }
        }
        let sizes = MessageSizes::new(&report.costs, packing.records_per_row());
        let of_scheme = [server.query_bytes(), server.answer_bytes(), server.keys_bytes()];
        if of_scheme.map(|bytes| bytes as u64) != [sizes.query_bytes, sizes.answer_bytes, sizes.keys_bytes] {
            return Err(SourceError::Inconsistent("message sizes differ from the parameters'".into()));
        }
        let helps = scheme.upkeep.is_some_and(|upkeep| upkeep.helper == usize::from(role));
        let order_bytes =
            helps.then(|| server.supplier().map(|supplier| supplier.order_bytes() as u64)).flatten();
        let keyless = match sizes.keys_bytes {
            0 => Some(Arc::new(server.admit(&[])?)),
            _ => None,
        };
        let digest = ParamsDigest(catalog.params_digest.0);
        let pin = FrameHeader { server: role, epoch: catalog.epoch, digest };
        Ok(TableEpoch {
            scheme,
            key: signed.public_key(),
            etag: past_epoch::etag(&signed),
            signed: Bytes::from(signed.to_bytes()),
            pin,
            sizes,
            server,
            image,
            file: None,
            keyless,
            retired: Retirement::default(),
            is_queried: usize::from(role) < scheme.query_servers,
            order_bytes,
            oprf,
            table: catalog.table.as_str().into(),
            catalog,
        })
    }

    /// The same table, answered from files: they are read through before the table goes live, unless they are trusted, and
    /// nothing is answered from them once one was written to or cut short. What clients fetch is in the first, and what answers
    /// are made from in the others: the same file, or every part of a table that is cut.
    pub fn of_files(
        mut self,
        front: &Arc<ImageFile>,
        answered: Vec<Arc<ResidentImage>>,
        trusted: bool,
    ) -> Self {
        self.file = Some(EpochFiles::new(front, answered, !trusted));
        self
    }

    /// What tells its files from others.
    pub(crate) fn seals(&self) -> Option<Vec<FileIdentity>> {
        self.file.as_ref().map(EpochFiles::seals)
    }

    /// How many bytes [`LiveTable::read_through`] reads: those of the files, and then the rows in them.
    pub(crate) fn unread_bytes(&self) -> u64 {
        let rows = self.catalog.rows.saturating_mul(self.catalog.row_bytes);
        self.file.as_ref().filter(|of| of.verified).map_or(0, |of| of.bytes(rows))
    }

    /// Compares every section of its files with its digest, and its rows with the root that is signed, for as long as `go_on`
    /// says so. Gives whether it came to the end.
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

    /// Copies what it is answered from to huge pages, if that pays: once it was read through, before it goes live. Again only if
    /// there was no room for it.
    pub(crate) fn decide_placement(&self) -> Result<(), SourceError> {
        let Some(of) = &self.file else { return Ok(()) };
        let before = of.residence();
        let no_memory = |error| SourceError::Unreadable(format!("no memory for a copy: {error}"));
        of.settle().map_err(no_memory)?;
        if let Some(now) = of.residence().filter(|now| before != Some(*now)) {
            let (table, epoch, bytes) = (&self.catalog.table, self.catalog.epoch, now.bytes);
            tracing::info!(%table, %epoch, bytes, "answered from what lies {now}");
        }
        Ok(())
    }

    /// Where it lies and on which pages, once that is settled; nothing is known of a table that is of no file.
    pub fn residence(&self) -> Option<TablePlacement> {
        self.file.as_ref()?.residence()
    }

    /// Whether its files are as they were when they were opened. Whatever was made of an image's bytes is thrown away if they are
    /// not.
    ///
    /// # Errors
    /// [`Code::NotReady`]: the next look at the files may find another one in its place.
    pub(crate) fn check(&self) -> Result<(), Code> {
        let Some(of) = &self.file else { return Ok(()) };
        of.check().map_err(|error| {
            if of.tells_loss() {
                let (table, epoch) = (&self.catalog.table, self.catalog.epoch);
                tracing::error!(%table, %epoch, %error, "an image is lost while it is served; nothing is answered from it");
            }
            Code::NotReady
        })
    }

    /// Who signed its catalog.
    pub fn public_key(&self) -> PublicKey {
        self.key
    }

    /// The catalog.
    pub fn catalog(&self) -> &Catalog {
        &self.catalog
    }

    /// What every frame about this epoch starts with.
    pub fn pin(&self) -> &FrameHeader {
        &self.pin
    }

    /// Which of its scheme's servers this is, where there are several.
    pub(crate) fn role(&self) -> Option<u8> {
        (self.catalog.servers > 1).then_some(self.pin.server)
    }

    /// Message sizes.
    pub fn sizes(&self) -> &MessageSizes {
        &self.sizes
    }

    /// The catalog as it is served, and its entity tag.
    pub(crate) fn signed(&self) -> (Bytes, &str) {
        (self.signed.clone(), &self.etag)
    }

    /// The opened scheme.
    pub(crate) fn server(&self) -> &dyn AnyServer {
        self.server.as_ref()
    }

    /// Refuses a frame with queries if they are for others of the scheme's servers: this one must not see any.
    ///
    /// # Errors
    /// [`Code::WrongServer`].
    pub(crate) fn check_queried(&self) -> Result<(), Problem> {
        if self.is_queried {
            return Ok(());
        }
        let message = format!("server {} of this table is not asked for rows", self.pin.server);
        Err(Problem::new(Code::WrongServer, message))
    }

    /// Bytes of an order of hints, if this is the server that makes them.
    pub(crate) fn hint_request_bytes(&self) -> Option<u64> {
        self.order_bytes
    }

    /// What evaluates for clients of a symmetric table.
    ///
    /// # Errors
    /// [`Code::NotSymmetric`]; [`Code::WrongServer`] at a server that does not evaluate.
    pub(crate) fn evaluator(&self) -> Result<&Arc<SecretKey>, Problem> {
        let other = || match self.pin.server {
            Self::EVALUATOR => Problem::new(Code::NotSymmetric, "this epoch of the table is not masked"),
            role => Problem::new(Code::WrongServer, format!("server {role} of this table evaluates nothing")),
        };
        self.oprf.as_ref().ok_or_else(other)
    }

    /// The session of asks about a scheme without keys.
    pub(crate) fn default_session(&self) -> Option<&Arc<AnySession>> {
        self.keyless.as_ref()
    }

    /// What sessions of this table and these parameters belong to.
    pub(crate) fn owner(&self) -> SessionOwner {
        SessionOwner { table: self.table.clone(), server: self.pin.server, digest: self.pin.digest }
    }

    /// Says so in the log if clients refuse it already, or soon will.
    pub(crate) fn warn_of_its_end(&self) {
        warn_of_end(&self.catalog.table, self.catalog.epoch, self.catalog.expires);
    }

    /// Notes that it is not served any more.
    pub(crate) fn retire(&self) {
        let _ = self.retired.0.set(Instant::now());
    }

    /// Whether it is served, and since when not.
    pub(crate) fn retired(&self) -> &Retirement {
        &self.retired
    }

    /// Where the artifact with this digest lies.
    pub(crate) fn artifact(&self, digest: &Hex32) -> Option<StaticFile> {
        let entry = self.catalog.artifacts.iter().find(|entry| entry.digest == *digest)?;
        // Who sends it looks at the file too; here a lost one gets its line in the log.
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

/// Says so in the log if clients refuse a table or a stack already, or soon will.
pub(crate) fn warn_of_end(name: &TableName, epoch: Epoch, expires: Option<u64>) {
    let (Some(expires), now) = (expires, clock::of_day().as_secs()) else { return };
    match expires.checked_sub(now) {
        None | Some(0) => tracing::warn!(%name, %epoch, "its catalog is past its time: clients refuse it"),
        Some(left) if left < SOON => {
            tracing::warn!(%name, %epoch, hours = left / 3600, "its catalog's time ends soon: publish the next epoch");
        }
        Some(_) => {}
    }
}

/// The key, if it is the one whose public half the catalog names.
fn fitting(key: Option<SecretKey>, masked: &SymmetricLayer) -> Result<SecretKey, SourceError> {
    let key = key.ok_or_else(|| SourceError::OprfKey("it was not given".to_owned()))?;
    match key.public() == masked.key {
        true => Ok(key),
        false => Err(SourceError::OprfKey(
            "the one here is of other masks; bring back the one of this table".to_owned(),
        )),
    }
}

impl std::fmt::Debug for TableEpoch {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "LiveTable({} epoch {}", self.catalog.table, self.catalog.epoch)?;
        match self.catalog.servers {
            1 => write!(f, ")"),
            servers => write!(f, ", server {} of {servers})", self.pin.server),
        }
    }
}

#[cfg(test)]
pub(crate) mod tests;

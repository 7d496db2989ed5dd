//! One open epoch of a table: what is needed to answer about it.

use crate::admission::Owner;
use crate::{SourceError, past};
use bytes::Bytes;
use sotto_catalog::{Catalog, Hex32, Masked, Packing, SignedCatalog};
use sotto_core::{AnyServer, AnySession, Image, ParamsDigest, ParamsReport, SchemeEntry, Section};
use sotto_oprf::SecretKey;
use sotto_wire::{Code, Pin, Problem, Sizes};
use std::sync::Arc;

/// An open epoch. Immutable.
pub struct LiveTable {
    catalog: Catalog,
    table: Arc<str>,
    signed: Bytes,
    etag: String,
    pin: Pin,
    sizes: Sizes,
    server: Box<dyn AnyServer>,
    image: Arc<dyn Image>,
    keyless: Option<Arc<AnySession>>,
    /// Whether this is one of the servers that queries go to.
    is_queried: bool,
    /// Bytes of an order, if this is the server that makes hints.
    order_bytes: Option<u64>,
    /// What evaluates for clients of a symmetric table, if this is the server that does.
    oprf: Option<Arc<SecretKey>>,
}

/// What a table is opened from: the parts an image file gives, or a test makes.
pub struct Parts {
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

impl LiveTable {
    /// Which of a table's servers evaluates for clients of a symmetric one. One is enough, and so one has the key.
    pub const EVALUATOR: u8 = 0;

    /// Puts the parts together.
    ///
    /// # Errors
    /// [`SourceError::Role`] if the scheme asks no server of this role; [`SourceError::Inconsistent`] if an artifact of
    /// the catalog is not in the image, or the scheme disagrees with the report about a size.
    pub fn new(parts: Parts, role: u8) -> Result<Self, SourceError> {
        LiveTable::with_key(parts, role, None)
    }

    /// Puts the parts of a table together that may be symmetric, with the key that opens its rows. Server 0 needs it, and no
    /// other does.
    ///
    /// # Errors
    /// As [`LiveTable::new`]; [`SourceError::OprfKey`] without that key, or with another one.
    pub fn with_key(parts: Parts, role: u8, oprf: Option<SecretKey>) -> Result<Self, SourceError> {
        let Parts { scheme, signed, catalog, report, packing, server, image } = parts;
        if u32::from(role) >= catalog.servers {
            let (scheme, servers) = (catalog.scheme.clone(), catalog.servers);
            return Err(SourceError::Role { scheme, servers, role });
        }
        let oprf = match catalog.masked()?.filter(|_| role == Self::EVALUATOR) {
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
        let sizes = Sizes::new(&report.costs, packing.lookups());
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
        let pin = Pin { server: role, epoch: catalog.epoch, digest };
        Ok(LiveTable {
            etag: past::etag(&signed),
            signed: Bytes::from(signed.to_bytes()),
            pin,
            sizes,
            server,
            image,
            keyless,
            is_queried: usize::from(role) < scheme.queried,
            order_bytes,
            oprf,
            table: catalog.table.as_str().into(),
            catalog,
        })
    }

    /// The catalog.
    pub fn catalog(&self) -> &Catalog {
        &self.catalog
    }

    /// What every frame about this epoch starts with.
    pub fn pin(&self) -> &Pin {
        &self.pin
    }

    /// Which of its scheme's servers this is, where there are several.
    pub(crate) fn role(&self) -> Option<u8> {
        (self.catalog.servers > 1).then_some(self.pin.server)
    }

    /// Message sizes.
    pub fn sizes(&self) -> &Sizes {
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
    pub(crate) fn order_bytes(&self) -> Option<u64> {
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
    pub(crate) fn keyless(&self) -> Option<&Arc<AnySession>> {
        self.keyless.as_ref()
    }

    /// What sessions of this table and these parameters belong to.
    pub(crate) fn owner(&self) -> Owner {
        Owner { table: self.table.clone(), server: self.pin.server, digest: self.pin.digest }
    }

    /// Where the artifact with this digest lies.
    pub(crate) fn artifact(&self, digest: &Hex32) -> Option<(Arc<dyn Image>, Section)> {
        let entry = self.catalog.artifacts.iter().find(|entry| entry.digest == *digest)?;
        Some((self.image.clone(), Section::Public(entry.artifact)))
    }
}

/// The key, if it is the one whose public half the catalog names.
fn fitting(key: Option<SecretKey>, masked: &Masked) -> Result<SecretKey, SourceError> {
    let key = key.ok_or_else(|| SourceError::OprfKey("it was not given".to_owned()))?;
    match key.public() == masked.key {
        true => Ok(key),
        false => Err(SourceError::OprfKey(
            "the one here is of other masks; bring back the one of this table".to_owned(),
        )),
    }
}

impl std::fmt::Debug for LiveTable {
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

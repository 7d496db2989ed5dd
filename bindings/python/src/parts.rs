//! Tables in parts: a part that computes partial answers, and a front that reads requests and joins
//! partial answers, for code that carries the bytes between them.

use crate::fault::{PyFault, work};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use sotto_binding::ErrorKind;
use sotto_catalog::Catalog;
use sotto_core::{
    AnyJoin, AnyServer, AnySession, Diagnose, Error, Image, ParamsDigest, SchemeEntry, Section,
};
use sotto_db::image::FileKind;
use sotto_db::progress::silent;
use sotto_db::{CopyBudget, ImageFile, Residency, ResidentImage};
use sotto_wire::{FrameError, FrameHeader, MessageSizes, Problem, ProblemCode, answer, keys, query};
use std::path::PathBuf;
use std::sync::Arc;

/// Default role of a front in its scheme.
const FIRST: u8 = 0;

/// A partial answer; `None` for an invalid query.
type Partial = Option<Vec<u8>>;

/// The exception for a refusal in the wire format, whose code it has.
pub(crate) fn refused(problem: &Problem) -> PyFault {
    sotto_binding::BindingError::new(
        ErrorKind::Peer,
        problem.code.text(),
        problem.message.clone(),
        problem.fix.clone(),
    )
    .into()
}

fn bad_frame(error: FrameError) -> PyFault {
    refused(&Problem::new(error.code(), error.to_string()))
}

fn scheme(catalog: &Catalog) -> Result<&'static SchemeEntry, PyFault> {
    let unknown = || {
        PyFault::misuse(
            format!("scheme {} is not in this build", catalog.scheme),
            "use a build that has the scheme",
        )
    };
    sotto_registry::find(&catalog.scheme).ok_or_else(unknown)
}

fn core(error: Error) -> PyFault {
    match error {
        Error::Peer(_) => refused(&Problem::new(ProblemCode::BadQuery, error.to_string())),
        error => {
            sotto_binding::BindingError::new(error.diagnosis().kind, "scheme", error.to_string(), "").into()
        }
    }
}

/// Admitted keys, which every part accepts from any part or front of the same encoding.
#[pyclass(frozen, module = "sotto._sotto")]
pub(crate) struct Session(pub(crate) Arc<AnySession>);

/// An open part of a table.
#[pyclass(frozen, module = "sotto._sotto")]
pub(crate) struct Part {
    file: Arc<ImageFile>,
    server: Box<dyn AnyServer>,
    keyless: Option<Arc<AnySession>>,
    pool: rayon::ThreadPool,
    /// The number of the part, counted from 0.
    #[pyo3(get)]
    part: u32,
    /// The number of parts.
    #[pyo3(get)]
    parts: u32,
}

/// An open front of a table in parts.
#[pyclass(frozen, module = "sotto._sotto")]
pub(crate) struct Front {
    file: Arc<ImageFile>,
    join: Box<dyn AnyJoin>,
    keyless: Option<Arc<AnySession>>,
    pin: FrameHeader,
    sizes: MessageSizes,
    /// The number of parts.
    #[pyo3(get)]
    parts: u32,
}

#[pymethods]
impl Part {
    #[new]
    #[pyo3(signature = (path, threads = 0, verify = true))]
    fn new(py: Python<'_>, path: PathBuf, threads: usize, verify: bool) -> PyResult<Self> {
        work(py, || {
            let file = ImageFile::open_part(&path)?;
            if verify {
                file.verify(&silent)?;
            }
            let FileKind::Part(cut) = file.piece() else {
                return Err(PyFault::misuse("the image is not a part", "open a front with sotto.Front"));
            };
            let params = file.catalog().params.to_string();
            let entry = scheme(file.catalog())?;
            let none = || {
                PyFault::misuse(
                    format!("scheme {} does not support parts", entry.id),
                    "encode the table with another scheme",
                )
            };
            let image = ResidentImage::of(file.clone(), Residency::Auto, &CopyBudget::new(None));
            let open = entry.server.parts.ok_or_else(none)?.open;
            let server = open(params.as_bytes(), cut, image.clone()).map_err(core)?;
            image.decide_placement().map_err(|source| sotto_db::DbError::Io {
                what: "reading",
                path,
                source,
            })?;
            let keyless = match server.keys_bytes() {
                0 => Some(Arc::new(server.admit(&[]).map_err(core)?)),
                _ => None,
            };
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
            let pool = pool.map_err(|error| PyFault::misuse(error.to_string(), "give fewer threads"))?;
            Ok(Part { server, keyless, pool, part: cut.part(), parts: cut.parts(), file })
        })
    }

    /// The digest of the catalog, as 64 hexadecimal digits, which identifies an epoch and its
    /// encoding.
    #[getter]
    fn digest(&self, py: Python<'_>) -> PyResult<String> {
        work(py, || Ok(digest(self.file.catalog())?))
    }

    /// The digest of the parameters: sessions are for a table and its parameters, at any epoch.
    #[getter]
    fn params<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &self.file.catalog().params_digest.0)
    }

    #[getter]
    fn table(&self) -> String {
        self.file.catalog().table.to_string()
    }

    /// Bytes of admitted keys in memory.
    #[getter]
    fn session_bytes(&self) -> usize {
        self.server.session_bytes()
    }

    /// Bytes of a partial answer.
    #[getter]
    fn partial_bytes(&self) -> usize {
        self.server.answer_bytes()
    }

    fn admit(&self, py: Python<'_>, keys: &[u8]) -> PyResult<Session> {
        work(py, || admitted(self.pool.install(|| self.server.admit(keys))))
    }

    /// Computes partial answers, in order; `None` for an invalid query.
    fn answer_many(
        &self,
        py: Python<'_>,
        queries: Vec<(Option<PyRef<'_, Session>>, Vec<u8>)>,
    ) -> PyResult<Vec<Option<Py<PyBytes>>>> {
        let sessions = queries.iter().map(|(session, _)| of(session.as_deref(), self.keyless.as_ref()));
        let sessions = sessions.collect::<Result<Vec<_>, PyFault>>()?;
        let queries: Vec<Vec<u8>> = queries.into_iter().map(|(_, query)| query).collect();
        let partials = work(py, || {
            let pairs: Vec<(&AnySession, &[u8])> = sessions
                .iter()
                .zip(&queries)
                .map(|(session, query)| (session.as_ref(), &query[..]))
                .collect();
            let made = self.pool.install(|| self.server.answer_many(&pairs));
            // A partial answer from a file that was changed meanwhile is discarded.
            self.file.check()?;
            let one = |made: sotto_core::Result<Vec<u8>>| match made {
                Ok(partial) => Ok(Some(partial)),
                Err(Error::Peer(_)) => Ok(None),
                Err(error) => Err(core(error)),
            };
            made.into_iter().map(one).collect::<Result<Vec<Partial>, PyFault>>()
        })?;
        Ok(partials.into_iter().map(|partial| Some(PyBytes::new(py, &partial?).unbind())).collect())
    }
}

#[pymethods]
impl Front {
    #[new]
    #[pyo3(signature = (path, verify = true))]
    fn new(py: Python<'_>, path: PathBuf, verify: bool) -> PyResult<Self> {
        work(py, || {
            let file = ImageFile::open(&path)?;
            if verify {
                file.verify(&silent)?;
            }
            let whole =
                || PyFault::misuse("the image is complete, not a front", "encode the table with parts");
            let parts = file.piece().parts().ok_or_else(whole)?;
            let (catalog, entry) = (file.catalog(), scheme(file.catalog())?);
            let terms = catalog.terms(entry).map_err(sotto_db::DbError::from)?;
            let none = || {
                PyFault::misuse(
                    format!("scheme {} does not support parts", entry.id),
                    "encode the table with another scheme",
                )
            };
            let join = entry.server.parts.ok_or_else(none)?.join;
            let join = join(catalog.params.to_string().as_bytes(), parts).map_err(core)?;
            let sizes = MessageSizes::new(&terms.report.costs, terms.packing.records_per_row());
            let digest = ParamsDigest(catalog.params_digest.0);
            let pin = FrameHeader { server: FIRST, epoch: catalog.epoch, digest };
            let keyless = match sizes.keys_bytes {
                0 => Some(Arc::new(join.admit(&[]).map_err(core)?)),
                _ => None,
            };
            Ok(Front { join, keyless, pin, sizes, parts, file })
        })
    }

    #[getter]
    fn table(&self) -> String {
        self.file.catalog().table.to_string()
    }

    #[getter]
    fn epoch(&self) -> u64 {
        self.file.catalog().epoch.0
    }

    #[getter]
    fn digest(&self, py: Python<'_>) -> PyResult<String> {
        work(py, || Ok(digest(self.file.catalog())?))
    }

    /// The signed catalog.
    #[getter]
    fn catalog<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &self.file.signed_catalog().to_bytes())
    }

    /// The digest of the parameters: sessions are for a table and its parameters, at any epoch.
    #[getter]
    fn params<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &self.file.catalog().params_digest.0)
    }

    /// Bytes of the answer to one query.
    #[getter]
    fn answer_bytes(&self) -> u64 {
        self.sizes.answer_bytes
    }

    /// Bytes of the longest query request.
    #[getter]
    fn max_query_frame_bytes(&self) -> u64 {
        self.sizes.max_query_frame_bytes()
    }

    /// Bytes of a registration; 0 if the scheme has no keys.
    #[getter]
    fn keys_bytes(&self) -> u64 {
        if self.keyless.is_some() { 0 } else { self.sizes.keys_frame_bytes() }
    }

    /// The artifacts that clients fetch: digest, name and bytes of each.
    #[getter]
    fn artifacts(&self) -> Vec<(String, &'static str, u64)> {
        let all = self.file.catalog().artifacts.iter();
        all.map(|entry| (entry.digest.to_string(), entry.artifact.name(), entry.bytes)).collect()
    }

    /// A range of an artifact; `None` if there is none with this digest, or the range exceeds it.
    fn artifact<'py>(
        &self,
        py: Python<'py>,
        digest: &str,
        start: usize,
        bytes: usize,
    ) -> PyResult<Option<Bound<'py, PyBytes>>> {
        let entry = self.file.catalog().artifacts.iter().find(|entry| entry.digest.to_string() == digest);
        let section = entry.and_then(|entry| self.file.section(Section::Public(entry.artifact)));
        let some = section.and_then(|held| held.get(start..start.checked_add(bytes)?));
        let some = some.map(|held| PyBytes::new(py, held));
        // The bytes may be zeros, if the file was truncated.
        work(py, || Ok(self.file.check()?))?;
        Ok(some)
    }

    /// The keys in a registration frame.
    fn keys<'py>(&self, py: Python<'py>, frame: &[u8]) -> PyResult<Bound<'py, PyBytes>> {
        let read = || {
            let head = keys::KeysHead::parse(frame)?;
            self.pin.check(&head.pin)?;
            head.keys(frame, self.sizes.keys_bytes as usize)
        };
        if self.keyless.is_some() {
            let problem =
                Problem::new(ProblemCode::BadKeys, "the scheme of this table has no evaluation keys");
            return Err(refused(&problem).into());
        }
        Ok(PyBytes::new(py, read().map_err(bad_frame)?))
    }

    fn admit(&self, py: Python<'_>, keys: &[u8]) -> PyResult<Session> {
        work(py, || admitted(self.join.admit(keys)))
    }

    /// The session id of a query request, and its queries.
    fn queries<'py>(
        &self,
        py: Python<'py>,
        frame: &[u8],
    ) -> PyResult<(Bound<'py, PyBytes>, Vec<Bound<'py, PyBytes>>)> {
        let head = query::QueryHead::parse(frame).map_err(bad_frame)?;
        self.pin.check(&head.pin).map_err(bad_frame)?;
        if head.count > self.sizes.max_queries {
            let most = self.sizes.max_queries;
            let message = format!("expected at most {most} queries in one request, got {}", head.count);
            return Err(refused(&Problem::new(ProblemCode::TooLarge, message)).into());
        }
        let queries = head.queries(frame, self.sizes.query_bytes as usize).map_err(bad_frame)?;
        let queries = queries.into_iter().map(|query| PyBytes::new(py, query)).collect();
        Ok((PyBytes::new(py, &head.session.0), queries))
    }

    /// Joins the partial answers of all parts, in their order, into an answer.
    fn join<'py>(
        &self,
        py: Python<'py>,
        session: Option<PyRef<'_, Session>>,
        query: &[u8],
        partials: Vec<Vec<u8>>,
    ) -> PyResult<Bound<'py, PyBytes>> {
        let session = of(session.as_deref(), self.keyless.as_ref())?;
        let answer = work(py, || self.join.join(&session, query, &partials).map_err(core))?;
        Ok(PyBytes::new(py, &answer))
    }

    /// The frame of the answers to a query request.
    fn answers<'py>(&self, py: Python<'py>, answers: Vec<Vec<u8>>) -> PyResult<Bound<'py, PyBytes>> {
        let want = self.sizes.answer_bytes;
        if answers.iter().any(|answer| answer.len() as u64 != want) {
            return Err(
                PyFault::misuse(format!("an answer has {want} bytes"), "give what `join` gives").into()
            );
        }
        let frame = answer::encode(&self.pin, &answers);
        let frame =
            frame.map_err(|error| PyFault::misuse(error.to_string(), "give one answer for each query"))?;
        Ok(PyBytes::new(py, &frame))
    }
}

/// A refusal in the wire format: its status, and the media type of its body.
#[pyfunction]
#[pyo3(signature = (code, message, epoch = None))]
pub(crate) fn problem<'py>(
    py: Python<'py>,
    code: &str,
    message: String,
    epoch: Option<u64>,
) -> PyResult<(u16, Bound<'py, PyBytes>)> {
    let unknown = || PyFault::misuse(format!("unknown code {code:?}"), "see spec/wire.md for the codes");
    let code = ProblemCode::from_text(code).ok_or_else(unknown)?;
    let problem = Problem::new(code, message);
    let problem = match epoch {
        Some(epoch) => problem.with_epoch(sotto_core::Epoch(epoch)),
        None => problem,
    };
    Ok((code.status(), PyBytes::new(py, &problem.to_bytes())))
}

fn digest(catalog: &Catalog) -> Result<String, sotto_db::DbError> {
    Ok(catalog.digest()?.to_string())
}

fn admitted(session: sotto_core::Result<AnySession>) -> Result<Session, PyFault> {
    let refuse = |error| match error {
        Error::Peer(_) => refused(&Problem::new(ProblemCode::BadKeys, "the keys do not fit the parameters")),
        error => core(error),
    };
    Ok(Session(Arc::new(session.map_err(refuse)?)))
}

/// The session of a query request: its own, or that of a scheme without keys.
fn of(given: Option<&Session>, keyless: Option<&Arc<AnySession>>) -> Result<Arc<AnySession>, PyFault> {
    let missing =
        || PyFault::misuse("the scheme of this table has evaluation keys", "give the session of `admit`");
    given.map(|session| &session.0).or(keyless).cloned().ok_or_else(missing)
}

//! The functions of `sotto.h`.
//!
//! | module | contents |
//! |---|---|
//! | `memory` | bytes and errors that C receives and frees |
//! | `reply` | the caller's functions: the transport, and the progress callback |
//!
//! Each function runs its work in `enter`: no panic leaves it, a call from within a callback is
//! refused, and errors are written for the caller. Pointers are dereferenced here and nowhere else.

pub mod memory;
pub mod reply;

use crate::lookups::{self, ParsedLookup, ValueAt};
use crate::tables::{self, OpenTable};
use memory::{SOTTO_ABSENT, SOTTO_MISUSE, SOTTO_OK, SottoBuffer, SottoError};
use reply::{Callbacks, SottoProgress, SottoTransport};
use serde::Serialize;
use sotto_binding::vector::replay;
use sotto_binding::{BindingError, ErrorKind, guarded};
use std::ffi::{c_char, c_void};
use std::slice;
use std::sync::Arc;

/// The number of an open table, from `sotto_open`. 0 is no table.
pub type SottoTable = u64;

/// Maximum bytes of a configuration, of a key, of a list of rows and keys, and of a recorded
/// lookup.
/// Twice a policy of the largest size, whose line ends are two bytes in JSON.
const MAX_CONFIG: usize = 512 << 10;
const MAX_KEY: usize = 64 << 10;
const MAX_LIST: usize = 4 << 20;
const MAX_VECTOR: usize = 64 << 20;

/// The library's version.
#[unsafe(no_mangle)]
pub extern "C" fn sotto_version() -> *const c_char {
    concat!(env!("CARGO_PKG_VERSION"), "\0").as_ptr().cast()
}

/// Opens a table or a stack: fetches its catalog, and what its scheme needs once. `config` is a
/// JSON object with `servers`, `table` and options; the README lists them.
///
/// `transport` sends every request, during this call and during lookups, and never after
/// `sotto_close`. `progress` may be null. Both receive `context`, and may be called by threads of
/// the library, for a table of several servers by several at once; each must return, and throw
/// nothing.
///
/// Returns `SOTTO_OK`, with the number in `table`; or a negative status, with details in `error`
/// unless it is null.
///
/// # Safety
/// `config` points to `config_len` bytes, `table` and `error` (or null) to one each. What `context` points to lives until the
/// table is closed, and may be used by any thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sotto_open(
    config: *const u8,
    config_len: usize,
    transport: SottoTransport,
    progress: SottoProgress,
    context: *mut c_void,
    table: *mut SottoTable,
    error: *mut SottoError,
) -> i32 {
    // SAFETY: the caller promises that each of these points to what it says, or is null.
    let (config, table) = unsafe { (bytes("config", config, config_len, MAX_CONFIG), table.as_mut()) };
    let work = || {
        let table = table.ok_or_else(|| null("table"))?;
        *table = 0;
        let transport = transport.ok_or_else(|| null("transport"))?;
        let callbacks = Arc::new(Callbacks::new(transport, progress, context));
        let listener = progress.is_some().then(|| Arc::clone(&callbacks) as _);
        *table = tables::open(config?, callbacks, listener)?;
        Ok(SOTTO_OK)
    };
    // SAFETY: the caller promises it of `error`.
    unsafe { enter(error, work) }
}

/// Closes a table. Waits for calls in progress; afterwards its callbacks are not called, and its
/// number is invalid.
///
/// # Safety
/// `error` points to one, or is null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sotto_close(table: SottoTable, error: *mut SottoError) -> i32 {
    // SAFETY: the caller promises it of `error`.
    unsafe { enter(error, || tables::close(table).map(|()| SOTTO_OK)) }
}

/// Looks up a row by its number. The server does not learn which.
///
/// # Safety
/// `value` points to one, and `error` to one or is null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sotto_get_row(
    table: SottoTable,
    row: u64,
    value: *mut SottoBuffer,
    error: *mut SottoError,
) -> i32 {
    // SAFETY: the caller promises it of `value` and `error`.
    unsafe { one(table, ParsedLookup::Row(row), value, error) }
}

/// Looks up the value of a key, which is UTF-8: `SOTTO_ABSENT` if the table does not have it. The server sees no difference.
///
/// # Safety
/// `key` points to `key_len` bytes, `value` to one, and `error` to one or is null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sotto_get_key(
    table: SottoTable,
    key: *const u8,
    key_len: usize,
    value: *mut SottoBuffer,
    error: *mut SottoError,
) -> i32 {
    // SAFETY: the caller promises it of `key`, `value` and `error`.
    unsafe { one(table, ParsedLookup::key(bytes("key", key, key_len, MAX_KEY)), value, error) }
}

/// Looks up several rows and keys in one round, which is padded to a multiple of `batch`: the server sees how many batches,
/// and neither how many lookups there were nor which. `lookups` is a JSON list of numbers and texts. Read the values with
/// `sotto_value_at`.
///
/// # Safety
/// `lookups` points to `lookups_len` bytes, `values` to one, and `error` to one or is null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sotto_get_many(
    table: SottoTable,
    lookups: *const u8,
    lookups_len: usize,
    values: *mut SottoBuffer,
    error: *mut SottoError,
) -> i32 {
    // SAFETY: the caller promises it of `lookups`.
    let parsed = ParsedLookup::list(unsafe { bytes("lookups", lookups, lookups_len, MAX_LIST) });
    let work = |state: &mut OpenTable| Ok(Some(lookups::encode_values(&state.many(&parsed)?)));
    // SAFETY: the caller promises it of `values` and `error`.
    unsafe { fill(table, values, error, work) }
}

/// One of the values of `sotto_get_many`: `SOTTO_OK`, and the place of its bytes within `values`;
/// `SOTTO_ABSENT` for a key that the table does not have; `SOTTO_MISUSE` if there are fewer values.
///
/// # Safety
/// `values` points to one that `sotto_get_many` filled and nobody freed; `data` and `len` point to one each.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sotto_value_at(
    values: *const SottoBuffer,
    index: usize,
    data: *mut *const u8,
    len: *mut usize,
) -> i32 {
    // SAFETY: the caller promises that each points to what it says, or is null.
    let (Some(values), Some(data), Some(len)) = (unsafe { (values.as_ref(), data.as_mut(), len.as_mut()) })
    else {
        return SOTTO_MISUSE;
    };
    (*data, *len) = (std::ptr::null(), 0);
    // SAFETY: it was filled by `sotto_get_many`, and is as it was.
    match lookups::value_at(unsafe { values.as_bytes() }, index) {
        ValueAt::Bytes(value) => {
            (*data, *len) = (value.as_ptr(), value.len());
            SOTTO_OK
        }
        ValueAt::Absent => SOTTO_ABSENT,
        ValueAt::PastEnd => SOTTO_MISUSE,
    }
}

/// What the last lookup cost and what the servers saw of it, as JSON; `null` before the first.
///
/// # Safety
/// `json` points to one, and `error` to one or is null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sotto_last(
    table: SottoTable,
    json: *mut SottoBuffer,
    error: *mut SottoError,
) -> i32 {
    // SAFETY: the caller promises it of `json` and `error`.
    unsafe { fill(table, json, error, |state| written(&state.last)) }
}

/// Description of the table as it is now, as JSON.
///
/// # Safety
/// `json` points to one, and `error` to one or is null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sotto_about(
    table: SottoTable,
    json: *mut SottoBuffer,
    error: *mut SottoError,
) -> i32 {
    // SAFETY: the caller promises it of `json` and `error`.
    unsafe { fill(table, json, error, |state| written(&state.opened()?.about()?)) }
}

/// Checks for a newer epoch: `SOTTO_NEWER` if there was one, `SOTTO_OK` if not. Lookups do that by themselves once their epoch
/// has ended.
///
/// # Safety
/// `error` points to one, or is null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sotto_refresh(table: SottoTable, error: *mut SottoError) -> i32 {
    let work = || {
        let is_newer = tables::with(table, |state| state.opened()?.refresh())?;
        Ok(if is_newer { memory::SOTTO_NEWER } else { SOTTO_OK })
    };
    // SAFETY: the caller promises it of `error`.
    unsafe { enter(error, work) }
}

/// Replays a recorded lookup (`spec/vectors`): whether this build makes the recorded bytes on this processor, and reads the
/// recorded row. `vector` is the text, followed by the bytes of the file beside it, if there is one. No transport is needed.
///
/// # Safety
/// `vector` points to `vector_len` bytes, `row` to one, and `error` to one or is null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sotto_self_test(
    vector: *const u8,
    vector_len: usize,
    row: *mut SottoBuffer,
    error: *mut SottoError,
) -> i32 {
    // SAFETY: the caller promises that each of these points to what it says, or is null.
    let (vector, row) = unsafe { (bytes("vector", vector, vector_len, MAX_VECTOR), row.as_mut()) };
    let work = || {
        let row = row.ok_or_else(|| null("row"))?;
        *row = SottoBuffer::empty();
        *row = SottoBuffer::of(replay(vector?).map_err(BindingError::from)?.value);
        Ok(SOTTO_OK)
    };
    // SAFETY: the caller promises it of `error`.
    unsafe { enter(error, work) }
}

/// Runs the work of a function, and writes its error.
///
/// # Safety
/// `error` points to one, or is null.
unsafe fn enter(error: *mut SottoError, work: impl FnOnce() -> Result<i32, BindingError>) -> i32 {
    let outcome = guarded(|| match reply::is_inside() {
        // The caller of the callback may hold a lock.
        true => Err(BindingError::misuse("a callback calls the library", "return from the callback first")),
        false => work(),
    });
    // SAFETY: the caller promises it.
    unsafe { memory::write_error(error, outcome) }
}

/// Makes one lookup.
///
/// # Safety
/// As for `fill`.
unsafe fn one(
    table: SottoTable,
    lookup: ParsedLookup,
    value: *mut SottoBuffer,
    error: *mut SottoError,
) -> i32 {
    // SAFETY: the caller promises it.
    unsafe { fill(table, value, error, |state| state.one(lookup)) }
}

/// Fills a buffer with the result of work on a table.
///
/// # Safety
/// `out` points to one or is null, and so does `error`.
unsafe fn fill(
    table: SottoTable,
    out: *mut SottoBuffer,
    error: *mut SottoError,
    work: impl FnOnce(&mut OpenTable) -> Result<Option<Vec<u8>>, BindingError>,
) -> i32 {
    // SAFETY: the caller promises it.
    let out = unsafe { out.as_mut() };
    let work = || {
        let out = out.ok_or_else(|| null("a buffer"))?;
        *out = SottoBuffer::empty();
        let Some(value) = tables::with(table, work)? else { return Ok(SOTTO_ABSENT) };
        *out = SottoBuffer::of(value);
        Ok(SOTTO_OK)
    };
    // SAFETY: the caller promises it.
    unsafe { enter(error, work) }
}

fn written(value: &impl Serialize) -> Result<Option<Vec<u8>>, BindingError> {
    let failed = |error: serde_json::Error| {
        BindingError::new(ErrorKind::Machine, "bug", error.to_string(), "report this")
    };
    serde_json::to_vec(value).map(Some).map_err(failed)
}

/// Bytes that the caller passes.
///
/// # Safety
/// `data` points to `len` bytes that nothing changes meanwhile, or is null.
unsafe fn bytes<'a>(
    name: &str,
    data: *const u8,
    len: usize,
    max_len: usize,
) -> Result<&'a [u8], BindingError> {
    if len > max_len {
        return Err(BindingError::misuse(
            format!("{name} has {len} bytes, at most {max_len} are allowed"),
            "give fewer bytes",
        ));
    }
    match (data.is_null(), len) {
        (_, 0) => Ok(&[]),
        (true, _) => Err(null(name)),
        // SAFETY: it is not null, the caller promises `len` bytes, and `max_len` is far below `isize::MAX`.
        (false, _) => Ok(unsafe { slice::from_raw_parts(data, len) }),
    }
}

fn null(name: &str) -> BindingError {
    BindingError::misuse(format!("{name} is a null pointer"), "give a valid pointer")
}

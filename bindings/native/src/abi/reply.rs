//! The caller's functions: the transport, and the progress callback.

use super::memory::{SOTTO_CANCELLED, SOTTO_MISUSE, SOTTO_OK, SOTTO_PEER, SOTTO_TIMEOUT};
use crate::transport::{CallbackError, CallbackFns};
use sotto_binding::Listener;
use sotto_client::transport::{Method, Request, Response, TransportError};
use std::cell::Cell;
use std::ffi::{CStr, CString, c_char, c_void};
use std::ptr::null;
use std::slice;
use std::time::Duration;

/// Maximum bytes of a refusal, and of a header or an error text of the caller.
const MAX_REFUSAL: u64 = 64 << 10;
const MAX_TEXT: usize = 4 << 10;

/// A request to send unchanged, with these headers and none that identify the client. Valid during
/// the callback.
#[repr(C)]
pub struct SottoRequest {
    /// Which server, counted from 0 in the order of `servers`.
    pub server: u32,
    /// `GET` or `POST`.
    pub method: *const c_char,
    /// Path and query, from the slash on: what follows the server's address.
    pub path: *const c_char,
    /// The value of the header `range`, or null.
    pub range: *const c_char,
    /// The value of the header `content-type`, or null.
    pub content_type: *const c_char,
    /// The body.
    pub body: *const u8,
    /// Bytes of the body; 0 for a GET.
    pub body_len: usize,
    /// Maximum bytes of the body of a success. A larger one is refused, so reading can stop there.
    pub limit: u64,
}

/// Receives the response from a transport. Valid during the callback, for one thread.
pub struct SottoReply {
    response: Response,
    max_bytes: u64,
    is_too_large: bool,
    error: String,
}

/// Sends a request, waits for the response and puts it into `reply`. Returns `SOTTO_OK`, also for a
/// refusal; `SOTTO_NETWORK` or `SOTTO_TIMEOUT` without a response; or `SOTTO_CANCELLED` to cancel
/// the call.
///
/// A transport follows no redirect, which would take the query to somebody else: 3xx is a response. It sends no cookie and
/// keeps none, and adds no header of its own that differs between callers (`User-Agent`, `Accept-Language`, `Authorization`,
/// `Referer`): each would tie lookups to a person. It caches nothing.
pub type SottoTransport = Option<
    unsafe extern "C" fn(context: *mut c_void, request: *const SottoRequest, reply: *mut SottoReply) -> i32,
>;

/// Receives the progress of an opening: its stage (`catalog`, `hint`, `rows`, `keys`, `ready`,
/// ...), bytes done, and bytes in total, or 0 if unknown.
pub type SottoProgress =
    Option<unsafe extern "C" fn(context: *mut c_void, stage: *const c_char, done: u64, total: u64)>;

type Transport = unsafe extern "C" fn(*mut c_void, *const SottoRequest, *mut SottoReply) -> i32;

/// The caller's functions for one table.
pub(super) struct Callbacks {
    transport: Transport,
    progress: SottoProgress,
    context: *mut c_void,
}

// SAFETY: `sotto_open` requires that the caller's functions and context may be used by any thread,
// several at once.
unsafe impl Send for Callbacks {}
// SAFETY: `sotto_open` requires that the caller's functions and context may be used by any thread,
// several at once.
unsafe impl Sync for Callbacks {}

thread_local! {
    static INSIDE: Cell<bool> = const { Cell::new(false) };
}

/// Whether this thread is within a callback.
pub(super) fn is_inside() -> bool {
    INSIDE.get()
}

/// Calls one of the caller's functions.
fn inside<T>(call: impl FnOnce() -> T) -> T {
    let before = INSIDE.replace(true);
    let outcome = call();
    INSIDE.set(before);
    outcome
}

impl Callbacks {
    pub(super) fn new(transport: Transport, progress: SottoProgress, context: *mut c_void) -> Self {
        Callbacks { transport, progress, context }
    }
}

impl CallbackFns for Callbacks {
    fn call(&self, server: u32, request: &Request) -> Result<Response, CallbackError> {
        let path = CString::new(request.path.as_str());
        let path = path.map_err(|error| TransportError::Protocol(error.to_string()))?;
        // HTTP ranges include the last byte.
        let range = request
            .range
            .as_ref()
            .map(|range| format!("bytes={}-{}", range.start, range.end.saturating_sub(1)));
        let range = range.map(|range| CString::new(range).unwrap_or_default());
        let (method, content_type) = match request.method {
            Method::Get => (c"GET", None),
            Method::Post => (c"POST", Some(c"application/octet-stream")),
        };
        let sent = SottoRequest {
            server,
            method: method.as_ptr(),
            path: path.as_ptr(),
            range: range.as_ref().map_or(null(), |range| range.as_ptr()),
            content_type: content_type.map_or(null(), CStr::as_ptr),
            body: request.body.as_ptr(),
            body_len: request.body.len(),
            limit: request.limit,
        };
        let max_bytes = request.limit.max(MAX_REFUSAL);
        let mut reply = SottoReply {
            response: Response::default(),
            max_bytes,
            is_too_large: false,
            error: String::new(),
        };
        // SAFETY: both pointers are valid until it returns, and the rest is what the caller passed.
        let status = inside(|| unsafe { (self.transport)(self.context, &raw const sent, &raw mut reply) });
        let SottoReply { response, is_too_large, error, .. } = reply;
        match status {
            SOTTO_OK if is_too_large => Err(TransportError::TooLarge { limit: request.limit }.into()),
            SOTTO_OK if response.status == 0 => {
                Err(TransportError::Protocol("the transport returned no status".to_owned()).into())
            }
            SOTTO_OK => Ok(response),
            SOTTO_CANCELLED => Err(CallbackError::Cancelled),
            SOTTO_TIMEOUT => Err(TransportError::Timeout(error).into()),
            _ if error.is_empty() => {
                Err(TransportError::Lost(format!("the transport returned status {status}")).into())
            }
            _ => Err(TransportError::Lost(error).into()),
        }
    }
}

impl From<TransportError> for CallbackError {
    fn from(error: TransportError) -> Self {
        CallbackError::Transport(error)
    }
}

impl Listener for Callbacks {
    fn progress(&self, stage: &'static str, done: u64, total: u64) {
        let (Some(progress), Ok(stage)) = (self.progress, CString::new(stage)) else { return };
        // SAFETY: the text is valid until it returns, and the rest is what the caller passed.
        inside(|| unsafe { progress(self.context, stage.as_ptr(), done, total) });
    }
}

/// The response's HTTP status.
///
/// # Safety
/// `reply` is what the callback was given, or null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sotto_reply_status(reply: *mut SottoReply, status: u16) -> i32 {
    // SAFETY: the caller promises it.
    let Some(reply) = (unsafe { reply.as_mut() }) else { return SOTTO_MISUSE };
    reply.response.status = status;
    SOTTO_OK
}

/// A header of the response. Those that are not `retry-after` or `server-timing` may be left out.
///
/// # Safety
/// `reply` is what the callback was given, or null; the texts end in a zero byte, or are null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sotto_reply_header(
    reply: *mut SottoReply,
    name: *const c_char,
    value: *const c_char,
) -> i32 {
    // SAFETY: the caller promises it.
    let (reply, name, value) = unsafe { (reply.as_mut(), text(name), text(value)) };
    let (Some(reply), Some(name), Some(value)) = (reply, name, value) else { return SOTTO_MISUSE };
    match name.to_ascii_lowercase().as_str() {
        "retry-after" => reply.response.retry_after = value.trim().parse().ok().map(Duration::from_secs),
        "server-timing" => reply.response.server_timing = Some(value),
        _ => {}
    }
    SOTTO_OK
}

/// Adds bytes to the response's body. `SOTTO_PEER` once the body exceeds its limit: reading can stop there.
///
/// # Safety
/// `reply` is what the callback was given, or null; `data` points to `len` bytes, or is null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sotto_reply_body(reply: *mut SottoReply, data: *const u8, len: usize) -> i32 {
    // SAFETY: the caller promises it.
    let Some(reply) = (unsafe { reply.as_mut() }) else { return SOTTO_MISUSE };
    if len == 0 {
        return SOTTO_OK;
    }
    let body = &mut reply.response.body;
    reply.is_too_large |= (body.len() as u64).saturating_add(len as u64) > reply.max_bytes;
    if data.is_null() || isize::try_from(len).is_err() {
        return SOTTO_MISUSE;
    }
    if reply.is_too_large {
        body.clear();
        return SOTTO_PEER;
    }
    // SAFETY: it is not null, and the caller promises `len` bytes, which an object in memory can have.
    body.extend_from_slice(unsafe { slice::from_raw_parts(data, len) });
    SOTTO_OK
}

/// Sets the reason why no response arrived, in a sentence for people.
///
/// # Safety
/// `reply` is what the callback was given, or null; `why` ends in a zero byte, or is null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sotto_reply_error(reply: *mut SottoReply, why: *const c_char) -> i32 {
    // SAFETY: the caller promises it.
    let (Some(reply), Some(why)) = (unsafe { (reply.as_mut(), text(why)) }) else { return SOTTO_MISUSE };
    reply.error = why;
    SOTTO_OK
}

/// Reads a text of the caller, truncated if it is long.
///
/// # Safety
/// The text ends in a zero byte, or is null.
unsafe fn text(text: *const c_char) -> Option<String> {
    if text.is_null() {
        return None;
    }
    // SAFETY: it is not null, and the caller promises its end.
    let bytes = unsafe { CStr::from_ptr(text) }.to_bytes();
    Some(String::from_utf8_lossy(bytes.get(..MAX_TEXT).unwrap_or(bytes)).into_owned())
}

//! Bytes and errors that C is given, and frees.

use sotto_binding::{BindingError, ErrorKind};
use std::ffi::{CString, c_char};
use std::ptr::null_mut;
use std::slice;

/// Success.
pub const SOTTO_OK: i32 = 0;
/// Success; the table does not have the key.
pub const SOTTO_ABSENT: i32 = 1;
/// Success; the table has a newer epoch.
pub const SOTTO_NEWER: i32 = 2;
/// The call is wrong.
pub const SOTTO_MISUSE: i32 = -1;
/// The call is wrong: the table has no such row.
pub const SOTTO_ROW: i32 = -2;
/// The table's parameters are refused.
pub const SOTTO_PARAMS: i32 = -3;
/// The server or the publisher is at fault: another signature, another snapshot, damaged answers.
pub const SOTTO_PEER: i32 = -4;
/// The network failed. A transport returns this if it cannot connect, or loses its connection.
pub const SOTTO_NETWORK: i32 = -5;
/// No response came in time. A transport returns this after its timeout.
pub const SOTTO_TIMEOUT: i32 = -6;
/// The disk of this machine failed.
pub const SOTTO_STORAGE: i32 = -7;
/// An answer is unreadable, and the fault unknown. Do not repeat the lookup at once, and do not
/// report it: a server learns from that.
pub const SOTTO_UNREADABLE: i32 = -8;
/// Code for a failure of this machine, or of sotto itself.
pub const SOTTO_MACHINE: i32 = -9;
/// A transport returns this to cancel the call.
pub const SOTTO_CANCELLED: i32 = -10;

/// Bytes that the library owns. Leave them as they are, and free them with `sotto_free`.
#[repr(C)]
pub struct SottoBuffer {
    /// Pointer to the bytes; null if there are none.
    pub data: *mut u8,
    /// Number of bytes.
    pub len: usize,
}

impl SottoBuffer {
    /// An empty buffer.
    pub(super) fn empty() -> Self {
        SottoBuffer { data: null_mut(), len: 0 }
    }

    /// A buffer of these bytes.
    pub(super) fn of(bytes: Vec<u8>) -> Self {
        if bytes.is_empty() {
            return SottoBuffer::empty();
        }
        let (len, data) = (bytes.len(), Box::into_raw(bytes.into_boxed_slice()));
        SottoBuffer { data: data.cast(), len }
    }

    /// # Safety
    /// The buffer is as [`SottoBuffer::of`] made it, and was not freed.
    pub(super) unsafe fn as_bytes(&self) -> &[u8] {
        match self.data.is_null() {
            true => &[],
            // SAFETY: the pointer and the length are those of one boxed slice.
            false => unsafe { slice::from_raw_parts(self.data, self.len) },
        }
    }
}

/// An error. Texts end in a zero byte; free them with `sotto_error_free`.
#[repr(C)]
pub struct SottoError {
    /// One of the negative `SOTTO_` constants; 0 if there is no error, and then the texts are null.
    pub status: i32,
    /// A stable name for programs.
    pub code: *mut c_char,
    /// What went wrong.
    pub message: *mut c_char,
    /// What to do.
    pub fix: *mut c_char,
    /// All of it as JSON: `kind`, `code`, `message`, `fix`.
    pub json: *mut c_char,
}

/// Writes the result of some work to `error`. Its previous contents are overwritten, and not read.
///
/// # Safety
/// `error` points to one, or is null.
pub(super) unsafe fn write_error(error: *mut SottoError, outcome: Result<i32, BindingError>) -> i32 {
    let (written, status) = match outcome {
        Ok(status) => (SottoError::none(), status),
        Err(fault) => {
            let status = status(fault.kind);
            // The texts are not made if there is no place for them.
            (if error.is_null() { SottoError::none() } else { SottoError::of(&fault, status) }, status)
        }
    };
    if !error.is_null() {
        // SAFETY: it is not null, and the caller promises that it may be written to.
        unsafe { error.write(written) };
    }
    status
}

impl SottoError {
    fn none() -> Self {
        SottoError {
            status: SOTTO_OK,
            code: null_mut(),
            message: null_mut(),
            fix: null_mut(),
            json: null_mut(),
        }
    }

    fn of(fault: &BindingError, status: i32) -> Self {
        SottoError {
            status,
            code: text(&fault.code),
            message: text(&fault.message),
            fix: text(&fault.fix),
            json: text(&serde_json::to_string(fault).unwrap_or_default()),
        }
    }
}

fn text(text: &str) -> *mut c_char {
    CString::new(text.replace('\0', "?")).unwrap_or_default().into_raw()
}

fn status(kind: ErrorKind) -> i32 {
    match kind {
        ErrorKind::Misuse => SOTTO_MISUSE,
        ErrorKind::Row => SOTTO_ROW,
        ErrorKind::Params => SOTTO_PARAMS,
        ErrorKind::Peer => SOTTO_PEER,
        ErrorKind::Network => SOTTO_NETWORK,
        ErrorKind::Timeout => SOTTO_TIMEOUT,
        ErrorKind::Storage => SOTTO_STORAGE,
        ErrorKind::Unreadable => SOTTO_UNREADABLE,
        ErrorKind::Machine => SOTTO_MACHINE,
    }
}

/// Frees bytes, and leaves an empty buffer. Null and empty ones are left as they are.
///
/// # Safety
/// `buffer` points to one that the library filled or left empty, or is null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sotto_free(buffer: *mut SottoBuffer) {
    // SAFETY: the caller promises it.
    let Some(buffer) = (unsafe { buffer.as_mut() }) else { return };
    let SottoBuffer { data, len } = std::mem::replace(buffer, SottoBuffer::empty());
    if !data.is_null() {
        // SAFETY: `SottoBuffer::of` made both of one boxed slice, and whoever frees it leaves null behind.
        drop(unsafe { Box::from_raw(std::ptr::slice_from_raw_parts_mut(data, len)) });
    }
}

/// Frees an error's texts, and leaves one of nothing.
///
/// # Safety
/// `error` points to one that the library filled, or that is zero throughout, or is null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sotto_error_free(error: *mut SottoError) {
    // SAFETY: the caller promises it.
    let Some(error) = (unsafe { error.as_mut() }) else { return };
    let SottoError { code, message, fix, json, .. } = std::mem::replace(error, SottoError::none());
    for text in [code, message, fix, json] {
        if !text.is_null() {
            // SAFETY: `CString::into_raw` gave it, and whoever frees it leaves null behind.
            drop(unsafe { CString::from_raw(text) });
        }
    }
}

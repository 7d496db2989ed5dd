//! The functions that the worker provides in `js/host.js`: one set for all open tables.

use sotto_binding::Listener;
use sotto_layers::keyword::form::unicode::HostUnicode;
use std::cell::OnceCell;
use std::io;
use std::panic;
use wasm_bindgen::JsCast;
use wasm_bindgen::prelude::*;

#[wasm_bindgen]
extern "C" {
    /// Host object of `js/host.js`.
    pub type Host;
    #[wasm_bindgen(method, catch)]
    #[allow(clippy::too_many_arguments, reason = "a call of JavaScript with plain values")]
    pub(crate) fn request(
        this: &Host,
        server: u32,
        method: &str,
        path: &str,
        first: f64,
        end: f64,
        body: &[u8],
        limit: f64,
    ) -> Result<Answer, JsValue>;
    #[wasm_bindgen(method)]
    fn progress(this: &Host, stage: &str, done: f64, total: f64);
    #[wasm_bindgen(method)]
    fn event(this: &Host, text: &str);
    #[wasm_bindgen(method)]
    fn panic(this: &Host, text: &str);
    #[wasm_bindgen(method)]
    fn normal(this: &Host, text: &str) -> Option<String>;
    #[wasm_bindgen(method, js_name = hostOf)]
    fn host_of(this: &Host, text: &str) -> Option<String>;
    #[wasm_bindgen(method)]
    pub(crate) fn pause(this: &Host, milliseconds: f64);
    #[wasm_bindgen(method, catch)]
    pub(crate) fn names(this: &Host) -> Result<Vec<String>, JsValue>;
    #[wasm_bindgen(method, catch)]
    pub(crate) fn length(this: &Host, name: &str) -> Result<f64, JsValue>;
    #[wasm_bindgen(method, catch)]
    pub(crate) fn make(this: &Host, name: &str) -> Result<(), JsValue>;
    #[wasm_bindgen(method, catch)]
    pub(crate) fn read(this: &Host, name: &str, at: f64, out: &mut [u8]) -> Result<f64, JsValue>;
    #[wasm_bindgen(method, catch)]
    pub(crate) fn write(this: &Host, name: &str, at: f64, bytes: &[u8]) -> Result<(), JsValue>;
    #[wasm_bindgen(method, catch, js_name = setLength)]
    pub(crate) fn set_length(this: &Host, name: &str, bytes: f64) -> Result<(), JsValue>;
    #[wasm_bindgen(method, catch)]
    pub(crate) fn sync(this: &Host, name: &str) -> Result<(), JsValue>;
    #[wasm_bindgen(method, catch)]
    pub(crate) fn remove(this: &Host, name: &str) -> Result<(), JsValue>;
    #[wasm_bindgen(method, catch)]
    pub(crate) fn rename(this: &Host, from: &str, to: &str) -> Result<(), JsValue>;

    /// A response from the worker.
    pub(crate) type Answer;
    #[wasm_bindgen(method, getter)]
    pub(crate) fn status(this: &Answer) -> u16;
    #[wasm_bindgen(method, getter)]
    pub(crate) fn body(this: &Answer) -> Vec<u8>;
    #[wasm_bindgen(method, getter, js_name = retryAfter)]
    pub(crate) fn retry_after(this: &Answer) -> Option<String>;
    #[wasm_bindgen(method, getter, js_name = serverTiming)]
    pub(crate) fn server_timing(this: &Answer) -> Option<String>;

    /// An error that JavaScript throws.
    pub(crate) type Thrown;
    #[wasm_bindgen(method, getter)]
    pub(crate) fn name(this: &Thrown) -> String;
    #[wasm_bindgen(method, getter)]
    pub(crate) fn message(this: &Thrown) -> String;
}

thread_local! {
    static HOST: OnceCell<Host> = const { OnceCell::new() };
}

/// Sets the worker's functions for all tables. Only the first call has an effect, and returns `true`.
pub(crate) fn set(host: Host) -> bool {
    HOST.with(|current| current.set(host).is_ok())
}

/// Reports every panic to the worker.
pub(crate) fn report_panics() {
    panic::set_hook(Box::new(|info| with((), |host| host.panic(&info.to_string()))));
}

/// Runs work with the worker's functions; returns `otherwise` before they are set.
pub(crate) fn with<T>(otherwise: T, work: impl FnOnce(&Host) -> T) -> T {
    HOST.with(|host| match host.get() {
        Some(host) => work(host),
        None => otherwise,
    })
}

/// Runs work that can fail, as file operations do, with the worker's functions.
pub(crate) fn try_with<T>(work: impl FnOnce(&Host) -> Result<T, JsValue>) -> io::Result<T> {
    with(Err(io::ErrorKind::Unsupported.into()), |host| work(host).map_err(|error| failure(&thrown(error))))
}

/// The error that was thrown. The worker throws errors and nothing else.
pub(crate) fn thrown(error: JsValue) -> Thrown {
    error.unchecked_into()
}

/// Turns a browser's file error into a system error.
fn failure(thrown: &Thrown) -> io::Error {
    let kind = match thrown.name().as_str() {
        "NotFoundError" => io::ErrorKind::NotFound,
        "QuotaExceededError" => io::ErrorKind::StorageFull,
        _ => io::ErrorKind::Other,
    };
    io::Error::new(kind, thrown.message())
}

/// Unicode functions of the browser, which the program need not contain.
pub(crate) struct BrowserUnicode;

impl HostUnicode for BrowserUnicode {
    fn normal(&self, text: &str) -> Option<String> {
        with(None, |host| host.normal(text))
    }

    fn host(&self, text: &str) -> Option<String> {
        with(None, |host| host.host_of(text))
    }
}

/// Passes events to the page that made the worker.
pub(crate) struct PageListener;

impl Listener for PageListener {
    fn progress(&self, stage: &'static str, done: u64, total: u64) {
        with((), |host| host.progress(stage, done as f64, total as f64));
    }

    fn event(&self, text: &str) {
        with((), |host| host.event(text));
    }
}

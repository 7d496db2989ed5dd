//! Files of the browser's own file system, opened by the worker beforehand (`js/file_pool.js`).

use crate::host::{try_with, with};
use sotto_client::files::HostFiles;
use std::io;
use std::time::Duration;

/// The files of the worker.
pub(crate) struct Files;

impl HostFiles for Files {
    fn length(&self, name: &str) -> io::Result<u64> {
        try_with(|host| host.length(name)).map(|bytes| bytes as u64)
    }

    fn make(&self, name: &str) -> io::Result<()> {
        try_with(|host| host.make(name))
    }

    fn read(&self, name: &str, at: u64, out: &mut [u8]) -> io::Result<usize> {
        try_with(|host| host.read(name, at as f64, out)).map(|bytes| bytes as usize)
    }

    fn write(&self, name: &str, at: u64, bytes: &[u8]) -> io::Result<()> {
        try_with(|host| host.write(name, at as f64, bytes))
    }

    fn set_length(&self, name: &str, bytes: u64) -> io::Result<()> {
        try_with(|host| host.set_length(name, bytes as f64))
    }

    fn sync(&self, name: &str) -> io::Result<()> {
        try_with(|host| host.sync(name))
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        try_with(|host| host.remove(name))
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        try_with(|host| host.rename(from, to))
    }

    fn names(&self) -> io::Result<Vec<String>> {
        try_with(|host| host.names())
    }

    fn pause(&self, time: Duration) {
        with((), |host| host.pause(time.as_secs_f64() * 1000.0));
    }
}

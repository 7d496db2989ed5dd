//! What an error means: its kind, the party at fault, its exit code, its name, and what to do.
//! The class of an exception follows from the kind.

use serde::Serialize;
use std::{fmt, io};

/// Declares an enumeration whose variants each have a meaning: their documentation, and a sentence in
/// `ALL`, from which documents are made.
macro_rules! explained {
    ($(#[$attribute:meta])* pub enum $name:ident { $($variant:ident $(= $code:literal)?: $meaning:literal,)+ }) => {
        $(#[$attribute])*
        pub enum $name { $(#[doc = $meaning] $variant $(= $code)?,)+ }

        impl $name {
            /// All values, each with its meaning in a sentence.
            pub const ALL: &[($name, &str)] = &[$(($name::$variant, $meaning)),+];
        }
    };
}

explained! {
    /// The kind of an error, which decides the exception that a language raises.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
    #[serde(rename_all = "lowercase")]
    pub enum ErrorKind {
        Misuse: "The caller's fault.",
        Row: "The caller's fault: the table has no such row.",
        Params: "The parameters of the table are refused.",
        Peer: "The fault of the server or the publisher: another signature, damaged answers.",
        Network: "A fault of the network.",
        Timeout: "No response arrived in time.",
        Storage: "A fault of this machine's disk, or of what replaces it.",
        Unreadable: "An unreadable answer, of unknown fault. A caller that requests the same row again at once \
            reveals that to the server, which may have damaged the answer for this purpose.",
        Machine: "A fault of this machine, or of sotto itself.",
    }
}

/// The party that can resolve an error.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// The calling code, or the person who typed the request.
    Caller,
    /// The server, its operator, or the table's publisher.
    Server,
    /// The network between client and server, or a temporary condition.
    Network,
    /// The machine of the client.
    Machine,
}

explained! {
    /// The exit code of a program that ends with an error. The numbers do not change.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
    #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
    #[serde(rename_all = "lowercase")]
    #[repr(u8)]
    pub enum Exit {
        Internal = 1: "A bug in sotto; please report it.",
        Usage = 2: "The command line is not valid.",
        Input = 3: "An input file holds invalid data; the message names file, line and column.",
        Params = 4: "No secure and reliable parameters fit the table, or the build lacks its scheme.",
        Peer = 5: "The server is unreachable, or its response is invalid.",
        Refused = 6: "The server or another process refuses for now: busy, stale epoch, address in use.",
        Missing = 7: "A table, row, key, file or epoch does not exist.",
        Storage = 8: "The disk is full, or a file cannot be read or written.",
        Findings = 9: "A check found a problem.",
    }
}

impl From<ErrorKind> for Fault {
    fn from(kind: ErrorKind) -> Self {
        match kind {
            ErrorKind::Misuse | ErrorKind::Row => Fault::Caller,
            ErrorKind::Params | ErrorKind::Peer | ErrorKind::Unreadable => Fault::Server,
            ErrorKind::Network | ErrorKind::Timeout => Fault::Network,
            ErrorKind::Storage | ErrorKind::Machine => Fault::Machine,
        }
    }
}

impl From<ErrorKind> for Exit {
    fn from(kind: ErrorKind) -> Self {
        match kind {
            ErrorKind::Misuse => Exit::Usage,
            ErrorKind::Row => Exit::Missing,
            ErrorKind::Params => Exit::Params,
            ErrorKind::Peer | ErrorKind::Network | ErrorKind::Timeout | ErrorKind::Unreadable => Exit::Peer,
            ErrorKind::Storage => Exit::Storage,
            ErrorKind::Machine => Exit::Internal,
        }
    }
}

impl From<&io::Error> for Exit {
    fn from(error: &io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::NotFound => Exit::Missing,
            _ => Exit::Storage,
        }
    }
}

/// What an error means, to programs and to people.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Diagnosis<'a> {
    /// Kind of the error.
    pub kind: ErrorKind,
    /// The party that can resolve the error.
    pub fault: Fault,
    /// Exit code of a program that ends with the error.
    pub exit: Exit,
    /// Stable name, for programs.
    pub code: &'static str,
    /// What to do, for a person; empty if the error's text says it.
    pub fix: &'a str,
}

/// An error that says of what kind it is, and what to do.
pub trait Diagnose: fmt::Display {
    /// The kind, the fault, the exit code, the stable name and the fix of this error.
    fn diagnosis(&self) -> Diagnosis<'_>;
}

impl ErrorKind {
    /// The diagnosis of an error of this kind, with the fault and the exit code of most of them.
    pub fn diagnosis<'a>(self, code: &'static str, fix: &'a str) -> Diagnosis<'a> {
        Diagnosis { kind: self, fault: self.into(), exit: self.into(), code, fix }
    }
}

impl Diagnosis<'_> {
    /// Replaces the exit code.
    #[must_use]
    pub fn with_exit(self, exit: impl Into<Exit>) -> Self {
        Diagnosis { exit: exit.into(), ..self }
    }

    /// Replaces the exit code of an error about a file: its bytes are input, no peer's message.
    #[must_use]
    pub fn of_file(self) -> Self {
        let exit = if self.exit == Exit::Peer { Exit::Input } else { self.exit };
        Diagnosis { exit, ..self }
    }
}

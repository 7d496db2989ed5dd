//! Exit codes. A script that calls `sotto` branches on these and parses no message.

/// Why the command ended. The numbers are part of the interface and do not change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Exit {
    Internal = 1,
    Usage = 2,
    Input = 3,
    Params = 4,
    Peer = 5,
    Refused = 6,
    Missing = 7,
    Storage = 8,
    Findings = 9,
}

impl Exit {
    /// The word in `--json` errors.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Exit::Internal => "internal",
            Exit::Usage => "usage",
            Exit::Input => "input",
            Exit::Params => "params",
            Exit::Peer => "peer",
            Exit::Refused => "refused",
            Exit::Missing => "missing",
            Exit::Storage => "storage",
            Exit::Findings => "findings",
        }
    }
}

/// Table that `sotto exit-codes` and `sotto help exit-codes` print.
pub(crate) const TABLE: &str = "\
  0  done
  1  internal: a bug in sotto; please report it
  2  usage: the command line is not valid
  3  input: an input file holds invalid data (the message names file, line and column)
  4  params: no secure and reliable parameters fit this table, or this build lacks its scheme
  5  peer: the server is unreachable, or its response is invalid
  6  refused: the server or another process refuses for now: busy, stale epoch, address in use
  7  missing: no such table, row, key, file or epoch
  8  storage: the disk is full, or a file cannot be read or written
  9  findings: `sotto doctor` or `sotto bench soak` found a problem

An error goes to stderr; with --json it is one JSON object {\"error\": {\"code\", \"kind\", \"message\", \
\"fix\"}}.";

//! Counters of a server on this machine, read from its admin port.

use crate::failure::{Failure, Result};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

/// Two of the server's counters, summed over tables.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Counters {
    queries: u64,
    passes: u64,
}

impl Counters {
    /// Reads `/metrics`. The server is on loopback, so a plain request is enough.
    pub(crate) fn read(admin: SocketAddr) -> Result<Self> {
        let fetch = || -> std::io::Result<String> {
            let mut stream = TcpStream::connect(admin)?;
            stream.set_read_timeout(Some(Duration::from_secs(5)))?;
            stream.write_all(b"GET /metrics HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n")?;
            let mut text = String::new();
            stream.take(1 << 20).read_to_string(&mut text)?;
            Ok(text)
        };
        let failed = |error| Failure::internal(format!("cannot read the server's metrics: {error}"));
        Ok(Counters::parse(&fetch().map_err(failed)?))
    }

    /// Average number of queries that shared one pass, from `before` to now.
    pub(crate) fn batch_since(&self, before: &Counters) -> f64 {
        let passes = self.passes.saturating_sub(before.passes).max(1);
        self.queries.saturating_sub(before.queries) as f64 / passes as f64
    }

    fn parse(text: &str) -> Self {
        let sum = |name: &str| {
            let samples = text.lines().filter_map(|line| line.strip_prefix(name)?.strip_prefix('{'));
            samples.filter_map(|sample| sample.rsplit(' ').next()?.parse::<u64>().ok()).sum()
        };
        Counters { queries: sum("sotto_queries_total"), passes: sum("sotto_passes_total") }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_are_summed_over_tables() {
        let text = "HTTP/1.1 200 OK\r\n\r\n# TYPE sotto_passes counter\nsotto_passes_total{table=\"a\"} 3\n\
                    sotto_passes_total{table=\"b\"} 4\nsotto_queries_total{table=\"a\"} 20\n\
                    sotto_query_requests_total{table=\"a\"} 9\n";
        assert_eq!(Counters::parse(text), Counters { queries: 20, passes: 7 });
        let before = Counters { queries: 10, passes: 2 };
        assert_eq!(Counters { queries: 20, passes: 7 }.batch_since(&before), 2.0);
        assert_eq!(before.batch_since(&before), 0.0);
    }
}

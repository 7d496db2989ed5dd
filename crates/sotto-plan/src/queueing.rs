//! Latency under load, for a server that shares passes between requests.
//!
//! A server makes one pass at a time, with all its cores; requests that arrive meanwhile share the
//! next one (*gated batch service*). With `r` requests per second, passes grow until as many
//! requests arrive during a pass as share one: `b = r * t(b)`, where `t(b) = t(1) * (1 + (b - 1) *
//! own)`. A request then waits for half a pass on average, and for a whole one at worst, before its
//! own. Where `b` would be less than 1, it meets a pass with probability `r * t(1)`.

/// Number of queries that a server's pass takes whatever its times are, and the most that it takes
/// by default. In between it takes as many as have together four times the work that they share.
const TOGETHER: [f64; 2] = [8.0, 32.0];
const OWN_OVER_SHARED: f64 = 4.0;

/// Largest utilization of a machine at peak: beyond that, random queues form that the model does
/// not include.
const BUSY: f64 = 0.7;

/// Behavior of a server under load.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct QueueEstimate {
    /// Number of machines that share the load, each with the whole table: as many as the rate
    /// requires.
    pub replicas: u64,
    /// Number of requests that share a pass, on average.
    pub pass: f64,
    /// Utilization of a machine.
    pub busy: f64,
    /// Median time in the server, in seconds.
    pub p50: f64,
    /// 99th percentile of the time in the server, in seconds.
    pub p99: f64,
    /// Requests per second that one machine can serve.
    pub capacity: f64,
}

/// Duration of passes over a table.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PassTime {
    /// Seconds of a pass for one request.
    pub alone: f64,
    /// Time that each further request adds, relative to the first.
    pub own: f64,
    /// Number of queries of a request.
    pub queries: u64,
}

impl PassTime {
    fn time(self, requests: f64) -> f64 {
        self.alone * (1.0 + (requests - 1.0) * self.own)
    }

    /// Largest number of queries in a pass.
    fn together(self) -> f64 {
        let [fewest, most] = TOGETHER;
        // Without own work the quotient is infinite.
        (OWN_OVER_SHARED * (1.0 - self.own) / self.own).clamp(fewest, most)
    }

    /// Behavior at `rate` requests per second.
    pub fn under(self, rate: f64) -> QueueEstimate {
        let most = (self.together() / self.queries.max(1) as f64).floor().max(1.0);
        let capacity = most / self.time(most);
        let replicas = (rate / (BUSY * capacity)).ceil().max(1.0);
        let rate = rate / replicas;
        let pass = match 1.0 - rate * self.alone * self.own {
            rest if rest > 0.0 => rate * self.alone * (1.0 - self.own) / rest,
            _ => most,
        };
        let pass = pass.clamp(1.0, most);
        let time = self.time(pass);
        let busy = (rate * time / pass).min(1.0);
        let p50 = time * (1.0 + busy / 2.0);
        let p99 = if busy > 0.01 { 2.0 * time } else { p50 };
        QueueEstimate { replicas: replicas as u64, pass, busy, p50, p99, capacity }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_idle_server_has_nobody_waiting() {
        let load = PassTime { alone: 0.01, own: 0.5, queries: 1 }.under(0.01);
        assert_eq!((load.replicas, load.pass), (1, 1.0));
        assert!(load.p50 < 0.010_01 && load.p99 == load.p50);
    }

    #[test]
    fn passes_are_shared_before_machines_are_added() {
        let pass = PassTime { alone: 0.01, own: 0.1, queries: 1 };
        let load = pass.under(200.0);
        assert_eq!(load.replicas, 1);
        // As many requests arrive during a pass as share it.
        assert!((load.pass - 200.0 * pass.time(load.pass)).abs() < 1e-9 && load.pass > 1.0, "{load:?}");
        assert!((load.p99 - 2.0 * pass.time(load.pass)).abs() < 1e-12);
        assert!(load.capacity > 200.0);
    }

    #[test]
    fn a_pass_takes_more_queries_where_they_share_its_work() {
        let together = |own| PassTime { alone: 0.01, own, queries: 1 }.together();
        assert_eq!([0.0, 0.01, 0.5, 1.0].map(together), [32.0, 32.0, 8.0, 8.0]);
        assert_eq!(together(0.2), 16.0);
    }

    #[test]
    fn machines_are_added_where_sharing_gains_nothing() {
        let pass = PassTime { alone: 0.01, own: 1.0, queries: 1 };
        let load = pass.under(1000.0);
        assert!((load.capacity - 100.0).abs() < 1e-9);
        assert_eq!(load.replicas, 15);
        assert!(load.busy <= BUSY && load.pass >= 1.0, "{load:?}");
        // More requests are never answered sooner.
        let mut last = 0.0;
        for rate in [1.0, 10.0, 30.0, 60.0, 69.0] {
            let load = pass.under(rate);
            assert!(load.p50 >= last && load.replicas == 1, "{rate}: {load:?}");
            last = load.p50;
        }
    }
}

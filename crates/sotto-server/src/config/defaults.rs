//! The defaults of the configuration.

use super::{BatchConfig, Residency, ScanConfig, ServerConfig, SessionConfig};
use std::net::{Ipv4Addr, SocketAddr};

impl Default for ServerConfig {
    fn default() -> Self {
        ServerConfig {
            listen: SocketAddr::from((Ipv4Addr::LOCALHOST, 8080)),
            admin_listen: SocketAddr::from((Ipv4Addr::LOCALHOST, 8081)),
            admin_hosts: Vec::new(),
            tables: Vec::new(),
            stacks: Vec::new(),
            logs: Vec::new(),
            static_dir: None,
            role: 0,
            threads: 0,
            max_connections: 1024,
            connections_per_client: 256,
            request_memory_mib: 256,
            max_queue: 128,
            max_streams: 8,
            streams_per_client: 4,
            max_hint_requests: 16,
            hint_requests_per_client: 2,
            hint_seconds_per_client: 600,
            evaluations_per_client: 1000,
            hint_threads: 1,
            deadline_ms: 5_000,
            read_timeout_ms: 10_000,
            idle_timeout_ms: 60_000,
            min_send_bytes_per_second: 16_384,
            reload_seconds: 10,
            drain_seconds: 10,
            gpu: false,
            gpu_memory_mib: 0,
            residency: Residency::Auto,
            copy_memory_mib: 0,
            skip_image_check: false,
            keep_deltas: 16,
            batch: BatchConfig::default(),
            scan_budget: ScanConfig::default(),
            sessions: SessionConfig::default(),
            state: None,
            tls: None,
            self_signed: None,
            allow_origins: Vec::new(),
        }
    }
}

impl Default for BatchConfig {
    fn default() -> Self {
        BatchConfig { max_wait_us: 500, max_queries: 32 }
    }
}

impl Default for ScanConfig {
    fn default() -> Self {
        ScanConfig { percent_per_client: 0, burst_seconds_per_client: 60, percent: 0, burst_seconds: 60 }
    }
}

impl Default for SessionConfig {
    fn default() -> Self {
        SessionConfig {
            max_bytes: 4 << 30,
            max_stored_bytes: 16 << 30,
            ttl_seconds: 86_400,
            sessions_per_client: 256,
            registrations_per_minute: 300,
        }
    }
}

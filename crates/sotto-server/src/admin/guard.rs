//! Which requests the admin address accepts: those of programs on machines that can reach it, and
//! none of web pages.
//!
//! A browser on such a machine can reach the address too, and does what any page says. A page of
//! another site sends an `Origin` or a `Sec-Fetch-Site` header; one whose own name is made to
//! resolve to this address (DNS rebinding) sends that name as `Host`; and none can send a custom
//! header without a preflight request, which is refused.

use crate::admin_hosts::AdminHosts;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, Method, StatusCode, Uri, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use sotto_wire::routes::ADMIN_HEADER;
use std::sync::Arc;

/// Refuses requests of web pages.
pub(super) async fn guard(State(hosts): State<Arc<AdminHosts>>, request: Request, next: Next) -> Response {
    match why_not(request.method(), request.uri(), request.headers(), &hosts) {
        None => next.run(request).await,
        Some(why) => (StatusCode::FORBIDDEN, format!("{why}\n")).into_response(),
    }
}

/// Why a request is refused, if it is.
fn why_not(method: &Method, uri: &Uri, headers: &HeaderMap, hosts: &AdminHosts) -> Option<String> {
    let text = |name| headers.get(name).map(|value| value.to_str().unwrap_or("?"));
    // HTTP/2 names the host in the URI.
    let host = uri.authority().map(|authority| authority.as_str()).or(text(header::HOST));
    if let Some(host) = host.filter(|host| !hosts.allows(host)) {
        let fix = "use an address or localhost, or add the name to admin_hosts";
        return Some(format!("the request names host {host}, which is not this server: {fix}"));
    }
    if let Some(origin) = text(header::ORIGIN) {
        let own = origin.split_once("://").map(|(_, authority)| authority);
        if own.is_none() || own != host {
            return Some(format!("the request comes from a web page of {origin}"));
        }
    }
    let site = headers.get("sec-fetch-site").map(|value| value.as_bytes());
    if site.is_some_and(|site| site != b"none" && site != b"same-origin") {
        return Some("the request comes from a web page of another site".to_owned());
    }
    let changes = !matches!(*method, Method::GET | Method::HEAD);
    (changes && !headers.contains_key(ADMIN_HEADER)).then(|| {
        format!("the request has no header {ADMIN_HEADER}, which changes need: send {ADMIN_HEADER}: 1")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_a_page_can_have_are_no_hosts() {
        let hosts = AdminHosts::new(&["Sotto.internal".into()]);
        for host in [
            "localhost",
            "LOCALHOST:8081",
            "127.0.0.1:8081",
            "10.0.0.7",
            "[::1]:8081",
            "[::1]",
            "sotto.internal:1",
        ] {
            assert!(hosts.allows(host), "{host}");
        }
        for host in [
            "evil.example:8081",
            "localhost.evil.example",
            "127.0.0.1.evil.example",
            "",
            "internal",
            "[::1",
            "sotto:x",
        ] {
            assert!(!hosts.allows(host), "{host}");
        }
    }
}

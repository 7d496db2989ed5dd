//! Responses of intermediaries, which answer in place of the server, or change what it answers.
//!
//! A proxy that requires a login, the portal of a network, a gateway that compresses: each has an
//! error and a fix of its own, since the errors for their bytes (a damaged catalog, a malformed
//! frame) would blame the wrong party.

use std::fmt;

/// What an intermediary did (RFC 9110, section 3.7).
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Intermediary {
    /// Status 401, 407 or 511 without a problem document of the server.
    WantsLogin {
        /// HTTP status.
        status: u16,
    },
    /// A redirect, which no server sends and no client follows.
    Redirects {
        /// HTTP status.
        status: u16,
        /// The `location` header, printable and at most 200 characters long.
        location: String,
    },
    /// A content coding that the client did not accept.
    Encodes {
        /// The `content-encoding` header, printable and at most 200 characters long.
        coding: String,
    },
    /// An HTML page with the status of a success.
    ShowsPage,
}

impl Intermediary {
    /// What to do about this intermediary.
    pub fn fix(&self) -> &'static str {
        match self {
            Intermediary::WantsLogin { status: 511 } | Intermediary::ShowsPage => {
                "check that the address is a sotto server's; open any page in a browser first if this network has a login page"
            }
            Intermediary::WantsLogin { status: 407 } => {
                "log in at the proxy: its user and password belong in HTTPS_PROXY, as http://user:password@proxy:port"
            }
            Intermediary::WantsLogin { .. } => {
                "ask the operator to let lookups through without a login: clients send no credentials"
            }
            Intermediary::Redirects { .. } => {
                "give the address that it leads to, if you trust it: clients follow no redirects"
            }
            Intermediary::Encodes { .. } => {
                "ask the operator to turn compression off for the server's paths: clients accept no content coding"
            }
        }
    }
}

impl fmt::Display for Intermediary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Intermediary::WantsLogin { status } => {
                write!(f, "status {status}: something in front of the server wants a login")
            }
            Intermediary::Redirects { status, location } => {
                write!(f, "status {status}: the address leads to {location}")
            }
            Intermediary::Encodes { coding } => {
                write!(f, "packed responses ({coding}): something in front of the server packs them")
            }
            Intermediary::ShowsPage => f.write_str("an HTML page, and not an answer of a sotto server"),
        }
    }
}

/// The status and headers that tell a response of an intermediary from one of a server. Custom
/// transports may use it too.
#[derive(Debug, Clone, Copy, Default)]
pub struct ResponseHeaders<'a> {
    /// HTTP status.
    pub status: u16,
    /// The `content-type` header.
    pub content_type: Option<&'a str>,
    /// The `content-encoding` header.
    pub content_encoding: Option<&'a str>,
    /// The `location` header.
    pub location: Option<&'a str>,
}

impl ResponseHeaders<'_> {
    /// The intermediary that sent or changed the response; `None` for a response that a server may send.
    pub fn intermediary(&self) -> Option<Intermediary> {
        let media = self.content_type.unwrap_or_default();
        let is_problem = media.contains("json");
        let status = self.status;
        match (status, self.location) {
            (300..=399, Some(location)) => {
                return Some(Intermediary::Redirects { status, location: printable(location) });
            }
            (401 | 407 | 511, _) if !is_problem => return Some(Intermediary::WantsLogin { status }),
            _ => {}
        }
        match self.content_encoding {
            Some(coding) if !coding.eq_ignore_ascii_case("identity") => {
                return Some(Intermediary::Encodes { coding: printable(coding) });
            }
            _ => {}
        }
        (status == 200 && is_html(media)).then_some(Intermediary::ShowsPage)
    }
}

fn is_html(media: &str) -> bool {
    media.get(..9).is_some_and(|start| start.eq_ignore_ascii_case("text/html"))
}

fn printable(text: &str) -> String {
    text.chars().filter(|c| !c.is_control()).take(200).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(status: u16, headers: [Option<&str>; 3]) -> Option<Intermediary> {
        let [content_type, content_encoding, location] = headers;
        ResponseHeaders { status, content_type, content_encoding, location }.intermediary()
    }

    #[test]
    fn responses_of_servers_are_left_alone() {
        for (status, media) in [
            (200, "application/octet-stream"),
            (206, "text/html"),
            (503, "text/html"),
            (401, "application/json"),
        ] {
            assert_eq!(found(status, [Some(media), None, None]), None, "{status} {media}");
        }
        assert_eq!(found(200, [None, Some("identity"), None]), None);
        assert_eq!(found(304, [None, None, None]), None);
    }

    #[test]
    fn each_intermediary_has_its_sentence_and_its_remedy() {
        let cases = [
            (401, [None, None, None], "wants a login", "without a login"),
            (407, [Some("text/html"), None, None], "wants a login", "HTTPS_PROXY"),
            (511, [None, None, None], "wants a login", "browser"),
            (
                301,
                [None, None, Some("https://a.example/\u{1b}x")],
                "leads to https://a.example/x",
                "leads to",
            ),
            (200, [Some("application/octet-stream"), Some("gzip"), None], "(gzip)", "compression"),
            (200, [Some("Text/HTML; charset=utf-8"), None, None], "HTML", "sotto server"),
        ];
        for (status, headers, says, remedy) in cases {
            let found = found(status, headers).unwrap();
            assert!(found.to_string().contains(says) && found.fix().contains(remedy), "{found:?}");
        }
    }
}

//! Responses of intermediaries, which answer in place of the server, or change what it answers.
//!
//! A proxy that requires a login, the portal of a network, a gateway that compresses: each has an
//! error and a fix of its own, since the errors for their bytes (a damaged catalog, a malformed
//! frame) would blame the wrong party.

pub use crate::error::transport::Intermediary;

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
                return Some(Intermediary::Encodes(printable(coding)));
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
            (401, [None, None, None], "requires a login", "without a login"),
            (407, [Some("text/html"), None, None], "requires a login", "HTTPS_PROXY"),
            (511, [None, None, None], "requires a login", "browser"),
            (
                301,
                [None, None, Some("https://a.example/\u{1b}x")],
                "a redirect to https://a.example/x",
                "redirect",
            ),
            (200, [Some("application/octet-stream"), Some("gzip"), None], "(gzip)", "compression"),
            (200, [Some("Text/HTML; charset=utf-8"), None, None], "HTML", "sotto server"),
        ];
        for (status, headers, expected, remedy) in cases {
            let found = found(status, headers).unwrap();
            assert!(found.to_string().contains(expected) && found.fix().contains(remedy), "{found:?}");
        }
    }
}

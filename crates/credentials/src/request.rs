//! Which requests are understood. Any other is refused, and nothing of it reaches a host.

use hyper::header::{
    CONNECTION, CONTENT_LENGTH, HOST, HeaderMap, HeaderName, HeaderValue, TRANSFER_ENCODING,
    UPGRADE,
};
use hyper::http::request::Parts;
use hyper::{Method, Version};

/// Headers that end with a connection. They are written anew.
const OF_CONNECTION: [&str; 9] = [
    "connection",
    "keep-alive",
    "proxy-authenticate",
    "proxy-authorization",
    "proxy-connection",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
];

/// Why a request is not understood.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Unclear {
    /// It is no path, but a URL or the name of a host.
    Target,
    /// It has no host, several, or another one than TLS.
    Host,
    /// Its length is said in two ways, or in one that is not known.
    Length,
    /// It has a header twice that may have a credential.
    Twice,
    /// It has a header by which servers take it for another request.
    Other,
}

impl Unclear {
    pub(crate) fn text(self) -> &'static str {
        match self {
            Self::Target => "its target is no path: send a path such as /v1/items, and no CONNECT",
            Self::Host => "its Host is not the name that TLS was asked for, or is there twice",
            Self::Length => "its length is not clear: send Content-Length or chunked, not both",
            Self::Twice => "it has a header twice that is for one credential",
            Self::Other => {
                "it has a header by which a server takes it for another request, such as X-HTTP-Method-Override: leave that out"
            }
        }
    }
}

/// Headers by which servers take a request for one of another method or path.
const OTHER_REQUEST: [&str; 6] = [
    "x-http-method",
    "x-http-method-override",
    "x-method-override",
    "x-original-uri",
    "x-original-url",
    "x-rewrite-url",
];

/// Whether a server may take a request for another one than that which rules were compared with.
pub(crate) fn is_for_another(headers: &HeaderMap) -> bool {
    OTHER_REQUEST.iter().any(|name| headers.contains_key(*name))
}

/// Whether it is understood, whole.
pub(crate) fn check(parts: &Parts, host: &str, port: u16) -> Result<(), Unclear> {
    let Parts { method, uri, headers, version, .. } = parts;
    let is_path = uri.scheme().is_none()
        && uri.authority().is_none()
        && (uri.path().starts_with('/') || (*method == Method::OPTIONS && uri.path() == "*"));
    if !is_path || *method == Method::CONNECT {
        return Err(Unclear::Target);
    }
    let mut hosts = headers.get_all(HOST).iter();
    let is_own = match (hosts.next(), hosts.next()) {
        (Some(own), None) => own.to_str().is_ok_and(|own| is_host(own, host, port)),
        (None, None) => *version == Version::HTTP_10,
        _ => false,
    };
    if !is_own {
        return Err(Unclear::Host);
    }
    let lengths = headers.get_all(CONTENT_LENGTH).iter().count();
    let mut codings = headers.get_all(TRANSFER_ENCODING).iter();
    let coding = codings.next();
    let is_chunked = coding.is_none_or(|coding| coding.as_bytes().eq_ignore_ascii_case(b"chunked"));
    let is_once = codings.next().is_none() && lengths <= 1;
    if !is_chunked || !is_once || (coding.is_some() && lengths > 0) {
        return Err(Unclear::Length);
    }
    Ok(())
}

fn is_host(text: &str, host: &str, port: u16) -> bool {
    match text.rsplit_once(':') {
        Some((name, digits)) => name.eq_ignore_ascii_case(host) && digits == port.to_string(),
        None => text.eq_ignore_ascii_case(host),
    }
}

/// Whether it is a header that only one connection has.
fn is_of_connection(name: &HeaderName, named: &[String]) -> bool {
    let name = name.as_str();
    OF_CONNECTION.contains(&name) || named.iter().any(|other| other == name)
}

/// Takes out what is said of one connection only. With an upgrade to websockets that stays.
pub(crate) fn strip_connection(headers: &mut HeaderMap, keeps_upgrade: bool) {
    let named: Vec<String> = headers
        .get_all(CONNECTION)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .map(|name| name.trim().to_ascii_lowercase())
        // A client cannot have what says where a request goes to, or who sends it, taken out.
        .filter(|name| !matches!(&**name, "host" | "content-length" | "authorization"))
        .collect();
    let upgrade = headers.get(UPGRADE).cloned().filter(|_| keeps_upgrade);
    let gone: Vec<HeaderName> =
        headers.keys().filter(|name| is_of_connection(name, &named)).cloned().collect();
    for name in gone {
        headers.remove(name);
    }
    if let Some(upgrade) = upgrade {
        headers.insert(UPGRADE, upgrade);
        headers.insert(CONNECTION, HeaderValue::from_static("upgrade"));
    }
}

/// Whether a request asks for websockets.
pub(crate) fn is_for_websockets(headers: &HeaderMap) -> bool {
    let asks = headers.get(CONNECTION).and_then(|value| value.to_str().ok());
    let asks = asks.is_some_and(|value| {
        value.split(',').any(|word| word.trim().eq_ignore_ascii_case("upgrade"))
    });
    let to = headers.get(UPGRADE).map(HeaderValue::as_bytes);
    asks && to.is_some_and(|to| to.eq_ignore_ascii_case(b"websocket"))
}

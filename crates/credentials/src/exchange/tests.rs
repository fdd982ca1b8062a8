//! The law of requests: whatever a command writes, the value is in the header of its credential or nowhere, where a rule
//! allows the request and there is one way to read it.

use std::sync::{Arc, LazyLock};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hyper::Request;
use hyper::header::{CONTENT_LENGTH, HOST, TRANSFER_ENCODING};
use proptest::prelude::*;
use tokio::runtime::Builder;
use tokio::sync::Mutex;

use super::prepare;
use crate::broker::Broker;
use crate::connection::{Connection, Problem};
use crate::credential::{Options, SendAs};
use crate::rule::RuleOptions;
use crate::uses::Noted;
use crate::values::{ValueAnswer, Values};

const VALUE: &str = "ghp_CANARY0123456789abcdefABCDEF01234567";

#[derive(Debug)]
struct Never;

impl Values for Never {
    fn ask(&self, _: usize, _: ValueAnswer) {}
}

/// A connection, and its placeholder.
static OPEN: LazyLock<(Connection, String)> = LazyLock::new(|| {
    let one = |send, only: Option<&str>| Options {
        variable: "TOKEN".to_owned(),
        hosts: vec!["api.test".to_owned()],
        value: Some(VALUE.to_owned()),
        send,
        only: only.map(|path| {
            vec![RuleOptions { methods: vec!["GET".to_owned()], path: Some(path.to_owned()) }]
        }),
    };
    let credentials = vec![
        one(SendAs::Bearer, Some("/open/**")),
        one(SendAs::Basic, Some("/open/**")),
        one(SendAs::Header("x-api-key".to_owned()), Some("/open/**")),
    ];
    let broker = Broker::open(credentials, &[], Vec::new(), &[], Arc::new(Never));
    let broker = broker.expect("they can be meant");
    let placeholder = broker.placeholders()[0].1.to_owned();
    let sender = Mutex::new(Err(Problem::Unreachable(String::new())));
    let (host, uses) = ("api.test".to_owned(), Arc::default());
    (Connection { broker, host, port: 443, uses, approvals: None, sender }, placeholder)
});

fn word(all: &'static [&'static str]) -> impl Strategy<Value = &'static str> {
    proptest::sample::select(all)
}

/// `<P>` stands for the placeholder, and `<B>` for it in base64.
fn header() -> impl Strategy<Value = (&'static str, String)> {
    let names = word(&[
        "host",
        "authorization",
        "Authorization",
        "x-api-key",
        "content-length",
        "transfer-encoding",
        "connection",
        "upgrade",
        "x-http-method-override",
        "x-original-url",
        "x-other",
        "cookie",
    ]);
    let values = prop_oneof![
        word(&[
            "api.test",
            "API.TEST",
            "api.test:443",
            "other.test",
            "api.test@other.test",
            "Bearer <P>",
            "bearer <P>",
            "token <P>",
            "Bearer x<P>",
            "Bearer <P> <P>",
            "Basic <B>",
            "basic <B>",
            "<P>",
            "x<P>",
            "<P>, <P>",
            "4",
            "4, 4",
            "+4",
            "chunked",
            "Chunked",
            "chunked, identity",
            "upgrade",
            "websocket",
            "DELETE",
            "/closed",
            "authorization",
            "",
        ])
        .prop_map(str::to_owned),
        "[ -~]{0,12}(<P>)?[ -~]{0,4}",
    ];
    (names, values)
}

proptest! {
    #[test]
    fn the_value_is_where_a_rule_allows_it_or_nowhere(
        method in word(&["GET", "GET", "get", "POST", "DELETE", "HEAD", "OPTIONS", "CONNECT", "PRI"]),
        target in word(&[
            "/open/a", "/open/a", "/open/a?q=<P>", "/open", "/closed", "/open/../closed", "/open/%2e%2e/closed", "//open/a",
            "/open/a%2f..%2fb", "/open/./a", "/open//a", "/OPEN/a", "/open/a;b", "http://api.test/open/a",
            "http://other.test/open/a", "other.test:443", "*",
        ]),
        has_host in proptest::bool::weighted(0.8),
        headers in proptest::collection::vec(header(), 0..5),
    ) {
        let (connection, placeholder) = &*OPEN;
        let coded = STANDARD.encode(format!("user:{placeholder}"));
        let filled = |text: &str| text.replace("<P>", placeholder).replace("<B>", &coded);
        let mut builder = Request::builder().method(method).uri(filled(target));
        if has_host {
            builder = builder.header("host", "api.test");
        }
        for (name, value) in &headers {
            builder = builder.header(*name, filled(value));
        }
        // What is no request at all does not come here.
        let Ok(request) = builder.body(()) else { return Ok(()) };
        let (mut parts, ()) = request.into_parts();
        let mut noted = Noted::new("api.test", 443, parts.method.as_str(), parts.uri.path());
        let runtime = Builder::new_current_thread().build().expect("a runtime");
        let prepared = runtime.block_on(prepare(connection, &mut parts, &mut noted));
        let coded = STANDARD.encode(format!("user:{VALUE}"));
        let mut with_value = Vec::new();
        for (name, value) in &parts.headers {
            let text = String::from_utf8_lossy(value.as_bytes());
            if text.contains(VALUE) || text.contains(&coded) {
                with_value.push((name.as_str().to_owned(), text.into_owned()));
            }
        }
        prop_assert!(!parts.uri.to_string().contains(VALUE));
        let Ok(swapped) = prepared else {
            prop_assert!(with_value.is_empty(), "{with_value:?}");
            return Ok(());
        };
        let mut hosts = parts.headers.get_all(HOST).iter();
        let host = hosts.next().map(|host| host.as_bytes().to_ascii_lowercase());
        prop_assert!(matches!(host.as_deref(), Some(b"api.test" | b"api.test:443")) && hosts.next().is_none());
        let lengths = parts.headers.get_all(CONTENT_LENGTH).iter().count();
        prop_assert!(lengths + parts.headers.get_all(TRANSFER_ENCODING).iter().count() <= 1);
        prop_assert_eq!(swapped.credentials.is_empty(), with_value.is_empty());
        if with_value.is_empty() {
            return Ok(());
        }
        prop_assert_eq!(parts.method.as_str(), "GET");
        prop_assert!(!parts.headers.contains_key("x-http-method-override"));
        prop_assert!(!parts.headers.contains_key("x-original-url"));
        prop_assert!(["/open/a", "/open/a;b"].contains(&parts.uri.path()), "{}", parts.uri);
        for (name, text) in with_value {
            let is_meant = match &*name {
                "authorization" => {
                    let (scheme, rest) = text.split_once(' ').unwrap_or_default();
                    let is_basic = scheme.eq_ignore_ascii_case("basic");
                    rest == if is_basic { &*coded } else { VALUE }
                }
                name => name == "x-api-key",
            };
            prop_assert!(is_meant, "{name}: {text}");
        }
    }
}

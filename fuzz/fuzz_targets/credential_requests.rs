//! Any head of a request to the host of credentials.
//!
//! The laws: whatever a command writes, a value is in the header of its credential or nowhere, where a rule allows the request, there is one
//! way to read it, and no header leads it elsewhere. A request that is refused has no value.

#![no_main]

use std::pin::pin;
use std::sync::{Arc, LazyLock};
use std::task::{Context, Poll, Waker};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http::Request;
use libfuzzer_sys::fuzz_target;
use toolwright_credentials::{Broker, Options, RuleOptions, SendAs, ValueAnswer, Values};

const HOST: &str = "api.test";
const VALUE: &str = "ghp_CANARY0123456789abcdefABCDEF01234567";
const KEY: &str = "KEYCANARY0123456789abcdefABCDEF0123456789";

#[derive(Debug)]
struct Never;

impl Values for Never {
    fn ask(&self, _: usize, _: ValueAnswer) {}
}

static BROKER: LazyLock<Arc<Broker>> = LazyLock::new(|| {
    let one = |variable: &str, value: &str, send| Options {
        variable: variable.to_owned(),
        hosts: vec![HOST.to_owned()],
        value: Some(value.to_owned()),
        send,
        only: Some(vec![RuleOptions { methods: vec!["GET".to_owned()], path: Some("/open/**".to_owned()) }]),
    };
    let credentials = vec![
        one("TOKEN", VALUE, SendAs::Bearer),
        one("TOKEN", VALUE, SendAs::Basic),
        one("KEY", KEY, SendAs::Header("x-api-key".to_owned())),
    ];
    Broker::open(credentials, &[], Vec::new(), &[], Arc::new(Never)).expect("they can be meant")
});

/// A head as a server reads it. In place of `<0>` and `<1>` it has placeholders, and of `<2>` the first one with a name in base64.
fn head(text: &[u8]) -> Option<Request<()>> {
    let placeholders = BROKER.placeholders();
    let coded = STANDARD.encode(format!("user:{}", placeholders[0].1));
    let mut bytes = text.to_vec();
    for (mark, full) in [("<0>", placeholders[0].1), ("<1>", placeholders[1].1), ("<2>", &coded)] {
        while let Some(at) = bytes.windows(3).position(|window| window == mark.as_bytes()) {
            bytes.splice(at..at + 3, full.bytes());
        }
    }
    let mut room = [httparse::EMPTY_HEADER; 64];
    let mut parsed = httparse::Request::new(&mut room);
    if !parsed.parse(&bytes).ok()?.is_complete() {
        return None;
    }
    let mut builder = Request::builder().method(parsed.method?).uri(parsed.path?);
    for header in parsed.headers.iter() {
        builder = builder.header(header.name, header.value);
    }
    builder.body(()).ok()
}

fuzz_target!(|text: &[u8]| {
    if text.len() > 4096 {
        return;
    }
    let coded = STANDARD.encode(format!("user:{VALUE}"));
    let has_value = |text: &[u8]| {
        [VALUE, KEY, &coded].iter().any(|value| text.windows(value.len()).any(|window| window == value.as_bytes()))
    };
    // No command knows a value. A fuzzer finds it in what this program compares with.
    if has_value(text) {
        return;
    }
    let Some(request) = head(text) else { return };
    // Values are known, so nothing waits.
    let future = pin!(BROKER.rewritten(HOST, 443, request));
    let Poll::Ready(sent) = future.poll(&mut Context::from_waker(Waker::noop())) else {
        panic!("it waits");
    };
    let sent = match sent {
        Ok(sent) => sent,
        Err(text) => return assert!(!has_value(text.as_bytes()), "a refusal has a value"),
    };
    assert!(!has_value(sent.uri().to_string().as_bytes()), "the target has a value");
    let hosts: Vec<_> = sent.headers().get_all("host").iter().map(|host| host.as_bytes().to_ascii_lowercase()).collect();
    assert!(hosts.len() <= 1 && hosts.iter().all(|host| host == b"api.test" || host == b"api.test:443"));
    let lengths = sent.headers().get_all("content-length").iter().count();
    assert!(lengths + sent.headers().get_all("transfer-encoding").iter().count() <= 1, "two lengths");
    for (name, value) in sent.headers() {
        if !has_value(value.as_bytes()) {
            continue;
        }
        let text = String::from_utf8_lossy(value.as_bytes());
        match name.as_str() {
            "authorization" => {
                let (scheme, rest) = text.split_once(' ').unwrap_or_default();
                let is_basic = scheme.eq_ignore_ascii_case("basic");
                assert!(!is_basic || STANDARD.decode(rest).is_ok(), "{text}");
                assert!(is_basic || rest == VALUE, "{text}");
            }
            "x-api-key" => assert!(!text.contains(VALUE), "{text}"),
            other => panic!("{other} has a value"),
        }
        assert!(sent.method() == "GET" && sent.uri().path().starts_with("/open/"), "no rule allows {}", sent.uri());
        let path = sent.uri().path();
        let is_name = |name: &str| !matches!(name, "" | "." | "..");
        let names: Vec<&str> = path.split('/').skip(1).collect();
        let is_plain = names[..names.len() - 1].iter().all(|name| is_name(name)) && !matches!(names[names.len() - 1], "." | "..");
        assert!(is_plain && !path.contains('\\'), "{path} may be another path");
        for name in ["x-http-method", "x-http-method-override", "x-method-override", "x-original-uri", "x-original-url", "x-rewrite-url"] {
            assert!(!sent.headers().contains_key(name), "{name}");
        }
    }
});

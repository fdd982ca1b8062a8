//! Headers that requests get whatever they have: what harnesses of the AI SDK ask for.

use hyper::header::{HeaderMap, HeaderName, HeaderValue};
use regex_automata::meta::Regex;

use crate::credential::is_free_header;
use crate::error::CredentialError;
use crate::hosts::CredentialHost;
use crate::placeholder;
use crate::rule::is_plain;
use crate::secret::Secret;

/// How a text is compared.
#[derive(Debug, Clone)]
pub enum TextMatch {
    /// With the whole of it.
    Exact(String),
    /// With its beginning.
    StartsWith(String),
    /// With any part of it, by a regular expression.
    Regex(String),
}

/// A transformation as it is written. What is left out fits every request.
#[derive(Debug, Clone)]
pub struct TransformOptions {
    /// The host.
    pub host: String,
    /// The path, without the query.
    pub path: Option<TextMatch>,
    /// The methods. None: every one.
    pub methods: Vec<String>,
    /// Parts of the query, each of which has to be there.
    pub query: Vec<(Option<TextMatch>, Option<TextMatch>)>,
    /// Headers, each of which has to be there.
    pub headers: Vec<(Option<TextMatch>, Option<TextMatch>)>,
    /// The headers that a request gets.
    pub set: Vec<(String, String)>,
}

#[derive(Debug)]
enum Matcher {
    Exact(String),
    StartsWith(String),
    Regex(Regex),
}

#[derive(Debug)]
pub(crate) struct Transform {
    pub(crate) host: CredentialHost,
    path: Option<Matcher>,
    methods: Vec<String>,
    query: Vec<(Option<Matcher>, Option<Matcher>)>,
    headers: Vec<(Option<Matcher>, Option<Matcher>)>,
    set: Vec<(HeaderName, Secret, HeaderValue)>,
}

impl Matcher {
    fn read(text: &TextMatch) -> Result<Self, String> {
        Ok(match text.clone() {
            TextMatch::Exact(text) => Self::Exact(text),
            TextMatch::StartsWith(text) => Self::StartsWith(text),
            TextMatch::Regex(text) => Self::Regex(
                Regex::new(&text)
                    .map_err(|_| format!("`{}` is no regular expression", text.escape_debug()))?,
            ),
        })
    }

    fn fits(&self, text: &[u8]) -> bool {
        match self {
            Self::Exact(own) => text == own.as_bytes(),
            Self::StartsWith(own) => text.starts_with(own.as_bytes()),
            Self::Regex(own) => own.is_match(text),
        }
    }
}

impl Transform {
    pub(crate) fn read(index: usize, options: &TransformOptions) -> Result<Self, CredentialError> {
        let invalid =
            |field, problem: String| CredentialError::Transformation { index, field, problem };
        let pairs = |pairs: &[(Option<TextMatch>, Option<TextMatch>)], field| {
            let read = |one: &Option<TextMatch>| one.as_ref().map(Matcher::read).transpose();
            let pair = |(key, value): &(_, _)| Ok((read(key)?, read(value)?));
            pairs
                .iter()
                .map(pair)
                .collect::<Result<Vec<_>, _>>()
                .map_err(|problem| invalid(field, problem))
        };
        let host = CredentialHost::parse(&options.host).ok_or_else(|| {
            invalid("match.host", format!("`{}` is no name of a host", options.host.escape_debug()))
        })?;
        let path = options.path.as_ref().map(Matcher::read).transpose();
        let mut set = Vec::with_capacity(options.set.len());
        for (name, value) in &options.set {
            let read = HeaderName::from_bytes(name.as_bytes()).ok().filter(is_free_header);
            let name = read.ok_or_else(|| {
                invalid(
                    "transform.headers",
                    format!("`{}` is no header that can be set", name.escape_debug()),
                )
            })?;
            let mut header = HeaderValue::from_str(value).map_err(|_| {
                invalid(
                    "transform.headers",
                    format!("the value of `{name}` is no text of a header"),
                )
            })?;
            header.set_sensitive(true);
            // Behind a scheme, if there is one. What is shorter than a token is none.
            let last = value.rsplit(' ').next().unwrap_or_default().to_owned();
            let secret = Secret::new(last)
                .or_else(|| Secret::new(value.replace(' ', "")))
                .ok_or_else(|| {
                    invalid(
                        "transform.headers",
                        format!("the value of `{name}` is shorter than 8 characters"),
                    )
                })?;
            set.push((name, secret, header));
        }
        Ok(Self {
            host,
            path: path.map_err(|problem| invalid("match.path", problem))?,
            methods: options.methods.iter().map(|method| method.to_ascii_uppercase()).collect(),
            query: pairs(&options.query, "match.query")?,
            headers: pairs(&options.headers, "match.headers")?,
            set,
        })
    }

    /// What is never shown, with what stands for it.
    pub(crate) fn secrets(&self) -> Result<Vec<(Secret, String)>, CredentialError> {
        let pair = |(_, secret, _): &(_, Secret, _)| {
            Ok((secret.clone(), placeholder::like(secret.expose())?))
        };
        self.set.iter().map(pair).collect()
    }

    pub(crate) fn fits(
        &self,
        method: &str,
        (path, query): (&str, Option<&str>),
        headers: &HeaderMap,
    ) -> bool {
        let fits = |matcher: &Option<Matcher>, text: &[u8]| {
            matcher.as_ref().is_none_or(|matcher| matcher.fits(text))
        };
        let is_pair =
            |(key, value): &(_, _), own: (&[u8], &[u8])| fits(key, own.0) && fits(value, own.1);
        let parts: Vec<(String, String)> = query.map(query_parts).unwrap_or_default();
        let has_parts = self.query.iter().all(|wanted| {
            parts.iter().any(|(key, value)| is_pair(wanted, (key.as_bytes(), value.as_bytes())))
        });
        let has_headers = self.headers.iter().all(|wanted| {
            let mut all = headers.iter();
            all.any(|(key, value)| is_pair(wanted, (key.as_str().as_bytes(), value.as_bytes())))
        });
        (self.methods.is_empty() || self.methods.iter().any(|own| own == method))
            && fits(&self.path, path.as_bytes())
            && (self.path.is_none() || is_plain(path))
            && has_parts
            && has_headers
    }

    /// Sets the headers. What the command has sent under their names is gone.
    pub(crate) fn apply(&self, headers: &mut HeaderMap) {
        for (name, _, value) in &self.set {
            headers.insert(name.clone(), value.clone());
        }
    }

    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.set.iter().map(|(name, ..)| name.as_str())
    }
}

/// The keys and values of a query, decoded.
fn query_parts(query: &str) -> Vec<(String, String)> {
    let part = |part: &str| {
        let (key, value) = part.split_once('=').unwrap_or((part, ""));
        (decoded(key), decoded(value))
    };
    query.split('&').filter(|part| !part.is_empty()).map(part).collect()
}

fn decoded(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut out = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while let Some(byte) = bytes.get(at) {
        let code = bytes.get(at + 1..at + 3).and_then(|code| std::str::from_utf8(code).ok());
        let code = code.and_then(|code| u8::from_str_radix(code, 16).ok());
        match (byte, code) {
            (b'%', Some(code)) => {
                out.push(code);
                at += 2;
            }
            (b'+', _) => out.push(b' '),
            (byte, _) => out.push(*byte),
        }
        at += 1;
    }
    String::from_utf8_lossy(&out).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options() -> TransformOptions {
        TransformOptions {
            host: "api.test".to_owned(),
            path: None,
            methods: Vec::new(),
            query: Vec::new(),
            headers: Vec::new(),
            set: vec![("authorization".to_owned(), "Bearer sk-0123456789".to_owned())],
        }
    }

    fn exact(text: &str) -> TextMatch {
        TextMatch::Exact(text.to_owned())
    }

    #[test]
    fn each_part_of_a_match_has_to_fit() {
        let all = TransformOptions {
            path: Some(TextMatch::StartsWith("/v1/".to_owned())),
            methods: vec!["post".to_owned()],
            query: vec![(Some(exact("a b")), Some(TextMatch::Regex("^[0-9]+$".to_owned())))],
            headers: vec![(Some(exact("authorization")), Some(exact("Bearer placeholder")))],
            ..options()
        };
        let read = Transform::read(0, &all).expect("read");
        let mut headers = HeaderMap::new();
        headers.insert("authorization", HeaderValue::from_static("Bearer placeholder"));
        assert!(read.fits("POST", ("/v1/x", Some("z=1&a+b=12")), &headers));
        assert!(read.fits("POST", ("/v1/x", Some("a%20b=12")), &headers));
        assert!(!read.fits("POST", ("/v1/../x", Some("a+b=12")), &headers));
        assert!(!read.fits("GET", ("/v1/x", Some("a+b=12")), &headers));
        assert!(!read.fits("POST", ("/v2/x", Some("a+b=12")), &headers));
        assert!(!read.fits("POST", ("/v1/x", Some("a+b=x")), &headers));
        assert!(!read.fits("POST", ("/v1/x", None), &headers));
        assert!(!read.fits("POST", ("/v1/x", Some("a+b=12")), &HeaderMap::new()));
        read.apply(&mut headers);
        assert_eq!(headers["authorization"], "Bearer sk-0123456789");
        assert_eq!(read.secrets().expect("made")[0].0.expose(), "sk-0123456789");
    }

    #[test]
    fn what_cannot_be_meant_is_refused_without_its_value() {
        for (wrong, told) in [
            (TransformOptions { host: "10.0.0.1".into(), ..options() }, "match.host"),
            (
                TransformOptions { path: Some(TextMatch::Regex("(".into())), ..options() },
                "match.path",
            ),
            (
                TransformOptions { set: vec![("host".into(), "canary-0".into())], ..options() },
                "transform.headers",
            ),
            (
                TransformOptions { set: vec![("x-key".into(), "canary\n".into())], ..options() },
                "transform.headers",
            ),
        ] {
            let error = Transform::read(3, &wrong).expect_err("refused").to_string();
            assert!(error.contains("requestTransformations[3]") && error.contains(told), "{error}");
            assert!(!error.contains("canary"), "{error}");
        }
    }
}

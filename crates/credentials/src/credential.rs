//! One credential.

use hyper::header::HeaderName;

use crate::error::CredentialError;
use crate::hosts::CredentialHost;
use crate::placeholder;
use crate::rule::{Rule, RuleOptions};
use crate::secret::Secret;

/// Where a request has the value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SendAs {
    /// `Authorization: Bearer …`, or with another scheme of one word.
    Bearer,
    /// `Authorization: Basic …`, as the name or the password.
    Basic,
    /// A header of this name, anywhere in it.
    Header(String),
}

/// A credential as the host program writes it.
#[derive(Debug)]
pub struct Options {
    /// The variable of commands that has the placeholder.
    pub variable: String,
    /// The hosts that get the value: `api.example.com`, `*.example.com`, at port 443 or another one.
    pub hosts: Vec<String>,
    /// The value. None: it is asked for when it is needed.
    pub value: Option<String>,
    /// Where requests have it.
    pub send: SendAs,
    /// The requests that may have it. None: all.
    pub only: Option<Vec<RuleOptions>>,
}

/// Where a request has the value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Place {
    Bearer,
    Basic,
    Header(HeaderName),
}

#[derive(Debug)]
pub(crate) struct Credential {
    pub(crate) variable: String,
    pub(crate) hosts: Vec<CredentialHost>,
    pub(crate) place: Place,
    pub(crate) only: Option<Vec<Rule>>,
    pub(crate) placeholder: String,
    pub(crate) value: Option<Secret>,
}

/// Headers that say how a message is framed, or to whom it goes.
const NOT_SENT_IN: [&str; 12] = [
    "accept-encoding",
    "connection",
    "content-length",
    "expect",
    "host",
    "keep-alive",
    "proxy-connection",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
    "via",
];

/// Variables that a placeholder would break, or that lead to what is trusted.
const NOT_CREDENTIALS: [&str; 6] = ["HOME", "IFS", "PATH", "PWD", "SHELL", "TMPDIR"];

/// Reads a list. Credentials of one variable have one placeholder.
pub(crate) fn read_all(options: Vec<Options>) -> Result<Vec<Credential>, CredentialError> {
    let mut all: Vec<Credential> = Vec::with_capacity(options.len());
    for (index, options) in options.into_iter().enumerate() {
        let invalid = |field, problem: &str| CredentialError::invalid(index, field, problem);
        let Options { variable, hosts, value, send, only } = options;
        if !is_variable(&variable) {
            return Err(invalid("variable", "write the name of a variable such as GITHUB_TOKEN"));
        }
        if hosts.is_empty() {
            return Err(invalid("hosts", "name at least one host"));
        }
        let read = |text: &String| {
            CredentialHost::parse(text).ok_or_else(|| {
                let shown = text.escape_debug();
                invalid("hosts", &format!("`{shown}` is no name of a host: write one such as api.example.com, *.example.com or api.example.com:8443"))
            })
        };
        let hosts = hosts.iter().map(read).collect::<Result<Vec<_>, _>>()?;
        let value = match value {
            None => None,
            Some(value) => Some(Secret::new(value).ok_or_else(|| {
                invalid("value", "a value has 8 to 8192 characters of ASCII, and no space")
            })?),
        };
        let place = match send {
            SendAs::Bearer => Place::Bearer,
            SendAs::Basic => Place::Basic,
            SendAs::Header(name) => Place::Header(
                HeaderName::from_bytes(name.as_bytes()).ok().filter(is_free_header).ok_or_else(
                    || invalid("send", "write the name of a header such as x-api-key"),
                )?,
            ),
        };
        let only = match only {
            None => None,
            Some(rules) => {
                let rule = |rule| {
                    Rule::new(rule)
                        .map_err(|(field, problem)| CredentialError::invalid(index, field, problem))
                };
                Some(rules.into_iter().map(rule).collect::<Result<Vec<_>, _>>()?)
            }
        };
        let known = all.iter().find(|other| other.variable == variable);
        let placeholder = match (known, &value) {
            (Some(known), _) => known.placeholder.clone(),
            (None, Some(value)) => another_than(value.expose())?,
            (None, None) => placeholder::for_variable(&variable)?,
        };
        all.push(Credential { variable, hosts, place, only, placeholder, value });
    }
    Ok(all)
}

/// Whether a header may have a value: it frames no message, and leads nowhere.
pub(crate) fn is_free_header(name: &HeaderName) -> bool {
    !NOT_SENT_IN.contains(&name.as_str())
}

/// A placeholder that is not the value by chance.
fn another_than(value: &str) -> Result<String, CredentialError> {
    for _ in 0..8 {
        let made = placeholder::like(value)?;
        if made != value {
            return Ok(made);
        }
    }
    // Nothing in it is of a class that changes, such as a row of dashes.
    placeholder::for_variable("")
}

fn is_variable(name: &str) -> bool {
    let mut letters = name.bytes();
    let is_first = |byte: u8| byte.is_ascii_alphabetic() || byte == b'_';
    let is_name = letters.next().is_some_and(is_first)
        && letters.all(|byte| is_first(byte) || byte.is_ascii_digit());
    is_name && !NOT_CREDENTIALS.contains(&name) && !name.starts_with("LD_") && name.len() <= 128
}

impl Credential {
    pub(crate) fn is_for(&self, host: &str, port: u16) -> bool {
        self.hosts.iter().any(|own| own.is(host, port))
    }

    pub(crate) fn allows(&self, method: &str, path: &str) -> bool {
        let rules = self.only.as_ref();
        rules.is_none_or(|rules| rules.iter().any(|rule| rule.allows(method, path)))
    }

    /// Its rules, as a refusal names them.
    pub(crate) fn rules(&self) -> String {
        let rules: Vec<String> = self.only.iter().flatten().map(Rule::text).collect();
        if rules.is_empty() { "nothing".to_owned() } else { rules.join(", ") }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options(variable: &str) -> Options {
        Options {
            variable: variable.to_owned(),
            hosts: vec!["api.test".to_owned()],
            value: Some("ghp_0123456789abcdefghij".to_owned()),
            send: SendAs::Bearer,
            only: None,
        }
    }

    #[test]
    fn what_cannot_be_meant_is_refused_with_its_place_and_without_its_value() {
        let long = "canary-".repeat(2000);
        for (wrong, told) in [
            (options("1X"), "credentials[0].variable"),
            (options("LD_PRELOAD"), "credentials[0].variable"),
            (Options { hosts: Vec::new(), ..options("X") }, "credentials[0].hosts"),
            (Options { hosts: vec!["10.0.0.1".into()], ..options("X") }, "credentials[0].hosts"),
            (Options { value: Some("canary".into()), ..options("X") }, "credentials[0].value"),
            (Options { value: Some(long), ..options("X") }, "credentials[0].value"),
            (
                Options { send: SendAs::Header("host".into()), ..options("X") },
                "credentials[0].send",
            ),
            (Options { send: SendAs::Header("a b".into()), ..options("X") }, "credentials[0].send"),
        ] {
            let error = read_all(vec![wrong]).expect_err("refused").to_string();
            assert!(error.contains(told) && !error.contains("canary"), "{error}");
        }
    }

    #[test]
    fn credentials_of_one_variable_have_one_placeholder() {
        let basic = Options { send: SendAs::Basic, ..options("TOKEN") };
        let all = read_all(vec![options("TOKEN"), basic, options("OTHER")]).expect("read");
        assert_eq!(all[0].placeholder, all[1].placeholder);
        assert_ne!(all[0].placeholder, all[2].placeholder);
    }
}

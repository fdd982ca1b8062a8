//! Which hosts a credential is for.

use toolwright_policy::Host;

/// The port of a host that is written without one.
const HTTPS: u16 = 443;

/// A host, or all names below one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct CredentialHost {
    name: String,
    is_below: bool,
    port: u16,
}

impl CredentialHost {
    /// Reads `api.example.com`, `*.example.com` or one of them with a port. `None` for anything else, such as an
    /// address: certificates are for names.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let (is_below, rest) = match text.strip_prefix("*.") {
            Some(rest) => (true, rest),
            None => (false, text),
        };
        let (name, port) = match rest.rsplit_once(':') {
            Some((name, port)) => (name, port.parse().ok()?),
            None => (rest, HTTPS),
        };
        let host = Host::parse(name)?;
        let name = host.name().to_owned();
        let is_name = !name.starts_with('[') && name.parse::<std::net::IpAddr>().is_err();
        // All names below a top level are too many for one token.
        (is_name && (!is_below || name.contains('.'))).then_some(Self { name, is_below, port })
    }

    /// Whether it is this one, which is in small letters.
    pub(crate) fn is(&self, host: &str, port: u16) -> bool {
        let is_name = match host.strip_suffix(&self.name) {
            Some("") => !self.is_below,
            Some(rest) => self.is_below && rest.ends_with('.'),
            None => false,
        };
        is_name && port == self.port
    }

    /// The name whose certificates the session's authority may sign.
    pub(crate) fn constraint(&self) -> &str {
        &self.name
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_is_one_name_or_all_below_one_at_one_port() {
        let host = |text| CredentialHost::parse(text).expect("a host");
        assert!(host("API.example.com").is("api.example.com", 443));
        assert!(!host("api.example.com").is("api.example.com", 80));
        assert!(!host("api.example.com").is("x.api.example.com", 443));
        assert!(!host("api.example.com").is("xapi.example.com", 443));
        assert!(host("api.test:8443").is("api.test", 8443));
        let below = host("*.example.com");
        assert!(below.is("a.example.com", 443) && below.is("a.b.example.com", 443));
        assert!(!below.is("example.com", 443) && !below.is("anexample.com", 443));
        for refused in
            ["", "*", "*.com", "a*", "10.0.0.1", "[::1]", "::1", "https://a.test", "a.test:0x1"]
        {
            assert_eq!(CredentialHost::parse(refused), None, "{refused}");
        }
    }
}

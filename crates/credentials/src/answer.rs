//! What a command reads in place of an answer of the host.

use hyper::StatusCode;

use crate::request::Unclear;

/// An answer of this process.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: StatusCode,
    pub(crate) text: String,
}

impl Answer {
    fn new(status: StatusCode, text: &str) -> Self {
        Self { status, text: format!("{text}\n") }
    }

    pub(crate) fn unclear(unclear: Unclear) -> Self {
        let status = if unclear == Unclear::Host {
            StatusCode::MISDIRECTED_REQUEST
        } else {
            StatusCode::BAD_REQUEST
        };
        Self::new(status, &format!("The sandbox refused this request: {}.", unclear.text()))
    }

    /// No rule of a credential allows the request.
    pub(crate) fn not_allowed(variable: &str, request: &str, rules: &str) -> Self {
        Self::new(
            StatusCode::FORBIDDEN,
            &format!(
                "The sandbox refused {request}: {variable} may be sent with {rules} only (sandbox.network.credentials). Make a request that this allows, or have the host add a rule to `only`."
            ),
        )
    }

    /// Who decides about uses has refused this one.
    pub(crate) fn rejected(variable: &str, request: &str, why: &str) -> Self {
        Self::new(
            StatusCode::FORBIDDEN,
            &format!("The sandbox refused {request} with {variable}: {why}"),
        )
    }

    /// The host program gave no value.
    pub(crate) fn no_value(variable: &str) -> Self {
        Self::new(
            StatusCode::BAD_GATEWAY,
            &format!(
                "The host program gave no value for {variable} (sandbox.network.credentials). Try again later, or do without."
            ),
        )
    }

    /// The real host was not to be had.
    pub(crate) fn unreachable(host: &str, problem: &str) -> Self {
        Self::new(
            StatusCode::BAD_GATEWAY,
            &format!("The host program could not connect to {host}: {problem}. Try again later."),
        )
    }

    /// The certificate of the real host was not to be verified.
    pub(crate) fn not_verified(host: &str, problem: &str) -> Self {
        Self::new(
            StatusCode::BAD_GATEWAY,
            &format!(
                "The host program did not send the request: the certificate of {host} could not be verified ({problem}). Check the name, or have the host add its authority to sandbox.network.authorities."
            ),
        )
    }
}

//! Credentials that a command uses and never sees.
//!
//! A command has a placeholder in the place of each token. The host process ends its TLS at the hosts of a
//! credential, and at no others: it reads each request there, puts the token into the header that the
//! credential names, and writes the request anew to the real host, whose certificate it has verified. What an
//! answer repeats of the token becomes the placeholder again.
//!
//! ```text
//! command ── TLS by the session's authority ── Broker ── verified TLS ── host
//!   placeholder                                 token
//! ```
//!
//! It has an [SSH agent](Broker::agent) too, which signs for the hosts of a key.
//!
//! [`Broker`] has one session: its [authority](Broker::authority), its placeholders, and the values that were
//! asked for. It knows nothing of the sandbox: it is handed two connected sockets.

mod answer;
mod approval;
mod authority;
mod basic;
mod body;
mod broker;
mod connection;
mod credential;
mod error;
mod exchange;
mod forms;
mod forward;
mod hosts;
mod placeholder;
mod request;
mod restore;
mod rule;
mod runtime;
mod secret;
mod ssh;
mod streams;
mod swap;
mod transform;
mod trust;
mod uses;
mod values;
mod websocket;

pub use approval::{Approvals, UseAnswer, Wanted};
pub use broker::Broker;
pub use credential::{Options, SendAs};
pub use error::CredentialError;
pub use forward::Ends;
pub use restore::{Restorer, Searches};
pub use rule::RuleOptions;
pub use secret::Secret;
pub use ssh::SshOptions;
pub use transform::{TextMatch, TransformOptions};
pub use uses::{Use, Uses, Why};
pub use values::{ValueAnswer, Values};
pub use websocket::Frames;

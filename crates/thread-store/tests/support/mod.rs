//! What the integration tests of this crate share.
#![allow(unreachable_pub, clippy::allow_attributes, reason = "each test program uses a part of it")]

use toolwright_thread_store::ThreadError;

/// The variant of an error, by name.
pub trait Kind {
    fn kind(&self) -> &'static str;
}

impl Kind for ThreadError {
    fn kind(&self) -> &'static str {
        let text = match self {
            Self::Sqlite(error) => format!("{:?}", error.kind),
            error => format!("{error:?}"),
        };
        text.split(' ').next().unwrap_or_default().to_owned().leak()
    }
}

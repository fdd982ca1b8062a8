//! The header `Authorization: Basic`.

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, STANDARD_NO_PAD};
use zeroize::Zeroizing;

/// The name and the password of `Basic`, with one of them replaced.
pub(crate) fn basic(name: &str, password: &str) -> Zeroizing<String> {
    Zeroizing::new(STANDARD.encode(&*Zeroizing::new(format!("{name}:{password}"))))
}

/// Reads what [`basic`] writes, also without the signs at its end.
pub(crate) fn read_basic(text: &str) -> Option<(String, String)> {
    let decoded = STANDARD_NO_PAD.decode(text.trim_end_matches('=')).ok()?;
    let decoded = String::from_utf8(decoded).ok()?;
    let (name, password) = decoded.split_once(':')?;
    Some((name.to_owned(), password.to_owned()))
}

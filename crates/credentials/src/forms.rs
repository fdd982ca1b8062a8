//! A value in each form in which a host may repeat it.

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD_NO_PAD, URL_SAFE_NO_PAD};
use zeroize::Zeroizing;

/// Each with the same form of the placeholder.
pub(crate) fn forms(value: &str, placeholder: &str) -> Vec<(Vec<u8>, Vec<u8>)> {
    let mut all = vec![(value.into(), placeholder.into())];
    for engine in [&STANDARD_NO_PAD, &URL_SAFE_NO_PAD] {
        for before in 0..3 {
            let inner = |text: &str| {
                let text = Zeroizing::new([&b"\0\0\0"[..before], text.as_bytes()].concat());
                let coded = Zeroizing::new(engine.encode(&*text));
                // The letters at both ends have bits of what stands beside.
                let begin = [0, 2, 3][before];
                let end = text.len() / 3 * 4 + [0, 1, 2][text.len() % 3];
                coded.as_bytes().get(begin..end.min(coded.len())).unwrap_or_default().to_vec()
            };
            all.push((inner(value), inner(placeholder)));
        }
    }
    all.push((in_url(value), in_url(placeholder)));
    all.push((value.replace('/', "\\/").into(), placeholder.replace('/', "\\/").into()));
    all
}

fn in_url(text: &str) -> Vec<u8> {
    let mut coded = Vec::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            coded.push(byte);
        } else {
            coded.extend_from_slice(format!("%{byte:02X}").as_bytes());
        }
    }
    coded
}

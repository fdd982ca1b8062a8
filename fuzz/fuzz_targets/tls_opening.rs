//! Any bytes as the first of a connection, as a client and as a server.
//!
//! The laws: what has been said of a beginning is said of everything that begins so, the message of TLS lies
//! within the bytes, and how bytes arrive does not matter.

#![no_main]

use libfuzzer_sys::fuzz_target;
use toolwright_policy::tls_opening::{MAX_OPENING_BYTES, Opening, asks_for_another_opening};

fuzz_target!(|data: &[u8]| {
    for read in [Opening::read, Opening::read_again] {
        let whole = read(data);
        let mut said = Opening::Incomplete;
        for length in (0..data.len()).step_by(1 + data.len() / 64).chain([data.len()]) {
            let now = read(&data[..length]);
            assert!(said == Opening::Incomplete || said == now, "{said:?} became {now:?}");
            said = now;
        }
        assert_eq!(said, whole);
        assert!(whole != Opening::Incomplete || data.len() < MAX_OPENING_BYTES);
        if let Opening::Tls { name, length } = whole {
            assert!(length <= data.len());
            assert!(name.is_none_or(|name| name.bytes().all(|byte| byte.is_ascii_graphic())));
        }
    }
    let mut said = None;
    for length in 0..=data.len().min(64) {
        let now = asks_for_another_opening(&data[..length]);
        assert!(said.is_none() || said == now);
        said = now;
    }
});

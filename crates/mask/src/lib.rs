//! Replaces secrets in what commands print, and in what a model reads of files, by their names in brackets.
//!
//! A [`Mask`] knows the values of named secrets, and the formats of tokens if it is asked to. It changes nothing else:
//! bytes without a secret come back as they were. [`Masker`] does the same with a stream, whose pieces may end anywhere.
//!
//! ```
//! use toolwright_mask::{Counts, Mask, Secret};
//!
//! let secret = Secret::given("DEPLOY_TOKEN", b"Zu7-pahX4kLm");
//! let mask = Mask::new(&[secret], false).expect("it has a value");
//! let mut counts = Counts::default();
//! assert_eq!(&*mask.masked(b"token=Zu7-pahX4kLm\n", &mut counts), b"token=[DEPLOY_TOKEN]\n");
//! assert_eq!(counts.list(), [("DEPLOY_TOKEN".to_owned(), 1)]);
//! ```
//!
//! # What is masked
//!
//! * Each value as it is, in base 64 at each of its three positions, and with percent signs as in addresses. Of a
//!   value of several lines, each line that is not [ordinary](is_ordinary); of an address, its password too.
//! * With formats: what has the fixed beginning and the length of a vendor's token, its checksum where it is known,
//!   and private keys.
//!
//! No byte of an occurrence is left: occurrences that overlap become one. Nothing is found by entropy, or by words
//! such as `password=` before it.
//!
//! # What is not
//!
//! A value in another form: in hexadecimal digits, compressed, divided by colours or by a program's own line breaks.

mod base64;
mod checksum;
mod counts;
mod formats;
mod literals;
mod mask;
mod masker;
mod ordinary;
mod parts;
mod searches;
mod secret;

pub use counts::Counts;
pub use literals::{Literals, Place};
pub use mask::Mask;
pub use masker::Masker;
pub use ordinary::{MIN_LENGTH, is_ordinary};
pub use secret::Secret;

//! Files below one root directory, and never outside it.
//!
//! A [`Root`] is a directory descriptor. Every path a caller names is resolved *below* that
//! descriptor by the kernel (`openat2` with `RESOLVE_BENEATH`), or component by component where the
//! kernel cannot do it in one call; what comes back is an open descriptor, never a checked string.
//! There is no moment at which a path has been checked and not yet opened.
//!
//! Three operations stand on it:
//!
//! - [`read()`]: the bytes of a regular file, bounded by what is read, not by what `stat` promised;
//!   [`try_read_cached`] is the same for what is in memory already, and never waits;
//! - [`write()`]: a whole file, published by a rename, so that other readers see the old bytes or the
//!   new bytes and never a mixture;
//! - [`update`]: read, transform, publish, refused with [`FsError::Conflict`] when somebody else
//!   changed the file in between.
//!
//! A root that is granted to more than one call is [`Granted`]: it is identified once, and each call
//! works in that directory or in none.
//!
//! [`Roots`] find a file first and hold it open as [`OpenTarget`], so that somebody can decide about what
//! was found before anything is done to it.
//!
//! Neither of the last two changes what the host protects ([`WriteOptions::protected`]).
//!
//! ```ignore
//! let root = Root::open(Path::new("/home/me/project"))?;
//! let never = AtomicBool::new(false);
//! let text = read(&root, "src/main.rs", 200_000, &never)?;
//! write(&root, "src/main.rs", b"fn main() {}\n", &WriteOptions::default(), &never)?;
//! ```

mod attributes;
mod cached;
mod cancel;
mod errno;
mod error;
mod file_kind;
mod granted;
mod identity;
mod lines;
mod locate;
mod open;
mod open_target;
mod path;
mod protect;
mod publish;
mod range;
mod read;
mod remove;
mod replaced;
mod reserved;
mod root;
mod serial;
mod sidecar;
mod sweep;
mod target;
mod temporary;
mod update;
mod walk;
mod write;

pub use cached::try_read_cached;
pub use error::{FsError, NAME_DESCRIPTOR, Refusal, SYNC_DIRECTORY, WRITE_IN_PLACE};
pub use file_kind::FileKind;
pub use granted::{Granted, Keeping, Replaced, led_out_of};
pub use identity::FileIdentity;
pub use lines::{LineRange, Lines, read_lines};
pub use locate::Located;
pub use open_target::{OpenTarget, Opener, Roots, TargetKind};
pub use range::{Range, is_binary};
pub use read::read;
pub use remove::abandoned::remove_abandoned;
pub use remove::remove_tree;
pub use root::{Resolver, Root};
pub use sidecar::Sidecar;
pub use update::{UpdateError, Updated, update};
pub use write::{Durability, WriteOptions, write};

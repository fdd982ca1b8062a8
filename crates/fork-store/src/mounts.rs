//! What is mounted in a directory. An overlay shows nothing of that.

use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

/// A place below a directory where another file system is mounted.
#[expect(clippy::disallowed_methods, reason = "a file of the kernel")]
pub(crate) fn mounted_in(directory: &Path) -> Option<PathBuf> {
    let mounts = std::fs::read("/proc/self/mountinfo").ok()?;
    let places = mounts
        .split(|byte| *byte == b'\n')
        .filter_map(|line| line.split(|byte| *byte == b' ').nth(4).map(unescaped));
    places.into_iter().find(|place| place != directory && place.starts_with(directory))
}

/// Spaces, line breaks and backslashes are three octal digits behind a backslash.
fn unescaped(name: &[u8]) -> PathBuf {
    let mut bytes = Vec::with_capacity(name.len());
    let mut rest = name;
    while let Some((byte, after)) = rest.split_first() {
        let digits = after.get(..3).and_then(|digits| std::str::from_utf8(digits).ok());
        let escaped = digits.and_then(|digits| u8::from_str_radix(digits, 8).ok());
        if let (b'\\', Some(escaped)) = (byte, escaped) {
            bytes.push(escaped);
            rest = &after[3..];
        } else {
            bytes.push(*byte);
            rest = after;
        }
    }
    PathBuf::from(OsString::from_vec(bytes))
}

/// Whether a path is the root of all files, or the kernel's.
pub(crate) fn is_of_system(path: &Path) -> bool {
    path.as_os_str().as_bytes() == b"/"
        || ["/proc", "/sys", "/dev"].iter().any(|kernel| path.starts_with(kernel))
}

//! Where the process's own control groups are.

use std::{
    ffi::OsString,
    os::unix::ffi::{OsStrExt, OsStringExt},
    path::{Component, Path, PathBuf},
};

/// Which interface a directory has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Version {
    /// A hierarchy for some controllers.
    One,
    /// The one hierarchy for all.
    Two,
}

/// The directory of the process's own group for a controller, by `/proc/self/cgroup` and
/// `/proc/self/mountinfo`.
pub(super) fn own_group(
    controller: &str,
    groups: &[u8],
    mounts: &[u8],
) -> Option<(Version, PathBuf)> {
    let mut found = None;
    for line in groups.split(|&byte| byte == b'\n') {
        let mut parts = line.splitn(3, |&byte| byte == b':');
        let (Some(_), Some(controllers), Some(path)) = (parts.next(), parts.next(), parts.next())
        else {
            continue;
        };
        if controllers.split(|&byte| byte == b',').any(|name| name == controller.as_bytes()) {
            found = Some((Version::One, path));
            break;
        }
        if controllers.is_empty() {
            found = Some((Version::Two, path));
        }
    }
    let (version, path) = found?;
    let (root, at) = mount(version, controller, mounts)?;
    let path = Path::new(std::ffi::OsStr::from_bytes(path)).strip_prefix(root).ok()?;
    // A group outside of what the process may see.
    if path.components().any(|part| part == Component::ParentDir) {
        return None;
    }
    Some((version, at.join(path)))
}

/// Which group the mount of a hierarchy shows, and where.
fn mount(version: Version, controller: &str, mounts: &[u8]) -> Option<(PathBuf, PathBuf)> {
    let mut found = mounts.split(|&byte| byte == b'\n').filter_map(|line| {
        let mut fields = line.split(|&byte| byte == b' ');
        let (root, at) = (fields.nth(3)?, fields.next()?);
        let mut last = fields.skip_while(|&field| field != b"-").skip(1);
        let (kind, options) = (last.next()?, last.nth(1)?);
        let fits = match version {
            Version::Two => kind == b"cgroup2",
            Version::One => {
                kind == b"cgroup"
                    && options.split(|&byte| byte == b',').any(|o| o == controller.as_bytes())
            }
        };
        fits.then(|| (unescaped(root), unescaped(at)))
    });
    // Of two at one place the later covers the earlier.
    found.next_back()
}

/// A path in which blanks and backslashes are written as octal numbers.
fn unescaped(text: &[u8]) -> PathBuf {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some((&byte, after)) = rest.split_first() {
        let number = after.get(..3).filter(|_| byte == b'\\').and_then(octal);
        bytes.push(number.unwrap_or(byte));
        rest = if number.is_some() { &after[3..] } else { after };
    }
    PathBuf::from(OsString::from_vec(bytes))
}

fn octal(digits: &[u8]) -> Option<u8> {
    u8::from_str_radix(std::str::from_utf8(digits).ok()?, 8).ok()
}

//! Where the process's own control groups are.

use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Component, Path, PathBuf};

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
    let mut hierarchy = None;
    for line in groups.split(|&byte| byte == b'\n') {
        let mut parts = line.splitn(3, |&byte| byte == b':');
        let (Some(_), Some(controllers), Some(path)) = (parts.next(), parts.next(), parts.next())
        else {
            continue;
        };
        if controllers.split(|&byte| byte == b',').any(|name| name == controller.as_bytes()) {
            hierarchy = Some((Version::One, path));
            break;
        }
        if controllers.is_empty() {
            hierarchy = Some((Version::Two, path));
        }
    }
    let (version, path) = hierarchy?;
    let (root, at) = mount(version, controller, mounts)?;
    let path = Path::new(std::ffi::OsStr::from_bytes(path)).strip_prefix(root).ok()?;
    // The group lies outside of what this process sees.
    if path.components().any(|part| part == Component::ParentDir) {
        return None;
    }
    Some((version, at.join(path)))
}

/// Which group the mount of a hierarchy shows, and where.
fn mount(version: Version, controller: &str, mounts: &[u8]) -> Option<(PathBuf, PathBuf)> {
    let mut mounted = mounts.split(|&byte| byte == b'\n').filter_map(|line| {
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
    mounted.next_back()
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

#[cfg(test)]
mod tests {
    use super::*;

    /// A line of `mountinfo`.
    fn mount(root: &str, at: &str, kind: &str, options: &str) -> String {
        format!("31 23 0:28 {root} {at} rw,nosuid shared:9 master:2 - {kind} {kind} {options}\n")
    }

    fn path_of(controller: &str, groups: &str, mounts: &str) -> Option<(Version, PathBuf)> {
        own_group(controller, groups.as_bytes(), mounts.as_bytes())
    }

    #[test]
    fn one_hierarchy_for_all() {
        let mounts = mount("/", "/proc", "proc", "rw")
            + &mount("/", "/sys/fs/cgroup", "cgroup2", "rw,nsdelegate");
        let groups = "0::/user.slice/user-1000.slice/a.scope\n";
        let expected = "/sys/fs/cgroup/user.slice/user-1000.slice/a.scope";
        assert_eq!(path_of("pids", groups, &mounts), Some((Version::Two, expected.into())));
        assert_eq!(
            path_of("pids", "0::/\n", &mounts),
            Some((Version::Two, "/sys/fs/cgroup".into()))
        );
        assert_eq!(path_of("pids", groups, ""), None);
        assert_eq!(path_of("pids", "", &mounts), None);
    }

    #[test]
    fn a_hierarchy_for_each_controller() {
        let mounts = mount("/", "/sys/fs/cgroup", "tmpfs", "rw")
            + &mount("/", "/sys/fs/cgroup/cpu,cpuacct", "cgroup", "rw,cpu,cpuacct")
            + &mount("/", "/sys/fs/cgroup/memory", "cgroup", "rw,memory")
            + &mount("/", "/sys/fs/cgroup/unified", "cgroup2", "rw");
        let groups = "12:cpu,cpuacct:/a\n8:pids:/b\n4:memory:/c/d\n1:name=systemd:/\n0::/e\n";
        let expected = "/sys/fs/cgroup/memory/c/d";
        assert_eq!(path_of("memory", groups, &mounts), Some((Version::One, expected.into())));
        let expected = "/sys/fs/cgroup/cpu,cpuacct/a";
        assert_eq!(path_of("cpuacct", groups, &mounts), Some((Version::One, expected.into())));
        assert_eq!(path_of("pids", groups, &mounts), None, "it is not mounted");
        let groups = "4:memory:/c/d\n0::/e\n";
        let expected = "/sys/fs/cgroup/unified/e";
        assert_eq!(path_of("pids", groups, &mounts), Some((Version::Two, expected.into())));
    }

    #[test]
    fn a_part_of_a_hierarchy() {
        let mounts = mount("/docker/abc", "/sys/fs/cgroup/pids", "cgroup", "rw,pids");
        let expected = "/sys/fs/cgroup/pids/below";
        let below = path_of("pids", "5:pids:/docker/abc/below\n", &mounts);
        assert_eq!(below, Some((Version::One, expected.into())));
        let exactly = path_of("pids", "5:pids:/docker/abc\n", &mounts);
        assert_eq!(exactly, Some((Version::One, "/sys/fs/cgroup/pids".into())));
        assert_eq!(path_of("pids", "5:pids:/docker/abcd\n", &mounts), None);
        assert_eq!(path_of("pids", "5:pids:/docker\n", &mounts), None);
        let mounts = mount("/", "/sys/fs/cgroup", "cgroup2", "rw");
        assert_eq!(path_of("pids", "0::/../outside\n", &mounts), None);
    }

    #[test]
    fn odd_names() {
        let mounts = mount("/", "/a\\040b\\134c", "cgroup2", "rw")
            + &mount("/", "/later", "tmpfs", "rw,pids");
        assert_eq!(
            path_of("pids", "0::/x:y z\n", &mounts),
            Some((Version::Two, "/a b\\c/x:y z".into()))
        );
        let mounts = mounts + &mount("/", "/covers", "cgroup2", "rw");
        assert_eq!(path_of("pids", "0::/\n", &mounts), Some((Version::Two, "/covers".into())));
        assert_eq!(unescaped(br"\04"), PathBuf::from(r"\04"));
        assert_eq!(unescaped(br"\999x"), PathBuf::from(r"\999x"));
        for garbage in ["", "\n\n", "1:pids", ":::", "a b c", "- - -"] {
            assert_eq!(path_of("pids", garbage, &mounts), None, "{garbage:?}");
            assert_eq!(path_of("pids", "0::/\n", garbage), None, "{garbage:?}");
        }
    }
}

//! Which users and groups a user namespace knows.

use std::fmt::Write as _;
use std::fs::{self, File, OpenOptions};
use std::io::Write as _;

use rustix::io::Errno;
use rustix::process::{Pid, getegid, geteuid};

use crate::errno;

/// Writes the maps of the namespace of `child`, which this process has just made.
///
/// A root host maps all users that it knows to themselves, because a container's files have many
/// owners. Any other host may map only its own user and group, and must give up changing groups.
pub(super) fn write(child: Pid, root: bool) -> Result<(), Errno> {
    let child = child.as_raw_nonzero();
    if root {
        write_once(&format!("/proc/{child}/uid_map"), &identity("/proc/self/uid_map")?)?;
        return write_once(&format!("/proc/{child}/gid_map"), &identity("/proc/self/gid_map")?);
    }
    let (user, group) = (geteuid().as_raw(), getegid().as_raw());
    write_once(&format!("/proc/{child}/setgroups"), "deny")?;
    write_once(&format!("/proc/{child}/uid_map"), &format!("{user} {user} 1\n"))?;
    write_once(&format!("/proc/{child}/gid_map"), &format!("{group} {group} 1\n"))
}

/// Maps every number that the map at `path` knows to itself.
fn identity(path: &str) -> Result<String, Errno> {
    let map = fs::read_to_string(path).map_err(|error| errno::of(&error))?;
    let mut identity = String::new();
    for line in map.lines() {
        let mut fields = line.split_ascii_whitespace();
        let (Some(inside), Some(count)) = (fields.next(), fields.nth(1)) else { continue };
        let _ = writeln!(identity, "{inside} {inside} {count}");
    }
    Ok(identity)
}

/// The kernel takes a map whole, in one write.
fn write_once(path: &str, text: &str) -> Result<(), Errno> {
    let written = OpenOptions::new()
        .write(true)
        .open(path)
        .and_then(|mut file: File| file.write(text.as_bytes()))
        .map_err(|error| errno::of(&error))?;
    if written == text.len() { Ok(()) } else { Err(Errno::IO) }
}

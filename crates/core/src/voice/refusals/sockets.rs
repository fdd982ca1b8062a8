//! Unix sockets of programs on the host.

use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::FileTypeExt;
use std::path::Path;

use toolwright_names::printable_path;
use toolwright_sandbox::plan::{Files, Network};

use crate::denials::{Ended, paths};

/// Whether some program of the host has a socket of this name. That of a program which has ended is in nobody's way.
fn is_served(path: &Path) -> bool {
    #[expect(clippy::disallowed_methods, reason = "commands cannot write the kernel's list")]
    let Ok(list) = std::fs::read("/proc/net/unix") else { return true };
    let Some(name) = path.file_name().map(OsStrExt::as_bytes) else { return true };
    list.split(|byte| *byte == b'\n').any(|line| {
        line.strip_suffix(name).is_some_and(|rest| matches!(rest.last(), Some(b'/' | b' ')))
    })
}

/// A line about a connection or a refusal that names a socket of the host.
pub(super) fn note(ended: &Ended<'_>) -> Option<String> {
    let plan = ended.plan;
    if plan.network == Network::Open && plan.files == Files::Full {
        return None;
    }
    // One that lies in a closed directory is not there.
    let words = ["connect", "denied", "eacces", "eperm", "not permitted", "no such file"];
    let is_about = |line: &&str| {
        let line = line.to_lowercase();
        // Nobody listens at a socket of the command's own. Those of others are denied.
        !line.contains("refused") && words.iter().any(|word| line.contains(word))
    };
    // Who names the kind of an address leaves nothing to look up.
    let is_named = |line: &str| {
        let line = line.to_lowercase();
        let is_refused = ["denied", "not permitted"].iter().any(|word| line.contains(word));
        is_refused && ["unix://", "dial unix"].iter().any(|words| line.contains(words))
    };
    if ended.ends().flat_map(str::lines).any(is_named) {
        return Some("This may be the sandbox: commands cannot use unix sockets (Docker, ssh-agent, D-Bus, databases); do without them.".to_owned());
    }
    let socket = |line: &str| {
        paths::named(&line.replace("unix://", "").replace('=', " "))
            .into_iter()
            .filter_map(|word| paths::located(ended.directory, &word))
            .find(|path| path.symlink_metadata().is_ok_and(|data| data.file_type().is_socket()))
            .filter(|path| is_served(path))
    };
    let mut lines = ended.ends().flat_map(str::lines).filter(is_about).peekable();
    lines.peek()?;
    // Many programs name no path in what they print.
    let (_, arguments) = ended.command;
    let path = lines.find_map(socket).or_else(|| arguments.iter().find_map(|text| socket(text)))?;
    Some(format!(
        "This may be the sandbox: `{}` is a unix socket of another program, and commands cannot use those (Docker, ssh-agent, D-Bus, databases); do without it.",
        printable_path(&path)
    ))
}

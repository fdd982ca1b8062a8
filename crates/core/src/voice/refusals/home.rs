//! What programs keep in the home directory, where commands have no fork of it.

use std::path::Path;

use toolwright_sandbox::policy::caches;

use super::sentence;
use crate::denials::Ended;
use crate::voice::remedy::Remedy;

/// Of a cache, the variable that leads its program elsewhere. Of anything else in the home directory, another home.
pub(super) fn note(ended: &Ended<'_>, path: &Path) -> Option<String> {
    let home = ended.plan.origin.as_ref()?.home.as_deref()?;
    let Some((cache, variable)) = caches::holding(path, home) else {
        if !path.starts_with(home) {
            return None;
        }
        let what = "only the root directory and the temporary directory can be written; work there, run a program that keeps its files in the home directory with HOME=${TMPDIR:-/tmp}, or";
        return Some(sentence(what, Remedy::WRITABLE, ended.door));
    };
    let lead = match variable {
        Some(variable) => {
            let name = cache.rsplit('/').next().unwrap_or(cache).trim_start_matches('.');
            format!("set {variable}=${{TMPDIR:-/tmp}}/{name}")
        }
        None => "lead the program to a directory below ${TMPDIR:-/tmp}".to_owned(),
    };
    let is_forked = ended.plan.caches.iter().any(|forked| path.starts_with(forked));
    let (why, host) = if is_forked {
        ("has no private copy here", Remedy::WRITABLE.words(ended.door))
    } else {
        ("is not there, and commands do not write to the home directory", "have the host make it")
    };
    Some(format!("This may be the sandbox: `~/{cache}` {why}; {lead}, or {host}."))
}

//! Where git would go to fetch and to push.
//!
//! Pushing to a directory runs its hooks, so no address may lead to one that commands write. Fetching
//! from one copies it to where commands read, so none may lead to one that is closed to them. Other
//! transports are programs that git finds by name: those that speak to a server over the network are
//! known, and every other one is refused.

use std::fs;
use std::path::{Component, Path, PathBuf};

use super::merge::Policy;
use super::value::is_unseen;

const SCHEMES: [&str; 6] = ["https", "http", "ssh", "git", "git+ssh", "ssh+git"];

const MAX_BYTES: usize = 4 << 10;

/// A name that is no address and no option, wherever git takes a name for one.
pub(super) fn is_harmless_remote_name(name: &str) -> bool {
    let is_usual =
        |it: char| it.is_ascii_alphanumeric() || matches!(it, '.' | '_' | '-' | '/' | '+');
    name.len() <= MAX_BYTES
        && name.starts_with(|it: char| it.is_ascii_alphanumeric())
        && name.chars().all(is_usual)
        && !name.contains("..")
        && !name.contains("//")
}

/// Whether an address leads to a server, or to a directory that commands may read and cannot write.
pub(super) fn is_harmless_url(url: &str, policy: &Policy<'_>) -> bool {
    let is_odd = |it: char| is_unseen(it) || it.is_whitespace();
    if url.is_empty() || url.len() > MAX_BYTES || url.starts_with('-') || url.contains(is_odd) {
        return false;
    }
    // Git and its helpers decode these, into lines of their protocols.
    let lower = url.to_ascii_lowercase();
    if ["%00", "%0a", "%0d"].iter().any(|code| lower.contains(code)) {
        return false;
    }
    if let Some((scheme, rest)) = url.split_once("://") {
        if scheme.eq_ignore_ascii_case("file") {
            let is_local = rest.starts_with('/') && !rest.contains('%');
            return is_local && is_directory_elsewhere(rest, policy);
        }
        let host = rest.split('/').next().unwrap_or_default();
        // Git decodes the others as a whole, so a host could turn into an option.
        let is_plain = scheme.starts_with("http") || !host.contains('%');
        return SCHEMES.contains(&scheme) && is_plain && is_host(rest) && is_host(host);
    }
    // The name of a program that git would run.
    if url.contains("::") {
        return false;
    }
    let slash = url.find('/').unwrap_or(url.len());
    match url.find(':') {
        // `host:path`, as ssh has it.
        Some(colon) if colon < slash => is_host(&url[..colon]),
        _ => is_directory_elsewhere(url, policy),
    }
}

/// No option, in brackets or not, and behind a name of a user or not.
fn is_host(host: &str) -> bool {
    let own = host.rsplit_once('@').map_or(host, |(_, host)| host);
    let is_option = |host: &str| host.trim_start_matches('[').starts_with('-');
    !own.is_empty() && !is_option(own) && !is_option(host)
}

fn is_directory_elsewhere(path: &str, policy: &Policy<'_>) -> bool {
    let Policy { top, is_writable, is_readable, .. } = *policy;
    let path = Path::new(path);
    let whole =
        if path.is_absolute() { Some(path.to_owned()) } else { top.map(|top| top.join(path)) };
    let Some(whole) = whole else { return false };
    let mut plain = PathBuf::from("/");
    for part in whole.components() {
        match part {
            Component::Normal(name) => plain.push(name),
            Component::ParentDir => {
                // Behind a link, the directory above is another one.
                if fs::symlink_metadata(&plain).is_ok_and(|it| it.is_symlink()) {
                    return false;
                }
                plain.pop();
            }
            Component::RootDir | Component::CurDir | Component::Prefix(_) => {}
        }
        // What is a directory now may be a link when git goes there. The top itself is a grant, which
        // stays where it is while `..` leads out of it.
        if is_writable(&plain) && Some(&*plain) != top {
            return false;
        }
    }
    if is_writable(&plain) || !is_readable(&plain) {
        return false;
    }
    // Where it leads now must exist, so that nobody makes something else of it.
    fs::canonicalize(&plain).is_ok_and(|real| !is_writable(&real) && is_readable(&real))
}

//! Where git would go to fetch and to push.
//!
//! Pushing to a directory runs its hooks, so no address may lead to one that commands write. Other
//! transports are programs that git finds by name: those that speak to a server over the network
//! are known, and every other one is refused.

use std::fs;
use std::path::{Component, Path, PathBuf};

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

/// Whether an address leads to a server, or to a directory that no command can write.
pub(super) fn is_harmless_url(
    url: &str,
    top: Option<&Path>,
    is_writable: &dyn Fn(&Path) -> bool,
) -> bool {
    let is_odd = |it: char| it.is_control() || it.is_whitespace();
    if url.is_empty() || url.len() > MAX_BYTES || url.starts_with('-') || url.contains(is_odd) {
        return false;
    }
    if let Some((scheme, rest)) = url.split_once("://") {
        if scheme.eq_ignore_ascii_case("file") {
            return rest.starts_with('/') && is_directory_elsewhere(rest, top, is_writable);
        }
        let is_known = SCHEMES.contains(&scheme);
        let host = rest.rsplit_once('@').map_or(rest, |(_, host)| host);
        return is_known && !rest.starts_with('-') && !host.starts_with('-') && !host.is_empty();
    }
    // The name of a program that git would run.
    if url.contains("::") {
        return false;
    }
    let slash = url.find('/').unwrap_or(url.len());
    match url.find(':') {
        // `host:path`, as ssh has it.
        Some(colon) if colon < slash => {
            let host = &url[..colon];
            let host = host.rsplit_once('@').map_or(host, |(_, host)| host);
            !host.is_empty() && !host.starts_with('-')
        }
        _ => is_directory_elsewhere(url, top, is_writable),
    }
}

fn is_directory_elsewhere(
    path: &str,
    top: Option<&Path>,
    is_writable: &dyn Fn(&Path) -> bool,
) -> bool {
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
    if is_writable(&plain) {
        return false;
    }
    // Where it leads now must exist, so that nobody makes something else of it.
    fs::canonicalize(&plain).is_ok_and(|real| !is_writable(&real))
}

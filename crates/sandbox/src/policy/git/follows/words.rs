//! The files that the value of a setting may name.
//!
//! No list of the settings that run programs is complete: git, its extensions and its users' aliases add to it.
//! So every setting counts that is not known to be harmless, and every word of it that is the path of a file.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use toolwright_git::config::is_known;

use super::scopes::Scopes;
use super::{GitReferenceKind, plain};

/// A longer value is looked at as far as this.
const MAX_BYTES: usize = 16 << 10;
/// How many words of one value are looked at.
const MAX_WORDS: usize = 128;

/// Sections, first and last parts of the names of settings that git gives to a shell or executes.
const OF_PROGRAMS: [&[u8]; 22] = [
    b"alias.",
    b"browser.",
    b"credential.",
    b"difftool.",
    b"filter.",
    b"gpg.",
    b"guitool.",
    b"lfs.",
    b"man.",
    b"mergetool.",
    b"pager.",
    b"trailer.",
    b".askpass",
    b".command",
    b".driver",
    b".editor",
    b".fsmonitor",
    b".helper",
    b".pager",
    b".program",
    b".sshcommand",
    b".textconv",
];

/// The words of a value.
#[derive(Debug, Default)]
pub(super) struct Named {
    pub(super) kind: GitReferenceKind,
    words: Vec<Vec<u8>>,
    /// Of those behind a variable, from each of their parts on.
    ends: Vec<Vec<u8>>,
}

/// The words of the value of a setting that may be files.
pub(super) fn named(name: &[u8], value: &[u8]) -> Named {
    // The values of these are text, words of git and addresses, but for a command and a helper of git.
    let runs_something = value.starts_with(b"!") || value.windows(2).any(|two| two == b"::");
    if is_known(name) && !runs_something {
        return Named::default();
    }
    let is_part = |part: &&[u8]| match part.strip_prefix(b".") {
        Some(_) => name.ends_with(part),
        None => name.starts_with(part),
    };
    let is_program = OF_PROGRAMS.iter().any(is_part);
    let kind = if is_program { GitReferenceKind::Program } else { GitReferenceKind::Named };
    let mut named = Named { kind, ..Named::default() };
    let value = &value[..value.len().min(MAX_BYTES)];
    for word in words(value) {
        if word.windows(3).any(|three| three == b"://") {
            continue;
        }
        named.add(&word);
        for part in word.split(|byte| is_between(*byte)) {
            named.add(part);
        }
    }
    named
}

impl Named {
    fn add(&mut self, word: &[u8]) {
        let word = word.strip_prefix(b"!").unwrap_or(word).trim_ascii();
        let has_room = self.words.len() < MAX_WORDS;
        let is_path = !matches!(word, b"" | b"$") && !word.starts_with(b"-") && !word.contains(&0);
        if !has_room || !is_path || self.words.iter().any(|known| known == word) {
            return;
        }
        self.words.push(word.to_owned());
        // What a variable or a command stands for is not known, so that what follows counts.
        if word.iter().any(|byte| b"$`%".contains(byte)) {
            let starts = word.iter().enumerate().filter(|(_, byte)| **byte == b'/');
            self.ends.extend(starts.map(|(at, _)| word[at + 1..].to_owned()));
        }
    }

    /// The paths that the words stand for at the top of a working tree.
    pub(super) fn paths(&self, top: &Path, scopes: &Scopes) -> impl Iterator<Item = PathBuf> {
        let path = |word: &Vec<u8>| {
            let word = Path::new(OsStr::from_bytes(word));
            let path = plain(&top.join(scopes.at_home(word)));
            (path != top && path.parent().is_some()).then_some(path)
        };
        self.words.iter().chain(&self.ends).filter_map(path).collect::<Vec<_>>().into_iter()
    }
}

/// The words as a shell takes them apart, without the quotes.
fn words(value: &[u8]) -> Vec<Vec<u8>> {
    let mut words = vec![Vec::new()];
    let mut quote = None;
    let mut bytes = value.iter().copied();
    while let Some(byte) = bytes.next() {
        let Some(word) = words.last_mut() else { break };
        match (byte, quote) {
            (b'\\', None | Some(b'"')) => word.extend(bytes.next()),
            (b'"' | b'\'', None) => quote = Some(byte),
            (byte, Some(open)) if byte == open => quote = None,
            (byte, None) if byte.is_ascii_whitespace() || b";|&()<>".contains(&byte) => {
                if words.len() == MAX_WORDS {
                    break;
                }
                // What follows a command's output begins with what nobody knows.
                words.push(if byte == b')' { b"$".to_vec() } else { Vec::new() });
            }
            (byte, _) => word.push(byte),
        }
    }
    words
}

/// Whether a byte may stand between two paths in one word.
fn is_between(byte: u8) -> bool {
    byte.is_ascii_whitespace() || b";|&()<>`=:,\"'{}".contains(&byte)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn paths(name: &str, value: &str) -> Vec<String> {
        let scopes = Scopes { home: Some("/home/u".into()), ..Scopes::default() };
        let found = named(name.as_bytes(), value.as_bytes());
        found.paths(Path::new("/top"), &scopes).map(|path| path.display().to_string()).collect()
    }

    #[test]
    fn every_way_to_write_a_path_names_it() {
        let cases = [
            ("core.fsmonitor", "scripts/x", "/top/scripts/x"),
            ("filter.a.clean", "python3 ./tools/clean.py %f", "/top/tools/clean.py"),
            ("alias.go", "!sh -c 'scripts/x \"$@\"' -", "/top/scripts/x"),
            ("alias.go", "!f() { scripts/x; }; f", "/top/scripts/x"),
            ("core.sshcommand", "ssh -F conf/ssh -o ProxyCommand=bin/p", "/top/bin/p"),
            ("core.sshcommand", "ssh -F conf/ssh -o ProxyCommand=bin/p", "/top/conf/ssh"),
            ("core.editor", "'my tools/edit' --wait", "/top/my tools/edit"),
            ("core.editor", "my\\ tools/edit --wait", "/top/my tools/edit"),
            ("gpg.program", "~/p/gpg", "/home/u/p/gpg"),
            ("credential.https://x.helper", "!$HOME/p/x get", "/top/p/x"),
            ("alias.x", "!$(git rev-parse --show-toplevel)/scripts/x", "/top/scripts/x"),
            ("alias.x", "!${ROOT}/scripts/x", "/top/scripts/x"),
            ("diff.x.textconv", "/abs/x", "/abs/x"),
            ("submodule.x.update", "!sh scripts/x", "/top/scripts/x"),
            ("remote.x.url", "ext::scripts/x --y", "/top/scripts/x"),
            ("core.attributesfile", "conf/attributes", "/top/conf/attributes"),
            ("something.new", "conf/x", "/top/conf/x"),
            ("merge.x.driver", "a/../scripts/x %O %A %B", "/top/scripts/x"),
        ];
        for (name, value, expected) in cases {
            let found = paths(name, value);
            assert!(found.contains(&expected.to_owned()), "{name} = {value}: {found:?}");
        }
    }

    #[test]
    fn harmless_settings_and_addresses_name_nothing() {
        let cases = [
            ("user.name", "src/main.rs"),
            ("remote.origin.url", "../lib"),
            ("branch.main.merge", "refs/heads/main"),
            ("url.x.insteadof", "https://example.com/a"),
            ("core.editor", "--wait"),
        ];
        for (name, value) in cases {
            assert_eq!(paths(name, value), [""; 0], "{name} = {value}");
        }
    }

    proptest! {
        /// However it is quoted and whatever is around it.
        #[test]
        fn a_path_in_a_shell_line_is_found(
            path in "[a-z]{1,5}(/[a-z ]{1,5}[a-z]){1,3}",
            before in "(!)?([a-z]{1,4} (-[a-z] )?){0,2}",
            after in "( [a-z$@]{1,3}){0,2}",
            quote in 0..3,
        ) {
            let written = match quote {
                0 => format!("'{path}'"),
                1 => format!("\"{path}\""),
                _ => path.replace(' ', "\\ "),
            };
            let found = paths("alias.x", &format!("{before}{written}{after}"));
            let whole = format!("/top/{path}");
            prop_assert!(found.contains(&whole), "{found:?}");
        }

        #[test]
        fn any_bytes_are_looked_at(name in "[a-z.]{0,12}", value in prop::collection::vec(any::<u8>(), 0..300)) {
            let found = named(name.as_bytes(), &value);
            let _ = found.paths(Path::new("/top"), &Scopes::default()).count();
        }
    }
}

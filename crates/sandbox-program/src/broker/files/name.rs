//! Names that git takes for `.git` on some file system.

/// Code points that HFS+ does not compare.
const IGNORED: [char; 16] = [
    '\u{200c}', '\u{200d}', '\u{200e}', '\u{200f}', '\u{202a}', '\u{202b}', '\u{202c}', '\u{202d}',
    '\u{202e}', '\u{206a}', '\u{206b}', '\u{206c}', '\u{206d}', '\u{206e}', '\u{206f}', '\u{feff}',
];

/// Whether a name may lead to a git directory: on this file system, or on another one that the tree is copied to.
pub(super) fn is_git_directory_name(name: &[u8]) -> bool {
    let text = String::from_utf8_lossy(name);
    let compared: String = text.chars().filter(|character| !IGNORED.contains(character)).collect();
    // NTFS: what follows a colon names a stream, and dots and spaces at the end are dropped.
    let before = compared.split(':').next().unwrap_or_default();
    let before = before.trim_end_matches(['.', ' ']);
    before.eq_ignore_ascii_case(".git") || before.eq_ignore_ascii_case("git~1")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_spelling_is_one() {
        for name in [
            ".git",
            ".GIT",
            ".Git",
            ".git.",
            ".git ",
            ".git. .",
            "git~1",
            "GIT~1",
            ".git::$INDEX_ALLOCATION",
            ".g\u{200c}it",
            "\u{feff}.git",
            ".git\u{206f}",
            ".git:x",
            "git~1.",
            ".gi\u{200d}T ..:y",
        ] {
            assert!(is_git_directory_name(name.as_bytes()), "{name:?}");
        }
    }

    #[test]
    fn others_are_none() {
        for name in [
            "git",
            ".gitignore",
            ".github",
            "x.git",
            "repository.git",
            ".gi",
            "",
            ".",
            "..",
            " .git",
            "git~2",
        ] {
            assert!(!is_git_directory_name(name.as_bytes()), "{name:?}");
        }
        assert!(!is_git_directory_name(b".g\xffit"));
    }
}

//! Objects: their names and kinds.

pub mod content;
mod hash;
mod id;

pub use hash::ObjectHash;
pub use id::{Id, NotAnId};

/// The four kinds of objects.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Kind {
    /// A version of the project.
    Commit,
    /// A directory.
    Tree,
    /// The content of a file.
    Blob,
    /// An annotated tag.
    Tag,
}

impl Kind {
    /// Its name in the header of an object.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Commit => "commit",
            Self::Tree => "tree",
            Self::Blob => "blob",
            Self::Tag => "tag",
        }
    }

    /// The kind with this name.
    #[must_use]
    pub fn named(name: &[u8]) -> Option<Self> {
        [Self::Commit, Self::Tree, Self::Blob, Self::Tag]
            .into_iter()
            .find(|kind| kind.name().as_bytes() == name)
    }
}

/// Whether an entry of a tree may have this name.
fn is_allowed_name(name: &[u8]) -> bool {
    if matches!(name, b"" | b"." | b"..") || name.contains(&b'/') || name.contains(&0) {
        return false;
    }
    let text = String::from_utf8_lossy(name);
    let visible: String = text.chars().filter(|letter| !is_ignored_by_hfs(*letter)).collect();
    visible.split(['\\', ':']).all(|part| {
        let part = part.trim_end_matches([' ', '.']).to_ascii_lowercase();
        let short = part.strip_prefix("git~").is_some_and(|number| number.parse::<u32>().is_ok());
        part != ".git" && !short
    })
}

fn is_ignored_by_hfs(letter: char) -> bool {
    matches!(
        letter,
        '\u{200c}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{206a}'..='\u{206f}' | '\u{feff}'
    )
}

//! The ignore files of one directory, and the rules in them.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use ignore::gitignore::{Gitignore, GitignoreBuilder};

use crate::file_content::ReadFile;
use crate::git_directory::exclude;
use crate::lru_cache::LruCache;

/// The total size of the ignore files whose compiled rules are cached. Compiling takes much longer
/// than reading the files again.
const CACHE_BYTES: usize = 64 << 10;
/// The least that a rule and a file weigh in the cache, in bytes.
const MIN_RULE_WEIGHT: usize = 32;
const MIN_FILE_WEIGHT: usize = 2 << 10;

static CACHE: LruCache<(PathBuf, Vec<u8>), Arc<Gitignore>> = LruCache::new(CACHE_BYTES);

/// The set of names in a directory that affect the names in and below it.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Markers(u8);

impl Markers {
    pub(crate) const RGIGNORE: Self = Self(1);
    pub(crate) const IGNORE: Self = Self(2);
    pub(crate) const GITIGNORE: Self = Self(4);
    pub(crate) const GIT: Self = Self(8);
    pub(crate) const JJ: Self = Self(16);

    pub(crate) fn note(&mut self, name: &[u8]) {
        if name.first() == Some(&b'.') {
            self.0 |= match name {
                b".rgignore" => Self::RGIGNORE.0,
                b".ignore" => Self::IGNORE.0,
                b".gitignore" => Self::GITIGNORE.0,
                b".git" => Self::GIT.0,
                b".jj" => Self::JJ.0,
                _ => 0,
            };
        }
    }

    pub(crate) fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    pub(crate) fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }

    /// Whether the set has one of `names`.
    pub(crate) fn has(self, names: Self) -> bool {
        self.0 & names.0 != 0
    }

    /// Whether the directory is the top of a repository.
    pub(crate) fn is_repository(self) -> bool {
        self.has(Self::GIT.with(Self::JJ))
    }
}

/// The rules of the ignore files of one directory.
#[derive(Default)]
pub(crate) struct DirectoryRules {
    pub(crate) rgignore: Option<Arc<Gitignore>>,
    pub(crate) ignore: Option<Arc<Gitignore>>,
    pub(crate) gitignore: Option<Arc<Gitignore>>,
    pub(crate) exclude: Option<Arc<Gitignore>>,
}

impl DirectoryRules {
    /// Reads the ignore files among `markers` in the directory at `real_path`, up to `max_rules`
    /// rules. `dir` is the prefix of the paths that the rules are matched against. `read` is called
    /// with absolute paths.
    pub(crate) fn load(
        dir: &Path,
        real_path: &Path,
        markers: Markers,
        mut max_rules: usize,
        read: &ReadFile<'_>,
    ) -> Self {
        let mut rules = |names: Markers, content: &dyn Fn() -> Option<Vec<u8>>| {
            if !markers.has(names) {
                return None;
            }
            let rules = compile_cached(dir, content()?, max_rules)?;
            max_rules -= rules.len();
            Some(rules)
        };
        Self {
            rgignore: rules(Markers::RGIGNORE, &|| read(&real_path.join(".rgignore")).ok()),
            ignore: rules(Markers::IGNORE, &|| read(&real_path.join(".ignore")).ok()),
            gitignore: rules(Markers::GITIGNORE, &|| read(&real_path.join(".gitignore")).ok()),
            exclude: rules(Markers::GIT, &|| exclude(&real_path.join(".git"), read)),
        }
    }

    pub(crate) fn len(&self) -> usize {
        let files = [&self.rgignore, &self.ignore, &self.gitignore, &self.exclude];
        files.into_iter().flatten().map(|rules| rules.len()).sum()
    }
}

/// The rules of a file with this content in `dir`.
fn compile_cached(dir: &Path, content: Vec<u8>, max_rules: usize) -> Option<Arc<Gitignore>> {
    let lines = content.split(|&byte| byte == b'\n').filter(|line| !line.is_empty()).count();
    if lines <= max_rules
        && let Some(cached) = CACHE.get(|(of, known)| *known == content && of == dir)
    {
        return Some(cached);
    }
    let rules = Arc::new(compile(dir, &content, max_rules)?);
    let weight = content.len().max(lines * MIN_RULE_WEIGHT).max(MIN_FILE_WEIGHT);
    CACHE.insert((dir.to_owned(), content), Arc::clone(&rules), weight);
    Some(rules)
}

/// Reads one rule per line. An invalid rule is skipped, and a line that is not UTF-8 ends the file, as
/// in ripgrep.
fn compile(dir: &Path, content: &[u8], max_rules: usize) -> Option<Gitignore> {
    let mut builder = GitignoreBuilder::new(dir);
    let mut lines = 0;
    for (number, line) in content.split(|&byte| byte == b'\n').enumerate() {
        let Ok(line) = std::str::from_utf8(line) else { break };
        let line = if number == 0 { line.trim_start_matches('\u{feff}') } else { line };
        let line = line.strip_suffix('\r').unwrap_or(line);
        let _ = builder.add_line(None::<PathBuf>, line);
        lines += usize::from(!line.is_empty());
        if lines > max_rules {
            return None;
        }
    }
    let rules = builder.build().ok()?;
    (!rules.is_empty()).then_some(rules)
}

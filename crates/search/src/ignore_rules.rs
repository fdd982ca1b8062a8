//! Which entries a walk ignores: the rules of ripgrep, read through the confined opener.
//!
//! A directory may have `.rgignore`, `.ignore`, `.gitignore` and `.git/info/exclude`. An earlier kind
//! beats a later one, and within a kind a deeper directory wins. Git's rules apply only inside a
//! repository, up to its top, and its global excludes come last. Hidden names are ignored unless a
//! rule has `!name`. The caller's own patterns (`rg -g`) beat all of these.

use std::path::Path;
use std::sync::{Arc, OnceLock};

use ignore::Match;
use ignore::gitignore::{Gitignore, GitignoreBuilder};

use crate::ignore_files::{DirectoryRules, Markers, content, open_by_path};
use crate::name_filter::{Decision, NameFilter};
use crate::query::OpenFile;

/// The most rules that apply in one directory. Each compiles to some kilobytes, and a tree may nest
/// hundreds of ignore files. A file that would exceed the limit is not taken for an ignore file.
const MAX_RULES: usize = 20_000;

/// Decides about the entries of every directory.
pub(crate) struct IgnoreRules<'a> {
    root: &'a Path,
    open: &'a OpenFile<'a>,
    names: NameFilter,
    /// Git's global excludes, read in the first repository.
    global: OnceLock<Option<Gitignore>>,
}

/// The rules that apply in a directory. A directory without ignore files shares its parent's.
pub(crate) struct ActiveRules {
    above: Option<Arc<ActiveRules>>,
    rules: DirectoryRules,
    /// The rules are those of a directory above the root, and are matched against absolute paths.
    absolute: bool,
    /// The directory is the top of a repository, where git's rules from further up end.
    repository: bool,
    in_repository: bool,
    /// The number of rules, with those from above.
    total: usize,
}

impl ActiveRules {
    fn new(
        above: Option<Arc<ActiveRules>>,
        rules: DirectoryRules,
        absolute: bool,
        repository: bool,
    ) -> Self {
        let (total, inside) =
            above.as_ref().map_or((0, false), |above| (above.total, above.in_repository));
        let total = total + rules.len();
        Self { above, rules, absolute, repository, in_repository: inside || repository, total }
    }

    /// The markers that count in a directory below this one, and whether it is the top of a
    /// repository. A `.gitignore` counts only in a repository.
    fn applicable(&self, markers: Markers) -> (Markers, bool) {
        let repository = markers.is_repository();
        if self.in_repository || repository {
            (markers, repository)
        } else {
            (markers.without(Markers::GITIGNORE), false)
        }
    }

    /// How many more rules may apply.
    fn remaining(&self) -> usize {
        MAX_RULES.saturating_sub(self.total)
    }
}

impl<'a> IgnoreRules<'a> {
    pub(crate) fn new(root: &'a Path, open: &'a OpenFile<'a>, names: NameFilter) -> Self {
        Self { root, open, names, global: OnceLock::new() }
    }

    /// The rules that apply in `start`, a directory with `markers`: its own and those from above it,
    /// up to the top of the file system.
    pub(crate) fn begin(&self, start: &Path, markers: Markers) -> Arc<ActiveRules> {
        let mut in_repository = markers.is_repository();
        // Upwards, because the nearest repository decides which of git's files apply.
        let mut inside = vec![(start, markers)];
        for dir in start.ancestors().skip(1) {
            let git = git_markers(|name| !in_repository && (self.open)(&dir.join(name)).is_ok());
            inside.push((dir, possible_markers(in_repository, git)));
            in_repository |= git.is_repository();
        }
        let mut above = Vec::new();
        for dir in self.root.ancestors().skip(1) {
            let git = git_markers(|name| !in_repository && dir.join(name).exists());
            above.push((dir, possible_markers(in_repository, git)));
            in_repository |= git.is_repository();
        }
        let mut active = Arc::new(ActiveRules::new(None, DirectoryRules::default(), true, false));
        for (dir, markers) in above.into_iter().rev() {
            // As in ripgrep, the rules of a repository apply to a package inside it. Only regular
            // files are read here, and nothing of them is ever shown.
            let (markers, repository) = active.applicable(markers);
            let rules = DirectoryRules::load(dir, dir, markers, active.remaining(), &|path| {
                content(open_by_path(path).ok()?)
            });
            if rules.len() > 0 || repository {
                active = Arc::new(ActiveRules::new(Some(active), rules, true, repository));
            }
        }
        let below = inside.into_iter().rev();
        below.fold(active, |active, (dir, markers)| self.enter(&active, dir, markers))
    }

    /// The rules that apply in `dir`, a directory with `markers`, relative to the root.
    pub(crate) fn enter(
        &self,
        active: &Arc<ActiveRules>,
        dir: &Path,
        markers: Markers,
    ) -> Arc<ActiveRules> {
        let (markers, repository) = active.applicable(markers);
        if markers == Markers::default() {
            return Arc::clone(active);
        }
        let real_path = self.root.join(dir);
        let rules = DirectoryRules::load(dir, &real_path, markers, active.remaining(), &|path| {
            // A file in the tree may point outside of it. What it points at is not read.
            content((self.open)(path.strip_prefix(self.root).ok()?).ok()?)
        });
        if rules.len() == 0 && !repository {
            return Arc::clone(active);
        }
        Arc::new(ActiveRules::new(Some(Arc::clone(active)), rules, false, repository))
    }

    /// Whether the walk ignores `path`, an entry of a directory in which `active` applies.
    pub(crate) fn ignores(
        &self,
        active: &ActiveRules,
        path: &Path,
        name: &[u8],
        is_dir: bool,
    ) -> bool {
        if let Some(decision) = self.names.decide(path, is_dir) {
            return decision == Decision::Ignore;
        }
        match self.matched(active, path, is_dir) {
            Match::Ignore(()) => true,
            Match::Whitelist(()) => false,
            Match::None => name.first() == Some(&b'.'),
        }
    }

    /// What the ignore files say about an entry.
    pub(crate) fn matched(&self, active: &ActiveRules, path: &Path, is_dir: bool) -> Match<()> {
        let global =
            if active.in_repository { self.global.get_or_init(global).as_ref() } else { None };
        if global.is_none() && active.total == 0 {
            return Match::None;
        }
        let mut git_applies = active.in_repository;
        let (mut rgignore, mut ignore, mut gitignore, mut exclude) =
            (Match::None, Match::None, Match::None, Match::None);
        let mut absolute = None;
        let mut next = Some(active);
        while let Some(active) = next {
            next = active.above.as_deref();
            if active.total == 0 {
                break;
            }
            let path = if active.absolute {
                absolute.get_or_insert_with(|| self.root.join(path)).as_path()
            } else {
                path
            };
            // The deepest match of each kind wins.
            let consult = |matched: &mut Match<()>, rules: &Option<Arc<Gitignore>>| {
                if let (true, Some(rules)) = (matched.is_none(), rules) {
                    *matched = rules.matched(path, is_dir).map(|_| ());
                }
            };
            consult(&mut rgignore, &active.rules.rgignore);
            consult(&mut ignore, &active.rules.ignore);
            if git_applies {
                consult(&mut gitignore, &active.rules.gitignore);
                consult(&mut exclude, &active.rules.exclude);
            }
            git_applies &= !active.repository;
        }
        let matched = rgignore.or(ignore).or(gitignore).or(exclude);
        match global {
            Some(rules) if matched.is_none() => rules.matched(path, is_dir).map(|_| ()),
            _ => matched,
        }
    }
}

/// Git's excludes for all repositories of the user. Their patterns are relative to the root.
fn global() -> Option<Gitignore> {
    let (global, _) = GitignoreBuilder::new("").build_global();
    (!global.is_empty()).then_some(global)
}

/// The markers to try in a directory that is not listed: every ignore file that can apply. Git's
/// apply below the top of a repository and not above it; whether there is one further up is not
/// known yet.
fn possible_markers(repository_below: bool, git: Markers) -> Markers {
    let markers = Markers::RGIGNORE.with(Markers::IGNORE).with(git);
    if repository_below { markers } else { markers.with(Markers::GITIGNORE) }
}

/// The markers of a repository among the names that exist.
fn git_markers(exists: impl Fn(&str) -> bool) -> Markers {
    let mut markers = Markers::default();
    for name in [".git", ".jj"] {
        if exists(name) {
            markers.note(name.as_bytes());
        }
    }
    markers
}

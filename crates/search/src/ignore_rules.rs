//! Which entries a walk ignores: the rules of ripgrep, read through the confined opener.
//!
//! A directory may have `.rgignore`, `.ignore`, `.gitignore` and `.git/info/exclude`. An earlier kind
//! beats a later one, and within a kind a deeper directory wins. Git's rules apply only inside a
//! repository, up to its top, and its global excludes come last. Hidden names are ignored unless a
//! rule has `!name`. The caller's own patterns choose among what is left: only a pattern that is the very
//! path or name of a file beats these rules. `.git` itself is never walked.

use std::io::ErrorKind;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::{Arc, OnceLock};

use ignore::Match;
use ignore::gitignore::{Gitignore, GitignoreBuilder};

use crate::file_content::{content, open_by_path};
use crate::git_directory::is_repository;
use crate::ignore_files::{DirectoryRules, Markers};
use crate::left_out::Why;
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
    /// Whether what is ignored is walked when the search begins there, by the rules inside of it alone.
    frees_start: bool,
    /// Git's global excludes, read in the first repository.
    global: OnceLock<Option<Gitignore>>,
}

/// What becomes of an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verdict {
    Shown,
    /// It is shown because the caller's pattern is its name. Otherwise it would be left out.
    ShownByName(Why),
    /// The caller's patterns do not ask for it.
    Unasked,
    LeftOut(Why),
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
    /// Why nothing here is shown but what a pattern names: a directory above is left out.
    by_name: Option<Why>,
}

impl ActiveRules {
    fn new(
        above: Option<Arc<ActiveRules>>,
        rules: DirectoryRules,
        absolute: bool,
        repository: bool,
    ) -> Self {
        let (total, inside, by_name) = above
            .as_ref()
            .map_or((0, false, None), |above| (above.total, above.in_repository, above.by_name));
        let total = total + rules.len();
        let in_repository = inside || repository;
        Self { above, rules, absolute, repository, in_repository, total, by_name }
    }

    /// The same rules in a directory that is left out, and is walked for what a pattern names.
    pub(crate) fn only_by_name(self: &Arc<Self>, why: Why) -> Arc<Self> {
        let mut below = Self::new(Some(Arc::clone(self)), DirectoryRules::default(), false, false);
        below.by_name.get_or_insert(why);
        Arc::new(below)
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

    /// The same place in the same repository, without the rules from here on upwards.
    fn without_rules(&self) -> Arc<Self> {
        let mut free = Self::new(None, DirectoryRules::default(), false, false);
        free.in_repository = self.in_repository;
        Arc::new(free)
    }

    /// How many more rules may apply.
    fn remaining(&self) -> usize {
        MAX_RULES.saturating_sub(self.total)
    }
}

impl<'a> IgnoreRules<'a> {
    pub(crate) fn new(root: &'a Path, open: &'a OpenFile<'a>, names: NameFilter) -> Self {
        Self { root, open, names, frees_start: false, global: OnceLock::new() }
    }

    /// Walks a start that is left out by the rules inside of it alone.
    pub(crate) fn freeing_start(self, frees_start: bool) -> Self {
        Self { frees_start, ..self }
    }

    /// The rules that apply in `start`, a directory with `markers`: its own and those from above it,
    /// up to the top of the file system.
    pub(crate) fn begin(&self, start: &Path, markers: Markers) -> Arc<ActiveRules> {
        let markers = self.confirmed(start, markers);
        let mut in_repository = markers.is_repository();
        // Upwards, because the nearest repository decides which of git's files apply.
        let mut inside = vec![(start, markers)];
        for dir in start.ancestors().skip(1) {
            let git = self.confirmed(
                dir,
                git_markers(|name| !in_repository && (self.open)(&dir.join(name)).is_ok()),
            );
            inside.push((dir, possible_markers(in_repository, git)));
            in_repository |= git.is_repository();
        }
        let mut above = Vec::new();
        for dir in self.root.ancestors().skip(1) {
            let git = git_markers(|name| {
                let path = dir.join(name);
                let is_one = |path: &Path| name != ".git" || is_repository(path, &open_by_path);
                !in_repository && path.exists() && is_one(&path)
            });
            above.push((dir, possible_markers(in_repository, git)));
            in_repository |= git.is_repository();
        }
        let mut active = Arc::new(ActiveRules::new(None, DirectoryRules::default(), true, false));
        for (dir, markers) in above.into_iter().rev() {
            // As in ripgrep, the rules of a repository apply to a package inside it. Only regular
            // files are read here, and nothing of them is ever shown.
            let (markers, repository) = active.applicable(markers);
            let rules = DirectoryRules::load(dir, dir, markers, active.remaining(), &|path| {
                content(open_by_path(path)?)
            });
            if rules.len() > 0 || repository {
                active = Arc::new(ActiveRules::new(Some(active), rules, true, repository));
            }
        }
        let mut is_free = false;
        for (dir, markers) in inside.into_iter().rev() {
            if let (true, false, Some(name)) = (self.frees_start, is_free, dir.file_name()) {
                // No rule speaks of a start that is merely hidden, so the rules hold in it.
                is_free = self.left_out(&active, dir, name.as_bytes(), true) == Some(Why::Ignored);
                if is_free {
                    active = active.without_rules();
                }
            }
            active = self.enter_confirmed(&active, dir, markers);
        }
        active
    }

    /// The markers without a `.git` that is none of a repository.
    fn confirmed(&self, dir: &Path, markers: Markers) -> Markers {
        let is_placeholder = || !is_repository(&dir.join(".git"), &|path: &Path| (self.open)(path));
        if markers.has(Markers::GIT) && is_placeholder() {
            return markers.without(Markers::GIT);
        }
        markers
    }

    /// The rules that apply in `dir`, a directory with `markers`, relative to the root.
    pub(crate) fn enter(
        &self,
        active: &Arc<ActiveRules>,
        dir: &Path,
        markers: Markers,
    ) -> Arc<ActiveRules> {
        self.enter_confirmed(active, dir, self.confirmed(dir, markers))
    }

    fn enter_confirmed(
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
            let path = path.strip_prefix(self.root).map_err(|_| ErrorKind::PermissionDenied)?;
            content((self.open)(path)?)
        });
        if rules.len() == 0 && !repository {
            return Arc::clone(active);
        }
        Arc::new(ActiveRules::new(Some(Arc::clone(active)), rules, false, repository))
    }

    /// What becomes of `path`, an entry of a directory in which `active` applies.
    pub(crate) fn decide(
        &self,
        active: &ActiveRules,
        path: &Path,
        name: &[u8],
        is_dir: bool,
    ) -> Verdict {
        let decision = self.names.decide(path, is_dir);
        if decision == Decision::Unasked {
            return Verdict::Unasked;
        }
        if active.by_name.is_some() && decision != Decision::ByName {
            return Verdict::Unasked;
        }
        match self.left_out(active, path, name, is_dir).or(active.by_name) {
            None => Verdict::Shown,
            Some(why) if why != Why::Git && decision == Decision::ByName => {
                Verdict::ShownByName(why)
            }
            Some(why) => Verdict::LeftOut(why),
        }
    }

    /// Why the walk leaves out an entry.
    pub(crate) fn left_out(
        &self,
        active: &ActiveRules,
        path: &Path,
        name: &[u8],
        is_dir: bool,
    ) -> Option<Why> {
        let is_hidden = name.first() == Some(&b'.');
        if is_hidden && name == b".git" {
            return Some(Why::Git);
        }
        match self.matched(active, path, is_dir) {
            Match::Ignore(()) => Some(Why::Ignored),
            Match::Whitelist(()) => None,
            Match::None => is_hidden.then_some(Why::Hidden),
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

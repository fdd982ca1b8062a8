//! Which names a walk passes over: the rules of ripgrep, read through the confined opener.
//!
//! Per directory there are `.rgignore`, `.ignore`, `.gitignore` and `.git/info/exclude`, in this
//! order of strength; a deeper directory wins within each kind, and git's rules hold only inside a
//! repository, up to its top. Git's global excludes come last. Hidden names are passed over unless
//! a rule says `!name`. Patterns that the caller brings (`rg -g`) come before all of these.

use std::path::Path;
use std::sync::{Arc, OnceLock};

use ignore::Match;
use ignore::gitignore::{Gitignore, GitignoreBuilder};

use crate::glob::Chosen;
use crate::grep::OpenFile;
use crate::rules::{Present, Rules, content, open_plainly};

/// So many rules can be in force at once. Each costs some kilobytes of automaton, and a tree may
/// nest hundreds of ignore files; a file that would exceed this is no ignore file.
const RULES_LIMIT: usize = 20_000;

/// What decides in every directory.
pub(crate) struct Ignores<'a> {
    root: &'a Path,
    open: &'a OpenFile<'a>,
    chosen: Chosen,
    /// Whether hidden names are walked without being asked for.
    hidden: bool,
    /// Git's global excludes, read when the first repository is met.
    global: OnceLock<Option<Gitignore>>,
}

/// The rules that hold in a directory. Directories without ignore files share their parent's.
pub(crate) struct Scope {
    above: Option<Arc<Scope>>,
    rules: Rules,
    /// The rules are those of a directory above the root: they ask for absolute paths.
    absolute: bool,
    /// The top of a repository, where git's rules from further up end.
    repository: bool,
    in_repository: bool,
    /// How many rules there are in all.
    total: usize,
}

impl Scope {
    fn new(above: Option<Arc<Scope>>, rules: Rules, absolute: bool, repository: bool) -> Self {
        let (total, inside) =
            above.as_ref().map_or((0, false), |above| (above.total, above.in_repository));
        let total = total + rules.len();
        Self { above, rules, absolute, repository, in_repository: inside || repository, total }
    }

    fn room(&self) -> usize {
        RULES_LIMIT.saturating_sub(self.total)
    }
}

impl<'a> Ignores<'a> {
    pub(crate) fn new(
        root: &'a Path,
        open: &'a OpenFile<'a>,
        chosen: Chosen,
        hidden: bool,
    ) -> Self {
        Self { root, open, chosen, hidden, global: OnceLock::new() }
    }

    /// The rules that hold in `start`, where there is `present`: its own and those from above it,
    /// up to the top of the file system.
    pub(crate) fn begin(&self, start: &Path, present: Present) -> Arc<Scope> {
        let top = Arc::new(Scope::new(None, Rules::default(), true, false));
        let mut found = present.is_repository();
        // From below to above: which of git's files matter is decided by the nearest repository.
        let mut inside = vec![(start, present)];
        for dir in start.ancestors().skip(1) {
            let git = if found { Present::default() } else { self.git_in(dir) };
            inside.push((dir, untold(found, git)));
            found |= git.is_repository();
        }
        let mut above = Vec::new();
        for dir in self.root.ancestors().skip(1) {
            let git = if found { Present::default() } else { git_above(dir) };
            above.push((dir, untold(found, git)));
            found |= git.is_repository();
        }
        let mut scope = top;
        for (dir, mut present) in above.into_iter().rev() {
            // As ripgrep does: a package inside a repository is searched by the repository's rules.
            // Nothing of these files is ever shown, and only regular ones are read.
            let repository = present.is_repository();
            if !scope.in_repository && !repository {
                present = present.without(Present::GITIGNORE);
            }
            let rules = Rules::load(dir, dir, present, scope.room(), &|path| {
                content(open_plainly(path).ok()?)
            });
            if rules.len() > 0 || repository {
                scope = Arc::new(Scope::new(Some(scope), rules, true, repository));
            }
        }
        inside
            .into_iter()
            .rev()
            .fold(scope, |scope, (dir, present)| self.enter(&scope, dir, present))
    }

    /// The rules that hold in `dir`, relative to the root, where there is `present`.
    pub(crate) fn enter(&self, scope: &Arc<Scope>, dir: &Path, present: Present) -> Arc<Scope> {
        let repository = present.is_repository();
        let present = if scope.in_repository || repository {
            present
        } else {
            present.without(Present::GITIGNORE)
        };
        if present == Present::default() {
            return Arc::clone(scope);
        }
        let rules = Rules::load(dir, &self.root.join(dir), present, scope.room(), &|path| {
            // What a file in the tree points at outside of it is not read.
            content((self.open)(path.strip_prefix(self.root).ok()?).ok()?)
        });
        if rules.len() == 0 && !repository {
            return Arc::clone(scope);
        }
        Arc::new(Scope::new(Some(Arc::clone(scope)), rules, false, repository))
    }

    fn git_in(&self, dir: &Path) -> Present {
        let mut present = Present::default();
        for name in [".git", ".jj"] {
            if (self.open)(&dir.join(name)).is_ok() {
                present.note(name.as_bytes());
            }
        }
        present
    }

    /// Whether the walk passes over `path`, an entry of a directory in which `scope` holds.
    pub(crate) fn skips(&self, scope: &Scope, path: &Path, name: &[u8], is_dir: bool) -> bool {
        let Chosen { rules, beginnings } = &self.chosen;
        if !rules.is_empty() {
            if is_dir && !beginnings.lead_to(path) {
                return true;
            }
            let said = rules.matched(path, is_dir);
            if !said.is_none() {
                return said.is_ignore();
            }
        }
        match self.decision(scope, path, is_dir) {
            Match::Ignore(()) => true,
            Match::Whitelist(()) => false,
            Match::None => !self.hidden && name.first() == Some(&b'.'),
        }
    }

    fn decision(&self, scope: &Scope, path: &Path, is_dir: bool) -> Match<()> {
        let global =
            if scope.in_repository { self.global.get_or_init(global).as_ref() } else { None };
        if global.is_none() && scope.total == 0 {
            return Match::None;
        }
        let mut git_holds = scope.in_repository;
        let (mut rgignore, mut ignore, mut gitignore, mut exclude) =
            (Match::None, Match::None, Match::None, Match::None);
        let mut absolute = None;
        let mut next = Some(scope);
        while let Some(scope) = next {
            next = scope.above.as_deref();
            if scope.total == 0 {
                break;
            }
            let path = if scope.absolute {
                absolute.get_or_insert_with(|| self.root.join(path)).as_path()
            } else {
                path
            };
            // The first answer from below stands.
            let ask = |found: &mut Match<()>, rules: &Option<Arc<Gitignore>>| {
                if let (true, Some(rules)) = (found.is_none(), rules) {
                    *found = rules.matched(path, is_dir).map(|_| ());
                }
            };
            ask(&mut rgignore, &scope.rules.rgignore);
            ask(&mut ignore, &scope.rules.ignore);
            if git_holds {
                ask(&mut gitignore, &scope.rules.gitignore);
                ask(&mut exclude, &scope.rules.exclude);
            }
            git_holds &= !scope.repository;
        }
        let said = rgignore.or(ignore).or(gitignore).or(exclude);
        match global {
            Some(rules) if said.is_none() => rules.matched(path, is_dir).map(|_| ()),
            _ => said,
        }
    }
}

/// Git's excludes for all repositories of the user; their patterns are relative to the root.
fn global() -> Option<Gitignore> {
    let (global, _) = GitignoreBuilder::new("").build_global();
    (!global.is_empty()).then_some(global)
}

/// For a directory that is not listed: every ignore file that matters is tried. Git's do below the
/// top of a repository, and not above it; whether there is one further up is not known yet.
fn untold(repository_below: bool, git: Present) -> Present {
    let present = Present::RGIGNORE.with(Present::IGNORE).with(git);
    if repository_below { present } else { present.with(Present::GITIGNORE) }
}

fn git_above(dir: &Path) -> Present {
    let mut present = Present::default();
    for name in [".git", ".jj"] {
        if dir.join(name).exists() {
            present.note(name.as_bytes());
        }
    }
    present
}

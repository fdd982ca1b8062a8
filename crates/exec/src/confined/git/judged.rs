//! What becomes of something that looks like a git directory and was not there before a command.

use std::path::{Path, PathBuf};

use toolwright_git::directory::Directory;
use toolwright_git::discovery::Sign;
use toolwright_git::repository::{self, DOT_GIT};
use toolwright_sandbox::plan::Plan;

use super::set_aside::{self, Identity};
use super::{is_writable, made, shown};
use crate::git_reports::{GitNote, GitReport};

/// How things are when a command has ended.
#[derive(Debug, Clone, Copy)]
#[expect(clippy::struct_excessive_bools, reason = "each is a fact of its own")]
pub(super) struct End {
    /// Whether commands can make no git directory that the host sees.
    pub(super) hides: bool,
    /// Whether commands saw forks of the git directories of a person, and no command could write to these.
    pub(super) has_forks: bool,
    /// Whether all changes to repositories have come back.
    pub(super) is_settled: bool,
    /// Whether it ended with its host, and anybody may have been there since. Then only names change.
    pub(super) is_past: bool,
}

/// Something that is new.
pub(super) struct Judged<'j> {
    pub(super) plan: &'j Plan,
    pub(super) top: &'j Path,
    pub(super) directory: &'j Directory,
    pub(super) place: &'j Path,
    pub(super) sign: Sign,
    pub(super) identity: Identity,
    /// The git directories of a person, and of the host.
    pub(super) known: &'j dyn Fn() -> Vec<PathBuf>,
}

/// What becomes of it.
pub(super) enum Judgment {
    OfPerson,
    MadeAnew(Vec<GitReport>),
    SetAside(Vec<GitReport>),
    Later,
}

impl Judged<'_> {
    pub(super) fn judge(&self, end: End, is_last: bool) -> Judgment {
        match self.sign {
            // Its repository may not be there yet.
            Sign::File if !end.is_settled => Judgment::Later,
            Sign::File if self.leads_home() => Judgment::OfPerson,
            // A person may be making a repository, which is known when no command runs.
            Sign::File if !is_last && self.is_named() => Judgment::Later,
            Sign::File | Sign::Other => self.set_aside(self.place, DOT_GIT),
            // Another process may still be creating it.
            Sign::Directory | Sign::Bare if !is_last => Judgment::Later,
            Sign::Directory if made::is_covered(self.identity) => self.of_nobody(),
            Sign::Directory if end.hides => Judgment::OfPerson,
            Sign::Directory if end.is_past => self.set_aside(self.place, DOT_GIT),
            Sign::Directory => self.make_anew(self.place, Path::new(DOT_GIT)),
            Sign::Bare if end.is_past => self.set_aside(self.place, "HEAD"),
            Sign::Bare => match (self.place.parent(), self.place.file_name()) {
                (Some(above), Some(name)) if self.place != Path::new(".") => {
                    let above = if above.as_os_str().is_empty() { Path::new(".") } else { above };
                    self.make_anew(above, Path::new(name))
                }
                _ => self.set_aside(self.place, "HEAD"),
            },
        }
    }

    /// Whether a file leads to a repository that names its work tree.
    fn is_named(&self) -> bool {
        !repository::directories(&joined(self.top, self.place)).is_empty()
    }

    /// Whether a file leads to a repository that names its work tree, and that no command has made of plain files.
    fn leads_home(&self) -> bool {
        let directories = repository::directories(&joined(self.top, self.place));
        let known = (self.known)();
        let is_known = |directory: &PathBuf| {
            known.iter().any(|known| directory.starts_with(known))
                || !is_writable(self.plan, directory)
        };
        !directories.is_empty() && directories.iter().all(is_known)
    }

    /// The directory of the host on which a private one lies or lay. It stays empty.
    fn of_nobody(&self) -> Judgment {
        match self.directory.entries(self.place.join(DOT_GIT), 1) {
            Ok(Some(entries)) if entries.is_empty() => Judgment::Later,
            _ => self.with(self.place, |within, at| {
                set_aside::content(self.plan, within, at, DOT_GIT.as_ref())
            }),
        }
    }

    fn make_anew(&self, above: &Path, name: &Path) -> Judgment {
        let path = joined(self.top, above).join(name);
        let Ok(Some(directory)) = self.directory.below(above) else { return Judgment::Later };
        let anew = if self.sign == Sign::Bare && self.holds_more(&path) {
            let reason = "there is more in its directory than git puts there";
            made::Anew::Refused(vec![GitNote::Failed(reason.to_owned())])
        } else {
            made::anew(self.plan, &directory, name.as_os_str(), &path)
        };
        let report = |note| GitReport::Repository { path: shown(self.plan, &path), note };
        match anew {
            made::Anew::Made(notes) => Judgment::MadeAnew(notes.into_iter().map(report).collect()),
            made::Anew::Refused(notes) => {
                // It is none any more without that.
                let aside = match self.sign {
                    Sign::Directory => self.set_aside(above, DOT_GIT),
                    _ => self.set_aside(self.place, "HEAD"),
                };
                let Judgment::SetAside(more) = aside else { return aside };
                Judgment::SetAside(notes.into_iter().map(report).chain(more).collect())
            }
        }
    }

    /// Whether more is in a bare repository than the repository. To make it anew is to remove what was there: that
    /// may be work of a person, another repository, or what no command may write.
    fn holds_more(&self, path: &Path) -> bool {
        let is_below = |other: &PathBuf| other != path && other.starts_with(path);
        let Plan { protected, closed, forks, .. } = self.plan;
        let held = protected.iter().chain(closed).chain(forks).any(is_below);
        held || (self.known)().iter().any(is_below)
            || !made::is_only_git(self.directory, self.place)
    }

    fn set_aside(&self, place: &Path, name: &str) -> Judgment {
        self.with(place, |within, at| set_aside::entry(self.plan, within, at, name.as_ref()))
    }

    /// Does something with the directory at a place, if it is there.
    fn with(&self, place: &Path, act: impl FnOnce(&Directory, &Path) -> GitReport) -> Judgment {
        match self.directory.below(place) {
            Ok(Some(within)) => Judgment::SetAside(vec![act(&within, &joined(self.top, place))]),
            _ => Judgment::Later,
        }
    }
}

pub(super) fn joined(top: &Path, place: &Path) -> PathBuf {
    if place == Path::new(".") { top.to_owned() } else { top.join(place) }
}

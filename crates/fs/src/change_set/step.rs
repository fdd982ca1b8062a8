//! One file of a change set: where it stands, and how it goes forward and back.
//!
//! Each step works on two names in one directory: the target, and a name of the set. The prints in
//! the plan tell which file lies at which of them, so a step can be continued by another process at
//! any time. Nothing is done to a file that is neither the new one nor the one to replace.

use std::ffi::{OsStr, OsString};
use std::os::fd::BorrowedFd;

use rustix::fs::AtFlags;
use rustix::io::Errno;

use crate::publish::{exchange, rename_unless_taken};
use crate::temporary::SetId;

/// How often to look again when another program exchanges files too.
const MAX_ROUNDS: usize = 1000;

/// Identifies a file and its state, as a fingerprint does. Unlike a hash of them, these numbers mean
/// the same to every version of this program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Print {
    pub(crate) inode: i128,
    pub(crate) size: i128,
    pub(crate) seconds: i128,
    pub(crate) nanoseconds: i128,
}

impl Print {
    pub(crate) fn of(stat: &rustix::fs::Stat) -> Self {
        Self {
            inode: stat.st_ino.into(),
            size: stat.st_size.into(),
            seconds: stat.st_mtime.into(),
            nanoseconds: stat.st_mtime_nsec.into(),
        }
    }
}

/// The print of what is at a name, if anything is.
pub(crate) fn look(directory: BorrowedFd<'_>, name: &OsStr) -> Result<Option<Print>, Errno> {
    match rustix::fs::statat(directory, name, AtFlags::SYMLINK_NOFOLLOW) {
        Ok(stat) => Ok(Some(Print::of(&stat))),
        Err(Errno::NOENT) => Ok(None),
        Err(errno) => Err(errno),
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum StepKind {
    /// A new file gets its name.
    Create,
    /// A new file is exchanged for an old one.
    Update,
    /// An old file loses its name.
    Delete,
}

impl StepKind {
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Create => "create",
            Self::Update => "update",
            Self::Delete => "delete",
        }
    }

    pub(crate) fn of(word: &str) -> Option<Self> {
        [Self::Create, Self::Update, Self::Delete].into_iter().find(|kind| kind.word() == word)
    }
}

/// A step of a plan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Step {
    pub(crate) kind: StepKind,
    /// The index of its directory.
    pub(crate) directory: usize,
    /// The name of the target.
    pub(crate) name: OsString,
    /// The number in the set's own name for it.
    pub(crate) sequence: u64,
    /// The new file.
    pub(crate) new: Option<Print>,
    /// The old file.
    pub(crate) out: Option<Print>,
}

/// Where a step stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Position {
    /// It can be made.
    Before,
    /// It was made.
    After,
    /// It cannot be made, or it took out another file than it should have.
    Conflict,
}

/// A step at work: in its directory, as part of its set.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Work<'a> {
    pub(crate) step: &'a Step,
    pub(crate) directory: BorrowedFd<'a>,
    pub(crate) set: SetId,
}

impl Step {
    /// Whether it has the prints that its kind needs.
    pub(crate) fn is_consistent(&self) -> bool {
        self.new.is_some() == (self.kind != StepKind::Delete)
            && self.out.is_some() == (self.kind != StepKind::Create)
    }
}

impl Work<'_> {
    fn own(&self) -> OsString {
        self.set.step(self.step.sequence).into()
    }

    fn look(&self, name: &OsStr) -> Result<Option<Print>, Errno> {
        look(self.directory, name)
    }

    fn unlink(&self, name: &OsStr) -> Result<(), Errno> {
        match rustix::fs::unlinkat(self.directory, name, AtFlags::empty()) {
            Err(Errno::NOENT) => Ok(()),
            done => done,
        }
    }

    /// Where the step stands while its plan is committed.
    pub(crate) fn position(&self) -> Result<Position, Errno> {
        self.settle_back()?;
        let Step { kind, new, out, name, .. } = self.step;
        let (own, target) = (self.look(&self.own())?, self.look(name)?);
        Ok(match kind {
            StepKind::Update if own == *new => {
                if target == *out {
                    Position::Before
                } else {
                    Position::Conflict
                }
            }
            // Whatever others made of the new file since.
            StepKind::Update | StepKind::Delete if own == *out => Position::After,
            StepKind::Create if own.is_none() && target.is_some() => Position::After,
            StepKind::Create if own == *new => {
                if target.is_none() {
                    Position::Before
                } else {
                    Position::Conflict
                }
            }
            StepKind::Delete if own.is_none() && target == *out => Position::Before,
            // Someone else deleted it.
            StepKind::Delete if own.is_none() && target.is_none() => Position::After,
            _ => Position::Conflict,
        })
    }

    /// Makes the step. False, and nothing has changed, if the target is not what it should be:
    /// `is_expected` looks at what came out, under the set's own name.
    ///
    /// The directory has to be locked, see [`crate::publish::OpenDirectory::lock`].
    pub(crate) fn make(&self, is_expected: impl Fn(&OsStr) -> bool) -> Result<bool, Errno> {
        let (own, target) = (self.own(), &*self.step.name);
        match self.step.kind {
            StepKind::Create => {
                match rename_unless_taken(self.directory, &own, self.directory, target) {
                    Ok(()) => Ok(true),
                    Err(Errno::EXIST | Errno::NOENT | Errno::ISDIR | Errno::NOTEMPTY) => Ok(false),
                    Err(errno) => Err(errno),
                }
            }
            StepKind::Delete => {
                match rename_unless_taken(self.directory, target, self.directory, &own) {
                    Ok(()) if is_expected(&own) => Ok(true),
                    Ok(()) => self.give_back(&own).map(|()| false),
                    Err(Errno::NOENT) => Ok(false),
                    Err(errno) => Err(errno),
                }
            }
            StepKind::Update => match exchange(self.directory, &own, target) {
                Ok(()) if is_expected(&own) => Ok(true),
                Ok(()) => self.exchange_back(&own).map(|()| false),
                Err(Errno::NOENT) => Ok(false),
                Err(Errno::INVAL | Errno::NOSYS | Errno::NOTSUP) => self.replace(&own, is_expected),
                Err(errno) => Err(errno),
            },
        }
    }

    /// As an exchange, where the file system has none: others may see a moment without the file if
    /// it has no links either.
    fn replace(&self, own: &OsStr, is_expected: impl Fn(&OsStr) -> bool) -> Result<bool, Errno> {
        let target = &*self.step.name;
        let back = OsString::from(self.set.back(self.step.sequence));
        let linked =
            rustix::fs::linkat(self.directory, target, self.directory, &back, AtFlags::empty());
        match linked {
            Ok(()) => {}
            Err(Errno::NOENT) => return Ok(false),
            Err(_) => rustix::fs::renameat(self.directory, target, self.directory, &back)?,
        }
        let is_expected = is_expected(&back);
        if is_expected {
            rustix::fs::renameat(self.directory, own, self.directory, target)?;
        }
        self.settle_back()?;
        Ok(is_expected)
    }

    /// Ends a replacement: its second name for the old file becomes the set's own name of it, or
    /// goes away, or becomes the target again.
    fn settle_back(&self) -> Result<(), Errno> {
        if self.step.kind != StepKind::Update {
            return Ok(());
        }
        let (back, own) = (OsString::from(self.set.back(self.step.sequence)), self.own());
        if self.look(&back)?.is_none() {
            return Ok(());
        }
        if self.look(&own)?.is_none() {
            return rustix::fs::renameat(self.directory, &back, self.directory, &own);
        }
        self.give_back(&back)
    }

    /// Gives the target's name back to a file that came out. If others have put a file there since, theirs is
    /// newer and stays, as if it had replaced this one.
    fn give_back(&self, from: &OsStr) -> Result<(), Errno> {
        match rename_unless_taken(self.directory, from, self.directory, &self.step.name) {
            Err(Errno::EXIST) => self.unlink(from),
            done => done,
        }
    }

    /// Undoes the step as far as it was made. What others put in place of the new file is newer and
    /// stays. If they wrote into the new file, the old one stays too, under the set's name, because
    /// it may be the only copy of its bytes.
    pub(crate) fn undo(&self) -> Result<(), Errno> {
        self.settle_back()?;
        let Step { kind, new, name, .. } = self.step;
        let own = self.own();
        let (current, target) = (self.look(&own)?, self.look(name)?);
        match kind {
            StepKind::Update | StepKind::Create if current == *new => self.unlink(&own),
            StepKind::Update if current.is_some() => {
                if target == *new {
                    self.exchange_back(&own)?;
                }
                let inode = |print: Option<Print>| print.map(|print| print.inode);
                // A race may have ended the exchange early, so the target is looked at again.
                match self.look(name)? {
                    // The old file is back, or others replaced the new one.
                    Some(target) if inode(Some(target)) != inode(*new) => self.unlink(&own),
                    // Others wrote into the new file, or deleted it.
                    _ => Ok(()),
                }
            }
            StepKind::Create if current.is_none() && target == *new => {
                match rename_unless_taken(self.directory, name, self.directory, &own) {
                    Ok(()) if self.look(&own)? == *new => self.unlink(&own),
                    Ok(()) => self.give_back(&own),
                    Err(Errno::NOENT) => Ok(()),
                    Err(errno) => Err(errno),
                }
            }
            StepKind::Delete if current.is_some() => self.give_back(&own),
            _ => Ok(()),
        }
    }

    /// Removes what a step that was made has left: the old file.
    pub(crate) fn clean(&self) -> Result<(), Errno> {
        self.unlink(&self.own())
    }

    /// Puts back what came out of an exchange. Other programs do not wait for this: whatever they
    /// put in place of the new file is newer still, and stays.
    fn exchange_back(&self, own: &OsStr) -> Result<(), Errno> {
        let target = &*self.step.name;
        let mut put = self.step.new;
        let mut taken = self.look(own)?;
        for _ in 0..MAX_ROUNDS {
            if self.look(target)? != put {
                return Ok(());
            }
            match exchange(self.directory, own, target) {
                Ok(()) => {}
                Err(Errno::NOENT) => return Ok(()),
                Err(Errno::INVAL | Errno::NOSYS | Errno::NOTSUP) => {
                    // The new file is not needed any more.
                    return rustix::fs::renameat(self.directory, own, self.directory, target);
                }
                Err(errno) => return Err(errno),
            }
            let out = self.look(own)?;
            if out == put {
                return Ok(());
            }
            put = taken;
            taken = out;
        }
        Ok(())
    }
}

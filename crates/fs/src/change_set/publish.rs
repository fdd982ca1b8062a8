//! Makes the changes of a committed set.

use std::cell::RefCell;
use std::collections::HashMap;
use std::ffi::OsStr;
use std::fs::File;
use std::os::fd::BorrowedFd;
use std::path::PathBuf;

use rustix::fs::{AtFlags, Mode, OFlags};
use rustix::io::Errno;

use super::execute::Execution;
use super::files::{Item, Set};
use super::settle::finish;
use super::stage::display_of;
use super::step::{Step, StepKind};
use crate::error::{GitRule, PUT_BACK};
use crate::open::{READ, identity};
use crate::read::holds;
use crate::temporary::PlanState;
use crate::walk::read_link;
use crate::{FsError, FsErrorKind, Refusal};

/// Makes every step, or undoes those that were made and fails.
pub(super) fn publish(execution: &Execution<'_>, set: &Set) -> Result<(), FsError> {
    let items: HashMap<&PathBuf, &Item> =
        set.items.iter().map(|item| (&item.located.place, item)).collect();
    for step in &execution.plan.steps {
        let place = execution.plan.directories[step.directory].join(&step.name);
        let content = items.get(&place).map(|item| Expected { item });
        let made = make(execution, step, content.as_ref());
        if let Err(unmade) = made {
            let path = display_of(set, execution.plan, step);
            let error = match unmade {
                Unmade::Conflict => FsErrorKind::Conflict.at(path),
                Unmade::Git(rule) => FsErrorKind::Git { rule }.at(path),
                Unmade::System(Errno::BUSY) => FsErrorKind::NotReplaceable {
                    refusal: Refusal::MountPoint,
                    source: Errno::BUSY.into(),
                }
                .at(path),
                Unmade::System(errno) => FsError::at(&path, "publishing", errno),
            };
            return Err(put_back(execution, set, step).err().unwrap_or(error));
        }
    }
    if let Err(errno) = execution.sync() {
        let step = &execution.plan.steps[0];
        let error = FsError::io(&display_of(set, execution.plan, step), "syncing", errno);
        return Err(put_back(execution, set, step).err().unwrap_or(error));
    }
    // Every change is made. What cannot be removed now is removed by a later call.
    if rename(execution, PlanState::Plan, PlanState::Done).is_ok() {
        let _ = finish(execution, PlanState::Done);
    }
    Ok(())
}

/// Why a step was not made.
enum Unmade {
    Conflict,
    Git(GitRule),
    System(Errno),
}

/// Makes one step.
fn make(
    execution: &Execution<'_>,
    step: &Step,
    expected: Option<&Expected<'_>>,
) -> Result<(), Unmade> {
    let unmade = RefCell::new(Unmade::Conflict);
    let made = execution.at(step, |work| {
        if step.kind == StepKind::Create
            && let Some(rule) = execution.rule_of(&work)?
        {
            unmade.replace(Unmade::Git(rule));
            return Ok(false);
        }
        work.make(|name| match expected.map(|one| one.is_at(work.directory, name)) {
            Some(Ok(is_expected)) => is_expected,
            Some(Err(errno)) => {
                unmade.replace(Unmade::System(errno));
                false
            }
            None => true,
        })
    });
    match made {
        Ok(Some(true)) => Ok(()),
        Ok(_) => Err(unmade.into_inner()),
        Err(errno) => Err(Unmade::System(errno)),
    }
}

fn put_back(execution: &Execution<'_>, set: &Set, step: &Step) -> Result<(), FsError> {
    rename(execution, PlanState::Plan, PlanState::Undo)
        .and_then(|()| finish(execution, PlanState::Undo))
        .map_err(|errno| FsError::io(&display_of(set, execution.plan, step), PUT_BACK, errno))
}

fn rename(execution: &Execution<'_>, from: PlanState, to: PlanState) -> Result<(), Errno> {
    let Execution { base, set, .. } = execution;
    rustix::fs::renameat(base, set.plan(from), base, set.plan(to))
}

/// The old file of a step, as it was read.
struct Expected<'a> {
    item: &'a Item,
}

impl Expected<'_> {
    /// Whether the file that was read is at a name now, with the bytes that were read.
    fn is_at(&self, directory: BorrowedFd<'_>, name: &OsStr) -> Result<bool, Errno> {
        let (Some(old), Some(bytes)) = (&self.item.old, &self.item.bytes) else { return Ok(true) };
        let stat = rustix::fs::statat(directory, name, AtFlags::SYMLINK_NOFOLLOW)?;
        if identity(&stat) != identity(&old.stat) || stat.st_mode != old.stat.st_mode {
            return Ok(false);
        }
        if self.item.located.is_link {
            return Ok(read_link(directory, name)?.as_encoded_bytes() == bytes);
        }
        // The same file is at the name, so the one that is open will do.
        if let Some(file) = &old.file {
            return Ok(holds(file, bytes));
        }
        let file = rustix::fs::openat(directory, name, READ | OFlags::NOFOLLOW, Mode::empty())?;
        Ok(holds(&File::from(file), bytes))
    }
}

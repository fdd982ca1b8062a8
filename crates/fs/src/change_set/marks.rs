//! Files of a set that together make a directory of git, although none does alone.

use std::collections::BTreeMap;
use std::os::fd::AsFd;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use toolwright_git::name::Mark;

use super::locate::Located;
use super::step::StepKind;
use crate::{FsError, GitBorder};

/// The names by which git knows a directory, and the directory if it is there.
type Given<'a> = (Vec<Mark>, Option<&'a Located>);

/// Refuses files that together make a directory which git takes for its own.
pub(super) fn check(located: &[Located], git: GitBorder) -> Result<(), FsError> {
    if git == GitBorder::Open {
        return Ok(());
    }
    let mut given: BTreeMap<PathBuf, Given<'_>> = BTreeMap::new();
    for one in located.iter().filter(|one| one.kind == StepKind::Create || one.is_replaced_link()) {
        let mut above: PathBuf = one.place.components().take(one.depth()).collect();
        let mut is_there = true;
        for name in one.missing.iter().chain([&one.name]) {
            if let Some(mark) = Mark::of(name.as_bytes()) {
                let (marks, directory) = given.entry(above.clone()).or_default();
                marks.push(mark);
                *directory = is_there.then_some(one);
                let directory = directory.map(|one| one.directory.as_fd());
                git.check_all_new(&one.display, directory, marks)?;
            }
            above.push(name);
            is_there = false;
        }
    }
    Ok(())
}

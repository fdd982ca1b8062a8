//! Logs of references: the lines that a command has added.

use std::path::Path;

use super::{Apply, MODE, NotWritten};
use crate::import::area::{After, place};
use crate::import::read::{Failure, Received};
use crate::log::{self, Change, Line, LogChange, LogName};
use crate::object::Id;
use crate::refs::{RefMap, RefValue, Unreadable, read_packed};
use crate::transaction::TransactionError;
use crate::upper::{Bounds, Upper};

/// Its list is nothing but its log.
const STASH: &str = "refs/stash";
/// No longer log is read as a whole.
const MAX_LOG: u64 = 64 << 20;

impl Apply<'_> {
    /// The log of a `HEAD` that has the command's value.
    pub(super) fn log_of_head(
        &mut self,
        area: &After,
        upper: &Upper,
        received: &Received<'_>,
    ) -> Result<(), NotWritten> {
        let directory = self.git.below(place(&area.prefix)).map_err(Failure::from)?;
        let changed = upper.below(&area.prefix).map_err(Failure::from)?;
        let (Some(directory), Some(changed)) = (directory, changed) else { return Ok(()) };
        let read = log::changes(&directory, &changed, Bounds::default());
        let logs = read.map_err(Failure::from)?.logs;
        for log in logs.into_iter().filter(|log| log.name == LogName::Head) {
            self.log(&area.prefix.join("logs/HEAD"), log.change, received)?;
        }
        Ok(())
    }

    pub(super) fn logs(
        &mut self,
        upper: &Upper,
        received: &Received<'_>,
    ) -> Result<(), NotWritten> {
        let changes = log::changes(self.git, upper, Bounds::default()).map_err(Failure::from)?;
        for log in &changes.logs {
            let LogName::Ref(name) = &log.name else { continue };
            if !self.applied.contains(name) && !self.has_come_back(log, upper, received)? {
                continue;
            }
            let path = log.name.path();
            match &log.change {
                Change::Deleted if received.deletes(name) => {
                    self.transaction.discard(&path)?;
                    self.is_empty = false;
                }
                Change::Deleted => {}
                // Nobody else has changed the list meanwhile, or its last entry would be another one.
                _ if name.as_str() == STASH => {
                    self.list_of_stashes(&whole_log(upper, &path), received)?;
                }
                change => self.log(&path, change.clone(), received)?,
            }
        }
        Ok(())
    }

    /// Whether a reference has the value that it had before a command changed it for a while, so that its log alone
    /// says what was there meanwhile. It is locked then.
    fn has_come_back(
        &mut self,
        LogChange { name, change }: &LogChange,
        upper: &Upper,
        received: &Received<'_>,
    ) -> Result<bool, NotWritten> {
        let LogName::Ref(name) = name else { return Ok(false) };
        let (Change::Appended(lines) | Change::Rewritten { lines, .. }) = change else {
            return Ok(false);
        };
        let value = if name.as_str() == STASH {
            whole_log(upper, &LogName::Ref(name.clone()).path()).last().map(|line| line.new)
        } else {
            let ends = lines.first().zip(lines.last());
            ends.filter(|(first, last)| first.old == last.new).map(|(_, last)| last.new)
        };
        let Some(value) = value else { return Ok(false) };
        if received.refs.iter().any(|change| change.name == *name) {
            return Ok(false);
        }
        match self.transaction.lock(name.path(), MODE) {
            Ok(()) => {}
            Err(TransactionError::InTheWay(_)) => return Ok(false),
            Err(error) => return Err(error.into()),
        }
        let unreadable = |error: Unreadable| Failure::Unreadable(error.to_string());
        let packed = read_packed(self.git).map_err(unreadable)?;
        let now = RefMap::read_one(self.git, name, &packed).map_err(unreadable)?;
        Ok(now == Some(RefValue::Id(value)))
    }

    /// Writes the list of stashes of a command, which has dropped some.
    fn list_of_stashes(
        &mut self,
        whole: &[Line],
        received: &Received<'_>,
    ) -> Result<(), NotWritten> {
        if !whole.is_empty() && are_there(whole, received)? {
            let path = Path::new("logs").join(STASH);
            self.transaction.put(&path, &text(whole), MODE)?;
            self.is_empty = false;
        }
        Ok(())
    }

    /// Adds lines. A log goes only with its reference, so a command takes no history of a person away.
    pub(super) fn log(
        &mut self,
        path: &Path,
        change: Change,
        received: &Received<'_>,
    ) -> Result<(), NotWritten> {
        let (Change::Appended(lines) | Change::Rewritten { lines, .. }) = change else {
            return Ok(());
        };
        if !lines.is_empty() && are_there(&lines, received)? {
            self.transaction.append(path, &text(&lines))?;
            self.is_empty = false;
        }
        Ok(())
    }
}

/// A log as the command has left it. One that is none is empty.
fn whole_log(upper: &Upper, path: &Path) -> Vec<Line> {
    let text = upper.read(path, MAX_LOG).ok().flatten().unwrap_or_default();
    log::parse(&text).unwrap_or_default()
}

/// Whether every object that a log names is there: git takes another log for a damaged one.
fn are_there(lines: &[Line], received: &Received<'_>) -> Result<bool, NotWritten> {
    for id in lines.iter().flat_map(|line| [line.old, line.new]) {
        if id != Id::NONE && received.objects.kind(&id)?.is_none() {
            return Ok(false);
        }
    }
    Ok(true)
}

pub(super) fn text(lines: &[Line]) -> Vec<u8> {
    lines.iter().flat_map(|line| [line.as_bytes(), b"\n"].concat()).collect()
}

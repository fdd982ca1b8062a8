//! The use of forks by one command.

use std::path::PathBuf;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use super::forks::{ForkEnd, Forks};
use super::requests::Retired;
use crate::confined::pool::Pool;
use crate::git_reports::GitReport;

/// How long the end of a command waits for a lock of the repository, before its changes are left to a later one.
const PAUSES: [Duration; 3] =
    [Duration::from_millis(50), Duration::from_millis(200), Duration::from_secs(1)];

/// The use of forks by one command. Its end is that of the command.
#[derive(Debug)]
pub(crate) struct ForkUse {
    forks: Arc<Forks>,
    pool: Arc<Pool>,
    reports: Vec<GitReport>,
    is_over: bool,
}

impl ForkUse {
    /// Begins with [`Forks::begin`].
    pub(crate) fn begin(
        forks: Arc<Forks>,
        pool: &Arc<Pool>,
        below: &[PathBuf],
        is_taken: bool,
        is_alone: bool,
    ) -> Result<Self, Retired> {
        let reports = forks.begin(pool, below, is_taken, is_alone)?;
        Ok(Self { forks, pool: Arc::clone(pool), reports, is_over: false })
    }

    /// Which supervisor of the pool has the forks.
    pub(crate) fn generation(&self) -> u64 {
        self.forks.generation
    }

    /// Brings back what commands have changed so far, and reports what was not. The command has ended, and
    /// may have made git directories. Returns whether all of it came back, too.
    pub(super) fn end(&mut self, end: ForkEnd) -> (Vec<GitReport>, bool) {
        if std::mem::replace(&mut self.is_over, true) {
            return (Vec::new(), false);
        }
        let mut reports = std::mem::take(&mut self.reports);
        let mut outcome = self.forks.end(&self.pool, true, end);
        for pause in PAUSES {
            reports.append(&mut outcome.reports);
            if outcome.waiting.is_empty() {
                break;
            }
            thread::sleep(pause);
            outcome = self.forks.end(&self.pool, false, ForkEnd { has_made: false, ..end });
        }
        let is_settled = outcome.waiting.is_empty() && !outcome.is_delayed;
        reports.extend(outcome.reports.into_iter().chain(outcome.waiting));
        (reports, is_settled)
    }
}

impl Drop for ForkUse {
    fn drop(&mut self) {
        // Dropped without `end`: the end of the command was not reported.
        self.end(ForkEnd { has_made: true, is_alone: false });
    }
}

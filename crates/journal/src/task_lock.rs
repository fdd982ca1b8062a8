//! Two attempts of one task never run at the same time on one journal.

use toolwright_sqlite::{NamedLock, TryLock};

use crate::keys::task_hash;
use crate::{Journal, JournalError, TaskId};

/// The right to run an attempt of a task. Released on drop, and by the kernel when the process ends,
/// however it ends.
#[derive(Debug)]
#[must_use = "the task is free again as soon as this is dropped"]
pub struct TaskLock {
    _lock: NamedLock,
}

impl Journal {
    /// Locks a task for one of its attempts. Fails with [`TaskLocked`](JournalError::TaskLocked) at once
    /// while another attempt runs, in whatever thread, process or container of this machine.
    pub fn lock_task(&self, task: &TaskId, attempt: i64) -> Result<TaskLock, JournalError> {
        let note = format!("attempt {attempt}, process {}", std::process::id());
        match self.database.try_lock(&format!("task-{}", task_hash(task)), &note)? {
            TryLock::Acquired(lock) => Ok(TaskLock { _lock: lock }),
            TryLock::HeldBy(holder) => Err(JournalError::TaskLocked {
                path: self.path().to_owned(),
                task: format!(
                    "`{}` of run `{}`, iteration {}",
                    task.node_id, task.run_id, task.iteration
                ),
                holder,
            }),
        }
    }
}

//! Two attempts of one task never run at the same time on one journal.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, PoisonError};

use toolwright_sqlite::LockFile;
use toolwright_sqlite::lock_file::note_of;

use crate::keys::task_hash;
use crate::{Journal, JournalError, TaskId};

/// The right to run an attempt of a task. Given back on drop, and by the kernel when the process
/// ends, however it ends.
#[derive(Debug)]
#[must_use = "the task is free again as soon as this is dropped"]
pub struct TaskLock {
    _held: Held,
}

#[derive(Debug)]
enum Held {
    File { _lock: LockFile },
    Memory { _lock: MemoryLock },
}

#[derive(Debug)]
struct MemoryLock {
    tasks: Arc<Mutex<HashSet<TaskId>>>,
    task: TaskId,
}

impl Drop for MemoryLock {
    fn drop(&mut self) {
        self.tasks.lock().unwrap_or_else(PoisonError::into_inner).remove(&self.task);
    }
}

impl Journal {
    /// Locks a task for one of its attempts, or fails with
    /// [`TaskLocked`](JournalError::TaskLocked) at once. Whoever wants to wait asks again.
    ///
    /// The lock is a file beside the journal and holds for everything that opens this journal under
    /// whatever name: other threads, other processes, other containers of the same machine.
    pub fn lock_task(&self, task: &TaskId, attempt: i64) -> Result<TaskLock, JournalError> {
        self.writer()?;
        let taken = |holder| JournalError::TaskLocked {
            path: self.path().to_owned(),
            task: format!(
                "`{}` of run `{}`, iteration {}",
                task.node_id, task.run_id, task.iteration
            ),
            holder,
        };
        let Some(locks) = self.locks() else {
            let mut tasks = self.memory_locks.lock().unwrap_or_else(PoisonError::into_inner);
            if !tasks.insert(task.clone()) {
                return Err(taken(String::new()));
            }
            let (tasks, task) = (Arc::clone(&self.memory_locks), task.clone());
            return Ok(TaskLock { _held: Held::Memory { _lock: MemoryLock { tasks, task } } });
        };
        let name = format!("task-{}", task_hash(task));
        match LockFile::acquire(locks, &name)? {
            Some(lock) => {
                lock.note(&format!("attempt {attempt}, process {}", std::process::id()));
                Ok(TaskLock { _held: Held::File { _lock: lock } })
            }
            None => Err(taken(match note_of(locks, &name) {
                note if note.is_empty() || note.len() > 100 => String::new(),
                note => format!(" ({note})"),
            })),
        }
    }
}

//! Reports to the host about a patch.
//!
//! The command has inherited a pipe for that. A program between the command and this one may have
//! closed it, as Python and Node do, and then an ancestor still has it. Without the pipe, and when it is
//! full, the patch is applied all the same, and the host knows of the command alone.

use std::fmt::Write;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::UNIX_EPOCH;

use rustix::fs::{Mode, OFlags, fstat, open};
use rustix::io::{Errno, ioctl_fionread, write};
use rustix::pipe::fcntl_getpipe_size;
use rustix::process::{Pid, getppid};
use sha2::{Digest, Sha256};
use toolwright_patch_voice::applied::PatchedFile;
use toolwright_sandbox::wire::{
    MAX_NOTE_BYTES, NOTES_DESCRIPTOR, NOTES_MODE, NotedFile, PatchBegan, PatchEnded, PatchFiles,
    PatchNote, PatchRefusal,
};

use super::Refusal;

/// The most bytes of a refusal's texts in a report.
const MAX_WHAT_BYTES: usize = 2000;
const MAX_HINT_BYTES: usize = 1000;
/// The most bytes of file names in the reports of one patch.
const MAX_NAMES_BYTES: usize = 8 << 10;
/// How many ancestors are asked for the pipe.
const MAX_ANCESTORS: usize = 16;

/// Tells the host about one patch.
pub(super) struct Notes {
    pipe: OwnedFd,
    id: u64,
}

impl Notes {
    /// Tells that there is a patch. Its bytes may be the first of more.
    pub(super) fn begin(patch: &[u8]) -> Option<Self> {
        let pipe = find_pipe()?;
        let used = usize::try_from(ioctl_fionread(&pipe).ok()?).ok()?;
        // Later notes of this patch and of others that run now still fit.
        if used > fcntl_getpipe_size(&pipe).ok()? / 3 {
            return None;
        }
        let now = UNIX_EPOCH.elapsed().ok()?;
        let pid = u64::from(std::process::id());
        let id = u64::try_from(now.as_nanos() & u128::from(u64::MAX)).ok()? ^ pid.rotate_right(16);
        let sha256 = Sha256::digest(patch).iter().fold(String::new(), |mut text, byte| {
            let _ = write!(text, "{byte:02x}");
            text
        });
        let directory = std::env::current_dir().unwrap_or_default();
        let notes = Self { pipe, id };
        let began =
            PatchBegan { id, at_ms: now_ms(), directory, bytes: patch.len() as u64, sha256 };
        let is_sent = notes.tell(&PatchNote::Began(began.clone()))
            || notes.tell(&PatchNote::Began(PatchBegan { directory: "".into(), ..began }));
        is_sent.then_some(notes)
    }

    /// Tells which files will be changed.
    pub(super) fn plan(&self, planned: &[PatchedFile]) {
        let total = u32::try_from(planned.len()).unwrap_or(u32::MAX);
        let mut names = 0;
        let listed = planned.iter().take_while(|file| {
            names += bytes_of(file);
            names <= MAX_NAMES_BYTES
        });
        let mut files = listed;
        let (mut batch, mut bytes) = (Vec::new(), 0);
        loop {
            let next = files.next();
            let more = next.map_or(MAX_NOTE_BYTES, bytes_of);
            if bytes + more > MAX_NOTE_BYTES - 64 && (!batch.is_empty() || next.is_none()) {
                let files = std::mem::take(&mut batch);
                self.tell(&PatchNote::Files(PatchFiles { id: self.id, total, files }));
                bytes = 0;
            }
            let Some(file) = next else { return };
            bytes += more;
            batch.push(NotedFile {
                path: file.path.clone(),
                letter: file.kind.letter(),
                moved_to: file.moved_to.clone(),
            });
        }
    }

    /// Tells how it ended.
    pub(super) fn end(&self, refusal: Option<&Refusal>) {
        let refusal = refusal.map(|refusal| PatchRefusal {
            is_mismatch: u8::from(refusal.is_mismatch),
            what: beginning(&refusal.what, MAX_WHAT_BYTES),
            hint: beginning(&refusal.hint, MAX_HINT_BYTES),
        });
        self.tell(&PatchNote::Ended(PatchEnded { id: self.id, at_ms: now_ms(), refusal }));
    }

    fn tell(&self, note: &PatchNote) -> bool {
        let Some(frame) = note.frame() else { return false };
        loop {
            match write(&self.pipe, &frame) {
                Err(Errno::INTR) => {}
                written => return written.is_ok(),
            }
        }
    }
}

/// How much of a note a file takes, and no less.
fn bytes_of(file: &PatchedFile) -> usize {
    32 + file.path.len() + file.moved_to.as_ref().map_or(0, String::len)
}

fn find_pipe() -> Option<OwnedFd> {
    // SAFETY: it is only looked at, and whatever is open there stays open.
    let own = unsafe { BorrowedFd::borrow_raw(NOTES_DESCRIPTOR) };
    if is_pipe_of_host(own) {
        return own.try_clone_to_owned().ok();
    }
    let mut ancestor = getppid();
    for _ in 0..MAX_ANCESTORS {
        let pid = ancestor?;
        let path = format!("/proc/{}/fd/{NOTES_DESCRIPTOR}", pid.as_raw_pid());
        let flags = OFlags::WRONLY | OFlags::NONBLOCK | OFlags::CLOEXEC;
        // Only a pipe is opened for writing: nothing else is touched by being looked at.
        let looked = open(&*path, OFlags::PATH | OFlags::CLOEXEC, Mode::empty());
        if looked.is_ok_and(|looked| is_pipe_of_host(looked.as_fd()))
            && let Ok(pipe) = open(&*path, flags, Mode::empty())
            && is_pipe_of_host(pipe.as_fd())
        {
            return Some(pipe);
        }
        ancestor = parent_of(pid);
    }
    None
}

fn is_pipe_of_host(file: BorrowedFd<'_>) -> bool {
    fstat(file).is_ok_and(|stat| stat.st_mode == libc::S_IFIFO | NOTES_MODE)
}

fn parent_of(pid: Pid) -> Option<Pid> {
    let status = std::fs::read(format!("/proc/{}/stat", pid.as_raw_pid())).ok()?;
    // The name before it may hold anything, this bracket too.
    let behind_name = status.iter().rposition(|byte| *byte == b')')? + 1;
    let fields = std::str::from_utf8(status.get(behind_name..)?).ok()?;
    Pid::from_raw(fields.split_whitespace().nth(1)?.parse().ok()?)
}

fn now_ms() -> u64 {
    UNIX_EPOCH.elapsed().map_or(0, |now| u64::try_from(now.as_millis()).unwrap_or(u64::MAX))
}

/// The beginning of a text, up to the end of a character.
fn beginning(text: &str, bytes: usize) -> String {
    let end = (0..=bytes.min(text.len())).rev().find(|end| text.is_char_boundary(*end));
    text[..end.unwrap_or(0)].to_owned()
}

//! The host's end of a supervisor.

use std::{
    io,
    os::{
        fd::{AsFd, OwnedFd},
        unix::{net::UnixStream, process::CommandExt},
    },
    process::{Command, Stdio},
    thread,
};

use toolwright_sandbox::wire::{Order, WORKER, plain_frame, send, write_order};

use super::program;

/// A supervisor, which ends when this is dropped, with its workers and all they run.
#[derive(Debug)]
pub(crate) struct Supervisor(OwnedFd);

impl Supervisor {
    pub(crate) fn start(order: &Order) -> io::Result<Self> {
        let (ours, theirs) = UnixStream::pair()?;
        let program = program::path()?;
        let mut child = Command::new(program)
            .arg0("toolwright-sandbox")
            .env_clear()
            .current_dir("/")
            .stdin(Stdio::from(OwnedFd::from(theirs)))
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()?;
        // Collects it the moment it ends, whenever that is. Without a thread it stays a zombie until
        // the host ends.
        let _ = thread::Builder::new()
            .name("toolwright-reap".to_owned())
            .stack_size(64 << 10)
            .spawn(move || child.wait());
        send(&ours, &plain_frame(&write_order(order)), &[])?;
        Ok(Self(ours.into()))
    }

    /// Asks for a worker; the socket to it is given back at once.
    pub(crate) fn ask_for_worker(&self) -> io::Result<OwnedFd> {
        let (ours, theirs) = UnixStream::pair()?;
        send(&self.0, &plain_frame(WORKER), &[theirs.as_fd()])?;
        Ok(ours.into())
    }
}

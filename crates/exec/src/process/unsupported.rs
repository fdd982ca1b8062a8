//! Where no worker keeps processes.

use std::convert::Infallible;
use std::io;
use std::net::SocketAddr;

use toolwright_sandbox::background::{InputState, TerminalSize, WatchedFacts};
use toolwright_sandbox::step::FailedStep;

use super::{InputError, InputProgress, Piece, ProcessEnd, ProcessRequest};
use crate::error::ExecError;
use crate::missing::Missing;
use crate::sink::Stream;

/// A background process, which this system does not support.
#[derive(Debug)]
pub struct Process(Infallible);

/// Something that is watched: there is nothing on this system.
#[derive(Debug)]
pub struct Watching(Infallible);

/// A port of a process at an address of the host, which this system does not support.
#[derive(Debug)]
pub struct Preview(Infallible);

impl Preview {
    /// See the Linux version.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        match self.0 {}
    }
}

impl Process {
    /// Always fails here.
    pub fn start(
        request: ProcessRequest<'_>,
        _changed: impl Fn() + Send + Sync + 'static,
    ) -> Result<Self, ExecError> {
        let reason = "processes are kept on Linux only".to_owned();
        Err(ExecError::unconfined(&request.exec, Missing::step(FailedStep::Other, reason)))
    }

    /// See the Linux version.
    pub fn write(&self, _: &[u8]) -> Result<u64, InputError> {
        match self.0 {}
    }

    /// See the Linux version.
    #[must_use]
    pub fn input(&self) -> InputProgress {
        match self.0 {}
    }

    /// See the Linux version.
    pub fn close_input(&self) {
        match self.0 {}
    }

    /// See the Linux version.
    #[must_use]
    pub fn read(&self, _: Stream, _: u64, _: usize) -> Piece {
        match self.0 {}
    }

    /// See the Linux version.
    pub fn close_files(&self) {
        match self.0 {}
    }

    /// See the Linux version.
    pub fn signal(&self, _: i32) {
        match self.0 {}
    }

    /// See the Linux version.
    pub fn kill(&self) {
        match self.0 {}
    }

    /// See the Linux version.
    pub fn resize(&self, _: TerminalSize) -> io::Result<()> {
        match self.0 {}
    }

    /// See the Linux version.
    #[must_use]
    pub fn watch(&self, _: WatchedFacts) -> Watching {
        match self.0 {}
    }

    /// See the Linux version.
    #[must_use]
    pub fn ports(&self) -> Option<Vec<u16>> {
        match self.0 {}
    }

    /// See the Linux version.
    #[must_use]
    pub fn input_state(&self) -> Option<InputState> {
        match self.0 {}
    }

    /// See the Linux version.
    pub fn preview(&self, _: u16) -> io::Result<Preview> {
        match self.0 {}
    }

    /// See the Linux version.
    #[must_use]
    pub fn end(&self) -> Option<ProcessEnd> {
        match self.0 {}
    }
}

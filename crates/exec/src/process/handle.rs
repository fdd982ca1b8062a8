//! A background process, as its owner has it.

use std::io;
use std::sync::Arc;

use rustix::termios::{Winsize, tcsetwinsize};
use toolwright_sandbox::background::{InputState, TerminalSize, WatchedFacts};
use toolwright_sandbox::wire::signal_frame;

use super::background::BackgroundProcess;
use super::reactor::Reactor;
use super::relay::{self, Preview};
use super::start::begin;
use super::watch::Watching;
use super::{InputError, InputProgress, Piece, ProcessEnd, ProcessRequest, Stdio};
use crate::error::{ExecError, SpawnReason};
use crate::sink::Stream;

/// A background process. Dropping it kills the process and all it has started.
pub struct Process {
    process: Arc<BackgroundProcess>,
    is_terminal: bool,
}

impl std::fmt::Debug for Process {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Process").field("end", &self.end()).finish_non_exhaustive()
    }
}

impl Process {
    /// Starts a process, and returns when its program has been executed. `changed` is called after each
    /// change, on other threads: output has come, input has gone, the process has ended.
    pub fn start(
        request: ProcessRequest<'_>,
        changed: impl Fn() + Send + Sync + 'static,
    ) -> Result<Self, ExecError> {
        let reactor = Reactor::get().map_err(|error| {
            ExecError::not_started(&request.exec, SpawnReason::Resources, error)
        })?;
        let begun = begin(&request)?;
        let ProcessRequest { stdio, stdout, stderr, .. } = request;
        let is_terminal = matches!(stdio, Stdio::Terminal(_));
        let process = BackgroundProcess::new(
            reactor,
            begun,
            [stdout, stderr],
            is_terminal,
            Box::new(changed),
        );
        Ok(Self { process, is_terminal })
    }

    /// Gives bytes to the process, and returns what [`InputProgress::written`] will be when the system
    /// has taken all of them. They wait in memory until then, so a caller waits for that before it gives
    /// more.
    pub fn write(&self, bytes: &[u8]) -> Result<u64, InputError> {
        let mut state = self.process.lock();
        let end = state.input.push(bytes)?;
        self.process.write_input(&mut state);
        if let Some(frame) = state.watches.forget_input() {
            state.send_to_worker(&frame);
        }
        drop(state);
        // Input of an earlier call may have gone with this one.
        self.process.tell();
        Ok(end)
    }

    /// How far the input has got.
    #[must_use]
    pub fn input(&self) -> InputProgress {
        self.process.lock().input.progress()
    }

    /// Closes the input after what was given. A terminal gets its character for the end of input, and
    /// takes more afterwards.
    pub fn close_input(&self) {
        let mut state = self.process.lock();
        state.input.close_later();
        self.process.write_input(&mut state);
        drop(state);
        self.process.tell();
    }

    /// The output from `from` on, `max` bytes at most; empty where nothing has come yet. `from` is a
    /// number of bytes from the beginning of the stream. A stream that holds its output forgets
    /// everything before `from`.
    #[must_use]
    pub fn read(&self, stream: Stream, from: u64, max: usize) -> Piece {
        let mut state = self.process.lock();
        let index = usize::from(stream == Stream::Stderr);
        let Some(output) = state.streams.get_mut(index) else {
            return Piece { is_ended: true, ..Piece::default() };
        };
        let piece = output.log.read(from, max);
        // There may be room again.
        self.process.follow_outputs(&mut state);
        piece
    }

    /// Closes the files in which its output is. What memory has of it can still be read.
    pub fn close_files(&self) {
        for output in &mut self.process.lock().streams {
            output.log.close_file();
        }
    }

    /// Sends a signal to the process group of the program, if it still runs.
    pub fn signal(&self, signal: i32) {
        let state = self.process.lock();
        state.send_to_worker(&signal_frame(signal));
    }

    /// Kills the process and all it has started. The end is reported as usual.
    pub fn kill(&self) {
        let mut state = self.process.lock();
        self.process.kill(&mut state);
    }

    /// Gives the terminal another size; its programs get a signal. Without a terminal it is an
    /// error of the kind `Unsupported`.
    pub fn resize(&self, size: TerminalSize) -> io::Result<()> {
        if !self.is_terminal {
            return Err(io::ErrorKind::Unsupported.into());
        }
        let state = self.process.lock();
        let Some(terminal) = state.streams.first().and_then(|stream| stream.fd.as_ref()) else {
            return Ok(());
        };
        let size = Winsize { ws_row: size.rows, ws_col: size.columns, ws_xpixel: 0, ws_ypixel: 0 };
        Ok(tcsetwinsize(terminal, size)?)
    }

    /// Has the kernel asked until the result is dropped: where the process listens, whether it waits for
    /// input. Without that, neither is known.
    #[must_use]
    pub fn watch(&self, facts: WatchedFacts) -> Watching {
        Watching::start(&self.process, facts)
    }

    /// The TCP ports at which processes of this process listen, in ascending order; those of no other
    /// process. Known while they are watched, a moment after that has begun.
    #[must_use]
    pub fn ports(&self) -> Option<Vec<u16>> {
        self.process.lock().watches.ports().map(<[u16]>::to_vec)
    }

    /// Whether the process waits for input. Known while that is watched, a moment after that has begun or
    /// input was given.
    #[must_use]
    pub fn input_state(&self) -> Option<InputState> {
        self.process.lock().watches.input()
    }

    /// Opens an address of the host's loopback interface that leads to a port of the process. Everybody on
    /// this machine reaches it.
    pub fn preview(&self, port: u16) -> io::Result<Preview> {
        relay::open(Reactor::get()?, &self.process, port)
    }

    /// How it ended, if it has.
    #[must_use]
    pub fn end(&self) -> Option<ProcessEnd> {
        self.process.lock().end.clone()
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.kill();
    }
}

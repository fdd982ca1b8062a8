//! Where one thread of a search writes down what it finds, before it is handed over in order.

use std::cell::{Cell, RefCell};
use std::io::Write;
use std::path::Path;

use crate::board::{Board, Key};
use crate::findings::Findings;
use crate::records;
use crate::watch::Stopped;

/// So much is held before it is handed over, or waits for its turn to be.
const HELD: usize = 64 << 10;

pub(crate) struct Desk<'a> {
    board: &'a Board<'a>,
    findings: RefCell<Findings>,
    /// The task at hand where there are several threads. Without, everything is in order already.
    task: RefCell<Option<Key>>,
    held: usize,
    /// Whether anything more is wanted.
    closed: Cell<bool>,
    /// Why handing over was given up.
    stopped: Cell<Option<Stopped>>,
    work: Cell<usize>,
}

impl<'a> Desk<'a> {
    pub(crate) fn new(board: &'a Board<'a>) -> Self {
        Self {
            board,
            findings: RefCell::new(Findings::new(board.limit())),
            task: RefCell::default(),
            held: HELD.min(board.limit()),
            closed: Cell::default(),
            stopped: Cell::default(),
            work: Cell::default(),
        }
    }

    /// What comes now is from this path.
    pub(crate) fn enter(&self, path: &Path) {
        self.findings.borrow_mut().enter(path);
    }

    /// Takes a matching line of the file at hand. False: nothing more is wanted.
    pub(crate) fn found(&self, path: &[u8], number: u64, line: &[u8]) -> bool {
        self.numbered(path, b":", number, line)
    }

    /// The same, as a record.
    pub(crate) fn record(&self, path: &[u8], number: u64, line: &[u8]) -> bool {
        self.numbered(&records::encoded(path), b"\0", number, line)
    }

    fn numbered(&self, path: &[u8], between: &[u8], number: u64, line: &[u8]) -> bool {
        let mut digits = [0; 20];
        let mut rest = &mut digits[..];
        let _ = write!(rest, "{number}"); // no number is longer
        let unused = rest.len();
        let number = &digits[..digits.len() - unused];
        let end: &[u8] = if line.ends_with(b"\n") { b"" } else { b"\n" };
        self.take_line(&[path, between, number, between, line, end], true)
    }

    /// Takes what there is to say about the file at hand.
    pub(crate) fn say(&self, path: &[u8], text: &str) {
        self.take_line(&[path, b": ", text.as_bytes(), b"\n"], false);
    }

    /// Takes a line and ends it.
    pub(crate) fn line(&self, line: &[u8]) -> bool {
        self.take_line(&[line, b"\n"], true)
    }

    fn take_line(&self, pieces: &[&[u8]], matched: bool) -> bool {
        let mut findings = self.findings.borrow_mut();
        for piece in pieces {
            findings.push(piece);
        }
        findings.commit(matched);
        if findings.output_size() < self.held && !findings.is_closed() {
            return true;
        }
        self.hand_over(&mut findings)
    }

    fn hand_over(&self, findings: &mut Findings) -> bool {
        match self.board.append(self.task.borrow().as_ref(), findings) {
            Ok(more) => self.closed.set(!more),
            Err(stopped) => {
                self.stopped.set(Some(stopped));
                self.closed.set(true);
            }
        }
        !self.closed.get()
    }

    pub(crate) fn skip(&self, path: &Path, reason: String) {
        self.findings.borrow_mut().skip(path.to_owned(), reason);
    }

    /// Why nothing more was wanted, unless it is that the output is full.
    pub(crate) fn stopped(&self) -> Option<Stopped> {
        self.stopped.get()
    }

    /// After a file. Without other threads its lines are handed over at once, so that no file is
    /// opened after the one in which the output became full.
    pub(crate) fn file_done(&self) -> bool {
        !self.closed.get() && (self.task.borrow().is_some() || self.flush())
    }

    /// Hands over what there is. False: nothing more is wanted.
    pub(crate) fn flush(&self) -> bool {
        let mut findings = self.findings.borrow_mut();
        if findings.is_empty() { !self.closed.get() } else { self.hand_over(&mut findings) }
    }

    /// Counts a file or a directory that was opened.
    pub(crate) fn count(&self) {
        self.work.set(self.work.get() + 1);
    }

    /// How many files and directories were opened.
    pub(crate) fn work(&self) -> usize {
        self.work.get()
    }

    /// Turns to a task; `None` is the one in order.
    pub(crate) fn turn_to(&self, task: Option<Key>) {
        self.task.replace(task);
    }

    /// What was found and not handed over.
    pub(crate) fn take(&self) -> Findings {
        self.findings.replace(Findings::new(self.board.limit()))
    }
}

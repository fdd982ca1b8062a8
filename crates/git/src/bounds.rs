//! How much of a command's objects is read.

use std::time::{Duration, Instant};
use std::{fmt, io};

/// How much is read before the whole is refused.
#[derive(Debug, Clone)]
pub struct Bounds {
    /// Entries of all directories together.
    pub entries: usize,
    /// Loose objects that the repository does not have.
    pub loose_objects: usize,
    /// Bytes of all loose objects together, compressed or not.
    pub loose_bytes: u64,
    /// Packs. Two files are open for each.
    pub packs: usize,
    /// Objects of all packs together. Each takes about 70 bytes of memory while its pack is read.
    pub pack_objects: u64,
    /// Bytes of all packs together, as they are.
    pub pack_bytes: u64,
    /// Bytes of the objects of all packs together.
    pub inflated_bytes: u64,
    /// References to objects that the repository does not have.
    pub references: usize,
    /// Bytes of one blob. A larger one is left out, and so is a pack that has it.
    pub blob_bytes: u64,
    /// Bytes of one commit, tree or tag. A larger one is left out, and so is a pack that has it.
    pub text_bytes: u64,
    /// Time.
    pub time: Duration,
    /// So many of the files that were left out are named.
    pub named: usize,
}

impl Default for Bounds {
    fn default() -> Self {
        Self {
            entries: 400_000,
            loose_objects: 200_000,
            loose_bytes: 2 << 30,
            packs: 200,
            pack_objects: 4_000_000,
            pack_bytes: 4 << 30,
            inflated_bytes: 64 << 30,
            references: 8_000_000,
            blob_bytes: 2 << 30,
            text_bytes: 16 << 20,
            time: Duration::from_secs(60),
            named: 100,
        }
    }
}

/// A bound of the whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Bound {
    /// [`Bounds::entries`].
    Entries,
    /// [`Bounds::loose_objects`].
    LooseObjects,
    /// [`Bounds::loose_bytes`].
    LooseBytes,
    /// [`Bounds::packs`].
    Packs,
    /// [`Bounds::pack_objects`].
    PackObjects,
    /// [`Bounds::pack_bytes`].
    PackBytes,
    /// [`Bounds::inflated_bytes`].
    InflatedBytes,
    /// [`Bounds::references`].
    References,
    /// [`Bounds::time`].
    Time,
}

impl fmt::Display for Bound {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Entries => "entries of directories",
            Self::LooseObjects => "loose objects",
            Self::LooseBytes => "bytes of loose objects",
            Self::Packs => "packs",
            Self::PackObjects => "objects in packs",
            Self::PackBytes => "bytes of packs",
            Self::InflatedBytes => "bytes of objects in packs",
            Self::References => "references between objects",
            Self::Time => "time",
        })
    }
}

/// Why nothing of a command's objects is accepted.
#[derive(Debug, thiserror::Error)]
pub enum Problem {
    /// They are more than a bound allows.
    #[error("too much of it: {0}")]
    Bound(Bound),
    /// The repository's own objects could not be read, or nothing could be written beside them.
    #[error(transparent)]
    Io(#[from] io::Error),
}

/// What is left of the bounds.
#[derive(Debug)]
pub(crate) struct Budget {
    left: Bounds,
    deadline: Instant,
}

impl Budget {
    pub(crate) fn new(bounds: &Bounds) -> Self {
        Self { left: bounds.clone(), deadline: Instant::now() + bounds.time }
    }

    /// What is left. Limits of one object stay as they are.
    pub(crate) fn left(&self) -> &Bounds {
        &self.left
    }

    /// Takes from what is left of a bound.
    pub(crate) fn take(&mut self, bound: Bound, amount: u64) -> Result<(), Problem> {
        let taken = match bound {
            Bound::Entries => count(&mut self.left.entries, amount),
            Bound::LooseObjects => count(&mut self.left.loose_objects, amount),
            Bound::Packs => count(&mut self.left.packs, amount),
            Bound::References => count(&mut self.left.references, amount),
            Bound::LooseBytes => number(&mut self.left.loose_bytes, amount),
            Bound::PackObjects => number(&mut self.left.pack_objects, amount),
            Bound::PackBytes => number(&mut self.left.pack_bytes, amount),
            Bound::InflatedBytes => number(&mut self.left.inflated_bytes, amount),
            Bound::Time => Some(()),
        };
        taken.ok_or(Problem::Bound(bound))?;
        self.check_time()
    }

    /// When the time has gone.
    pub(crate) fn deadline(&self) -> Instant {
        self.deadline
    }

    pub(crate) fn check_time(&self) -> Result<(), Problem> {
        if Instant::now() < self.deadline { Ok(()) } else { Err(Problem::Bound(Bound::Time)) }
    }
}

fn count(left: &mut usize, amount: u64) -> Option<()> {
    *left = left.checked_sub(usize::try_from(amount).ok()?)?;
    Some(())
}

fn number(left: &mut u64, amount: u64) -> Option<()> {
    *left = left.checked_sub(amount)?;
    Some(())
}

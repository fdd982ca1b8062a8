//! Systems without overlays have no forks.

use std::path::Path;
use std::sync::atomic::AtomicBool;

use toolwright_fs::DirectoryGrant;

use super::{Action, OpenInput, StoredInput};
use crate::code::Code;
use crate::failure::{Failure, Unfinished};
use crate::voice::forks::NO_OVERLAY;

/// A fork that tools work in. There is none.
#[derive(Debug)]
pub struct Forked;

fn refused() -> Unfinished {
    let summary = "No fork can be made of the directory: this system has no overlays";
    Failure::without_place(Code::ForkUnavailable, summary).with_hint(NO_OVERLAY).into()
}

impl Forked {
    /// Fails.
    pub fn open(_: &OpenInput) -> Result<Self, Unfinished> {
        Err(refused())
    }

    /// Fails.
    pub fn facts(&self) -> Result<String, Unfinished> {
        Err(refused())
    }

    /// `None`.
    #[must_use]
    pub fn grant(&self) -> Option<DirectoryGrant> {
        None
    }

    /// Fails.
    pub fn act(&self, _: &Action, _: &AtomicBool) -> Result<String, Unfinished> {
        Err(refused())
    }

    /// There is nothing to leave.
    pub fn leave(&self) {}

    /// Fails.
    pub fn close(&self) -> Result<(), Unfinished> {
        Err(refused())
    }
}

impl StoredInput {
    /// Fails.
    pub fn run(&self, _: &AtomicBool) -> Result<String, Unfinished> {
        Err(refused())
    }
}

/// Fails.
pub fn list(_: Option<&Path>, _: Option<&Path>) -> Result<String, Unfinished> {
    Err(refused())
}

/// Fails.
pub fn collect(_: Option<&Path>, _: Option<u64>) -> Result<String, Unfinished> {
    Err(refused())
}

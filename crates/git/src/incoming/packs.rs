//! Reading packs.

use std::ffi::OsStr;
use std::io;
use std::path::Path;

use rustix::fs::FileType;

use super::{Fault, Reader, Reason, below};
use crate::bounds::{Bound, Problem};
use crate::directory::ReadError;
use crate::object::Id;
use crate::pack::{Received, receive};

/// What git derives from packs, or keeps beside them. None of it comes back.
const DERIVED: [&str; 8] =
    [".idx", ".rev", ".bitmap", ".midx", ".keep", ".promisor", ".mtimes", ".lock"];

impl Reader<'_, '_> {
    pub(super) fn read_packs(&mut self) -> Result<(), Problem> {
        let mut entries = self.list("pack")?;
        while let Some((name, kind)) = self.next(&mut entries, "pack")? {
            let path = below("pack", &name);
            match (is_pack(&name), kind) {
                (_, FileType::CharacterDevice) => {}
                // An overlay copies a pack that git has touched. Its name is the sum of its content.
                (true, _) if self.has_pack(&path)? => {}
                (true, FileType::RegularFile | FileType::Unknown) => match self.read_pack(&path) {
                    Ok(pack) if pack.is_known() => {}
                    Ok(pack) => self.incoming.packs.push(Some(pack)),
                    Err(fault) => self.refuse(&path, fault)?,
                },
                (true, _) => self.leave_out(&path, Reason::WrongKind),
                (false, _) if is_derived(&name) => {}
                (false, _) => self.leave_out(&path, Reason::Unknown),
            }
        }
        Ok(())
    }

    /// Whether the repository has a pack of this name, and its index.
    fn has_pack(&self, path: &Path) -> Result<bool, Problem> {
        let Some(directory) = self.incoming.base.directory() else { return Ok(false) };
        let has = |path: &Path| match directory.file(path) {
            Ok(file) => Ok(file.is_some()),
            Err(ReadError::Io(error)) => Err(error),
            Err(_) => Ok(false),
        };
        Ok(has(path)? && has(&path.with_extension("idx"))?)
    }

    fn read_pack(&mut self, path: &Path) -> Result<Received, Fault> {
        self.budget.take(Bound::Packs, 1)?;
        let opened = self.added.file(path).map_err(Reason::from)?;
        let (file, stat) = opened.ok_or(Reason::Unreadable(io::ErrorKind::NotFound.into()))?;
        let length = u64::try_from(stat.st_size).unwrap_or(0);
        if length > self.budget.left().pack_bytes {
            return Err(Problem::Bound(Bound::PackBytes).into());
        }
        let base = self.incoming.base;
        let staging = base.directory().ok_or(Reason::Missing)?;
        let mut pack = receive(&file, length, staging, &mut self.budget, self.borders, |id| {
            base.contains(id)
        })?;
        let references = self.unsatisfied(pack.take_references())?;
        pack.set_references(references);
        // Without the mark, git would miss what a partial clone lacks.
        let mark = path.with_extension("promisor");
        if self.borders.is_partial && matches!(self.added.file(mark), Ok(Some(_))) {
            pack.set_promised(staging).map_err(Problem::from)?;
        }
        Ok(pack)
    }
}

/// Whether a file is named `pack-`, 40 digits, `.pack`.
fn is_pack(name: &OsStr) -> bool {
    let name = name.as_encoded_bytes();
    let hex = name.strip_prefix(b"pack-").and_then(|rest| rest.strip_suffix(b".pack"));
    hex.is_some_and(|hex| Id::from_hex(hex).is_ok())
}

fn is_derived(name: &OsStr) -> bool {
    let name = name.as_encoded_bytes();
    name.starts_with(b"tmp_")
        || name.starts_with(b".tmp-")
        || name == b"multi-pack-index"
        || name == b"multi-pack-index.d"
        || DERIVED.iter().any(|extension| name.ends_with(extension.as_bytes()))
}

//! Objects that a new repository borrows from one of the host.
//!
//! A fork borrows the objects of the repository that it is of, so a clone of it on the same machine borrows
//! them as well. The host gives the new repository links to these files, as `git clone` does outside.

use std::ffi::OsStr;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustix::fs::{AtFlags, FileType, linkat};
use rustix::io::Errno;

use super::skeleton::failed;
use crate::directory::Directory;
use crate::import::Terms;
use crate::import::read::Failure;
use crate::loose;
use crate::object::Id;
use crate::temporary::Temporary;
use crate::transaction::failpoint;
use crate::upper::Upper;

/// The file that names directories of objects.
const ALTERNATES: &str = "objects/info/alternates";
/// No longer one is read.
const MAX_ALTERNATES: u64 = 64 << 10;
/// So many objects and packs are linked.
const MAX_FILES: usize = 1_000_000;

/// Where the directories lie from which a command's repository borrows. All have to be of the host.
pub(super) fn lenders(upper: &Upper, terms: &Terms<'_>) -> Result<Vec<PathBuf>, Failure> {
    let text = upper.read(ALTERNATES, MAX_ALTERNATES)?.unwrap_or_default();
    let lines = text.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
    lines
        .map(|line| {
            let path = Path::new(OsStr::from_bytes(line));
            let lent = terms.lent.iter().find(|(shown, _)| shown == path);
            lent.map(|(_, lies)| lies.clone()).ok_or_else(|| {
                failed(
                    "it borrows objects from another repository: git clone --no-local copies them",
                )
            })
        })
        .collect()
}

/// Links every object of a directory of the host into a new one.
pub(super) fn link_all(lender: &Path, objects: &Directory) -> Result<(), Failure> {
    let lender = Directory::open(lender)?;
    if lender.read("info/alternates", MAX_ALTERNATES)?.is_some_and(|text| !text.is_empty()) {
        return Err(failed(
            "it borrows objects over two repositories: git clone --no-local copies them",
        ));
    }
    let mut left = MAX_FILES;
    for entry in lender.entries(".", left)?.unwrap_or_default() {
        let Some(name) = entry.name.to_str().filter(|_| entry.kind == FileType::Directory) else {
            continue;
        };
        let Some(from) = lender.below(name)? else { continue };
        let mut files = from.entries(".", left)?.unwrap_or_default();
        files.retain(|file| is_object(name, &file.name));
        // A pack without its index is none.
        files.sort_by_key(|file| Path::new(&file.name).extension() == Some("idx".as_ref()));
        left -= files.len();
        if files.iter().any(|file| Path::new(&file.name).extension() == Some("promisor".as_ref())) {
            return Err(failed("it borrows objects from a clone with a filter, which lacks some"));
        }
        if files.is_empty() {
            continue;
        }
        let to = Arc::new(loose::subdirectory(objects, name)?);
        for file in files {
            link(&from, &file.name, &to)?;
        }
    }
    Ok(())
}

/// Whether a file is an object or a pack.
fn is_object(directory: &str, name: &OsStr) -> bool {
    if directory != "pack" {
        return loose::id(directory, name).is_some();
    }
    let path = Path::new(name);
    let stem = path.file_stem().and_then(OsStr::to_str).and_then(|it| it.strip_prefix("pack-"));
    stem.is_some_and(|hex| Id::from_hex(hex.as_bytes()).is_ok())
        && ["pack", "idx", "promisor"].iter().any(|it| path.extension() == Some(it.as_ref()))
}

fn link(from: &Directory, name: &OsStr, to: &Arc<Directory>) -> Result<(), Failure> {
    failpoint::pass();
    match linkat(from, name, &**to, name, AtFlags::empty()) {
        Ok(()) | Err(Errno::EXIST | Errno::NOENT) => Ok(()),
        // Another file system, or one without links.
        Err(Errno::XDEV | Errno::PERM | Errno::OPNOTSUPP | Errno::MLINK) => {
            let Some((mut file, _)) = from.file(name)? else { return Ok(()) };
            let (temporary, mut copy) = Temporary::create(to, "tmp_obj_", 0o444)?;
            io::copy(&mut file, &mut copy)?;
            let name = name.to_str().ok_or_else(|| failed("an object has no name"))?;
            temporary.publish(to, name)?;
            Ok(())
        }
        Err(errno) => Err(io::Error::from(errno).into()),
    }
}

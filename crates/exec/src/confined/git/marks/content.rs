//! What a mark says.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::os::fd::AsFd;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use rustix::fs::{AtFlags, StatxFlags, fstatfs, statx};
use sha2::{Digest, Sha256};
use toolwright_git::directory::Directory;
use toolwright_git::discovery::Sign;

use super::super::known::{Known, Place};
use super::super::set_aside::{Identity, identity_at};

/// The format. One with another beginning is not read.
const MAGIC: &[u8; 8] = b"twmark1\n";
/// How many places a mark has room for. There are not more directories than that in a look.
const MAX_PLACES: usize = 1_000_000;
/// How many absent paths it has room for.
const MAX_PATHS: usize = 10_000;
/// A mark is not longer.
pub(super) const MAX_BYTES: u64 = (MAX_PLACES * 2 * HASH + MAX_PATHS * 512) as u64;
const HASH: usize = 16;
/// `OVERLAYFS_SUPER_MAGIC`.
const OVERLAY: u64 = 0x794c_7630;

/// The beginning of a digest: no other text with it can be found.
type Hash = [u8; HASH];

/// Which directory a mark is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in super::super) struct TopId {
    path: Hash,
    identity: Identity,
    /// When it was made, where the file system tells that and keeps it.
    birth: Option<(i64, u32)>,
}

/// What is known of a person's places when a command begins.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in super::super) struct Content {
    pub(super) top: TopId,
    /// Device and inode numbers mean something until the system starts again.
    boot: String,
    /// What lay at absent paths, which begin at the top.
    pub(in super::super) beside: BTreeMap<PathBuf, Option<Identity>>,
    /// Each place, with its identity and without.
    places: BTreeSet<Hash>,
}

impl TopId {
    pub(in super::super) fn of(top: &Directory, path: &Path) -> Option<Self> {
        let identity = identity_at(top, ".")?;
        let stat = statx(top, c"", AtFlags::EMPTY_PATH, StatxFlags::BTIME).ok()?;
        let has_time = StatxFlags::from_bits_retain(stat.stx_mask).contains(StatxFlags::BTIME);
        // An overlay tells another time when it has copied the directory.
        let is_kept = has_time && !is_overlay(top);
        let birth = is_kept.then_some((stat.stx_btime.tv_sec, stat.stx_btime.tv_nsec));
        Some(Self { path: digest(&[path.as_os_str().as_bytes()]), identity, birth })
    }

    /// The number by which marks of a directory are found.
    pub(super) fn inode(&self) -> u64 {
        self.identity.1
    }

    /// Whether it is the same directory, which may have been renamed and may be on another device by now.
    pub(super) fn is(&self, other: &Self) -> bool {
        self.identity.1 == other.identity.1
            && match (self.birth, other.birth) {
                (Some(own), Some(other)) => own == other,
                _ => self.path == other.path,
            }
    }
}

fn is_overlay(directory: impl AsFd) -> bool {
    fstatfs(directory).is_ok_and(|found| u64::try_from(found.f_type) == Ok(OVERLAY))
}

/// `None`: the system does not say.
fn boot() -> &'static str {
    static BOOT: OnceLock<String> = OnceLock::new();
    BOOT.get_or_init(|| toolwright_process::Identity::current().boot)
}

impl Content {
    /// `None`: there is more than a mark has room for.
    pub(in super::super) fn new<'k>(
        top: TopId,
        beside: BTreeMap<PathBuf, Option<Identity>>,
        places: impl Iterator<Item = (&'k Place, &'k Known)>,
    ) -> Option<Self> {
        let mut all = BTreeSet::new();
        for (place, known) in places {
            all.extend([exact(place, known), loose(place, known)]);
        }
        let has_room = all.len() <= MAX_PLACES * 2 && beside.len() <= MAX_PATHS;
        has_room.then(|| Self { top, boot: boot().to_owned(), beside, places: all })
    }

    /// Whether numbers of devices and inodes are those of now.
    pub(in super::super) fn is_of_now(&self, top: &TopId) -> bool {
        !self.boot.is_empty() && self.boot == boot() && self.top.identity == top.identity
    }

    /// Whether a place was a person's.
    pub(in super::super) fn has(&self, place: &Place, known: &Known, is_of_now: bool) -> bool {
        let hash = if is_of_now { exact(place, known) } else { loose(place, known) };
        self.places.contains(&hash)
    }

    pub(super) fn bytes(&self) -> Vec<u8> {
        let mut body = Vec::with_capacity(256 + self.places.len() * HASH);
        let number = |body: &mut Vec<u8>, number: u64| body.extend(number.to_le_bytes());
        let text = |body: &mut Vec<u8>, text: &[u8]| {
            number(body, text.len() as u64);
            body.extend(text);
        };
        body.extend(self.top.path);
        number(&mut body, self.top.identity.0);
        number(&mut body, self.top.identity.1);
        let (seconds, nanoseconds) = self.top.birth.unwrap_or_default();
        number(&mut body, u64::from(self.top.birth.is_some()));
        number(&mut body, seconds.cast_unsigned());
        number(&mut body, u64::from(nanoseconds));
        text(&mut body, self.boot.as_bytes());
        number(&mut body, self.beside.len() as u64);
        for (path, identity) in &self.beside {
            text(&mut body, path.as_os_str().as_bytes());
            let (device, inode) = identity.unwrap_or_default();
            number(&mut body, u64::from(identity.is_some()));
            number(&mut body, device);
            number(&mut body, inode);
        }
        number(&mut body, self.places.len() as u64);
        self.places.iter().for_each(|hash| body.extend(hash));
        [&MAGIC[..], &Sha256::digest(&body)[..], &body[..]].concat()
    }

    /// `None`: it is not whole, or of another format.
    pub(super) fn read(bytes: &[u8]) -> Option<Self> {
        let rest = bytes.strip_prefix(MAGIC)?;
        let (sum, body) = rest.split_at_checked(32)?;
        if sum != &Sha256::digest(body)[..] {
            return None;
        }
        let mut left = Left(body);
        let path = left.hash()?;
        let identity = (left.number()?, left.number()?);
        let has_birth = left.number()? != 0;
        let birth = (left.number()?.cast_signed(), u32::try_from(left.number()?).ok()?);
        let top = TopId { path, identity, birth: has_birth.then_some(birth) };
        let boot = String::from_utf8(left.text()?.to_vec()).ok()?;
        let mut beside = BTreeMap::new();
        for _ in 0..left.number()? {
            let path = PathBuf::from(OsString::from_vec(left.text()?.to_vec()));
            let (was_there, identity) = (left.number()? != 0, (left.number()?, left.number()?));
            beside.insert(path, was_there.then_some(identity));
        }
        let mut places = BTreeSet::new();
        for _ in 0..left.number()? {
            places.insert(left.hash()?);
        }
        left.0.is_empty().then_some(Self { top, boot, beside, places })
    }
}

/// What was not read yet.
struct Left<'b>(&'b [u8]);

impl<'b> Left<'b> {
    fn take(&mut self, count: usize) -> Option<&'b [u8]> {
        let (taken, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        Some(taken)
    }

    fn number(&mut self) -> Option<u64> {
        Some(u64::from_le_bytes(self.take(8)?.try_into().ok()?))
    }

    fn hash(&mut self) -> Option<Hash> {
        self.take(HASH)?.try_into().ok()
    }

    fn text(&mut self) -> Option<&'b [u8]> {
        let length = usize::try_from(self.number()?).ok()?;
        self.take(length)
    }
}

fn exact(place: &Place, known: &Known) -> Hash {
    let (device, inode) = known.identity;
    let identity = [device.to_le_bytes(), inode.to_le_bytes()].concat();
    of_place(place, known, &identity)
}

fn loose(place: &Place, known: &Known) -> Hash {
    of_place(place, known, &[])
}

fn of_place((path, sign): &Place, known: &Known, identity: &[u8]) -> Hash {
    let sign = match sign {
        Sign::Directory => b"directory",
        Sign::File => b"file     ",
        Sign::Other => b"other    ",
        Sign::Bare => b"bare     ",
    };
    let lead = known.lead.as_deref().unwrap_or_default();
    digest(&[sign, path.as_os_str().as_bytes(), identity, lead])
}

fn digest(parts: &[&[u8]]) -> Hash {
    let mut hasher = Sha256::new();
    for part in parts {
        hasher.update((part.len() as u64).to_le_bytes());
        hasher.update(part);
    }
    let mut hash = Hash::default();
    hash.copy_from_slice(&hasher.finalize()[..HASH]);
    hash
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn content(paths: Vec<String>, places: Vec<(String, u64)>) -> Content {
        let top = TopId {
            path: digest(&[b"/x"]),
            identity: (1, 2),
            birth: paths.first().map(|_| (-3, 4)),
        };
        let beside = paths.into_iter().enumerate();
        let beside = beside
            .map(|(number, path)| (path.into(), (number % 2 == 0).then_some((5, 6))))
            .collect();
        let places: Vec<_> = places
            .into_iter()
            .map(|(path, inode)| {
                let lead = (inode % 2 == 0).then(|| path.clone().into_bytes());
                ((PathBuf::from(path), Sign::File), Known { identity: (1, inode), lead })
            })
            .collect();
        Content::new(top, beside, places.iter().map(|(place, known)| (place, known))).expect("room")
    }

    proptest! {
        #[test]
        fn what_is_written_is_read(
            paths in prop::collection::vec("\\PC{0,20}", 0..5),
            places in prop::collection::vec(("\\PC{0,20}", 0..9_u64), 0..20),
        ) {
            let content = content(paths, places);
            prop_assert_eq!(Content::read(&content.bytes()), Some(content));
        }

        /// A byte that is another one, and an end that is missing: neither is read.
        #[test]
        fn what_is_damaged_is_not_read(
            places in prop::collection::vec(("[a-z/]{0,20}", 0..9_u64), 0..9),
            at in any::<prop::sample::Index>(),
            bit in 0..8_u8,
        ) {
            let mut bytes = content(vec!["x".into()], places).bytes();
            let at = at.index(bytes.len());
            prop_assert_eq!(Content::read(&bytes[..at]), None);
            bytes[at] ^= 1 << bit;
            prop_assert_eq!(Content::read(&bytes), None);
        }
    }
}

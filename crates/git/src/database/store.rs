//! One directory of objects.

use std::ffi::{OsStr, OsString};
use std::io::{self, BufReader};
use std::os::fd::AsFd;
use std::os::unix::ffi::OsStrExt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

use rustix::fs::{AtFlags, FileType, Stat, statat};
use rustix::io::Errno;

use crate::directory::{Directory, ReadError};
use crate::inflate::Inflater;
use crate::loose::{self, Content, LooseError};
use crate::object::{Id, Kind};
use crate::pack::{Index, Pack, PackError};

/// So many packs are open at once.
const MAX_OPEN: usize = 128;
const MAX_LISTED: usize = 100_000;
/// A directory whose change is younger may change again without another time.
const UNSETTLED: Duration = Duration::from_millis(50);

/// A directory of objects, with the packs that are open.
#[derive(Debug)]
pub(super) struct Store {
    objects: Arc<Directory>,
    packs: Mutex<Packs>,
}

#[derive(Debug, Default)]
struct Packs {
    /// What the directory was when it was listed. `None`: it may have changed since.
    listed: Option<Version>,
    /// The pack that had the last object comes first.
    all: Vec<Listed>,
    clock: u64,
}

#[derive(Debug)]
struct Listed {
    /// Its name, without an extension.
    name: OsString,
    open: Option<Pack>,
    /// Git goes on without a pack that it cannot open.
    is_broken: bool,
    used: u64,
}

type Version = (u64, i64, u64);

impl Store {
    pub(super) fn new(objects: Directory) -> Self {
        Self { objects: Arc::new(objects), packs: Mutex::default() }
    }

    pub(super) fn directory(&self) -> &Arc<Directory> {
        &self.objects
    }

    pub(super) fn contains(&self, id: &Id) -> io::Result<bool> {
        if self.packed(id, |_, _| Ok(()))?.is_some() {
            return Ok(true);
        }
        match statat(self.objects.as_fd(), loose::path(id), AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => Ok(FileType::from_raw_mode(stat.st_mode).is_file()),
            Err(Errno::NOENT | Errno::NOTDIR) => {
                Ok(self.refresh()? && self.packed(id, |_, _| Ok(()))?.is_some())
            }
            Err(errno) => Err(errno.into()),
        }
    }

    pub(super) fn kind(&self, id: &Id) -> io::Result<Option<Kind>> {
        self.find(id, Pack::kind, |loose| Ok(loose.kind()))
    }

    pub(super) fn read(&self, id: &Id, limit: u64) -> io::Result<Option<(Kind, Vec<u8>)>> {
        let found = self.find(
            id,
            |pack, offset| pack.read(offset, limit),
            |loose| {
                let kind = loose.kind();
                Ok(loose.read_all(limit)?.map(|content| (kind, content)))
            },
        )?;
        match found {
            Some(None) => Err(io::ErrorKind::FileTooLarge.into()),
            found => Ok(found.flatten()),
        }
    }

    fn find<T>(
        &self,
        id: &Id,
        packed: impl Fn(&Pack, u64) -> Result<T, PackError>,
        loose: impl FnOnce(&mut Content<'_, BufReader<std::fs::File>>) -> Result<T, LooseError>,
    ) -> io::Result<Option<T>> {
        if let Some(found) = self.packed(id, &packed)? {
            return Ok(Some(found));
        }
        let file = match self.objects.file(loose::path(id)) {
            Ok(file) => file,
            Err(ReadError::Io(error)) => return Err(error),
            Err(_) => None,
        };
        if let Some((file, _)) = file {
            let mut inflater = Inflater::new();
            let input = BufReader::with_capacity(4 << 10, file);
            let read =
                Content::open(input, &mut inflater).and_then(|mut content| loose(&mut content));
            return read.map(Some).map_err(|error| match error {
                LooseError::Io(error) => error,
                error => io::Error::new(io::ErrorKind::InvalidData, error),
            });
        }
        if self.refresh()? { self.packed(id, packed) } else { Ok(None) }
    }

    /// Looks an object up in the packs.
    fn packed<T>(
        &self,
        id: &Id,
        read: impl Fn(&Pack, u64) -> Result<T, PackError>,
    ) -> io::Result<Option<T>> {
        let mut packs = self.packs();
        if packs.listed.is_none() {
            packs.list(&self.objects)?;
        }
        let mut failure = None;
        for position in 0..packs.all.len() {
            let found =
                packs.open(position, &self.objects).map_err(PackError::Io).and_then(|pack| {
                    let Some(pack) = pack else { return Ok(None) };
                    let Some(offset) = pack.find(id)? else { return Ok(None) };
                    read(pack, offset).map(Some)
                });
            match found {
                Ok(None) => {}
                Ok(found) => {
                    packs.all[..=position].rotate_right(1);
                    return Ok(found);
                }
                // Another pack may have it whole, as git looks for it.
                Err(PackError::Damaged(what)) => {
                    failure = Some(io::Error::new(io::ErrorKind::InvalidData, what));
                }
                Err(PackError::Io(error)) => failure = Some(error),
            }
        }
        failure.map_or(Ok(None), Err)
    }

    /// Lists the packs anew if their directory may have changed. `false`: it has not.
    fn refresh(&self) -> io::Result<bool> {
        let mut packs = self.packs();
        if packs.listed.is_some() && packs.listed == version(&self.objects)? {
            return Ok(false);
        }
        packs.list(&self.objects)?;
        Ok(true)
    }

    fn packs(&self) -> MutexGuard<'_, Packs> {
        self.packs.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Packs {
    fn list(&mut self, objects: &Directory) -> io::Result<()> {
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        let version = version(objects)?;
        let entries = objects.entries("pack", MAX_LISTED).map_err(loose::refused)?;
        let mut before = std::mem::take(&mut self.all);
        for entry in entries.unwrap_or_default() {
            let Some(name) = entry.name.as_bytes().strip_suffix(b".idx") else { continue };
            let name = OsStr::from_bytes(name).to_owned();
            let known = before.iter().position(|pack| pack.name == name);
            self.all.push(match known {
                Some(position) => before.swap_remove(position),
                None => Listed { name, open: None, is_broken: false, used: 0 },
            });
        }
        let settled = |(_, seconds, nanoseconds): &Version| {
            let changed = Duration::new(
                u64::try_from(*seconds).unwrap_or(0),
                u32::try_from(*nanoseconds).unwrap_or(0),
            );
            changed + UNSETTLED < now
        };
        // Without a directory, there is no time of change either: it may come at any moment.
        self.listed = version.filter(settled);
        Ok(())
    }

    /// The pack at a position. `None`: it is broken, or garbage collection has removed it.
    fn open(&mut self, position: usize, objects: &Directory) -> io::Result<Option<&Pack>> {
        self.clock += 1;
        if self.all[position].open.is_none() && !self.all[position].is_broken {
            self.close_oldest();
            match open(&self.all[position].name, objects) {
                Ok(pack) => self.all[position].open = pack,
                Err(PackError::Io(error)) => return Err(error),
                Err(PackError::Damaged(_)) => self.all[position].is_broken = true,
            }
        }
        let listed = &mut self.all[position];
        listed.used = self.clock;
        Ok(listed.open.as_ref())
    }

    /// Makes room for another open pack.
    fn close_oldest(&mut self) {
        let open = self.all.iter_mut().filter(|pack| pack.open.is_some());
        let mut open: Vec<&mut Listed> = open.collect();
        if open.len() >= MAX_OPEN
            && let Some(oldest) = open.iter_mut().min_by_key(|pack| pack.used)
        {
            oldest.open = None;
        }
    }
}

fn open(name: &OsStr, objects: &Directory) -> Result<Option<Pack>, PackError> {
    let file = |extension: &str| {
        let mut path = OsString::from("pack/");
        path.push(name);
        path.push(extension);
        Ok::<_, PackError>(objects.file(path).map_err(loose::refused)?.map(|(file, _)| file))
    };
    let (Some(index), Some(data)) = (file(".idx")?, file(".pack")?) else { return Ok(None) };
    Pack::new(Index::open(index)?, data).map(Some)
}

/// What the directory of packs is now. `None`: there is none.
fn version(objects: &Directory) -> io::Result<Option<Version>> {
    match statat(objects.as_fd(), "pack", AtFlags::SYMLINK_NOFOLLOW) {
        Ok(Stat { st_ino, st_mtime, st_mtime_nsec, .. }) => {
            Ok(Some((st_ino, st_mtime, st_mtime_nsec)))
        }
        Err(Errno::NOENT) => Ok(None),
        Err(errno) => Err(errno.into()),
    }
}

//! The contents of files: hashed, compressed, stored once.

use std::fs::File;
use std::io::{Read, Write};
use std::path::Path;

use rusqlite::{Connection, OptionalExtension};
use sha2::{Digest, Sha256};

use crate::CheckpointError;
use crate::error::{Result, Tx, corrupt};
use crate::look::{Look, UNSETTLED, now};
use crate::state::Hash;

/// A larger content is stored in chunks of this size, so that it is never in memory as a whole.
pub(crate) const CHUNK_BYTES: usize = 4 << 20;
/// How often to read a file that changes meanwhile.
const MAX_READS: usize = 3;
/// Compressing less is not worth it.
const MIN_COMPRESSED: usize = 64;

const RAW: i64 = 0;
const LZ4: i64 = 1;
/// The data are in chunks.
const CHUNKED: i64 = 2;

/// Bytes as they are stored.
#[derive(Debug)]
pub(crate) struct Packed {
    coding: i64,
    data: Vec<u8>,
    size: usize,
}

impl Packed {
    /// Of the bytes themselves.
    pub(crate) fn size(&self) -> usize {
        self.size
    }

    pub(crate) fn new(bytes: Vec<u8>) -> Self {
        let size = bytes.len();
        if size >= MIN_COMPRESSED {
            let data = lz4_flex::block::compress(&bytes);
            if data.len() < size - size / 16 {
                return Self { coding: LZ4, data, size };
            }
        }
        Self { coding: RAW, data: bytes, size }
    }
}

/// What was read of a file.
#[derive(Debug)]
pub(crate) enum Reading {
    /// The content that was known already.
    Same,
    /// Another content.
    Small(Hash, Packed),
    /// Another content, which is stored from the file.
    Large(File),
}

/// A file as it was read.
#[derive(Debug)]
pub(crate) struct ReadFile {
    pub(crate) look: Look,
    /// The time of change to remember.
    pub(crate) ctime: i64,
    pub(crate) reading: Reading,
}

/// Reads a file. `known` is the content that it had before.
pub(crate) fn read(mut file: File, known: Option<&Hash>) -> std::io::Result<ReadFile> {
    let mut tries = 1;
    loop {
        let started = now();
        let before = Look::of(&rustix::fs::fstat(&file)?);
        if before.size > CHUNK_BYTES as u64 {
            if known.is_some_and(|known| hash_of(&mut file).is_ok_and(|hash| hash == *known)) {
                let ctime = settled(&file, &before, started);
                return Ok(ReadFile { look: before, ctime, reading: Reading::Same });
            }
            return Ok(ReadFile { look: before, ctime: UNSETTLED, reading: Reading::Large(file) });
        }
        let mut bytes = Vec::with_capacity(usize::try_from(before.size).unwrap_or(0) + 1);
        rewind(&mut file)?;
        (&file).take(CHUNK_BYTES as u64 + 1).read_to_end(&mut bytes)?;
        let ctime = settled(&file, &before, started);
        let after = Look::of(&rustix::fs::fstat(&file)?);
        if after != before && tries < MAX_READS || bytes.len() > CHUNK_BYTES {
            tries += 1;
            continue;
        }
        let hash: Hash = Sha256::digest(&bytes).into();
        let reading = if known == Some(&hash) {
            Reading::Same
        } else {
            Reading::Small(hash, Packed::new(bytes))
        };
        return Ok(ReadFile { look: before, ctime, reading });
    }
}

/// The time of change to remember of a file that was read from `started` on.
fn settled(file: &File, before: &Look, started: i64) -> i64 {
    match rustix::fs::fstat(file) {
        Ok(stat) if Look::of(&stat) == *before => before.ctime_if_settled(started),
        _ => UNSETTLED,
    }
}

fn rewind(file: &mut File) -> std::io::Result<()> {
    std::io::Seek::rewind(file)
}

/// The hash of a whole file.
pub(crate) fn hash_of(file: &mut File) -> std::io::Result<Hash> {
    rewind(file)?;
    let mut hasher = Sha256::new();
    let mut buffer = vec![0; 64 << 10];
    // What grows as fast as it is read would never end. One byte more makes it another content.
    let mut file = file.take(file.metadata()?.len().saturating_add(1));
    loop {
        match file.read(&mut buffer)? {
            0 => return Ok(hasher.finalize().into()),
            count => hasher.update(&buffer[..count]),
        }
    }
}

/// Stores a content unless it is there, and gives its number.
pub(crate) fn store(connection: &Connection, hash: &Hash, packed: &Packed) -> Tx<i64> {
    if let Some(id) = find(connection, hash)? {
        return Ok(id);
    }
    let Packed { coding, data, size } = packed;
    insert(connection, hash, *size as u64, *coding, Some(data))
}

/// As [`store`], from a file, with its size and hash.
pub(crate) fn store_large(connection: &Connection, mut file: File) -> Tx<(i64, u64, Hash)> {
    // Under a number of its own until the hash is known, which is when the end was read.
    let mut hasher = Sha256::new();
    let mut size = 0;
    let provisional: Hash = *b"a content that is being written.";
    connection.execute("DELETE FROM checkpoint_contents WHERE hash = ?1", [&provisional[..]])?;
    let id = insert(connection, &provisional, 0, CHUNKED, None)?;
    let failed = |source| CheckpointError::File { path: "".into(), operation: "reading", source };
    rewind(&mut file).map_err(failed)?;
    // What grows as fast as it is read would never end.
    let length = file.metadata().map_err(failed)?.len();
    let mut file = (&file).take(length);
    for seq in 0_i64.. {
        let mut bytes = Vec::with_capacity(CHUNK_BYTES);
        (&mut file).take(CHUNK_BYTES as u64).read_to_end(&mut bytes).map_err(failed)?;
        if bytes.is_empty() {
            break;
        }
        hasher.update(&bytes);
        size += bytes.len() as u64;
        let Packed { coding, data, size } = Packed::new(bytes);
        connection
            .prepare_cached("INSERT INTO checkpoint_chunks VALUES (?1, ?2, ?3, ?4, ?5)")?
            .execute((id, seq, coding, size as u64, data))?;
    }
    let hash: Hash = hasher.finalize().into();
    if let Some(found) = find(connection, &hash)? {
        connection.execute("DELETE FROM checkpoint_chunks WHERE content = ?1", [id])?;
        connection.execute("DELETE FROM checkpoint_contents WHERE id = ?1", [id])?;
        return Ok((found, size, hash));
    }
    connection.execute(
        "UPDATE checkpoint_contents SET hash = ?2, size = ?3 WHERE id = ?1",
        (id, &hash[..], size),
    )?;
    Ok((id, size, hash))
}

fn find(connection: &Connection, hash: &Hash) -> Tx<Option<i64>> {
    let mut statement =
        connection.prepare_cached("SELECT id FROM checkpoint_contents WHERE hash = ?1")?;
    Ok(statement.query_row([&hash[..]], |row| row.get(0)).optional()?)
}

fn insert(
    connection: &Connection,
    hash: &Hash,
    size: u64,
    coding: i64,
    data: Option<&[u8]>,
) -> Tx<i64> {
    connection
        .prepare_cached(
            "INSERT INTO checkpoint_contents (hash, size, coding, data) VALUES (?1, ?2, ?3, ?4)",
        )?
        .execute((&hash[..], size, coding, data))?;
    Ok(connection.last_insert_rowid())
}

/// Writes a content, and checks it.
pub(crate) fn write_to(
    connection: &Connection,
    store: &Path,
    (id, hash): (i64, &Hash),
    mut output: impl Write,
    failed: impl Fn(std::io::Error) -> CheckpointError,
) -> Tx<()> {
    let mut hasher = Sha256::new();
    let damaged = || corrupt(store, "a content is damaged");
    let mut put = |coding: i64, size: usize, data: &[u8]| -> Result<()> {
        let unpacked;
        let bytes = if coding == LZ4 {
            unpacked = lz4_flex::block::decompress(data, size).map_err(|_| damaged())?;
            &unpacked[..]
        } else {
            data
        };
        hasher.update(bytes);
        output.write_all(bytes).map_err(&failed)
    };
    let mut statement = connection
        .prepare_cached("SELECT coding, size, data FROM checkpoint_contents WHERE id = ?1")?;
    let mut rows = statement.query([id])?;
    let Some(row) = rows.next()? else { return Err(damaged().into()) };
    let coding = row.get::<_, i64>(0)?;
    if coding == CHUNKED {
        let mut statement = connection.prepare_cached(
            "SELECT coding, size, data FROM checkpoint_chunks WHERE content = ?1 ORDER BY seq",
        )?;
        let mut rows = statement.query([id])?;
        while let Some(row) = rows.next()? {
            let size = row.get::<_, i64>(1)?.try_into().unwrap_or(0);
            put(row.get(0)?, size, row.get_ref(2)?.as_blob().unwrap_or_default())?;
        }
    } else {
        let size = row.get::<_, i64>(1)?.try_into().unwrap_or(0);
        put(coding, size, row.get_ref(2)?.as_blob().unwrap_or_default())?;
    }
    let found: Hash = hasher.finalize().into();
    if found == *hash { Ok(()) } else { Err(damaged().into()) }
}

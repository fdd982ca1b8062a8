//! The bytes of an attachment on their way into the store: at most two chunks of them in memory.

use base64::engine::general_purpose::{STANDARD, STANDARD_NO_PAD};
use base64::{DecodeError, Engine};
use rusqlite::Connection;
use rusqlite::types::{ToSqlOutput, ValueRef};
use toolwright_sqlite::clock::now_ms;
use uuid::Uuid;

use crate::attachment::dimensions;
use crate::error::Failure;
use crate::names::{extension, is_text};
use crate::store::Shared;
use crate::threads::{no_thread, number};
use crate::{AttachmentRef, CHUNK, NewAttachment, Store, ThreadError, files, staging};

/// An attachment whose bytes come in parts. Dropped before [`Upload::finish`], it leaves nothing.
#[derive(Debug)]
pub struct Upload {
    store: Shared,
    thread_id: String,
    thread: i64,
    stager: String,
    new: NewAttachment,
    /// Stored in one piece, as text where it is text.
    is_text: bool,
    /// What is not written yet: of others than texts at most a chunk.
    pending: Vec<u8>,
    /// Text in base64 that may be the last: it alone may have padding.
    carried: Vec<u8>,
    /// How many characters of base64 came before what is carried.
    decoded: u64,
    size: u64,
    chunks: u32,
    /// Id and path, once the row is written.
    row: Option<(String, String)>,
    finished: bool,
}

impl Store {
    /// Begins to store an attachment.
    pub fn begin_upload(
        self: &Shared,
        thread_id: &str,
        new: NewAttachment,
    ) -> Result<Upload, ThreadError> {
        new.check()?;
        self.database.check_writable()?;
        let thread = self.read("reading a thread", |c| number(c, thread_id))?;
        Ok(Upload {
            store: Shared::clone(self),
            thread_id: thread_id.to_owned(),
            thread,
            stager: staging::stager(self)?,
            is_text: is_text(&new.mime_type),
            new,
            pending: Vec::new(),
            carried: Vec::new(),
            decoded: 0,
            size: 0,
            chunks: 0,
            row: None,
            finished: false,
        })
    }
}

impl Upload {
    /// The bytes that come next.
    pub fn append(&mut self, bytes: &[u8]) -> Result<(), ThreadError> {
        let limit = self.store.options.attachment_limit;
        self.size += bytes.len() as u64;
        if self.size > limit {
            let what = format!("attachment `{}` of {} bytes or more", self.new.name, self.size);
            return Err(ThreadError::TooLarge { what, limit });
        }
        let mut rest = bytes;
        // A chunk is written when something comes after it, so that the last one is known as such.
        while !self.is_text && self.pending.len() + rest.len() > CHUNK {
            let (chunk, after) = if self.pending.is_empty() {
                rest.split_at(CHUNK)
            } else {
                let (filling, after) = rest.split_at(CHUNK - self.pending.len());
                self.pending.extend_from_slice(filling);
                (self.pending.as_slice(), after)
            };
            let chunk = chunk.to_owned();
            self.pending.clear();
            self.write_chunk(&chunk)?;
            rest = after;
        }
        self.pending.extend_from_slice(rest);
        Ok(())
    }

    /// The characters of base64 that come next.
    pub fn append_base64(&mut self, text: &str) -> Result<(), ThreadError> {
        let mut characters = std::mem::take(&mut self.carried);
        characters.extend_from_slice(text.as_bytes());
        let carried = match characters.len() % 4 {
            0 => characters.len().min(4),
            more => more,
        };
        let whole = characters.len() - carried;
        let bytes = STANDARD_NO_PAD
            .decode(&characters[..whole])
            .map_err(|error| self.not_base64(&error, &characters[..whole]))?;
        self.decoded += whole as u64;
        self.carried = characters.split_off(whole);
        self.append(&bytes)
    }

    /// Writes the last bytes. The attachment is staged: a commit makes it visible.
    pub fn finish(mut self) -> Result<AttachmentRef, ThreadError> {
        let last = STANDARD
            .decode(&self.carried)
            .map_err(|error| self.not_base64(&error, &self.carried))?;
        self.append(&last)?;
        let bytes = std::mem::take(&mut self.pending);
        if self.chunks > 0 {
            self.write_chunk(&bytes)?;
            self.complete()?;
        } else {
            self.write_whole(&bytes)?;
        }
        self.finished = true;
        let (id, path) = self.row.clone().unwrap_or_default();
        Ok(AttachmentRef { id, path, new: self.new.clone(), size: self.size })
    }

    fn write_chunk(&mut self, chunk: &[u8]) -> Result<(), ThreadError> {
        if self.chunks == 0 {
            self.measure(chunk);
        }
        let row = self.store.write("writing an attachment", |connection| {
            self.check_thread(connection)?;
            let (id, path) = match &self.row {
                Some(row) => row.clone(),
                None => self.insert(connection, None)?,
            };
            connection
                .prepare_cached(
                    "INSERT INTO file_chunks (thread, file_path, chunk_index, data)
                     VALUES (?1, ?2, ?3, ?4)",
                )?
                .execute((self.thread, &path, self.chunks, chunk))?;
            Ok((id, path))
        })?;
        self.row = Some(row);
        self.chunks += 1;
        Ok(())
    }

    fn write_whole(&mut self, bytes: &[u8]) -> Result<(), ThreadError> {
        self.measure(bytes);
        let row = self.store.write("writing an attachment", |connection| {
            self.check_thread(connection)?;
            self.insert(connection, Some(bytes))
        })?;
        self.row = Some(row);
        Ok(())
    }

    /// The row says only now that everything is there.
    fn complete(&self) -> Result<(), ThreadError> {
        let Some((_, path)) = &self.row else { return Ok(()) };
        self.store.write("writing an attachment", |connection| {
            self.check_thread(connection)?;
            connection
                .prepare_cached(
                    "UPDATE files SET size = ?1, chunk_count = ?2 WHERE thread = ?3 AND path = ?4",
                )?
                .execute((self.size.cast_signed(), self.chunks, self.thread, path))?;
            Ok(())
        })
    }

    /// Writes the row under a path that is free; with all bytes, or before the first of its chunks.
    fn insert(
        &self,
        connection: &Connection,
        bytes: Option<&[u8]>,
    ) -> Result<(String, String), Failure> {
        let extension = extension(&self.new.mime_type, &self.new.name);
        let data = bytes.map(|bytes| match std::str::from_utf8(bytes) {
            Ok(text) if self.is_text => ToSqlOutput::Borrowed(ValueRef::Text(text.as_bytes())),
            _ => ToSqlOutput::Borrowed(ValueRef::Blob(bytes)),
        });
        let size = bytes.map_or(files::UNFINISHED, |_| self.size.cast_signed());
        let mut statement = connection.prepare_cached(
            "INSERT INTO files (thread, path, id, name, mime_type, size, width, height,
                 is_chunked, chunk_count, data, created_at_ms, staged_by)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, 0, ?10, ?11, ?12)
             ON CONFLICT (thread, path) DO NOTHING",
        )?;
        loop {
            let (id, now) = (Uuid::new_v4().to_string(), now_ms());
            let path = format!("/attachments/{now}-{}.{extension}", &id[..8]);
            let written = statement.execute(rusqlite::params![
                self.thread,
                path,
                id,
                self.new.name,
                self.new.mime_type,
                size,
                self.new.width,
                self.new.height,
                bytes.is_none(),
                data,
                now,
                self.stager,
            ])?;
            if written == 1 {
                return Ok((id, path));
            }
        }
    }

    /// The thread may have been deleted since, and one with its name created.
    fn check_thread(&self, connection: &Connection) -> Result<(), Failure> {
        if number(connection, &self.thread_id)? == self.thread {
            return Ok(());
        }
        Err(no_thread(&self.thread_id).into())
    }

    /// Reads from the first bytes what the caller did not say.
    fn measure(&mut self, beginning: &[u8]) {
        if self.new.width.is_some() || self.new.height.is_some() || self.is_text {
            return;
        }
        if let Some((width, height)) = dimensions(beginning) {
            self.new.width = Some(width);
            self.new.height = Some(height);
        }
    }

    fn not_base64(&self, error: &DecodeError, text: &[u8]) -> ThreadError {
        let (reason, offset) = match *error {
            DecodeError::InvalidByte(at, _) => ("another character", at),
            DecodeError::InvalidLastSymbol { offset, .. } => ("bits beyond the last byte", offset),
            DecodeError::InvalidLength(length) => ("it breaks off", length),
            DecodeError::InvalidPadding => {
                let at = text.iter().position(|&character| character == b'=');
                ("the padding is missing or wrong", at.unwrap_or(text.len()))
            }
        };
        let offset = self.decoded + offset as u64;
        ThreadError::Base64 { name: self.new.name.clone(), reason, offset }
    }
}

impl Drop for Upload {
    fn drop(&mut self) {
        if !self.finished
            && let Some((_, path)) = self.row.take()
        {
            // What cannot be removed now goes when the store is closed.
            let _ = self.store.discard_staged(&self.thread_id, &[path]);
        }
    }
}

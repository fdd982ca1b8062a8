//! The second pass over a pack: the objects that are differences.
//!
//! Each whole object is the root of a tree of differences, which is walked without recursion. Contents are
//! held for the objects between the root and the one that is made; when they take too much memory, the ones
//! nearest to the root are dropped and made again when they are needed.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::ops::Range;
use std::sync::Arc;

use super::PackError;
use super::bytes::{Bytes, LARGE};
use super::delta::Delta;
use super::read::MAX_DEPTH;
use super::references::References;
use super::region::{Inflated, Region};
use super::scan::{Entry, Scan};
use crate::bounds::{Bound, Budget};
use crate::directory::Directory;
use crate::incoming::{Fault, Reason, check_size};
use crate::inflate::Inflater;
use crate::object::{Id, Kind, ObjectHash};
use crate::temporary::unnamed;

/// Contents of bases that are held at the same time.
const MAX_HELD: u64 = 4 * LARGE;

/// Finds the names of all differences of a pack.
pub(super) fn resolve(
    scan: &mut Scan,
    file: &File,
    staging: &Arc<Directory>,
    budget: &mut Budget,
    found: &mut References<'_>,
) -> Result<(), Fault> {
    if scan.offset_deltas.is_empty() && scan.id_deltas.is_empty() {
        return Ok(());
    }
    let children = Children::new(scan)?;
    let wanted = scan.offset_deltas.len() + scan.id_deltas.len();
    let mut resolver = Resolver {
        scan,
        children,
        file,
        staging,
        budget,
        found,
        inflater: Inflater::new(),
        made: 0,
    };
    for root in 0..resolver.scan.entries.len() {
        resolver.walk(u32::try_from(root).unwrap_or(u32::MAX))?;
    }
    // What is left has no base in this pack, or is its own.
    if resolver.made == wanted {
        Ok(())
    } else {
        Err(Reason::Damaged("a difference to nothing").into())
    }
}

/// The differences to each entry, as ranges of two sorted lists.
struct Children {
    by_entry: Vec<(u32, u32)>,
    by_id: Vec<(Id, u32)>,
}

impl Children {
    fn new(scan: &Scan) -> Result<Self, Fault> {
        let mut by_entry = Vec::with_capacity(scan.offset_deltas.len());
        for (base, child) in &scan.offset_deltas {
            let base = scan.entries.binary_search_by_key(base, |entry| entry.offset);
            let base = base.map_err(|_| Reason::Damaged("offset of a base"))?;
            by_entry.push((u32::try_from(base).unwrap_or(u32::MAX), *child));
        }
        by_entry.sort_unstable();
        let mut by_id = scan.id_deltas.clone();
        by_id.sort_unstable();
        Ok(Self { by_entry, by_id })
    }

    fn of(&self, entry: u32, id: &Id) -> Pending {
        let begin = self.by_entry.partition_point(|(base, _)| *base < entry);
        let length = self.by_entry[begin..].partition_point(|(base, _)| *base == entry);
        let id_begin = self.by_id.partition_point(|(base, _)| base < id);
        let id_length = self.by_id[id_begin..].partition_point(|(base, _)| base == id);
        Pending { entries: begin..begin + length, ids: id_begin..id_begin + id_length }
    }

    fn next(&self, pending: &mut Pending) -> Option<u32> {
        let by_entry = pending.entries.next().map(|position| self.by_entry[position].1);
        by_entry.or_else(|| pending.ids.next().map(|position| self.by_id[position].1))
    }
}

/// The differences to an entry that have not been made.
struct Pending {
    entries: Range<usize>,
    ids: Range<usize>,
}

impl Pending {
    fn is_empty(&self) -> bool {
        self.entries.is_empty() && self.ids.is_empty()
    }
}

/// An object between the root and the one that is made.
struct Frame {
    entry: u32,
    pending: Pending,
    /// `None`: it was dropped, or has no further difference to it.
    content: Option<Bytes>,
}

struct Resolver<'a, 'b> {
    scan: &'a mut Scan,
    children: Children,
    file: &'a File,
    staging: &'a Arc<Directory>,
    budget: &'a mut Budget,
    found: &'a mut References<'b>,
    inflater: Inflater,
    made: usize,
}

impl Resolver<'_, '_> {
    /// Makes all objects whose chain of bases ends in this one.
    fn walk(&mut self, root: u32) -> Result<(), Fault> {
        let entry = &self.scan.entries[root as usize];
        let Some(kind) = entry.kind.filter(|_| !entry.is_delta) else { return Ok(()) };
        let pending = self.children.of(root, &entry.id);
        if pending.is_empty() {
            return Ok(());
        }
        let mut stack = vec![Frame { entry: root, pending, content: None }];
        while let Some(frame) = stack.last_mut() {
            let Some(child) = self.children.next(&mut frame.pending) else {
                stack.pop();
                continue;
            };
            let is_last = frame.pending.is_empty();
            let base = match frame.content.take() {
                Some(content) => content,
                None => self.rebuild(&stack)?,
            };
            let made = self.make(child, kind, &base)?;
            if let Some(frame) = stack.last_mut().filter(|_| !is_last) {
                frame.content = Some(base);
            }
            if let Some((pending, content)) = made {
                stack.push(Frame { entry: child, pending, content: Some(content) });
                if stack.len() > MAX_DEPTH {
                    return Err(Reason::Damaged("a chain of differences").into());
                }
                drop_excess(&mut stack);
            }
        }
        Ok(())
    }

    /// Makes the content of the last frame again.
    fn rebuild(&mut self, stack: &[Frame]) -> Result<Bytes, Fault> {
        let held = stack.iter().rposition(|frame| frame.content.is_some());
        let mut content = None;
        for (position, frame) in stack.iter().enumerate().skip(held.map_or(0, |held| held + 1)) {
            let before = held.filter(|held| held + 1 == position);
            let base = content.as_ref().or(before.and_then(|held| stack[held].content.as_ref()));
            content = Some(match base {
                None => self.whole(frame.entry)?,
                Some(base) => self.apply(frame.entry, None, base)?.1,
            });
        }
        Ok(content.ok_or(NO_CONTENT)?)
    }

    /// Makes an object, and checks it. Its content is returned if there are differences to it.
    fn make(
        &mut self,
        child: u32,
        kind: Kind,
        base: &Bytes,
    ) -> Result<Option<(Pending, Bytes)>, Fault> {
        let (id, content) = self.apply(child, Some(kind), base)?;
        if let Bytes::Memory(content) = &content
            && kind != Kind::Blob
        {
            self.found.add(&id, kind, content, self.budget)?;
        }
        let entry = &mut self.scan.entries[child as usize];
        if entry.kind.is_some() {
            // Two entries have the name of its base, so that it was made before.
            return Err(Reason::Damaged("an object that is there twice").into());
        }
        (entry.id, entry.kind) = (id, Some(kind));
        self.made += 1;
        let pending = self.children.of(child, &id);
        Ok((!pending.is_empty()).then_some((pending, content)))
    }

    /// The content of a whole object.
    fn whole(&mut self, entry: u32) -> Result<Bytes, Fault> {
        let (begin, size) = data(&self.scan.entries[entry as usize]);
        self.budget.take(Bound::InflatedBytes, size)?;
        let region = Region::new(self.file, begin, self.scan.end, BLOCK);
        let input = Inflated::new(region, &mut self.inflater, size);
        Bytes::read(input, size, self.staging).map_err(staged)
    }

    /// Applies a difference. With a kind, its name is computed, and its size is checked.
    fn apply(
        &mut self,
        entry: u32,
        kind: Option<Kind>,
        base: &Bytes,
    ) -> Result<(Id, Bytes), Fault> {
        let (begin, size) = data(&self.scan.entries[entry as usize]);
        let region = Region::new(self.file, begin, self.scan.end, BLOCK);
        let input = Inflated::new(region, &mut self.inflater, size);
        let delta = Delta::open(input, size).map_err(staged)?;
        let result = delta.result();
        if let Some(kind) = kind {
            check_size(kind, result, self.budget)?;
        }
        self.budget.take(Bound::InflatedBytes, size.saturating_add(result))?;
        if result <= LARGE {
            let mut content = Vec::with_capacity(usize::try_from(result).unwrap_or(0));
            let append = |content: &mut Vec<u8>, part: &[u8]| {
                content.extend_from_slice(part);
                Ok(())
            };
            let copy = |content: &mut Vec<u8>, offset, length| {
                base.copy(offset, length, |part| append(content, part))
            };
            delta.apply(base.size(), &mut content, copy, append).map_err(staged)?;
            let id = kind.map_or(Id::NONE, |kind| Id::of(kind, &content));
            return Ok((id, Bytes::Memory(content)));
        }
        let file = unnamed(self.staging).map_err(|error| Fault::Stop(error.into()))?;
        let hash = ObjectHash::new(kind.unwrap_or(Kind::Blob), result);
        let mut sink = (hash, BufWriter::new(file));
        let write = |sink: &mut (ObjectHash, BufWriter<File>), part: &[u8]| {
            sink.0.update(part);
            sink.1.write_all(part).map_err(PackError::Io)
        };
        let copy = |sink: &mut (ObjectHash, BufWriter<File>), offset, length| {
            base.copy(offset, length, |part| write(sink, part))
        };
        delta.apply(base.size(), &mut sink, copy, write).map_err(staged)?;
        let (hash, writer) = sink;
        let file = writer.into_inner().map_err(|error| Fault::Stop(error.into_error().into()))?;
        Ok((hash.finish(), Bytes::File(file, result)))
    }
}

const BLOCK: usize = 4 << 10;
const NO_CONTENT: Reason = Reason::Damaged("a chain of differences");

/// Where the data of an entry begins, and how long it is.
fn data(entry: &Entry) -> (u64, u64) {
    (entry.offset + u64::from(entry.header), entry.size)
}

/// Drops the contents nearest to the root. The last one is about to be used.
fn drop_excess(stack: &mut [Frame]) {
    let cost = |frame: &Frame| frame.content.as_ref().map_or(0, Bytes::cost);
    let mut held: u64 = stack.iter().map(cost).sum();
    let last = stack.len() - 1;
    for frame in &mut stack[..last] {
        if held <= MAX_HELD {
            return;
        }
        held -= cost(frame);
        frame.content = None;
    }
}

/// The staged file is ours: if it cannot be read, nothing can be done.
fn staged(error: PackError) -> Fault {
    match error {
        PackError::Io(error) => Fault::Stop(error.into()),
        error @ PackError::Damaged(_) => Reason::from(error).into(),
    }
}

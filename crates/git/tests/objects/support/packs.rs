//! Packs, however wrong.

use std::fs;
use std::path::Path;

use sha1::{Digest, Sha1};
use toolwright_git::object::{Id, Kind};

use super::deflate;

/// A pack that is being made.
#[derive(Clone)]
pub(crate) struct PackBuilder {
    pub(crate) bytes: Vec<u8>,
    pub(crate) count: u32,
}

impl PackBuilder {
    pub(crate) fn new() -> Self {
        Self { bytes: b"PACK\0\0\0\x02\0\0\0\0".to_vec(), count: 0 }
    }

    /// Adds a whole object, and returns its offset.
    pub(crate) fn whole(&mut self, kind: Kind, content: &[u8]) -> u64 {
        let code = match kind {
            Kind::Commit => 1,
            Kind::Tree => 2,
            Kind::Blob => 3,
            Kind::Tag => 4,
        };
        self.entry(code, content.len() as u64, &[], content)
    }

    pub(crate) fn delta_of_offset(&mut self, base: u64, delta: &[u8]) -> u64 {
        let mut distance = self.bytes.len() as u64 - base;
        let mut digits = vec![(distance & 127) as u8];
        while distance >> 7 != 0 {
            distance = (distance >> 7) - 1;
            digits.push((distance & 127) as u8 | 128);
        }
        digits.reverse();
        self.entry(6, delta.len() as u64, &digits, delta)
    }

    pub(crate) fn delta_of_id(&mut self, base: &Id, delta: &[u8]) -> u64 {
        self.entry(7, delta.len() as u64, base.as_bytes(), delta)
    }

    /// Adds an entry with a size of its own.
    pub(crate) fn entry(&mut self, code: u8, size: u64, base: &[u8], content: &[u8]) -> u64 {
        let offset = self.bytes.len() as u64;
        let mut rest = size >> 4;
        let mut byte = code << 4 | (size & 15) as u8;
        while rest > 0 {
            self.bytes.push(byte | 128);
            byte = (rest & 127) as u8;
            rest >>= 7;
        }
        self.bytes.push(byte);
        self.bytes.extend_from_slice(base);
        self.bytes.extend(deflate(content));
        self.count += 1;
        offset
    }

    pub(crate) fn finish(mut self) -> Vec<u8> {
        self.bytes[8..12].copy_from_slice(&self.count.to_be_bytes());
        sign(self.bytes)
    }
}

/// Adds the checksum of a pack.
pub(crate) fn sign(mut bytes: Vec<u8>) -> Vec<u8> {
    let checksum = Sha1::digest(&bytes);
    bytes.extend_from_slice(&checksum);
    bytes
}

/// Writes a pack among the objects of a command.
pub(crate) fn plant_pack(objects: &Path, pack: &[u8]) {
    let packs = objects.join("pack");
    let _ = fs::remove_dir_all(&packs);
    fs::create_dir_all(&packs).unwrap();
    fs::write(packs.join(format!("pack-{}.pack", "a".repeat(40))), pack).unwrap();
}

/// A difference.
pub(crate) struct DeltaBuilder(Vec<u8>);

impl DeltaBuilder {
    pub(crate) fn new(base: u64, result: u64) -> Self {
        let mut bytes = Vec::new();
        for mut number in [base, result] {
            while number > 127 {
                bytes.push((number & 127) as u8 | 128);
                number >>= 7;
            }
            bytes.push(number as u8);
        }
        Self(bytes)
    }

    pub(crate) fn copy(mut self, offset: u32, length: u32) -> Self {
        let [a, b, c, d] = offset.to_le_bytes();
        let [e, f, g, _] = length.to_le_bytes();
        self.0.extend([0xff, a, b, c, d, e, f, g]);
        self
    }

    pub(crate) fn insert(mut self, bytes: &[u8]) -> Self {
        for part in bytes.chunks(127) {
            self.0.push(part.len() as u8);
            self.0.extend_from_slice(part);
        }
        self
    }

    pub(crate) fn code(mut self, code: u8) -> Self {
        self.0.push(code);
        self
    }

    pub(crate) fn finish(self) -> Vec<u8> {
        self.0
    }
}

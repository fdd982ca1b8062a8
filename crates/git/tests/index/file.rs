//! A writer of indexes for tests, which lies where it is told to.

use sha1::{Digest, Sha1};

pub(crate) const FILE: u32 = 0o100_644;
pub(crate) const LINK: u32 = 0o120_000;
pub(crate) const GITLINK: u32 = 0o160_000;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Line {
    pub(crate) path: Vec<u8>,
    pub(crate) stage: u8,
    pub(crate) mode: u32,
    pub(crate) id: [u8; 20],
    pub(crate) stat: [u8; 36],
    pub(crate) is_assumed_valid: bool,
    pub(crate) skips_worktree: bool,
    pub(crate) is_intent_to_add: bool,
}

impl Line {
    pub(crate) fn new(path: &str, number: u8) -> Self {
        Self {
            path: path.into(),
            stage: 0,
            mode: FILE,
            id: [number; 20],
            stat: [0; 36],
            is_assumed_valid: false,
            skips_worktree: false,
            is_intent_to_add: false,
        }
    }
}

/// The bytes of an index of version 3.
pub(crate) fn written(lines: &[Line], extensions: &[(&[u8; 4], Vec<u8>)]) -> Vec<u8> {
    let mut bytes = b"DIRC\0\0\0\x03".to_vec();
    bytes.extend((lines.len() as u32).to_be_bytes());
    for line in lines {
        let start = bytes.len();
        bytes.extend(&line.stat[..24]);
        bytes.extend(line.mode.to_be_bytes());
        bytes.extend(&line.stat[24..]);
        bytes.extend(line.id);
        let mut flags = 0x4000 | u16::from(line.stage) << 12 | line.path.len().min(0xfff) as u16;
        flags |= u16::from(line.is_assumed_valid) << 15;
        bytes.extend(flags.to_be_bytes());
        let more = u16::from(line.skips_worktree) << 14 | u16::from(line.is_intent_to_add) << 13;
        bytes.extend(more.to_be_bytes());
        bytes.extend(&line.path);
        let length = bytes.len() - start;
        bytes.resize(start + ((length + 8) & !7), 0);
    }
    for (signature, content) in extensions {
        bytes.extend(*signature);
        bytes.extend((content.len() as u32).to_be_bytes());
        bytes.extend(content);
    }
    sealed(bytes)
}

/// With the checksum of these bytes.
pub(crate) fn sealed(mut bytes: Vec<u8>) -> Vec<u8> {
    let checksum: [u8; 20] = Sha1::digest(&bytes).into();
    bytes.extend(checksum);
    bytes
}

/// The name of the tree that entries of stage 0 make.
pub(crate) fn tree(lines: &[Line]) -> [u8; 20] {
    let mut content: Vec<(Vec<u8>, Vec<u8>)> = Vec::new();
    let mut rest = lines;
    while let Some(first) = rest.first() {
        let Some(slash) = first.path.iter().position(|byte| *byte == b'/') else {
            if !first.is_intent_to_add {
                let entry =
                    [format!("{:o} ", first.mode).as_bytes(), &first.path, b"\0", &first.id]
                        .concat();
                content.push((first.path.clone(), entry));
            }
            rest = &rest[1..];
            continue;
        };
        let directory = &first.path[..=slash];
        let count = rest.iter().take_while(|line| line.path.starts_with(directory)).count();
        let below = |line: &Line| Line { path: line.path[slash + 1..].into(), ..line.clone() };
        let below: Vec<Line> = rest[..count].iter().map(below).collect();
        if !below.iter().all(|line| line.is_intent_to_add) {
            let entry = [b"40000 ", &directory[..slash], b"\0", &tree(&below)].concat();
            content.push((directory.to_vec(), entry));
        }
        rest = &rest[count..];
    }
    content.sort();
    let content: Vec<u8> = content.into_iter().flat_map(|(_, entry)| entry).collect();
    let head = format!("tree {}\0", content.len());
    Sha1::digest([head.as_bytes(), &content].concat()).into()
}

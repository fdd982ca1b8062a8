//! What a fork is.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use toolwright_fs::FileIdentity;

/// How many bytes the changes of a fork may have, unless its maker says otherwise.
pub const MAX_BYTES: u64 = 16 << 30;

/// The record of a fork.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Record {
    /// The base, without links.
    pub(crate) base: PathBuf,
    /// Which directory that was.
    pub(crate) identity: FileIdentity,
    /// When the fork was made, in milliseconds since 1970.
    pub(crate) created_ms: u64,
    /// Its maker's name for it.
    pub(crate) label: Option<String>,
    /// How many bytes its changes may have.
    pub(crate) max_bytes: u64,
}

impl Record {
    pub(crate) fn write(&self) -> String {
        let Self {
            base,
            identity: FileIdentity { device, inode, born },
            created_ms,
            label,
            max_bytes,
        } = self;
        json!({
            "version": 1,
            "base": base.to_string_lossy(),
            "device": device,
            "inode": inode,
            "born": born,
            "createdMs": created_ms,
            "label": label,
            "limit": max_bytes,
        })
        .to_string()
    }

    /// `None` if it is damaged, or of a later version.
    pub(crate) fn read(bytes: &[u8]) -> Option<Self> {
        let record: Value = serde_json::from_slice(bytes).ok()?;
        let number = |name: &str| record.get(name)?.as_u64();
        if number("version") != Some(1) {
            return None;
        }
        Some(Self {
            base: Some(Path::new(record.get("base")?.as_str()?))
                .filter(|base| base.is_absolute())?
                .to_owned(),
            identity: FileIdentity {
                device: number("device")?,
                inode: number("inode")?,
                born: number("born"),
            },
            created_ms: number("createdMs")?,
            label: record.get("label")?.as_str().map(str::to_owned),
            max_bytes: number("limit").unwrap_or(MAX_BYTES),
        })
    }
}

//! The messages between the host and the process that holds a fork of a root.
//!
//! The host sends one order, and gets the root of the fork. Then each further frame asks for one more mount of it.

use std::path::PathBuf;

use super::codec::{Malformed, Reader, Wire, read_whole, wire_enum, wire_struct};
use super::message::{FRAME_HEADER, framed};
use crate::plan::FileIdentity;

/// The name under which the sandbox program holds a fork.
pub const FORK_HOLDER: &str = "toolwright-fork";

/// The content of a frame that asks for a mount.
pub const FORK_MOUNT: &[u8] = b"mount";

/// A fork to be made. The lock of the fork comes with the frame, and is held as long as the fork is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ForkOrder {
    /// The directory: absolute, and without links.
    pub base: PathBuf,
    /// Which directory that is.
    pub identity: FileIdentity,
    /// Where its changes stay, absolute and without links.
    pub changes: PathBuf,
    /// An empty directory beside that.
    pub work: PathBuf,
}

/// A step that the system refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ForkStep {
    /// To enter namespaces of its own.
    Namespaces,
    /// To open the directory.
    Base,
    /// To open where the changes stay.
    Changes,
    /// To make the overlay.
    Overlay,
    /// To attach it.
    Attach,
}

/// The answer to an order, and to each request for a mount. What was asked for comes with the frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ForkReply {
    /// It is there.
    Made,
    /// The system refused a step, with this error number.
    Refused(ForkStep, i32),
}

wire_struct!(ForkOrder { base, identity, changes, work });
wire_enum!(ForkStep { 0 = Namespaces, 1 = Base, 2 = Changes, 3 = Overlay, 4 = Attach });
wire_enum!(ForkReply { 0 = Made, 1 = Refused(step, errno) });

macro_rules! frames {
    ($($type:ty),+) => {$(
        impl $type {
            /// The frame for it.
            #[must_use]
            pub fn frame(&self) -> Vec<u8> {
                let mut frame = vec![0; FRAME_HEADER];
                self.write(&mut frame);
                framed(frame)
            }

            /// Reads the content of a frame.
            pub fn read_content(content: &[u8]) -> Result<Self, Malformed> {
                read_whole(content)
            }
        }
    )+};
}

frames!(ForkOrder, ForkReply);

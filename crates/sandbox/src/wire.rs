//! The messages between the host, the supervisor and its workers.
//!
//! Both ends come from one build, so there is no version. Numbers are little-endian; a text is its
//! length and its bytes. On a worker's stream each message is a frame: its length, then its
//! content. A command reaches none of these sockets, and still nothing here trusts what it reads: a
//! reader never looks past the end.

mod codec;
#[cfg(target_os = "linux")]
mod frames;
#[cfg(target_os = "linux")]
mod gate;
mod message;
mod order;
mod patch_note;
mod reply;
mod root_fork;

pub use codec::Malformed;
#[cfg(target_os = "linux")]
pub use frames::{Inbox, Progress, send};
#[cfg(target_os = "linux")]
pub use gate::{
    Answer, Ask, MAX_GATE_BYTES, NO_LEAD, Resolved, SYNTHETIC, is_synthetic, receive_from_gate,
    send_to_gate,
};
pub use message::{
    FRAME_HEADER, ForkRequest, HostMessage, NETWORK, PROGRAMS, PrivateRequest, Request,
    RequestFrame, WORKER, command_fork_frame, connect_frame, discard_private_frame, fork_frame,
    frame_length, kill_frame, plain_frame, private_frame, read_fork_frame, read_private_frame,
    read_request_frame, run_frame, settle_private_frame, signal_frame, watch_frame,
};
pub use order::{Order, read_order, write_order};
pub use patch_note::{
    MAX_NOTE_BYTES, NOTES_DESCRIPTOR, NOTES_MODE, NotedFile, PatchBegan, PatchEnded, PatchFiles,
    PatchNote, PatchRefusal,
};
pub use reply::Reply;
pub use root_fork::{FORK_HOLDER, FORK_MOUNT, ForkOrder, ForkReply, ForkStep};

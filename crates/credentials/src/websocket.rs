//! What follows an upgrade to websockets.

use std::io;
use std::sync::Arc;

use hyper::upgrade::OnUpgrade;
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, split};

use crate::restore::{Restorer, Searches};
use crate::uses::Meter;

const PIECE: usize = 32 << 10;
/// The longest head of a frame: two bytes, a length of eight, a key of four.
const MAX_HEAD: usize = 14;

/// Carries frames. What comes from the command is passed on as it is; it is masked, so nobody can read a value in it by
/// chance. What comes from the host is searched frame by frame.
pub(crate) async fn carry(
    command: OnUpgrade,
    host: OnUpgrade,
    searches: Arc<Searches>,
    meter: Arc<Meter>,
) {
    let (Ok(command), Ok(host)) = tokio::join!(command, host) else { return };
    let (mut from_command, mut to_command) = split(TokioIo::new(command));
    let (mut from_host, mut to_host) = split(TokioIo::new(host));
    let up = pass(&mut from_command, &mut to_host, |piece| {
        meter.sent(piece.len());
        piece
    });
    let mut frames = Frames::new(searches);
    let down = pass(&mut from_host, &mut to_command, |piece| {
        meter.received(piece.len());
        frames.push(&piece)
    });
    // How it ended, both ends hear from each other.
    let _ = tokio::try_join!(up, down);
}

async fn pass(
    from: &mut (impl AsyncRead + Unpin),
    to: &mut (impl AsyncWrite + Unpin),
    mut changed: impl FnMut(Vec<u8>) -> Vec<u8>,
) -> io::Result<()> {
    loop {
        let mut piece = Vec::with_capacity(PIECE);
        if from.read_buf(&mut piece).await? == 0 {
            return to.shutdown().await;
        }
        to.write_all(&changed(piece)).await?;
        to.flush().await?;
    }
}

/// Frames of a server, whose pieces end anywhere. They stay as long as they are.
#[derive(Debug)]
pub struct Frames {
    restorer: Restorer,
    /// Of the head of a frame, what has come.
    head: Vec<u8>,
    /// Of the frame, what has not.
    left: u64,
    is_masked: bool,
}

impl Frames {
    /// None yet.
    #[must_use]
    pub fn new(searches: Arc<Searches>) -> Self {
        Self { restorer: Restorer::in_place(searches), head: Vec::new(), left: 0, is_masked: false }
    }

    /// Takes the next piece, and gives what may be passed on. Of an unfinished frame alone something is kept back.
    pub fn push(&mut self, mut piece: &[u8]) -> Vec<u8> {
        let mut out = Vec::with_capacity(piece.len() + MAX_HEAD);
        while !piece.is_empty() {
            if self.left == 0 {
                self.head.push(piece[0]);
                piece = &piece[1..];
                if let Some((is_masked, length)) = read_head(&self.head) {
                    (self.is_masked, self.left) = (is_masked, length);
                    out.append(&mut self.head);
                }
                continue;
            }
            let count = usize::try_from(self.left).unwrap_or(usize::MAX).min(piece.len());
            let (content, rest) = piece.split_at(count);
            (piece, self.left) = (rest, self.left - count as u64);
            if self.is_masked {
                out.extend_from_slice(content);
                continue;
            }
            out.extend_from_slice(&self.restorer.push(content.to_vec().into()));
            if self.left == 0 {
                // A message waits for no other.
                out.extend_from_slice(&self.restorer.finish());
            }
        }
        out
    }
}

/// Whether a frame is masked, and its length. `None`: the head goes on.
fn read_head(head: &[u8]) -> Option<(bool, u64)> {
    let [_, second, rest @ ..] = head else { return None };
    let is_masked = second & 0x80 != 0;
    let (length, rest) = match second & 0x7f {
        126 => {
            let (length, rest) = rest.split_first_chunk()?;
            (u64::from(u16::from_be_bytes(*length)), rest)
        }
        127 => {
            let (length, rest) = rest.split_first_chunk()?;
            (u64::from_be_bytes(*length), rest)
        }
        length => (u64::from(length), rest),
    };
    (!is_masked || rest.len() == 4).then_some((is_masked, length))
}

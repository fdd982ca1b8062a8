//! Bodies on their way, piece by piece.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use http_body_util::BodyExt;
use hyper::body::{Body, Frame, Incoming, SizeHint};
use tokio::runtime::Handle;
use tokio::sync::mpsc;

use crate::restore::Restorer;
use crate::uses::Meter;

/// Longer bodies, and those of unknown length, are read ahead.
const SHORT: u64 = 256 << 10;
/// How many pieces are read ahead. So an end that has to wait for a processor does not hold up the other one.
const AHEAD: usize = 4;

type Piece = Result<Bytes, hyper::Error>;

/// A body that is passed on as it comes. Trailers are not: they would be headers that nobody has read.
pub(crate) struct Passed {
    inner: Inner,
    meter: Arc<Meter>,
    /// What puts placeholders back, in an answer.
    restorer: Option<Restorer>,
    is_over: bool,
}

enum Inner {
    Read(Incoming),
    /// Another task reads ahead. The length is what was known at the beginning.
    Ahead(mpsc::Receiver<Piece>, SizeHint),
}

impl Inner {
    /// `thread` reads it, if it is long.
    fn of(body: Incoming, thread: Option<&Handle>) -> Self {
        let length = body.size_hint();
        let is_short = length.upper().is_some_and(|length| length <= SHORT);
        let Some(thread) = thread.filter(|_| !is_short) else { return Self::Read(body) };
        let (pieces, ahead) = mpsc::channel(AHEAD);
        thread.spawn(read_ahead(body, pieces));
        Self::Ahead(ahead, length)
    }

    fn poll_piece(&mut self, context: &mut Context<'_>) -> Poll<Option<Piece>> {
        let body = match self {
            Self::Ahead(pieces, _) => return pieces.poll_recv(context),
            Self::Read(body) => body,
        };
        loop {
            match Pin::new(&mut *body).poll_frame(context) {
                Poll::Pending => return Poll::Pending,
                Poll::Ready(None) => return Poll::Ready(None),
                Poll::Ready(Some(Err(error))) => return Poll::Ready(Some(Err(error))),
                Poll::Ready(Some(Ok(frame))) => {
                    if let Ok(data) = frame.into_data() {
                        return Poll::Ready(Some(Ok(data)));
                    }
                }
            }
        }
    }
}

/// Reads until nobody wants any more.
async fn read_ahead(mut body: Incoming, pieces: mpsc::Sender<Piece>) {
    loop {
        let frame = tokio::select! {
            frame = body.frame() => frame,
            () = pieces.closed() => None,
        };
        let Some(frame) = frame else { return };
        let Some(piece) = frame.map(|frame| frame.into_data().ok()).transpose() else { continue };
        let is_last = piece.is_err();
        if pieces.send(piece).await.is_err() || is_last {
            return;
        }
    }
}

impl Passed {
    /// To a host. The thread of commands reads it.
    pub(crate) fn up(inner: Incoming, meter: Arc<Meter>) -> Self {
        let inner = Inner::of(inner, Handle::try_current().ok().as_ref());
        Self { inner, meter, restorer: None, is_over: false }
    }

    /// To a command. This thread reads it.
    pub(crate) fn down(
        inner: Incoming,
        meter: Arc<Meter>,
        restorer: Restorer,
        thread: Option<&Handle>,
    ) -> Self {
        let inner = Inner::of(inner, thread);
        Self { inner, meter, restorer: Some(restorer), is_over: false }
    }
}

impl Body for Passed {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        let this = self.get_mut();
        while !this.is_over {
            let data = match this.inner.poll_piece(context) {
                Poll::Pending => return Poll::Pending,
                Poll::Ready(Some(Err(error))) => return Poll::Ready(Some(Err(error))),
                Poll::Ready(Some(Ok(data))) => data,
                Poll::Ready(None) => {
                    this.is_over = true;
                    let rest = this.restorer.as_mut().map(Restorer::finish).unwrap_or_default();
                    if rest.is_empty() {
                        break;
                    }
                    return Poll::Ready(Some(Ok(Frame::data(rest))));
                }
            };
            let data = match &mut this.restorer {
                None => {
                    this.meter.sent(data.len());
                    data
                }
                Some(restorer) => {
                    this.meter.received(data.len());
                    restorer.push(data)
                }
            };
            if !data.is_empty() {
                return Poll::Ready(Some(Ok(Frame::data(data))));
            }
        }
        Poll::Ready(None)
    }

    fn is_end_stream(&self) -> bool {
        let is_empty = match &self.inner {
            Inner::Read(body) => body.is_end_stream(),
            Inner::Ahead(..) => false,
        };
        self.is_over || (is_empty && self.restorer.is_none())
    }

    fn size_hint(&self) -> SizeHint {
        match (&self.restorer, &self.inner) {
            (Some(restorer), _) if !restorer.keeps_length() => SizeHint::default(),
            (_, Inner::Read(body)) => body.size_hint(),
            (_, Inner::Ahead(_, length)) => *length,
        }
    }
}

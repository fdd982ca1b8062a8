//! Bodies on their way, piece by piece.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use hyper::body::{Body, Frame, Incoming, SizeHint};

use crate::restore::Restorer;
use crate::uses::Meter;

/// A body that is passed on as it comes. Trailers are not: they would be headers that nobody has read.
pub(crate) struct Passed {
    inner: Incoming,
    meter: Arc<Meter>,
    /// What puts placeholders back, in an answer.
    restorer: Option<Restorer>,
    is_over: bool,
}

impl Passed {
    pub(crate) fn up(inner: Incoming, meter: Arc<Meter>) -> Self {
        Self { inner, meter, restorer: None, is_over: false }
    }

    pub(crate) fn down(inner: Incoming, meter: Arc<Meter>, restorer: Restorer) -> Self {
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
            let data = match Pin::new(&mut this.inner).poll_frame(context) {
                Poll::Pending => return Poll::Pending,
                Poll::Ready(Some(Err(error))) => return Poll::Ready(Some(Err(error))),
                Poll::Ready(Some(Ok(frame))) => match frame.into_data() {
                    Ok(data) => data,
                    Err(_) => continue,
                },
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
        self.is_over || (self.inner.is_end_stream() && self.restorer.is_none())
    }

    fn size_hint(&self) -> SizeHint {
        match &self.restorer {
            Some(restorer) if !restorer.keeps_length() => SizeHint::default(),
            _ => self.inner.size_hint(),
        }
    }
}

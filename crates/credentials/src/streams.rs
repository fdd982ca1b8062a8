//! Both ends of a connection, read and written in large pieces.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, BufReader, ReadBuf};
use tokio::net::TcpStream;

/// How much is asked of the system at once. TLS by itself would ask for 4 KiB.
const READ: usize = 64 << 10;

/// A socket below TLS.
pub(crate) type Socket = BufReader<TcpStream>;

/// Takes a connected socket over.
pub(crate) fn socket(socket: std::net::TcpStream) -> Option<Socket> {
    socket.set_nonblocking(true).ok()?;
    // The end of a message never waits for the answer to its beginning.
    socket.set_nodelay(true).ok()?;
    Some(BufReader::with_capacity(READ, TcpStream::from_std(socket).ok()?))
}

/// What TLS carries. A read gives all records that are there, as far as there is room: one record after the
/// other would be one write after the other at the other end.
#[derive(Debug)]
pub(crate) struct Content<S> {
    stream: S,
    /// Comes after what was read before it.
    error: Option<io::Error>,
}

impl<S> Content<S> {
    pub(crate) fn new(stream: S) -> Self {
        Self { stream, error: None }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Content<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if let Some(error) = self.error.take() {
            return Poll::Ready(Err(error));
        }
        let begin = buffer.filled().len();
        while buffer.remaining() > 0 {
            let before = buffer.filled().len();
            match Pin::new(&mut self.stream).poll_read(context, buffer) {
                Poll::Pending if before > begin => break,
                Poll::Pending => return Poll::Pending,
                Poll::Ready(Ok(())) if buffer.filled().len() > before => {}
                Poll::Ready(Ok(())) => break,
                Poll::Ready(Err(error)) if before > begin => {
                    self.error = Some(error);
                    break;
                }
                Poll::Ready(Err(error)) => return Poll::Ready(Err(error)),
            }
        }
        Poll::Ready(Ok(()))
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Content<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(context, bytes)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write_vectored(context, slices)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}

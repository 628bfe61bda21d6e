//! A stream that gives up on whoever does not take what they are sent.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Instant, Sleep, sleep};

/// A stream of which each write must get on within a while.
#[derive(Debug)]
pub(crate) struct Steady<S> {
    stream: S,
    patience: Duration,
    /// When patience ends, if a write waits.
    end: Pin<Box<Sleep>>,
    is_waiting: bool,
    /// Whether patience is somebody else's affair by now, as it is with a WebSocket.
    is_free: Arc<AtomicBool>,
}

impl<S> Steady<S> {
    pub(crate) fn new(stream: S, patience: Duration, is_free: Arc<AtomicBool>) -> Steady<S> {
        Steady { stream, patience, end: Box::pin(sleep(patience)), is_waiting: false, is_free }
    }

    /// Returns what came of a write, or that it took too long.
    fn watch<T>(
        &mut self,
        context: &mut Context<'_>,
        wrote: Poll<io::Result<T>>,
    ) -> Poll<io::Result<T>> {
        if wrote.is_ready() || self.is_free.load(Ordering::Relaxed) {
            self.is_waiting = false;
            return wrote;
        }
        if !std::mem::replace(&mut self.is_waiting, true) {
            self.end.as_mut().reset(Instant::now() + self.patience);
        }
        match self.end.as_mut().poll(context) {
            Poll::Ready(()) => Poll::Ready(Err(io::ErrorKind::TimedOut.into())),
            Poll::Pending => Poll::Pending,
        }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Steady<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, buffer)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Steady<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let wrote = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.watch(context, wrote)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let flushed = Pin::new(&mut self.stream).poll_flush(context);
        self.watch(context, flushed)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let shut = Pin::new(&mut self.stream).poll_shutdown(context);
        self.watch(context, shut)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        parts: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let wrote = Pin::new(&mut self.stream).poll_write_vectored(context, parts);
        self.watch(context, wrote)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::io::{AsyncReadExt, AsyncWriteExt, duplex};

    const SHORT: Duration = Duration::from_millis(20);

    #[tokio::test]
    async fn whoever_takes_nothing_is_given_up() {
        let (near, _far) = duplex(4);
        let mut near = Steady::new(near, SHORT, Arc::default());
        let error = near.write_all(b"more than fits").await.unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
    }

    #[tokio::test]
    async fn whoever_takes_it_slowly_is_not() {
        let (near, mut far) = duplex(1);
        let mut near = Steady::new(near, Duration::from_secs(60), Arc::default());
        let reading = async {
            let mut read = [0; 14];
            for byte in &mut read {
                tokio::task::yield_now().await;
                *byte = far.read_u8().await.unwrap();
            }
            read
        };
        let (wrote, read) = tokio::join!(near.write_all(b"more than fits"), reading);
        wrote.unwrap();
        assert_eq!(&read, b"more than fits");
    }

    #[tokio::test]
    async fn a_stream_that_was_let_go_waits_for_ever() {
        let (near, mut far) = duplex(4);
        let free = Arc::new(AtomicBool::new(true));
        let mut near = Steady::new(near, SHORT, free);
        let writing = tokio::spawn(async move { near.write_all(b"more than fits").await });
        tokio::time::sleep(SHORT * 3).await;
        assert!(!writing.is_finished());
        far.read_exact(&mut [0; 14]).await.unwrap();
        writing.await.unwrap().unwrap();
    }
}

//! A body that comes in pieces, and may break.

use std::pin::Pin;
use std::task::{Context, Poll};

use hyper::body::{Body, Bytes, Frame as BodyFrame};
use tokio::sync::mpsc;

/// The connection breaks here, as the script wants it.
#[derive(Clone, Copy, Debug, thiserror::Error)]
#[error("the script breaks the connection")]
pub(super) struct Broken;

/// What a sender sends.
pub(super) struct Pieces {
    receiver: mpsc::Receiver<Result<Bytes, Broken>>,
}

impl Pieces {
    /// Returns a body and the way to send it. One piece waits at most, so that what was sent was taken.
    pub(super) fn channel() -> (mpsc::Sender<Result<Bytes, Broken>>, Pieces) {
        let (sender, receiver) = mpsc::channel(1);
        (sender, Pieces { receiver })
    }
}

impl Body for Pieces {
    type Data = Bytes;
    type Error = Broken;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<BodyFrame<Bytes>, Broken>>> {
        let piece = self.receiver.poll_recv(context);
        piece.map(|piece| piece.map(|piece| piece.map(BodyFrame::data)))
    }
}

//! The body of every response: split into pieces, and tracked by its connection until the last one
//! was taken.
//!
//! The framework copies each piece into the connection's buffer, and asks for the next when that
//! has become small. A body of one large piece would be in memory twice, for as long as the client
//! likes.

use std::error::Error;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use actix_web::body::{BodySize, BoxBody, MessageBody};
use actix_web::web::Bytes;

use crate::response_budget::ResponsePermit;
use crate::turn::Turn;

/// The maximum size of a piece.
pub const PIECE: usize = 8 * 1024;

/// The body of an answer.
pub struct TrackedBody {
    body: BoxBody,
    /// The rest of a piece that was too large.
    rest: Bytes,
    turn: Option<Turn>,
    permit: Option<ResponsePermit>,
}

impl TrackedBody {
    pub(crate) fn new(body: BoxBody, turn: Option<Turn>, permit: Option<ResponsePermit>) -> Self {
        Self { body, rest: Bytes::new(), turn, permit }
    }
}

impl MessageBody for TrackedBody {
    type Error = Box<dyn Error>;

    fn size(&self) -> BodySize {
        self.body.size()
    }

    fn poll_next(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Bytes, Self::Error>>> {
        let this = self.get_mut();
        if this.rest.is_empty() {
            match ready!(Pin::new(&mut this.body).poll_next(context)) {
                Some(Ok(large)) if large.len() > PIECE => this.rest = large,
                other => return Poll::Ready(other),
            }
        }
        let piece = this.rest.split_to(this.rest.len().min(PIECE));
        Poll::Ready(Some(Ok(piece)))
    }

    fn try_into_bytes(mut self) -> Result<Bytes, Self> {
        if self.turn.is_some() || self.permit.is_some() || !self.rest.is_empty() {
            return Err(self);
        }
        let body = std::mem::replace(&mut self.body, BoxBody::new(()));
        body.try_into_bytes().map_err(|body| Self::new(body, None, None))
    }
}

impl Drop for TrackedBody {
    fn drop(&mut self) {
        if let Some(turn) = &self.turn {
            turn.sent();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::future::poll_fn;

    use super::*;

    #[actix_web::test]
    async fn a_large_body_comes_in_pieces_and_whole() {
        let text = (0..100_000_u32).flat_map(u32::to_be_bytes).collect::<Vec<_>>();
        let mut body = TrackedBody::new(BoxBody::new(text.clone()), None, None);
        assert_eq!(body.size(), BodySize::Sized(400_000));
        let mut got = Vec::new();
        while let Some(piece) = poll_fn(|context| Pin::new(&mut body).poll_next(context)).await {
            let piece = piece.unwrap();
            assert!(!piece.is_empty() && piece.len() <= PIECE);
            got.extend_from_slice(&piece);
        }
        assert!(got == text);
    }
}

//! Whose turn it is on a connection: the client's, to tell a request, or ours, to answer one.
//!
//! Only who is given requests knows where the head of one ends, and only who reads the connection can end
//! it; this is what the one tells the other. Both live on the connection's own thread.

use std::cell::Cell;
use std::rc::Rc;

use actix_web::dev::ServiceRequest;
use actix_web::http::StatusCode;

/// Whose turn it is on one connection; stands in the data of the connection.
#[derive(Clone, Debug, Default)]
pub struct Turn(Rc<Cell<bool>>);

impl Turn {
    /// Of the connection that this request came on, if somebody looks at it.
    pub(crate) fn of(request: &ServiceRequest) -> Option<Self> {
        request.conn_data::<Self>().cloned()
    }

    /// The head of a request is there.
    pub(crate) fn begin(&self) {
        self.0.set(true);
    }

    /// The request is answered; a connection that became a socket never goes back to requests.
    pub(crate) fn end(&self, status: StatusCode) {
        if status != StatusCode::SWITCHING_PROTOCOLS {
            self.0.set(false);
        }
    }

    /// Whether a request is being answered, or the connection is a socket.
    pub fn is_ours(&self) -> bool {
        self.0.get()
    }
}

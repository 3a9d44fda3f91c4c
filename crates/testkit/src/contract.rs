//! What every store must keep.

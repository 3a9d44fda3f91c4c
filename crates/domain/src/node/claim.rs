//! Claims of an agent's live socket.

use crate::id::NodeId;

/// What a new socket does with the live socket that its agent already has.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum OnConflict {
    /// Supersedes the older one.
    #[default]
    Supersede,
    /// Is refused itself.
    Reject,
}

/// The reason for claiming an agent's live socket.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ClaimReason {
    /// A socket that is about to be opened.
    NewSocket(OnConflict),
    /// A socket that was open when the node's lease expired: it stays unless another node has a
    /// newer one.
    Reregistered,
}

/// The holder of the claim according to the store, on a node that is alive.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Holder {
    /// The node.
    pub node: NodeId,
    /// Set if the socket is open: one whose connection broke counts as present for a moment, but
    /// blocks no claim.
    pub is_open: bool,
}

impl ClaimReason {
    /// Returns whether a socket of `node` gets the claim that `holder` has.
    pub fn is_granted(self, node: NodeId, holder: Option<Holder>) -> bool {
        let open = holder.filter(|holder| holder.is_open);
        match self {
            Self::NewSocket(OnConflict::Supersede) => true,
            Self::NewSocket(OnConflict::Reject) => open.is_none(),
            Self::Reregistered => open.is_none_or(|holder| holder.node == node),
        }
    }
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;

    const HERE: NodeId = NodeId::new(Uuid::from_u128(1));
    const THERE: NodeId = NodeId::new(Uuid::from_u128(2));

    #[test]
    fn the_newest_wins_unless_it_gives_way() {
        let (take, give_way) =
            (ClaimReason::NewSocket(OnConflict::Supersede), ClaimReason::NewSocket(OnConflict::Reject));
        let open = |node| Some(Holder { node, is_open: true });
        let broken = |node| Some(Holder { node, is_open: false });
        for holder in [None, open(HERE), open(THERE), broken(HERE), broken(THERE)] {
            assert!(take.is_granted(HERE, holder), "{holder:?}");
        }
        for (holder, rejected, kept) in [
            (None, true, true),
            (open(HERE), false, true),
            (open(THERE), false, false),
            (broken(HERE), true, true),
            (broken(THERE), true, true),
        ] {
            assert_eq!(give_way.is_granted(HERE, holder), rejected, "{holder:?}");
            assert_eq!(ClaimReason::Reregistered.is_granted(HERE, holder), kept, "{holder:?}");
        }
    }
}

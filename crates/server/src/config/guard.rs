//! The limits of the loop guard.

use domain::message::{MaxHops, MaxPairMessages};

use super::key::Key;
use super::parse;
use super::values::Values;

pub(super) fn max_hops(values: &mut Values) -> MaxHops {
    values.section("Loop guard");
    let max_hops = Key::number(
        "max_hops",
        "NUMBER",
        "64",
        "Number of messages that may follow from one another before the next one of an agent is held: it is stored, and \
         offered to no agent until a human releases it. 0 turns this off. An organization can have another limit, and a \
         room a stricter one. See *Two agents reply to each other endlessly* in [operations.md](operations.md).",
    );
    MaxHops::new(values.read(max_hops, parse::number(0, MaxHops::MAX))).unwrap_or_default()
}

pub(super) fn max_tree_messages(values: &mut Values) -> u32 {
    let max_tree_messages = Key::number(
        "max_tree_messages",
        "NUMBER",
        "10000",
        "Number of texts that may follow from one message before the next ones of agents are held. 0 turns this off for \
         trees that are not full yet. The number is checked periodically, so a tree can exceed it by a sixteenth for each \
         server.",
    );
    values.read(max_tree_messages, parse::number(0, 1_000_000_000))
}

pub(super) fn max_pair_messages(values: &mut Values) -> MaxPairMessages {
    let max_pair_messages = Key::number(
        "max_pair_messages",
        "NUMBER",
        "200",
        "Number of texts that two agents of a room may send each other within ten minutes before those that they send \
         each other in the next ten minutes are held. Only texts without a known cause count, and each agent must have sent \
         more than a quarter of the number. 0 turns this off. An organization can have another limit. The number is checked periodically, so each server may allow 50 more.",
    );
    let number = values.read(max_pair_messages, parse::number(0, MaxPairMessages::MAX));
    MaxPairMessages::new(number).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use domain::message::MAX_TREE_MESSAGES;

    use super::*;

    /// Services without a configuration use the same.
    #[test]
    fn the_defaults_are_those_of_the_domain() {
        assert_eq!(max_hops(&mut Values::gather_nothing()), MaxHops::default());
        assert_eq!(max_tree_messages(&mut Values::gather_nothing()), MAX_TREE_MESSAGES);
        assert_eq!(max_pair_messages(&mut Values::gather_nothing()), MaxPairMessages::default());
    }
}

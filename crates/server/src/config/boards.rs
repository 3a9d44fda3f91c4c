//! The limit of boards.

use super::key::Key;
use super::parse;
use super::values::Values;

pub(super) fn max_tasks(values: &mut Values) -> u32 {
    values.section("Boards");
    let max_tasks = Key::number(
        "max_tasks",
        "NUMBER",
        "10000",
        "Maximum number of tasks in a room, in any state. 0 turns boards off: their paths return 404.",
    );
    values.read(max_tasks, parse::number(0, 1_000_000_u32))
}

#[cfg(test)]
mod tests {
    use domain::board::DEFAULT_MAX_TASKS;

    use super::*;

    /// Services without a configuration use the same.
    #[test]
    fn the_default_is_that_of_the_domain() {
        assert_eq!(max_tasks(&mut Values::gather_nothing()), DEFAULT_MAX_TASKS);
    }
}

//! Summaries of work: numbers of items by state, by agent, and by error.
//!
//! Stores count the items by agent, state, and error; the errors that differ in numbers only, such as times and
//! request ids, are put together here.

use std::collections::HashMap;

use super::totals::StateTotals;
use crate::delivery::DeliveryStatus;
use crate::id::AgentId;
use crate::time::Timestamp;

/// The number of deliveries of each [`WorkPart`](super::WorkPart) that a summary examines.
pub const SUMMARIZED_PER_PART: u32 = 10_000;

/// The maximum number of characters of the text that an error must contain.
pub const MAX_ERROR_FILTER_CHARS: usize = 200;

/// The number of characters of an error in which its first line must be.
pub const SUMMARIZED_ERROR_CHARS: usize = 512;

/// The maximum number of characters of a shown error.
const ERROR_CHARS: usize = 300;

/// The maximum number of errors.
const MOST_ERRORS: usize = 100;

/// The items of an agent in one state that have the same error.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CountedWork {
    /// The agent.
    pub agent: AgentId,
    /// Its handle.
    pub handle: String,
    /// Its name.
    pub name: String,
    /// The items.
    pub items: StateTotals,
    /// The first [`SUMMARIZED_ERROR_CHARS`] characters of the last error of each, if there was one and the
    /// scope [reveals](super::WorkScope::reveals_errors) it.
    pub error: Option<String>,
}

/// What a store has counted.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct WorkCounts {
    /// The items.
    pub items: Vec<CountedWork>,
    /// Set if not all deliveries were examined, so that there may be more items.
    pub is_cut: bool,
}

/// The items of an agent.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct AgentSummary {
    /// The agent.
    pub agent: AgentId,
    /// Its handle.
    pub handle: String,
    /// Its name.
    pub name: String,
    /// Its items by state.
    pub states: StateSums,
}

/// The items whose last errors differ in numbers only.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ErrorSummary {
    /// The first line of the error, with `#` for each number in which the errors differ.
    pub text: String,
    /// A text that the errors of all these items contain, to filter by; `None` if they have only numbers.
    pub filter: Option<String>,
    /// The number of items.
    pub number: u64,
    /// The time of the oldest message.
    pub oldest: Option<Timestamp>,
    /// The agents, by id.
    pub agents: Vec<AgentId>,
}

/// A summary of work.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct WorkSummary {
    /// All items by state.
    pub states: StateSums,
    /// The items of each agent that has any, the largest number first.
    pub agents: Vec<AgentSummary>,
    /// The items by error, the largest number first; `None` if the scope reveals no errors.
    pub errors: Option<Vec<ErrorSummary>>,
    /// The number of errors that are left out because there are too many.
    pub omitted_errors: usize,
    /// Set if not all deliveries were examined, so that there may be more items.
    pub is_cut: bool,
}

/// Numbers of items by state, in the order of [`DeliveryStatus::ALL`], without those that are zero.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct StateSums(Vec<StateTotals>);

impl StateSums {
    /// The sums.
    pub fn all(&self) -> &[StateTotals] {
        &self.0
    }

    /// The number of items.
    pub fn number(&self) -> u64 {
        self.0.iter().map(|sums| sums.number).sum()
    }

    /// The time of the oldest message.
    pub fn oldest(&self) -> Option<Timestamp> {
        self.0.iter().filter_map(|sums| sums.oldest).min()
    }

    fn add(&mut self, items: StateTotals) {
        let place = |state: DeliveryStatus| DeliveryStatus::ALL.iter().position(|other| *other == state);
        match self.0.binary_search_by_key(&place(items.state), |sums| place(sums.state)) {
            Ok(index) => self.0[index].merge(items),
            Err(index) => self.0.insert(index, items),
        }
    }
}

impl WorkSummary {
    /// Adds up what a store has counted.
    pub fn of(counts: WorkCounts, reveals_errors: bool) -> Self {
        let mut states = StateSums::default();
        let mut agents = HashMap::<AgentId, AgentSummary>::new();
        let mut errors = HashMap::<String, ErrorSummary>::new();
        for CountedWork { agent, handle, name, items, error } in counts.items {
            states.add(items);
            let of_agent = || AgentSummary { agent, handle, name, states: StateSums::default() };
            agents.entry(agent).or_insert_with(of_agent).states.add(items);
            if let Some(text) = error.as_deref().and_then(first_line) {
                let key = folded(&text);
                errors.entry(key).or_insert_with(|| ErrorSummary::new(text.clone())).add(&text, agent, items);
            }
        }
        let mut agents = agents.into_values().collect::<Vec<_>>();
        agents.sort_by(|one, other| {
            let number = |summary: &AgentSummary| std::cmp::Reverse(summary.states.number());
            (number(one), &one.handle, one.agent).cmp(&(number(other), &other.handle, other.agent))
        });
        let mut errors = errors.into_values().collect::<Vec<_>>();
        errors.sort_by(|one, other| {
            let number = |summary: &ErrorSummary| std::cmp::Reverse(summary.number);
            (number(one), one.oldest, &one.text).cmp(&(number(other), other.oldest, &other.text))
        });
        let omitted_errors = errors.len().saturating_sub(MOST_ERRORS);
        errors.truncate(MOST_ERRORS);
        let errors = reveals_errors.then_some(errors);
        Self { states, agents, errors, omitted_errors, is_cut: counts.is_cut }
    }
}

impl ErrorSummary {
    fn new(text: String) -> Self {
        let filter = cut(&text, MAX_ERROR_FILTER_CHARS);
        Self { text, filter, number: 0, oldest: None, agents: Vec::new() }
    }

    fn add(&mut self, text: &str, agent: AgentId, items: StateTotals) {
        if text != self.text {
            self.text = folded(text);
            self.filter = longest_part(&self.text);
        }
        self.number += items.number;
        self.oldest = self.oldest.into_iter().chain(items.oldest).min();
        if let Err(index) = self.agents.binary_search(&agent) {
            self.agents.insert(index, agent);
        }
    }
}

/// The first line of an error that is not blank.
fn first_line(error: &str) -> Option<String> {
    cut(error.trim().lines().next().unwrap_or_default(), ERROR_CHARS)
}

/// The text up to a number of characters, without blanks around it; `None` if nothing is left.
fn cut(text: &str, chars: usize) -> Option<String> {
    let cut = text.trim().chars().take(chars).collect::<String>();
    let cut = cut.trim_end();
    (!cut.is_empty()).then(|| cut.to_owned())
}

/// The text with `#` for each number.
fn folded(text: &str) -> String {
    let mut folded = String::with_capacity(text.len());
    let mut in_number = false;
    for char in text.chars() {
        let is_digit = char.is_ascii_digit();
        if !is_digit {
            folded.push(char);
        } else if !in_number {
            folded.push('#');
        }
        in_number = is_digit;
    }
    folded
}

/// The longest part of a folded text between two numbers; the first of several.
fn longest_part(folded: &str) -> Option<String> {
    let parts = folded.split('#').map(str::trim).rev();
    parts.max_by_key(|part| part.chars().count()).and_then(|part| cut(part, MAX_ERROR_FILTER_CHARS))
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;

    fn agent(number: u128) -> AgentId {
        AgentId::new(Uuid::from_u128(number))
    }

    fn items(of: u128, state: DeliveryStatus, number: u64, oldest: i64, error: Option<&str>) -> CountedWork {
        let oldest = Some(Timestamp::from_micros(oldest));
        CountedWork {
            agent: agent(of),
            handle: format!("ann/{of}"),
            name: format!("Agent {of}"),
            items: StateTotals { state, number, oldest, unanswered: 1, stuck: 0, failing: number },
            error: error.map(str::to_owned),
        }
    }

    fn errors(texts: &[&str]) -> Vec<(String, Option<String>, u64)> {
        let failed = |text: &&str| items(1, DeliveryStatus::Failed, 1, 1, Some(*text));
        let counts = WorkCounts { items: texts.iter().map(failed).collect(), is_cut: false };
        let errors = WorkSummary::of(counts, true).errors.unwrap();
        errors.into_iter().map(|error| (error.text, error.filter, error.number)).collect()
    }

    #[test]
    fn items_are_added_up_by_state_and_by_agent() {
        use DeliveryStatus::{Failed, New};
        let counted = vec![
            items(1, Failed, 2, 30, Some("x")),
            items(2, New, 4, 20, None),
            items(1, New, 1, 40, None),
            items(1, Failed, 3, 10, Some("y")),
        ];
        let summary = WorkSummary::of(WorkCounts { items: counted, is_cut: true }, false);
        let sums = |sums: &StateSums| {
            let sum =
                |sums: &StateTotals| (sums.state, sums.number, sums.oldest.unwrap().micros(), sums.failing);
            sums.all().iter().map(sum).collect::<Vec<_>>()
        };
        assert_eq!(sums(&summary.states), [(New, 5, 20, 5), (Failed, 5, 10, 5)]);
        assert_eq!((summary.states.number(), summary.states.oldest().unwrap().micros()), (10, 10));
        let agents = summary.agents.iter().map(|of| (of.agent, of.handle.as_str(), sums(&of.states)));
        let expected = [
            (agent(1), "ann/1", vec![(New, 1, 40, 1), (Failed, 5, 10, 5)]),
            (agent(2), "ann/2", vec![(New, 4, 20, 4)]),
        ];
        assert_eq!(agents.collect::<Vec<_>>(), expected);
        assert_eq!((summary.errors, summary.is_cut), (None, true));
    }

    #[test]
    fn errors_that_differ_in_numbers_only_are_one() {
        let group =
            |text: &str, filter: Option<&str>, number| (text.to_owned(), filter.map(str::to_owned), number);
        for (texts, expected) in [
            (&["KeyError", "KeyError"][..], vec![group("KeyError", Some("KeyError"), 2)]),
            (&["  it broke \n at x.py", "it broke\nat y.py"], vec![group("it broke", Some("it broke"), 2)]),
            (
                &["Error 529: the model is busy\n at x", "Error 5: the model is busy", "Error 529: no"],
                vec![
                    group("Error #: the model is busy", Some(": the model is busy"), 2),
                    group("Error 529: no", Some("Error 529: no"), 1),
                ],
            ),
            (&["500", "502"], vec![group("#", None, 2)]),
            (&["ab1cd", "ab22cd"], vec![group("ab#cd", Some("ab"), 2)]),
            (
                &["٣ items", "٤ items"],
                vec![group("٣ items", Some("٣ items"), 1), group("٤ items", Some("٤ items"), 1)],
            ),
            (&[" \n ", ""], vec![]),
        ] {
            assert_eq!(errors(texts), expected, "{texts:?}");
        }
        let long = "ä".repeat(400);
        assert_eq!(errors(&[&long]), [(long[..600].to_owned(), Some(long[..400].to_owned()), 1)]);
    }

    #[test]
    fn the_agents_and_the_age_of_an_error_are_known() {
        let counted = [(2, 20), (1, 30), (2, 10)].map(|(agent, oldest)| {
            items(agent, DeliveryStatus::Failed, 2, oldest, Some(&format!("broken {oldest}")))
        });
        let summary = WorkSummary::of(WorkCounts { items: counted.into(), is_cut: false }, true);
        let errors = summary.errors.unwrap();
        assert_eq!((errors[0].number, errors[0].oldest.unwrap().micros()), (6, 10));
        assert_eq!(errors[0].agents, [agent(1), agent(2)]);
    }

    #[test]
    fn the_largest_errors_are_listed() {
        let letters = |number: usize| format!("{}{}", "x".repeat(number), "y".repeat(150 - number));
        let mut counted = (1..=MOST_ERRORS + 7)
            .map(|number| items(1, DeliveryStatus::Failed, number as u64, 1, Some(&letters(number))))
            .collect::<Vec<_>>();
        counted.reverse();
        let summary = WorkSummary::of(WorkCounts { items: counted, is_cut: false }, true);
        let errors = summary.errors.unwrap();
        assert_eq!((errors.len(), summary.omitted_errors), (MOST_ERRORS, 7));
        assert_eq!((errors[0].number, errors[MOST_ERRORS - 1].number), (107, 8));
    }
}

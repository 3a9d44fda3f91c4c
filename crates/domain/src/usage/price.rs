//! What tokens cost, by a table of prices. Pure, and in whole numbers only.

use std::collections::BTreeMap;
use std::fmt;

use super::counts::{TokenCounts, TokenKind};
use super::port::UsageSum;

/// Millionths of a unit of the currency.
const MICROS: u128 = 1_000_000;

/// An exact amount of money, in 10^-12 of a unit of the currency: a price per million tokens has six decimals.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub struct Money(u128);

impl fmt::Display for Money {
    /// Six decimals, rounded half up: `1.250000`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let micros = (self.0 + MICROS / 2) / MICROS;
        write!(f, "{}.{:06}", micros / MICROS, micros % MICROS)
    }
}

/// The prices of a model, in millionths of a unit of the currency per million tokens.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ModelPrice {
    /// Of input.
    pub input: u64,
    /// Of output.
    pub output: u64,
    /// Of what is read from the cache; `None` if it is not known.
    pub cache_read: Option<u64>,
    /// Of what is written to the cache; `None` if it is not known.
    pub cache_write: Option<u64>,
    /// Set if the provider counts cached tokens as input too: what is left without them has the price of input.
    pub input_includes_cache: bool,
}

/// The prices of models, all in one currency.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Prices {
    /// The currency, such as `USD`; `None` if no model has a price.
    pub currency: Option<String>,
    /// The models by their exact names.
    pub models: BTreeMap<String, ModelPrice>,
}

/// The cost of tokens.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Cost {
    /// The amount; `None` if none of the tokens has a price.
    pub amount: Option<Money>,
    /// The number of tokens without a price, which the amount does not contain; at most
    /// [`MAX_TOKENS`](super::MAX_TOKENS).
    pub unpriced_tokens: u64,
}

impl ModelPrice {
    fn cost(&self, tokens: TokenCounts) -> (u128, u64) {
        let cached = if self.input_includes_cache { tokens.cache_read + tokens.cache_write } else { 0 };
        let (mut amount, mut unpriced) = (0, 0);
        for (kind, number) in tokens.by_kind() {
            let (number, price) = match kind {
                TokenKind::Input => (number.saturating_sub(cached), Some(self.input)),
                TokenKind::Output => (number, Some(self.output)),
                TokenKind::CacheRead => (number, self.cache_read),
                TokenKind::CacheWrite => (number, self.cache_write),
            };
            match price {
                Some(price) => amount += u128::from(number) * u128::from(price),
                None => unpriced += number,
            }
        }
        (amount, unpriced)
    }
}

impl Prices {
    /// The cost of sums, those of each model apart.
    pub fn cost(&self, sums: &[UsageSum]) -> Cost {
        let (mut amount, mut is_priced, mut unpriced) = (0_u128, false, TokenCounts::default());
        for sum in sums {
            let price = sum.model.as_ref().and_then(|model| self.models.get(model));
            let (more, without) = price.map_or((0, sum.tokens.total()), |price| price.cost(sum.tokens));
            is_priced |= price.is_some();
            amount = amount.saturating_add(more);
            unpriced = unpriced.plus(TokenCounts { input: without, ..TokenCounts::default() });
        }
        Cost { amount: is_priced.then_some(Money(amount)), unpriced_tokens: unpriced.input }
    }
}

#[cfg(test)]
mod tests {
    use super::super::MAX_TOKENS;
    use super::*;

    fn sum(model: Option<&str>, input: u64, output: u64, cache_read: u64, cache_write: u64) -> UsageSum {
        let tokens = TokenCounts { input, output, cache_read, cache_write };
        UsageSum { model: model.map(str::to_owned), tokens, reports: 1 }
    }

    fn prices(price: ModelPrice) -> Prices {
        Prices { currency: Some("USD".to_owned()), models: [("big".to_owned(), price)].into() }
    }

    /// 3 for input, 15 for output, 0.30 and 3.75 for the cache, per million.
    const BIG: ModelPrice = ModelPrice {
        input: 3_000_000,
        output: 15_000_000,
        cache_read: Some(300_000),
        cache_write: Some(3_750_000),
        input_includes_cache: false,
    };

    fn shown(price: ModelPrice, sums: &[UsageSum]) -> (Option<String>, u64) {
        let Cost { amount, unpriced_tokens } = prices(price).cost(sums);
        (amount.map(|amount| amount.to_string()), unpriced_tokens)
    }

    #[test]
    fn each_kind_has_its_price() {
        let some = |text: &str| Some(text.to_owned());
        let all = [sum(Some("big"), 1_000_000, 100_000, 2_000_000, 40_000)];
        assert_eq!(shown(BIG, &all), (some("5.250000"), 0));
        let includes = ModelPrice { input_includes_cache: true, ..BIG };
        let of_it = [sum(Some("big"), 3_000_000, 100_000, 2_000_000, 40_000)];
        assert_eq!(shown(includes, &of_it), (some("5.130000"), 0), "960,000 of the input are not cached");
        assert_eq!(shown(includes, &[sum(Some("big"), 5, 0, 1_000_000, 0)]), (some("0.300000"), 0));
        let no_write = ModelPrice { cache_write: None, ..BIG };
        assert_eq!(shown(no_write, &all), (some("5.100000"), 40_000));
    }

    #[test]
    fn an_unknown_model_has_no_cost() {
        assert_eq!(shown(BIG, &[]), (None, 0));
        let unknown = [sum(None, 1, 2, 3, 4), sum(Some("Big"), 10, 0, 0, 0)];
        assert_eq!(shown(BIG, &unknown), (None, 20));
        let both = [sum(None, 1, 2, 3, 4), sum(Some("big"), 1, 0, 0, 0)];
        assert_eq!(shown(BIG, &both), (Some("0.000003".to_owned()), 10));
        assert_eq!(Prices::default().cost(&both), Cost { amount: None, unpriced_tokens: 11 });
        let free = ModelPrice { input: 0, ..BIG };
        assert_eq!(shown(free, &[sum(Some("big"), 7, 0, 0, 0)]), (Some("0.000000".to_owned()), 0));
    }

    #[test]
    fn amounts_are_exact_and_rounded_once() {
        let tiny = ModelPrice { input: 1, ..BIG };
        let amount = |tokens| shown(tiny, &[sum(Some("big"), tokens, 0, 0, 0)]).0.unwrap();
        assert_eq!(amount(499_999), "0.000000");
        assert_eq!(amount(500_000), "0.000001");
        let most = ModelPrice { input: 1_000_000_000_000, output: 1_000_000_000_000, ..BIG };
        let all = sum(Some("big"), MAX_TOKENS, MAX_TOKENS, 0, 0);
        assert_eq!(shown(most, std::slice::from_ref(&all)).0.unwrap(), "18014398509481982.000000");
        let several = [all.clone(), all, sum(None, MAX_TOKENS, MAX_TOKENS, 0, 0), sum(None, 1, 0, 0, 0)];
        assert_eq!(shown(most, &several), (Some("36028797018963964.000000".to_owned()), MAX_TOKENS));
    }
}

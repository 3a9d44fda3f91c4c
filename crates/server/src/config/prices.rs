//! The prices of models.

use std::collections::BTreeMap;

use domain::usage::{ModelPrice, Prices};

use super::key::{Form, Key};
use super::parse;
use super::values::Values;

/// How prices are set, for the reference.
pub(super) const INTRODUCTION: &str = "\
A table for each model, with its exact name, as agents state it in `model_type`. Use quotes, since names contain dots. \
Prices are in `price_currency` per million tokens, with at most six decimals. Tokens of other models have no cost. See \
*What does it cost?* in [operations.md](operations.md).";

/// The settings that the table of a model may have: name, default, and description.
pub(super) const LINES: [(&str, &str, &str); 5] = [
    ("input", "required", "Price of input tokens."),
    ("output", "required", "Price of output tokens."),
    ("cache_read", "no price", "Price of tokens that are read from the provider's cache."),
    ("cache_write", "no price", "Price of tokens that are written to the provider's cache."),
    (
        "input_includes_cache",
        "`false`",
        "Whether the provider counts cached tokens as input too, as OpenAI and Gemini do. Only the others then have the \
         price of input.",
    ),
];

/// The largest price, in whole units.
const MOST: u64 = 1_000_000;

/// The names of all settings in the table that contains the setting `name`.
pub(super) fn lines_like(name: &str) -> Vec<String> {
    let table = name.starts_with("prices.").then(|| name.rsplit_once('.')).flatten();
    table.map_or_else(Vec::new, |(table, _)| {
        LINES.iter().map(|(line, ..)| format!("{table}.{line}")).collect()
    })
}

/// Reads the prices of all models.
pub(super) fn read(values: &mut Values) -> Prices {
    let key = Key::text(
        "price_currency",
        "CODE",
        "none",
        "Currency of the prices of models, for example `USD`; required with them. See *Prices* below.",
    );
    let currency = values.optional(key, currency);
    let mut models = BTreeMap::new();
    for model in values.tables_in("prices") {
        if let Some(price) = price(values, &model) {
            models.insert(model, price);
        }
    }
    if currency.is_none() && !models.is_empty() {
        values.refuse("price_currency", "is required, since models have prices".to_owned());
    }
    Prices { currency: currency.filter(|_| !models.is_empty()), models }
}

/// Reads the price of one model.
fn price(values: &mut Values, model: &str) -> Option<ModelPrice> {
    let path = |line: &str| format!("prices.{model}.{line}");
    let mut amount = |line| values.line(&path(line), Form::Number, micros);
    let (input, output) = (amount("input"), amount("output"));
    let (cache_read, cache_write) = (amount("cache_read"), amount("cache_write"));
    let includes = values.line(&path("input_includes_cache"), Form::Switch, parse::switch);
    let (Some(input), Some(output)) = (input, output) else {
        let problem =
            "needs valid prices of `input` and `output`; a name with a dot must be in quotes".to_owned();
        values.refuse(&format!("prices.{model}"), problem);
        return None;
    };
    Some(ModelPrice {
        input,
        output,
        cache_read,
        cache_write,
        input_includes_cache: includes.unwrap_or(false),
    })
}

fn currency(text: &str) -> Result<String, String> {
    let is_code = text.len() == 3 && text.bytes().all(|byte| byte.is_ascii_uppercase());
    is_code.then(|| text.to_owned()).ok_or_else(|| "must be three capital letters".to_owned())
}

/// A price in millionths. It is read digit by digit: a float would change it.
fn micros(text: &str) -> Result<u64, String> {
    let parsed = || {
        let (whole, decimals) = text.split_once('.').unwrap_or((text, "0"));
        let is_number = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
        if !is_number(whole) || !is_number(decimals) || decimals.len() > 6 {
            return None;
        }
        let whole = whole.parse::<u64>().ok().filter(|whole| *whole <= MOST)?;
        Some(whole * 1_000_000 + format!("{decimals:0<6}").parse::<u64>().ok()?)
    };
    parsed().ok_or_else(|| format!("must be a number from 0 to {MOST} with at most six decimals"))
}

#[cfg(test)]
mod tests {
    use super::super::with_file;
    use super::*;

    #[test]
    fn prices_are_read_exactly() {
        for (text, expected) in [
            ("0", Some(0)),
            ("3", Some(3_000_000)),
            ("0.1", Some(100_000)),
            ("2.50", Some(2_500_000)),
            ("0.000001", Some(1)),
            ("1000000.5", Some(1_000_000_500_000)),
            ("1000001", None),
            ("0.0000001", None),
            ("-1", None),
            ("1e3", None),
            ("inf", None),
            ("nan", None),
            (".5", None),
            ("5.", None),
            ("", None),
        ] {
            assert_eq!(micros(text).ok(), expected, "{text}");
        }
    }

    #[test]
    fn models_have_prices() {
        let file = "price_currency = 'USD'\n[prices.\"gpt-4.1\"]\ninput = 2\noutput = 8.0\ncache_read = 0.5\n\
                    input_includes_cache = true\n[prices.small]\ninput = 0\noutput = 0.25\n";
        let examined = with_file(&[], &[], file);
        assert!(examined.faults.is_empty(), "{:?}", examined.faults);
        let prices = examined.config.prices;
        assert_eq!((prices.currency.as_deref(), prices.models.len()), (Some("USD"), 2));
        let gpt = ModelPrice {
            input: 2_000_000,
            output: 8_000_000,
            cache_read: Some(500_000),
            cache_write: None,
            input_includes_cache: true,
        };
        assert_eq!(prices.models["gpt-4.1"], gpt);
        assert_eq!(with_file(&[], &[], "price_currency = 'EUR'\n").config.prices, Prices::default());
    }

    #[test]
    fn wrong_prices_are_faults() {
        for (file, faults) in [
            ("[prices.a]\ninput = 1\noutput = 2\n", 1),
            ("price_currency = 'dollars'\n", 1),
            ("price_currency = 'USD'\n[prices.a]\ninput = 1\n", 1),
            ("price_currency = 'USD'\n[prices.a]\ninput = '1'\noutput = -2\n", 3),
            ("price_currency = 'USD'\n[prices.a]\ninput = 1\noutput = 2\ncache = 3\n", 1),
            ("price_currency = 'USD'\n[prices.gpt-4.1]\ninput = 1\noutput = 2\n", 1),
            ("prices = 1\n", 1),
        ] {
            let found = with_file(&[], &[], file).faults;
            assert_eq!(found.len(), faults, "{file}: {found:?}");
        }
    }
}

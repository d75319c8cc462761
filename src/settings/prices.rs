//! Prices of models, by which the cost of their calls is counted.

use std::collections::BTreeMap;

use agenthub_metrics::runs;
use serde::Deserialize;

/// Prices by the names of models, such as `openai/gpt-5`.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(transparent)]
pub(crate) struct Prices(BTreeMap<String, Price>);

/// US dollars for a million tokens.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
struct Price {
    input: Dollars,
    output: Dollars,
}

/// A number of dollars, 0 or more.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(try_from = "f64")]
struct Dollars(f64);

impl TryFrom<f64> for Dollars {
    type Error = &'static str;

    fn try_from(number: f64) -> Result<Self, Self::Error> {
        match number.is_finite() && number >= 0.0 {
            true => Ok(Self(number)),
            false => Err("a price is a number of US dollars for a million tokens, 0 or more"),
        }
    }
}

impl Prices {
    /// Has the cost of this process's calls of models counted by these prices.
    pub(crate) fn set_for_process(&self) {
        let prices = self.0.iter().map(|(model, price)| {
            let price = runs::Price {
                input: price.input.0,
                output: price.output.0,
            };
            (model.clone(), price)
        });
        runs::of_process().set_prices(prices.collect());
    }
}

#[cfg(test)]
mod tests {
    use crate::settings::Settings;

    fn read(text: &str) -> Result<super::Prices, String> {
        let settings = Settings::of_text(text).map_err(|error| error.to_string())?;
        Ok(settings.prices)
    }

    #[test]
    fn a_price_is_no_less_than_nothing_and_has_both_parts() {
        let prices = read("[prices]\n\"openai/gpt-5\" = { input = 1.25, output = 10 }\n");
        assert_eq!(prices.expect("good").0.len(), 1);
        for (text, wrong) in [
            ("{ input = -1.0, output = 1.0 }", "0 or more"),
            ("{ input = 1.0 }", "output"),
            ("{ input = 1.0, output = 1.0, cached = 1.0 }", "cached"),
        ] {
            let error = read(&format!("[prices]\n\"a/b\" = {text}\n")).expect_err(text);
            assert!(
                error.contains(wrong) && error.contains("agenthub.toml:2"),
                "{error}"
            );
        }
    }
}

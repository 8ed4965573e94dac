//! Prices of language models.

use std::collections::BTreeMap;

use super::SettingValue;

/// Price of a model, per million tokens.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ModelPrice {
    /// Price of prompt tokens.
    pub input: f64,
    /// Price of answer tokens.
    pub output: f64,
}

impl ModelPrice {
    /// Price of a prompt and its answer.
    pub fn of(&self, input_tokens: u64, output_tokens: u64) -> f64 {
        (self.input * input_tokens as f64 + self.output * output_tokens as f64) / 1e6
    }
}

/// Prices by model name. The price of a model that is not listed is unknown, not zero.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ModelPrices(BTreeMap<String, ModelPrice>);

impl ModelPrices {
    /// The price of a model, if it is known.
    pub fn get(&self, model: &str) -> Option<ModelPrice> {
        self.0.get(model).copied()
    }
}

impl SettingValue for ModelPrices {
    fn parse(text: &str) -> Option<Self> {
        let items = text.split(',').map(str::trim).filter(|item| !item.is_empty());
        items.map(price).collect::<Option<BTreeMap<_, _>>>().map(Self)
    }

    fn accepted() -> String {
        "prices per million input and output tokens, such as gpt-4=30/60,qwen3-coder=0/0".into()
    }
}

fn price(item: &str) -> Option<(String, ModelPrice)> {
    let (name, prices) = item.split_once('=')?;
    let (input, output) = prices.split_once('/')?;
    let number =
        |text: &str| text.trim().parse::<f64>().ok().filter(|price| price.is_finite() && *price >= 0.0);
    let price = ModelPrice { input: number(input)?, output: number(output)? };
    let name = name.trim();
    (!name.is_empty()).then(|| (name.to_owned(), price))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prices_are_parsed_and_unlisted_models_are_unknown() {
        let prices = ModelPrices::parse(" gpt-4=30/60, local = 0/0 ,").unwrap();
        assert!((prices.get("gpt-4").unwrap().of(1_000, 500) - 0.06).abs() < 1e-12);
        assert!(prices.get("local").unwrap().of(9, 9).abs() < 1e-12);
        assert_eq!(prices.get("other"), None);
        for wrong in ["gpt-4", "gpt-4=30", "=1/2", "a=-1/2", "a=inf/1", "a=1/x"] {
            assert_eq!(ModelPrices::parse(wrong), None, "{wrong}");
        }
    }
}

//! What calls are worth and what they cost.

/// What a call that ends well is worth, and what machines cost. All in one unit of money.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Prices {
    /// A call that ends well.
    pub value_per_call: f64,
    /// A second of a core.
    pub per_cpu_second: f64,
    /// A second of a gigabyte of memory.
    pub per_gb_second: f64,
}

/// What calls took.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Taken {
    /// All that count.
    pub calls: usize,
    /// Of them.
    pub ended_well: usize,
    /// Of all of them.
    pub cpu_seconds: f64,
    /// Memory times time.
    pub gb_seconds: f64,
}

impl Prices {
    /// What was earned for each unit that could have been: 1 when every call ends well and costs nothing, negative when
    /// calls cost more than they are worth. Nothing without calls, or when a call is worth nothing.
    pub fn profitability(&self, taken: &Taken) -> Option<f64> {
        let possible = taken.calls as f64 * self.value_per_call;
        if possible <= 0.0 {
            return None;
        }
        let earned = taken.ended_well as f64 * self.value_per_call;
        let cost = taken.cpu_seconds * self.per_cpu_second + taken.gb_seconds * self.per_gb_second;
        Some((earned - cost) / possible)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PRICES: Prices = Prices { value_per_call: 2.0, per_cpu_second: 1.0, per_gb_second: 0.5 };

    #[test]
    fn failures_and_costs_lower_it() {
        let free = Taken { calls: 4, ended_well: 4, ..Taken::default() };
        assert_eq!(PRICES.profitability(&free), Some(1.0));
        assert_eq!(PRICES.profitability(&Taken { ended_well: 2, ..free }), Some(0.5));
        assert_eq!(PRICES.profitability(&Taken { cpu_seconds: 2.0, gb_seconds: 4.0, ..free }), Some(0.5));
        assert_eq!(PRICES.profitability(&Taken { ended_well: 0, cpu_seconds: 8.0, ..free }), Some(-1.0));
    }

    #[test]
    fn nothing_is_said_about_no_calls() {
        assert_eq!(PRICES.profitability(&Taken::default()), None);
        let worthless = Prices { value_per_call: 0.0, ..PRICES };
        assert_eq!(worthless.profitability(&Taken { calls: 1, ended_well: 1, ..Taken::default() }), None);
    }
}

//! Value and cost of calls.

/// Value of a successful call and prices of resources, all in one currency.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ResourcePrices {
    /// Value of a successful call.
    pub value_per_call: f64,
    /// Price of one core for one second.
    pub per_cpu_second: f64,
    /// Price of one gigabyte of memory for one second.
    pub per_gb_second: f64,
}

/// Number and resource usage of calls.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct CallResourceUsage {
    /// Calls that count.
    pub calls: usize,
    /// Successful calls.
    pub ended_well: usize,
    /// CPU time of all calls.
    pub cpu_seconds: f64,
    /// Memory × time of all calls.
    pub gb_seconds: f64,
}

impl ResourcePrices {
    /// (earned value − cost) / possible value: 1 when every call succeeds at no cost, negative when calls cost more than
    /// their value. `None` without calls, or when the value of a call is 0.
    pub fn profitability(&self, taken: &CallResourceUsage) -> Option<f64> {
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

    const PRICES: ResourcePrices =
        ResourcePrices { value_per_call: 2.0, per_cpu_second: 1.0, per_gb_second: 0.5 };

    #[test]
    fn failures_and_costs_lower_profitability() {
        let free = CallResourceUsage { calls: 4, ended_well: 4, ..CallResourceUsage::default() };
        assert_eq!(PRICES.profitability(&free), Some(1.0));
        assert_eq!(PRICES.profitability(&CallResourceUsage { ended_well: 2, ..free }), Some(0.5));
        assert_eq!(
            PRICES.profitability(&CallResourceUsage { cpu_seconds: 2.0, gb_seconds: 4.0, ..free }),
            Some(0.5)
        );
        assert_eq!(
            PRICES.profitability(&CallResourceUsage { ended_well: 0, cpu_seconds: 8.0, ..free }),
            Some(-1.0)
        );
    }

    #[test]
    fn profitability_without_calls_is_unknown() {
        assert_eq!(PRICES.profitability(&CallResourceUsage::default()), None);
        let worthless = ResourcePrices { value_per_call: 0.0, ..PRICES };
        assert_eq!(
            worthless.profitability(&CallResourceUsage {
                calls: 1,
                ended_well: 1,
                ..CallResourceUsage::default()
            }),
            None
        );
    }
}

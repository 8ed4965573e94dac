//! Limits on time, money and tokens, and the spending against them.

use std::fmt;
use std::time::{Duration, Instant};

pub use menace_model::patches::StepCost;

/// Hard limits of a run; `None` means unlimited.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct BudgetLimits {
    /// Wall time of the whole run.
    pub time: Option<Duration>,
    /// Money, in the currency of the prices.
    pub cost: Option<f64>,
    /// Tokens of model requests and answers.
    pub tokens: Option<u64>,
}

/// Remaining budget for models; `None` means unlimited.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct RemainingBudget {
    /// Tokens of model requests and answers.
    pub tokens: Option<u64>,
    /// Money.
    pub money: Option<f64>,
}

/// Reason why a budget allows no further step.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum BudgetStop {
    /// The time limit is reached, or the next step could exceed it.
    TimeSpent {
        /// Time spent.
        elapsed: Duration,
        /// Time limit.
        limit: Duration,
        /// Time that the next step may take.
        next: Duration,
    },
    /// The limit on tokens is reached.
    TokensSpent {
        /// Tokens spent.
        spent: u64,
        /// Maximum number of tokens.
        limit: u64,
    },
    /// The limit on cost is reached.
    CostSpent {
        /// Money spent.
        spent: f64,
        /// Maximum amount of money.
        limit: f64,
    },
    /// There is a limit on cost, and the price of a model is unknown.
    PriceUnknown,
}

impl fmt::Display for BudgetStop {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TimeSpent { elapsed, limit, next } => write!(
                formatter,
                "{:.0} s of {:.0} s spent, and the next step may take {:.0} s",
                elapsed.as_secs_f64(),
                limit.as_secs_f64(),
                next.as_secs_f64()
            ),
            Self::TokensSpent { spent, limit } => write!(formatter, "{spent} of {limit} tokens spent"),
            Self::CostSpent { spent, limit } => write!(formatter, "cost {spent:.2} of {limit:.2} spent"),
            Self::PriceUnknown => {
                formatter.write_str("--max-cost cannot be enforced: the price of a model is unknown")
            }
        }
    }
}

/// Spending of a run, checked against its limits.
#[derive(Debug)]
pub struct Budget {
    limits: BudgetLimits,
    began: Instant,
    /// Time spent before the run was resumed.
    before: Duration,
    tokens: u64,
    money: f64,
    /// Whether the price of any step was unknown.
    is_unknown: bool,
    /// Duration of the longest step so far; the next one may take as long.
    longest: Duration,
}

impl Budget {
    /// Starts the budget at `began`, with the time spent before a resume.
    pub fn new(limits: BudgetLimits, began: Instant, before: Duration) -> Self {
        Self { limits, began, before, tokens: 0, money: 0.0, is_unknown: false, longest: Duration::ZERO }
    }

    /// Adds the cost of a step.
    pub fn spend(&mut self, cost: &StepCost) {
        self.tokens += cost.tokens;
        match cost.money {
            Some(money) => self.money += money,
            None => self.is_unknown = true,
        }
        self.longest = self.longest.max(Duration::try_from_secs_f64(cost.seconds).unwrap_or(Duration::ZERO));
    }

    /// Remaining tokens and money for models.
    pub fn left(&self) -> RemainingBudget {
        RemainingBudget {
            tokens: self.limits.tokens.map(|limit| limit.saturating_sub(self.tokens)),
            money: self.limits.cost.map(|limit| (limit - self.money).max(0.0)),
        }
    }

    /// Tokens spent on models, and money if every price is known.
    pub fn spent(&self) -> (u64, Option<f64>) {
        (self.tokens, (!self.is_unknown).then_some(self.money))
    }

    /// Adds what models cost before the run was resumed.
    pub fn spent_before(&mut self, tokens: u64, money: Option<f64>) {
        self.spend(&StepCost { tokens, money, ..StepCost::default() });
    }

    /// Time at which the time limit is reached.
    pub fn deadline(&self) -> Option<Instant> {
        let left = self.limits.time?.saturating_sub(self.before);
        self.began.checked_add(left)
    }

    /// Time spent on the run, including before a resume.
    pub fn elapsed(&self, now: Instant) -> Duration {
        self.before + now.saturating_duration_since(self.began)
    }

    /// Reason why no further step may start: a limit is reached, or the next step could exceed it.
    pub fn stop_reason(&self, now: Instant) -> Option<BudgetStop> {
        let elapsed = self.elapsed(now);
        if let Some(limit) = self.limits.time
            && elapsed + self.longest > limit
        {
            return Some(BudgetStop::TimeSpent { elapsed, limit, next: self.longest });
        }
        if let Some(limit) = self.limits.tokens.filter(|limit| self.tokens >= *limit) {
            return Some(BudgetStop::TokensSpent { spent: self.tokens, limit });
        }
        let limit = self.limits.cost?;
        if self.is_unknown {
            return Some(BudgetStop::PriceUnknown);
        }
        (self.money >= limit).then_some(BudgetStop::CostSpent { spent: self.money, limit })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_step_starts_that_could_exceed_the_time_limit() {
        let now = Instant::now();
        let limits = BudgetLimits { time: Some(Duration::from_mins(1)), ..BudgetLimits::default() };
        let mut budget = Budget::new(limits, now, Duration::from_secs(30));
        assert_eq!(budget.stop_reason(now + Duration::from_secs(20)), None);
        budget.spend(&StepCost { seconds: 15.0, money: Some(0.0), ..StepCost::default() });
        let stop = budget.stop_reason(now + Duration::from_secs(20)).unwrap();
        let (elapsed, next) = (Duration::from_secs(50), Duration::from_secs(15));
        assert_eq!(stop, BudgetStop::TimeSpent { elapsed, limit: Duration::from_mins(1), next });
        assert_eq!(stop.to_string(), "50 s of 60 s spent, and the next step may take 15 s");
    }

    #[test]
    fn an_unknown_price_stops_a_run_with_a_cost_limit() {
        let now = Instant::now();
        let limits = BudgetLimits { cost: Some(1.0), ..BudgetLimits::default() };
        let mut budget = Budget::new(limits, now, Duration::ZERO);
        budget.spend(&StepCost { money: Some(0.4), ..StepCost::default() });
        assert_eq!(budget.stop_reason(now), None);
        budget.spend(&StepCost { money: None, ..StepCost::default() });
        assert_eq!(budget.stop_reason(now), Some(BudgetStop::PriceUnknown));
    }

    #[test]
    fn tokens_and_cost_are_limits_of_their_own() {
        let now = Instant::now();
        let limits = BudgetLimits { cost: Some(1.0), tokens: Some(100), ..BudgetLimits::default() };
        let mut budget = Budget::new(limits, now, Duration::ZERO);
        budget.spend(&StepCost { money: Some(1.5), tokens: 10, ..StepCost::default() });
        assert_eq!(budget.stop_reason(now), Some(BudgetStop::CostSpent { spent: 1.5, limit: 1.0 }));
        budget.spend(&StepCost { money: Some(0.0), tokens: 90, ..StepCost::default() });
        assert_eq!(budget.stop_reason(now), Some(BudgetStop::TokensSpent { spent: 100, limit: 100 }));
    }
}

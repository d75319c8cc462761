//! Metrics of the runs of this process's agents: models, tools, handoffs, approvals.
//!
//! They are those of the process, as its agents are: one hub in it exports them with its own, and OTLP has them wherever agents are.

use std::{
    collections::BTreeMap,
    sync::{LazyLock, OnceLock},
    time::Duration,
};

use crate::{Counter, Descriptor, Family, Histogram, Snapshot, bounds};

/// The most series of a metric whose labels name agents, models or tools.
const SERIES: usize = 200;

/// Names of the conventions' labels of a call of a model.
const MODEL_LABELS: &[&str] = &[
    "gen_ai_operation_name",
    "gen_ai_provider_name",
    "gen_ai_request_model",
    "gen_ai_agent_name",
    "error_type",
];

static MODEL_CALLS: Descriptor = Descriptor::histogram(
    "gen_ai_client_operation_duration_seconds",
    "Duration of calls of language models; error_type is empty for those that were answered",
)
.by(MODEL_LABELS)
.convention("gen_ai.client.operation.duration");

static TOKENS: Descriptor = Descriptor::histogram(
    "gen_ai_client_token_usage",
    "Tokens of calls of language models, of the input and of the output",
)
.by(&[
    "gen_ai_operation_name",
    "gen_ai_provider_name",
    "gen_ai_request_model",
    "gen_ai_agent_name",
    "gen_ai_token_type",
])
.convention("gen_ai.client.token.usage");

static COST: Descriptor = Descriptor::counter(
    "agenthub_model_cost_usd_total",
    "Cost of calls of language models in US dollars, of models with a price",
)
.by(&["provider", "model", "agent"]);

static TOOL_CALLS: Descriptor = Descriptor::histogram(
    "agenthub_tool_call_seconds",
    "Duration of calls of tools; error is empty for those that succeeded",
)
.by(&["agent", "tool", "error"]);

static HANDOFFS: Descriptor = Descriptor::histogram(
    "agenthub_handoff_seconds",
    "Time until an agent gave a task back that another one had handed it, by the task's last state",
)
.by(&["agent", "to", "state"]);

static APPROVALS: Descriptor = Descriptor::histogram(
    "agenthub_approval_wait_seconds",
    "Time until a person decided about a step",
)
.by(&["agent", "decision"]);

static RUNS_BEGUN: Descriptor =
    Descriptor::counter("agenthub_runs_begun_total", "Runs that have begun").by(&["agent"]);

static RUNS: Descriptor = Descriptor::histogram(
    "agenthub_run_seconds",
    "Duration of runs that have ended, by their last state",
)
.by(&["agent", "state"]);

static SERVED: LazyLock<Runs> = LazyLock::new(Runs::default);

/// The metrics of this process's runs.
pub fn of_process() -> &'static Runs {
    &SERVED
}

/// Metrics of runs, see the module.
#[derive(Debug)]
pub struct Runs {
    model_calls: Family<Histogram>,
    tokens: Family<Histogram>,
    cost_nanos: Family<Counter>,
    prices: OnceLock<BTreeMap<String, Price>>,
    tool_calls: Family<Histogram>,
    handoffs: Family<Histogram>,
    approvals: Family<Histogram>,
    begun: Family<Counter>,
    runs: Family<Histogram>,
}

impl Default for Runs {
    fn default() -> Self {
        let work = || Histogram::new(&bounds::WORK);
        Self {
            model_calls: Family::new(SERIES, || Histogram::new(&bounds::MODEL_CALLS)),
            tokens: Family::new(SERIES, || Histogram::new(&bounds::TOKENS)),
            cost_nanos: Family::new(SERIES, Counter::default),
            prices: OnceLock::new(),
            tool_calls: Family::new(SERIES, || Histogram::new(&bounds::REQUESTS)),
            handoffs: Family::new(SERIES, work),
            approvals: Family::new(SERIES, work),
            begun: Family::new(SERIES, Counter::default),
            runs: Family::new(SERIES, work),
        }
    }
}

/// Duration of something that has ended, and its trace.
#[derive(Clone, Copy, Debug)]
pub struct Took {
    /// Duration.
    pub time: Duration,
    /// Trace; 0 if there is none.
    pub trace_id: u128,
}

/// A call of a model.
#[derive(Clone, Copy, Debug)]
pub struct ModelCall<'a> {
    /// Provider and model, as people write it: `openai/gpt-5`.
    pub name: &'a str,
    /// Operation: `chat`.
    pub operation: &'a str,
    /// Provider, as the conventions call it.
    pub provider: &'a str,
    /// Model.
    pub model: &'a str,
    /// The agent that asked.
    pub agent: &'a str,
    /// Kind of the error; empty without one.
    pub error: &'a str,
    /// Tokens of input and output, if known.
    pub tokens: Option<(u64, u64)>,
}

/// Price of a model, in US dollars for a million tokens.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Price {
    /// Of the input.
    pub input: f64,
    /// Of the output.
    pub output: f64,
}

impl Price {
    /// Cost of these tokens, in billionths of a US dollar.
    #[expect(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "prices are positive, and no account is kept with this"
    )]
    fn of(self, input: u64, output: u64) -> u64 {
        (1e3 * (self.input * input as f64 + self.output * output as f64)) as u64
    }
}

impl Runs {
    /// Sets the prices of models, by their names as people write them. Only the first call has an effect.
    pub fn set_prices(&self, prices: BTreeMap<String, Price>) {
        let _ = self.prices.set(prices);
    }

    /// A model was called.
    pub fn model_called(&self, call: &ModelCall<'_>, took: Took) {
        let ModelCall {
            name,
            operation,
            provider,
            model,
            agent,
            error,
            tokens,
        } = *call;
        self.model_calls
            .of(&[operation, provider, model, agent, error])
            .observe_traced(took.time, took.trace_id);
        if let Some((input, output)) = tokens {
            for (kind, number) in [("input", input), ("output", output)] {
                self.tokens
                    .of(&[operation, provider, model, agent, kind])
                    .observe(number);
            }
            let price = self.prices.get().and_then(|prices| prices.get(name));
            if let Some(price) = price {
                let cost = self.cost_nanos.of(&[provider, model, agent]);
                cost.inc_by(price.of(input, output));
            }
        }
    }

    /// An agent called a tool.
    pub fn tool_called(&self, agent: &str, tool: &str, error: &str, took: Took) {
        let calls = self.tool_calls.of(&[agent, tool, error]);
        calls.observe_traced(took.time, took.trace_id);
    }

    /// An agent got a task back from another one.
    pub fn handed_back(&self, agent: &str, to: &str, state: &str, took: Took) {
        let handoffs = self.handoffs.of(&[agent, to, state]);
        handoffs.observe_traced(took.time, took.trace_id);
    }

    /// A person decided, or nobody did.
    pub fn decided(&self, agent: &str, decision: &str, took: Took) {
        let approvals = self.approvals.of(&[agent, decision]);
        approvals.observe_traced(took.time, took.trace_id);
    }

    /// A run has begun.
    pub fn begun(&self, agent: &str) {
        self.begun.of(&[agent]).inc();
    }

    /// A run has ended.
    pub fn ended(&self, agent: &str, state: &str, took: Took) {
        let runs = self.runs.of(&[agent, state]);
        runs.observe_traced(took.time, took.trace_id);
    }

    /// Adds the values.
    pub fn collect(&self, into: &mut Snapshot) {
        into.histograms(&MODEL_CALLS, &self.model_calls);
        into.histograms(&TOKENS, &self.tokens);
        into.known(&COST);
        for (labels, nanos) in self.cost_nanos.all() {
            let labels: Vec<&str> = labels.iter().map(String::as_str).collect();
            #[expect(clippy::cast_precision_loss, reason = "of what is shown")]
            into.labelled(&COST, &labels, nanos.get() as f64 / 1e9);
        }
        into.histograms(&TOOL_CALLS, &self.tool_calls);
        into.histograms(&HANDOFFS, &self.handoffs);
        into.histograms(&APPROVALS, &self.approvals);
        into.counters(&RUNS_BEGUN, &self.begun);
        into.histograms(&RUNS, &self.runs);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::{Format, encode};

    #[test]
    fn a_call_of_a_model_is_counted_with_its_tokens_and_its_cost() {
        let runs = Runs::default();
        let price = Price {
            input: 2.0,
            output: 10.0,
        };
        runs.set_prices([("openai/gpt-5".to_owned(), price)].into());
        let took = Took {
            time: Duration::from_millis(300),
            trace_id: 5,
        };
        let call = ModelCall {
            name: "openai/gpt-5",
            operation: "chat",
            provider: "openai",
            model: "gpt-5",
            agent: "writer",
            error: "",
            tokens: Some((1_000, 70)),
        };
        runs.model_called(&call, took);
        let failed = ModelCall {
            error: "failed",
            tokens: None,
            ..call
        };
        runs.model_called(&failed, took);
        let mut snapshot = Snapshot::default();
        runs.collect(&mut snapshot);
        let text = encode(&snapshot, Format::Prometheus);
        let of = "gen_ai_operation_name=\"chat\",gen_ai_provider_name=\"openai\",gen_ai_request_model=\"gpt-5\",gen_ai_agent_name=\"writer\"";
        for line in [
            format!("gen_ai_client_operation_duration_seconds_count{{{of},error_type=\"\"}} 1"),
            format!("gen_ai_client_operation_duration_seconds_count{{{of},error_type=\"failed\"}} 1"),
            format!("gen_ai_client_token_usage_sum{{{of},gen_ai_token_type=\"input\"}} 1000"),
            format!("gen_ai_client_token_usage_sum{{{of},gen_ai_token_type=\"output\"}} 70"),
            "agenthub_model_cost_usd_total{provider=\"openai\",model=\"gpt-5\",agent=\"writer\"} 0.0027".to_owned(),
        ] {
            assert!(text.lines().any(|l| l == line), "{line} in\n{text}");
        }
    }
}

//! Commands of other threads to a network: change the specification, report the flows.

use std::sync::Arc;
use std::time::Instant;

use menace_model::network::{FlowRecord, FlowRequest, NetworkReport, NetworkSpec};

use super::flow_entry::{FlowEntry, FlowKey, FlowState};
use super::inbox::NetstackCommand;
use super::worker::NetstackWorker;
use crate::resolver::DnsResolver;

/// Recorded requests of one flow. Further ones are only counted.
const MAX_REQUESTS: usize = 1000;

impl NetstackWorker {
    pub(super) fn run_commands(&mut self) {
        let inbox = Arc::clone(&self.inbox);
        for command in inbox.take() {
            let now = Instant::now();
            match command {
                NetstackCommand::Change(spec) => self.change(*spec, now),
                // The receiver may have been dropped.
                NetstackCommand::Report(sender) => drop(sender.send(self.report())),
                NetstackCommand::Resolved { key, question, found } => {
                    self.resolved(key, &question, found, now);
                }
                NetstackCommand::Requested { token, request } => self.record_request(token, *request),
                NetstackCommand::End => self.is_over = true,
            }
        }
    }

    pub(super) fn record_request(&mut self, token: u64, request: FlowRequest) {
        if let Some(entry) = self.keys.get(&token).and_then(|key| self.flows.get_mut(key)) {
            let record = &mut entry.meta.record;
            if record.requests.len() < MAX_REQUESTS {
                record.requests.push(request);
            } else {
                record.requests_left_out += 1;
            }
        }
    }

    pub(super) fn change(&mut self, spec: NetworkSpec, now: Instant) {
        self.air.change(&spec);
        if self.spec.allow != spec.allow
            || self.spec.mocks != spec.mocks
            || self.spec.resolver != spec.resolver
        {
            self.names.forget_pins();
            self.resolver = DnsResolver::new(spec.resolver);
            self.server = None;
            self.spec = spec;
            self.reset_disallowed_flows(now);
        } else {
            self.spec = spec;
        }
    }

    pub(super) fn reset_disallowed_flows(&mut self, now: Instant) {
        let refused: Vec<FlowKey> = self.flows.keys().filter(|key| !self.is_allowed(key)).copied().collect();
        for key in refused {
            self.reset_flow(key, "the network policy changed", now);
        }
    }

    pub(super) fn reset_flow(&mut self, key: FlowKey, reason: &str, now: Instant) {
        if let Some(FlowEntry { meta, state }) = self.flows.get_mut(&key) {
            meta.explain(reason);
            if let FlowState::Tcp(tcp) = state {
                tcp.abort(key, (&mut self.air, meta), &self.clock, now);
            }
        }
        self.close(key, now);
    }

    pub(super) fn report(&self) -> NetworkReport {
        let now = self.flows.values().map(|entry| entry.meta.record.clone());
        let mut flows: Vec<FlowRecord> = self.past.iter().cloned().chain(now).collect();
        flows.sort_by(|left, right| left.at_ms.total_cmp(&right.at_ms));
        NetworkReport { flows, flows_left_out: self.left_out }
    }
}

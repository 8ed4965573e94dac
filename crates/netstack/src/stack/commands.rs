//! Commands of other threads to a network: change the specification, report the flows.

use std::sync::Arc;
use std::time::Instant;

use menace_model::network::{Flow, FlowRequest, NetworkReport, NetworkSpec};

use super::entry::{Entry, Key, State};
use super::inbox::Command;
use super::worker::Worker;
use crate::resolve::Resolver;

/// Recorded requests of one flow. Further ones are only counted.
const MAX_REQUESTS: usize = 1000;

impl Worker {
    pub(super) fn obey(&mut self) {
        let inbox = Arc::clone(&self.inbox);
        for command in inbox.take() {
            let now = Instant::now();
            match command {
                Command::Change(spec) => self.change(*spec, now),
                // The receiver may have been dropped.
                Command::Report(sender) => drop(sender.send(self.report())),
                Command::Resolved { key, question, found } => self.resolved(key, &question, found, now),
                Command::Requested { token, request } => self.requested(token, *request),
                Command::End => self.is_over = true,
            }
        }
    }

    pub(super) fn requested(&mut self, token: u64, request: FlowRequest) {
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
            self.resolver = Resolver::new(spec.resolver);
            self.server = None;
            self.spec = spec;
            self.break_off_what_is_not_allowed(now);
        } else {
            self.spec = spec;
        }
    }

    pub(super) fn break_off_what_is_not_allowed(&mut self, now: Instant) {
        let refused: Vec<Key> = self.flows.keys().filter(|key| !self.is_allowed(key)).copied().collect();
        for key in refused {
            self.break_off(key, "the network policy changed", now);
        }
    }

    pub(super) fn break_off(&mut self, key: Key, reason: &str, now: Instant) {
        if let Some(Entry { meta, state }) = self.flows.get_mut(&key) {
            meta.explain(reason);
            if let State::Tcp(tcp) = state {
                tcp.abort(key, (&mut self.air, meta), &self.clock, now);
            }
        }
        self.close(key, now);
    }

    pub(super) fn report(&self) -> NetworkReport {
        let now = self.flows.values().map(|entry| entry.meta.record.clone());
        let mut flows: Vec<Flow> = self.past.iter().cloned().chain(now).collect();
        flows.sort_by(|left, right| left.at_ms.total_cmp(&right.at_ms));
        NetworkReport { flows, flows_left_out: self.left_out }
    }
}

//! What others want from a network: other rules, what was seen, a new beginning.

use std::sync::Arc;
use std::time::Instant;

use menace_model::network::{FlowRequest, NetworkReport, NetworkSpec};

use super::clock::Clock;
use super::entry::{Entry, Key, State};
use super::inbox::Command;
use super::worker::Worker;
use crate::names::Names;
use crate::resolve::Resolver;

/// Requests of one flow that are kept. More are counted.
const MOST_REQUESTS: usize = 1000;

impl Worker {
    pub(super) fn obey(&mut self) {
        let inbox = Arc::clone(&self.inbox);
        for command in inbox.take() {
            let now = Instant::now();
            match command {
                Command::Change(spec) => self.change(*spec, now),
                // Whoever asked may have gone.
                Command::Report(sender) => drop(sender.send(self.report())),
                Command::Renew(spec, sender) => drop(sender.send(self.renew(spec, now))),
                Command::Resolved { key, question, found } => self.resolved(key, &question, found, now),
                Command::Requested { token, request } => self.requested(token, *request),
                Command::End => self.is_over = true,
            }
        }
    }

    pub(super) fn requested(&mut self, token: u64, request: FlowRequest) {
        if let Some(entry) = self.keys.get(&token).and_then(|key| self.flows.get_mut(key)) {
            let record = &mut entry.meta.record;
            if record.requests.len() < MOST_REQUESTS {
                record.requests.push(request);
            } else {
                record.requests_left_out += 1;
            }
        }
    }

    pub(super) fn change(&mut self, spec: NetworkSpec, now: Instant) {
        self.air.change(spec.shape.clone());
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
            self.break_off(key, "the rules changed", now);
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

    pub(super) fn renew(&mut self, spec: Option<Box<NetworkSpec>>, now: Instant) -> NetworkReport {
        let keys: Vec<Key> = self.flows.keys().copied().collect();
        for key in keys {
            self.close(key, now);
        }
        self.air.clear(now);
        let report = NetworkReport { flows: std::mem::take(&mut self.past), flows_left_out: self.left_out };
        self.left_out = 0;
        self.names = Names::default();
        self.occurrences.clear();
        self.touched.clear();
        self.waiting.clear();
        self.timers.clear();
        self.clock = Clock { origin: now };
        let spec = spec.map_or_else(|| self.spec.clone(), |spec| *spec);
        self.air.change(spec.shape.clone());
        // A mock that is still at something must not count it for those who come next.
        self.server = None;
        self.resolver = Resolver::new(spec.resolver);
        self.spec = spec;
        sorted(report)
    }

    pub(super) fn report(&self) -> NetworkReport {
        let now = self.flows.values().map(|entry| entry.meta.record.clone());
        let flows = self.past.iter().cloned().chain(now).collect();
        sorted(NetworkReport { flows, flows_left_out: self.left_out })
    }
}

fn sorted(mut report: NetworkReport) -> NetworkReport {
    report.flows.sort_by(|left, right| left.at_ms.total_cmp(&right.at_ms));
    report
}

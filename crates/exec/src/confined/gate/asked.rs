//! Hosts that one may reach only if the host program agrees: callers wait in `connect` for its answer.

use std::net::{IpAddr, SocketAddr};
use std::sync::atomic::Ordering;
use std::sync::{Arc, Weak};
use std::thread;

use super::super::host_questions::{Caller, Step};
use super::{Gate, LATER, MAX_LOOKUPS, UNANSWERED};
use crate::connections::{HostAnswer, Refusal, Verdict};

impl Gate {
    /// Begins a connection to where an address leads, or asks about it first.
    pub(super) fn dial(self: &Arc<Self>, caller: Caller) {
        let Caller { address, port, .. } = caller;
        let (host, lead) = self.host_at(address);
        let rules = &self.connections.rules;
        let denied = || {
            let target = lead
                .filter(|lead| *lead != LATER)
                .map_or(SocketAddr::new(address, port), |lead| lead.at(port));
            rules.denies(target).then_some(Refusal::Denied)
        };
        if let Some(refusal) = rules.refusal(&host, Some(port)).or_else(denied) {
            return self.refuse(&host, caller, Verdict::Refused(refusal));
        }
        if !rules.asks(&host, Some(port)) {
            return self.connect(caller);
        }
        // The lock is not held while the host program is asked: it may answer at once.
        let step = self.decisions().step(&host, caller);
        match step {
            Step::Known(Ok(())) => self.connect_agreed(vec![caller]),
            Step::Known(Err(refusal)) => self.refuse(&host, caller, Verdict::Refused(refusal)),
            Step::Wait => {}
            Step::Ask(question) => self.ask(question, &host, port),
        }
    }

    fn ask(self: &Arc<Self>, question: u64, host: &str, port: u16) {
        self.connections.note(host, Some(port), UNANSWERED);
        // Who answers late does not keep the gate.
        let gate: Weak<Self> = Arc::downgrade(self);
        let about = host.to_owned();
        let answer = HostAnswer::new(move |agrees| {
            if let Some(gate) = gate.upgrade() {
                gate.answered(&about, port, agrees);
            }
        });
        if let Some(questions) = &self.connections.questions {
            questions.ask(question, host, port, answer);
        }
    }

    fn answered(self: &Arc<Self>, host: &str, port: u16, agrees: Option<bool>) {
        let answer = match agrees {
            Some(true) => Ok(()),
            Some(false) => Err(Refusal::Rejected),
            None => Err(Refusal::Unanswered),
        };
        let callers = self.decisions().answer(host, port, answer);
        if callers.is_empty() {
            return;
        }
        self.connections.unnote(host, port, UNANSWERED);
        match answer {
            Ok(()) => self.connect_agreed(callers),
            Err(refusal) => {
                for caller in callers {
                    self.refuse(host, caller, Verdict::Refused(refusal));
                }
            }
        }
    }

    /// Nobody waits for an answer any more.
    pub(super) fn give_up(&self) {
        let Some(questions) = &self.connections.questions else { return };
        let open = self.decisions().close();
        for question in open {
            questions.give_up(question);
        }
    }

    /// Connections that were agreed to. A name is looked up first, on a thread of its own.
    fn connect_agreed(self: &Arc<Self>, callers: Vec<Caller>) {
        let (known, unknown): (Vec<_>, Vec<_>) =
            callers.into_iter().partition(|caller| self.is_known(caller.address));
        for caller in known {
            self.connect(caller);
        }
        if unknown.is_empty() {
            return;
        }
        let all = unknown.clone();
        let gate = Arc::clone(self);
        let connects = move || {
            for caller in unknown {
                gate.connect(caller);
            }
            gate.lookups.fetch_sub(1, Ordering::Relaxed);
        };
        let is_free = self.lookups.fetch_add(1, Ordering::Relaxed) < MAX_LOOKUPS;
        let builder = thread::Builder::new().name("toolwright-name".to_owned());
        if !is_free || builder.spawn(connects).is_err() {
            self.lookups.fetch_sub(1, Ordering::Relaxed);
            for caller in all {
                let (host, _) = self.host_at(caller.address);
                self.refuse(&host, caller, Verdict::Failed);
            }
        }
    }

    /// Whether it is known where an address leads, so that nothing has to be looked up.
    fn is_known(&self, address: IpAddr) -> bool {
        let (host, lead) = self.host_at(address);
        lead != Some(LATER)
            || self.leads().found(&host).is_some()
            || self.connections.rules.lead(&host).is_some()
    }
}

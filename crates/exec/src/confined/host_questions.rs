//! The questions of one command about hosts: each host and port is asked about once.

use std::collections::HashMap;
use std::mem;
use std::net::IpAddr;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::connections::Refusal;

/// How many questions one command may put. Somebody has to read them.
const MAX_QUESTIONS: usize = 64;

static NEXT: AtomicU64 = AtomicU64::new(1);

/// Who waits for a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Caller {
    pub(super) number: u64,
    /// What it connects to.
    pub(super) address: IpAddr,
    pub(super) port: u16,
    pub(super) is_v6: bool,
    /// Whether it waits until it is connected.
    pub(super) waits: bool,
}

#[derive(Debug)]
enum Decision {
    Pending { question: u64, callers: Vec<Caller> },
    Answered(Result<(), Refusal>),
}

/// What is to be done about one that connects.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// Put this question. The caller waits.
    Ask(u64),
    /// The caller waits for an answer.
    Wait,
    /// It is known.
    Known(Result<(), Refusal>),
}

/// The questions of one command.
#[derive(Debug, Default)]
pub(super) struct HostDecisions {
    hosts: HashMap<(String, u16), Decision>,
}

impl HostDecisions {
    pub(super) fn step(&mut self, host: &str, caller: Caller) -> Step {
        let is_full = self.hosts.len() >= MAX_QUESTIONS;
        let key = (host.to_owned(), caller.port);
        match self.hosts.get_mut(&key) {
            Some(Decision::Answered(answer)) => Step::Known(*answer),
            Some(Decision::Pending { callers, .. }) => {
                callers.push(caller);
                Step::Wait
            }
            None if is_full => Step::Known(Err(Refusal::Unanswered)),
            None => {
                let question = NEXT.fetch_add(1, Ordering::Relaxed);
                self.hosts.insert(key, Decision::Pending { question, callers: vec![caller] });
                Step::Ask(question)
            }
        }
    }

    /// Takes the answer. Those who have waited for it.
    pub(super) fn answer(
        &mut self,
        host: &str,
        port: u16,
        answer: Result<(), Refusal>,
    ) -> Vec<Caller> {
        let Some(decision) = self.hosts.get_mut(&(host.to_owned(), port)) else {
            return Vec::new();
        };
        match mem::replace(decision, Decision::Answered(answer)) {
            Decision::Pending { callers, .. } => callers,
            Decision::Answered(_) => Vec::new(),
        }
    }

    /// Whether a name was agreed to, at any port.
    pub(super) fn agreed_to(&self, host: &str) -> bool {
        self.hosts.iter().any(|((name, _), decision)| {
            name == host && matches!(decision, Decision::Answered(Ok(())))
        })
    }

    /// Takes no answers any more. The questions that have none yet.
    pub(super) fn close(&mut self) -> Vec<u64> {
        let open = mem::take(&mut self.hosts).into_values().filter_map(|decision| match decision {
            Decision::Pending { question, .. } => Some(question),
            Decision::Answered(_) => None,
        });
        open.collect()
    }
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use super::*;

    fn caller(number: u64, port: u16) -> Caller {
        Caller {
            number,
            address: Ipv4Addr::new(198, 18, 0, 2).into(),
            port,
            is_v6: false,
            waits: true,
        }
    }

    #[test]
    fn each_host_and_port_is_asked_about_once() {
        let mut hosts = HostDecisions::default();
        assert!(matches!(hosts.step("a.example", caller(1, 443)), Step::Ask(_)));
        assert_eq!(hosts.step("a.example", caller(2, 443)), Step::Wait);
        assert!(matches!(hosts.step("a.example", caller(3, 80)), Step::Ask(_)));
        assert_eq!(hosts.answer("a.example", 443, Ok(())), [caller(1, 443), caller(2, 443)]);
        assert_eq!(hosts.step("a.example", caller(4, 443)), Step::Known(Ok(())));
        assert_eq!(hosts.answer("a.example", 80, Err(Refusal::Rejected)), [caller(3, 80)]);
        assert_eq!(hosts.step("a.example", caller(5, 80)), Step::Known(Err(Refusal::Rejected)));
        assert!(hosts.agreed_to("a.example") && !hosts.agreed_to("b.example"));
        let Step::Ask(open) = hosts.step("c.example", caller(6, 80)) else { panic!("no question") };
        assert_eq!(hosts.close(), [open]);
        assert!(hosts.answer("c.example", 80, Ok(())).is_empty(), "an answer after the end");
    }

    #[test]
    fn questions_are_counted() {
        let mut hosts = HostDecisions::default();
        let asked = (1..1000).filter(|port| {
            matches!(hosts.step("a.example", caller(u64::from(*port), *port)), Step::Ask(_))
        });
        assert_eq!(asked.count(), MAX_QUESTIONS);
    }
}

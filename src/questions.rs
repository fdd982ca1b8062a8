//! Questions to JavaScript that commands wait for.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use napi::Status;
use napi::bindgen_prelude::ToNapiValue;
use napi::threadsafe_function::{ThreadsafeFunction, ThreadsafeFunctionCallMode};

use crate::call;

/// What JavaScript is asked by. It does not keep the environment alive.
pub(crate) type QuestionFunction<Q> = ThreadsafeFunction<Q, (), Q, Status, false, true>;

/// The questions of one kind, of all environments, that have no answer yet.
pub(crate) struct Questions<A> {
    open: Mutex<BTreeMap<u64, A>>,
    next: AtomicU64,
}

impl<A> Questions<A> {
    pub(crate) const fn new() -> Self {
        Self { open: Mutex::new(BTreeMap::new()), next: AtomicU64::new(1) }
    }

    /// The number of the next question, where Rust has no number of its own for it.
    pub(crate) fn number(&self) -> u64 {
        self.next.fetch_add(1, Ordering::Relaxed)
    }

    /// The answer of a question that is open. The lock is free when it is used or dropped.
    pub(crate) fn take(&self, question: u64) -> Option<A> {
        call::lock(&self.open).remove(&question)
    }
}

/// Asks questions of one kind in one environment.
pub(crate) struct Asker<Q: ToNapiValue + 'static>(pub(crate) QuestionFunction<Q>);

impl<Q: ToNapiValue + 'static> fmt::Debug for Asker<Q> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Asker")
    }
}

impl<Q: ToNapiValue + 'static> Asker<Q> {
    /// Returns whether the environment is there.
    pub(crate) fn send(&self, question: Q) -> bool {
        self.0.call(question, ThreadsafeFunctionCallMode::NonBlocking) == Status::Ok
    }

    /// Asks. Where the environment is gone, the answer is dropped, which refuses what was asked for.
    pub(crate) fn ask<A>(&self, all: &Questions<A>, number: u64, question: Q, answer: A) {
        call::lock(&all.open).insert(number, answer);
        if !self.send(question) {
            drop(all.take(number));
        }
    }
}

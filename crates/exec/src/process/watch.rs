//! What the owner of a process wants to know of it, while it wants to know.

use std::sync::Arc;

use toolwright_sandbox::background::{InputState, WatchedFacts};
use toolwright_sandbox::wire::watch_frame;

use super::background::BackgroundProcess;

/// What is watched, by how many, and what was reported last.
#[derive(Debug, Default)]
pub(super) struct Watches {
    ports_wanted: u32,
    input_wanted: u32,
    ports: Option<Vec<u16>>,
    input: Option<InputState>,
}

impl Watches {
    fn facts(&self) -> WatchedFacts {
        WatchedFacts { ports: self.ports_wanted > 0, input: self.input_wanted > 0 }
    }

    fn count(&mut self, facts: WatchedFacts, is_more: bool) {
        for (is_meant, count) in
            [(facts.ports, &mut self.ports_wanted), (facts.input, &mut self.input_wanted)]
        {
            *count = match (is_meant, is_more) {
                (false, _) => *count,
                (true, true) => *count + 1,
                (true, false) => count.saturating_sub(1),
            };
        }
        // What no one watches is not known.
        if self.ports_wanted == 0 {
            self.ports = None;
        }
        if self.input_wanted == 0 {
            self.input = None;
        }
    }

    pub(super) fn set_ports(&mut self, ports: Vec<u16>) {
        if self.ports_wanted > 0 {
            self.ports = Some(ports);
        }
    }

    pub(super) fn set_input(&mut self, state: InputState) {
        if self.input_wanted > 0 {
            self.input = Some(state);
        }
    }

    pub(super) fn ports(&self) -> Option<&[u16]> {
        self.ports.as_deref()
    }

    pub(super) fn input(&self) -> Option<InputState> {
        self.input
    }

    /// After input: what was reported is about the time before. Returns the frame that asks anew.
    pub(super) fn forget_input(&mut self) -> Option<Vec<u8>> {
        self.input = None;
        (self.input_wanted > 0).then(|| watch_frame(self.facts()))
    }
}

/// Has the worker look, until this is dropped.
pub struct Watching {
    process: Arc<BackgroundProcess>,
    facts: WatchedFacts,
}

impl std::fmt::Debug for Watching {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Watching").field("watched", &self.facts).finish_non_exhaustive()
    }
}

impl Watching {
    pub(super) fn start(process: &Arc<BackgroundProcess>, facts: WatchedFacts) -> Self {
        tell(process, facts, true);
        Self { process: Arc::clone(process), facts }
    }
}

impl Drop for Watching {
    fn drop(&mut self) {
        tell(&self.process, self.facts, false);
    }
}

fn tell(process: &BackgroundProcess, facts: WatchedFacts, is_more: bool) {
    let mut state = process.lock();
    let before = state.watches.facts();
    state.watches.count(facts, is_more);
    let now = state.watches.facts();
    if now != before {
        state.send_to_worker(&watch_frame(now));
    }
}

//! The filter as the kernel applies it, call by call: a refused call has the documented number, and
//! an allowed one is answered as without a filter. Without a filter only harmless calls are made.
#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, clippy::print_stdout, reason = "a failed unwrap is a failed test")]

use libc::{c_int, c_long};
use toolwright_sandbox::plan::{Files, Network};
use toolwright_sandbox_program::filter::{FilterPlan, Program, worker_filter};

mod arguments;
mod child;
mod numbers;
mod programs;
mod sockets;
mod worker;

use child::{Setup, call, close, in_child};

/// Plans that differ in the network, with every namespace except, where it says so, that of the
/// network.
const PLANS: [FilterPlan; 6] = [
    plan(Network::Open, Files::Confined, false),
    plan(Network::Open, Files::Full, false),
    plan(Network::PrivateLoopback, Files::Confined, true),
    plan(Network::PrivateLoopback, Files::Full, false),
    plan(Network::Nothing, Files::Full, true),
    plan(Network::HostLoopback, Files::Confined, false),
];

const fn plan(network: Network, files: Files, own_net: bool) -> FilterPlan {
    FilterPlan {
        network,
        files,
        own_net,
        own_ipc: true,
        own_pids: true,
        brokers_files: false,
        traces: false,
    }
}

/// The plan with which the most is refused.
const NARROWEST: FilterPlan = FilterPlan {
    network: Network::Nothing,
    files: Files::Confined,
    own_net: false,
    own_ipc: false,
    own_pids: false,
    brokers_files: false,
    traces: false,
};

fn filter(plan: FilterPlan) -> Program {
    worker_filter(&plan).unwrap()
}

/// What each call is answered with under the filter.
fn answers(filters: &[&Program], user: Option<u32>, calls: &[(c_long, [c_long; 6])]) -> Vec<i64> {
    let make = |&(number, args): &(c_long, [c_long; 6])| {
        let answer = call(number, args);
        close(answer);
        answer
    };
    let report = in_child(Setup { filters, user }, || calls.iter().map(make).collect());
    assert_eq!(report.signal, None);
    assert_eq!(report.answers.len(), calls.len(), "the child could not be set up");
    report.answers
}

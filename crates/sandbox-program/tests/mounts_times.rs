//! The cost of a tree. Run with `--ignored --nocapture`, optimised.

#![cfg(target_os = "linux")]

mod mounts_fixture;

use mounts_fixture::{Fixture, confined, each_user};
use toolwright_sandbox::plan::{Network, Plan};

const RUNS: usize = 100;

#[test]
#[ignore = "measures"]
fn times() {
    each_user(|user, root| {
        let mut plan = confined(root);
        plan.protected = vec![root.join(".git/hooks"), root.join(".git/config")];
        plan.closed = vec!["/home".into(), "/mnt".into(), "/opt".into(), "/srv".into()];
        for network in [Network::PrivateLoopback, Network::Open] {
            let plan = Plan { network, ..plan.clone() };
            let (mut enter, mut build, mut worker) = (Vec::new(), Vec::new(), Vec::new());
            for _ in 0..RUNS {
                let mut fixture = Fixture::start(user, &plan);
                let times = numbers(&fixture.run("@times").0);
                enter.push(times[0]);
                build.push(times[1] - times[0]);
                worker.push(numbers(&fixture.run("@worker-time").0)[0]);
                fixture.end();
            }
            let [enter, build, worker] = [enter, build, worker].map(median);
            eprintln!("{network:?}: enter {enter} us, build {build} us, worker {worker} us");
        }
    });
}

fn numbers(text: &str) -> Vec<u64> {
    text.split_whitespace().map(|number| number.parse().expect("a number")).collect()
}

fn median(mut times: Vec<u64>) -> u64 {
    times.sort_unstable();
    times[times.len() / 2]
}

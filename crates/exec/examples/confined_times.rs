//! How long a command takes from its start to its end, unconfined and behind the kernel's layers.
//!
//! `cargo run --release -p toolwright-exec --example confined_times [rounds]`

#![expect(clippy::print_stdout, reason = "it reports to a person")]

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use toolwright_exec::{ExecRequest, Sandbox, run};
use toolwright_sandbox::plan::{Files, Limits, Network, Plan};

fn main() {
    let rounds = std::env::args().nth(1).and_then(|word| word.parse().ok()).unwrap_or(500);
    let root = std::env::current_dir().expect("a working directory");
    let plan = Plan {
        root: root.clone(),
        network: Network::PrivateLoopback,
        files: Files::Confined,
        writable: vec![root.clone()],
        closed: Vec::new(),
        readable: Vec::new(),
        protected: vec![root.join(".git/hooks"), root.join(".git/config")],
        granted: Vec::new(),
        limits: Limits { processes: Some(1024), ..Limits::default() },
    };
    let never = std::sync::atomic::AtomicBool::new(false);
    println!("{:#?}", toolwright_exec::report(&plan, false, &never));
    let sandbox = Sandbox { plan: &plan, below: Path::new(""), required: false, isolated: false };
    let isolated = Sandbox { isolated: true, ..sandbox };
    let mut times = [Vec::new(), Vec::new(), Vec::new()];
    for round in 0..rounds {
        let ways = [None, Some(sandbox), Some(isolated)];
        for offset in 0..ways.len() {
            let way = (round + offset) % ways.len();
            if way == 2 && round % 8 != 0 {
                continue;
            }
            times[way].push(time(&root, ways[way]));
        }
    }
    for (name, mut times) in ["unconfined", "confined", "isolated"].into_iter().zip(times) {
        times.sort_unstable();
        let (median, least) = (times[times.len() / 2], times[0]);
        println!("{name:>12}: median {median:?}, least {least:?}, of {}", times.len());
    }
}

fn time(root: &Path, sandbox: Option<Sandbox<'_>>) -> Duration {
    let args = Vec::new();
    let cwd: PathBuf = root.to_owned();
    let request = ExecRequest { cwd: &cwd, sandbox, ..ExecRequest::new("true", &args) };
    let started = Instant::now();
    let finished = run(&request).expect("it runs");
    let took = started.elapsed();
    assert_eq!(finished.exit, toolwright_exec::Exit::Code(0));
    took
}

//! Commands from start to end, as they are and confined.

use std::fs;
use std::path::Path;

use divan::{Bencher, black_box};
use tempfile::TempDir;
use toolwright_benches::{source_lines, text};
use toolwright_exec::{ExecRequest, Sandbox, run};
use toolwright_sandbox::plan::{Files, Limits, Network, Plan};

const PRINTED: &str = "printed.txt";

fn main() {
    divan::main();
}

/// A root with a file that can be printed, and what its commands may do.
fn place(bytes: usize) -> (TempDir, Plan) {
    let directory = tempfile::tempdir().expect("a directory");
    let root = directory.path().canonicalize().expect("its path");
    fs::write(root.join(PRINTED), text(&source_lines(1, bytes))).expect("a file");
    let plan = Plan {
        network: Network::PrivateLoopback,
        files: Files::Confined,
        writable: vec![root.clone()],
        protected: Vec::new(),
        limits: Limits::default(),
        root,
        ..Plan::default()
    };
    (directory, plan)
}

fn command(plan: &Plan, is_confined: bool, cmd: &str, args: &[String]) {
    let below = Path::new("");
    let sandbox = Sandbox { plan, below, required: false, isolated: false, on_open_files: |_| () };
    let request = ExecRequest {
        cwd: &plan.root,
        max_output_bytes: 16 << 20,
        sandbox: is_confined.then_some(sandbox),
        ..ExecRequest::new(cmd, args)
    };
    black_box(run(&request).expect("it runs"));
}

#[divan::bench(args = [false, true])]
fn nothing(bencher: Bencher<'_, '_>, is_confined: bool) {
    let (_directory, plan) = place(0);
    // The first one starts what the others share.
    command(&plan, is_confined, "true", &[]);
    bencher.bench(|| command(&plan, is_confined, "true", &[]));
}

#[divan::bench(args = [false, true], threads = [8])]
fn nothing_eight_at_once(bencher: Bencher<'_, '_>, is_confined: bool) {
    let (_directory, plan) = place(0);
    command(&plan, is_confined, "true", &[]);
    bencher.bench(|| command(&plan, is_confined, "true", &[]));
}

/// Of output, captured whole.
#[divan::bench(args = [1_000_000, 10_000_000])]
fn capture(bencher: Bencher<'_, '_>, bytes: usize) {
    let (_directory, plan) = place(bytes);
    let args = [PRINTED.to_owned()];
    command(&plan, true, "cat", &args);
    bencher.bench(|| command(&plan, true, "cat", &args));
}

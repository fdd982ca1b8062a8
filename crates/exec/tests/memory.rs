//! A flood of output in flat memory. Alone in its binary: it measures the whole process.

#![cfg(target_os = "linux")]

use std::{fs, path::Path, sync::atomic::AtomicBool, time::Duration};

use toolwright_exec::{ExecEnv, ExecRequest, run};

/// The most memory this process ever had, in KiB.
fn peak() -> u64 {
    fs::read_to_string("/proc/self/status")
        .expect("proc")
        .lines()
        .find_map(|line| line.strip_prefix("VmHWM:")?.trim().trim_end_matches(" kB").parse().ok())
        .expect("VmHWM")
}

#[test]
fn a_flood_takes_no_more_memory_than_its_limit() {
    let flood = |bytes: &str| {
        run(&ExecRequest {
            cmd: "head",
            args: &["-c", bytes, "/dev/zero"].map(str::to_owned),
            cwd: Path::new("/"),
            env: ExecEnv::Inherit,
            timeout: Duration::from_secs(30),
            max_output_bytes: 200_000,
            cancel: &AtomicBool::new(false),
        })
        .expect("runs")
    };
    flood("1000000");
    let before = peak();
    let finished = flood("64000000");
    assert_eq!(finished.output.total_bytes, 64_000_000);
    assert_eq!(finished.output.bytes.len(), 200_000);
    assert!(peak() - before < 2048, "{} KiB more", peak() - before);
}

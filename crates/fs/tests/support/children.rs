//! Child processes that are killed at a place, or that run in namespaces of their own.

use std::io::BufRead;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::Duration;

use super::{Random, Tree, child};

/// Whether [`killed_before`] works here.
pub fn can_place_kills() -> bool {
    let is_installed = Command::new("strace").arg("-V").stdout(Stdio::null()).status().is_ok();
    if !is_installed {
        println!("skipped: strace, which places the kills, is not installed");
    }
    is_installed
}

/// Runs `test` as a child that is killed before it makes a system call for the `number`th time. Its
/// status is a success if it ends before.
pub fn killed_before(call: &str, number: usize, test: &str, argument: &str) -> ExitStatus {
    let program = child(test, argument);
    Command::new("strace")
        .args(["-f", "-qq", "-o", "/dev/null", "-e"])
        .arg(format!("trace={call}"))
        .arg("-e")
        .arg(format!("inject={call}:signal=KILL:when={number}"))
        .arg(program.get_program())
        .args(program.get_args())
        .env("TOOLWRIGHT_CHILD", argument)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .unwrap()
}

/// Waits for the child's first line with `word`, kills it at a random moment soon after, and returns
/// what it has said until the first line.
pub fn kill_after(
    child: &mut Child,
    output: &mut impl BufRead,
    word: &str,
    random: &mut Random,
) -> String {
    let mut printed = String::new();
    while !printed.contains(word) {
        assert!(output.read_line(&mut printed).unwrap() > 0, "{printed}");
    }
    std::thread::sleep(Duration::from_micros(random.below(10_000)));
    child.kill().unwrap();
    child.wait().unwrap();
    printed
}

/// Runs `test` again in mount and user namespaces of its own. False where the system does not allow
/// that.
pub fn unshared(test: &str, tree: &Tree) -> bool {
    let possible = Command::new("unshare").args(["-rm", "true"]).status();
    if !possible.is_ok_and(|status| status.success()) {
        println!("skipped: no user namespaces here");
        return false;
    }
    let program = child(test, tree.root.to_str().unwrap());
    let status = Command::new("unshare")
        .arg("-rm")
        .arg(program.get_program())
        .args(program.get_args())
        .env("TOOLWRIGHT_CHILD", &tree.root)
        .status()
        .unwrap();
    assert!(status.success());
    true
}

pub fn mount(arguments: &[&str], at: &Path) {
    assert!(Command::new("mount").args(arguments).arg(at).status().unwrap().success());
}

//! Repositories that get no fork because something ran out: commands read them, and that is told.

use std::path::Path;
use std::process::Command;
use std::{env, fs};

use super::ends::run_as_host;
use super::{Scene, has_namespaces};

/// The root of a host that may open few files.
const ROOT: &str = "TOOLWRIGHT_LIMITED_ROOT";

/// Does nothing unless it is the process that the test starts.
#[test]
fn host_with_few_files() {
    let Some(root) = env::var_os(ROOT) else { return };
    let root = Path::new(&root);
    let reports = run_as_host(root, &root.with_file_name("state"), "git -C r1 commit -qam second");
    fs::write(root.with_file_name("reports"), format!("{reports:?}")).expect("written");
}

#[test]
fn a_repository_without_a_fork_is_told() {
    if !has_namespaces() {
        return;
    }
    let scene = Scene::new(
        "git init -q r1 && echo x > r1/a && git -C r1 add a && git -C r1 commit -qm first \
            && for n in $(seq 2 90); do cp -r r1 r$n; done",
    );
    let root = &scene.place.root;
    let status = Command::new("sh")
        .args(["-c", "ulimit -n 128; exec \"$0\" --exact limited::host_with_few_files"])
        .arg(env::current_exe().expect("a path"))
        .env(ROOT, root)
        .output()
        .expect("started");
    assert!(status.status.success(), "{status:?}");
    let reports = fs::read_to_string(root.with_file_name("reports")).expect("told");
    assert!(reports.contains("ReadOnly"), "{reports}");
}

//! `apply_patch` in a command: the sandbox program under its second name.

#![cfg(target_os = "linux")]

mod support;

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use serde_json::Value;
use support::place::{Place, has_namespaces};
use support::{all_as_another_user, factor, strings, text};
use toolwright_exec::{
    ExecEnv, ExecError, ExecRequest, Exit, PatchEnd, PatchReport, PatchReports, SpawnReason, run,
};
use toolwright_fs::{Root, WriteOptions, write};

type Tree = BTreeMap<String, String>;

#[test]
fn confined_as_another_user() {
    all_as_another_user("confined_as_another_user");
}

fn place() -> Option<Place> {
    has_namespaces().then(Place::confined)
}

fn put(root: &Path, tree: &Tree) {
    for (path, content) in tree {
        let path = root.join(path);
        fs::create_dir_all(path.parent().expect("below the root")).expect("dir");
        fs::write(path, content).expect("written");
    }
}

/// Every file below a directory, those that a killed process left too.
fn tree(root: &Path) -> Tree {
    let mut files = Tree::new();
    let mut directories = vec![root.to_owned()];
    while let Some(directory) = directories.pop() {
        for entry in fs::read_dir(directory).expect("dir").flatten() {
            let path = entry.path();
            if path.is_dir() {
                directories.push(path);
            } else {
                let name = path.strip_prefix(root).expect("below").display().to_string();
                let content = fs::read_to_string(path).expect("text");
                // Stands for a protected file that does not exist.
                if (&*name, &*content) != (".git/config", "") {
                    files.insert(name, content);
                }
            }
        }
    }
    files
}

fn of(pairs: &[(&str, &str)]) -> Tree {
    pairs.iter().map(|(path, content)| ((*path).to_owned(), (*content).to_owned())).collect()
}

const ONE: &str = "*** Begin Patch\n*** Update File: a\n@@\n-1\n+2\n*** End Patch\n";

#[test]
fn every_scenario_ends_as_with_the_tool() {
    let scenarios = include_str!("../../patch/tests/scenarios/patches.json");
    let scenarios: Vec<Value> = serde_json::from_str(scenarios).expect("json");
    let Some(place) = place() else { return };
    let files = |value: &Value| -> Tree { serde_json::from_value(value.clone()).expect("a tree") };
    for (number, scenario) in scenarios.iter().enumerate() {
        let (name, below) = (scenario["name"].as_str().expect("name"), number.to_string());
        let root = place.root.join(&below);
        fs::create_dir(&root).expect("dir");
        let before = files(&scenario["before"]);
        put(&root, &before);
        let patch = scenario["patch"].as_str().expect("patch");
        let finished = place.run_in(&root, &below, "apply_patch", &[patch]).expect("runs");
        let output = text(&finished);
        if scenario["error"].is_null() {
            assert_eq!(finished.exit, Exit::Code(0), "{name}: {output}");
            assert!(output.starts_with("Success. Updated the following files:\n"), "{output}");
            assert_eq!(tree(&root), files(&scenario["after"]), "{name}");
        } else {
            assert_eq!(finished.exit, Exit::Code(1), "{name}: {output}");
            assert!(output.contains("No file was changed."), "{name}: {output}");
            assert_eq!(tree(&root), before, "{name}");
        }
    }
}

#[test]
fn a_patch_comes_as_an_argument_a_here_document_or_through_a_pipe() {
    let Some(place) = place() else { return };
    let forms = [
        format!("apply_patch '{ONE}'"),
        format!("apply_patch <<'EOF'\n{ONE}EOF"),
        format!("cat > ../patch <<'EOF'\n{ONE}EOF\ncat ../patch | apply_patch; rm ../patch"),
        format!("for i in 1; do ( apply_patch '{ONE}' ) && echo well; done"),
        format!("sh -c 'exec apply_patch \"$0\"' '{ONE}'"),
    ];
    for form in forms {
        put(&place.root, &of(&[("sub/a", "1\n"), ("a", "0\n")]));
        let output = place.output(&format!("cd sub && {form}"));
        assert!(
            output.starts_with("Success. Updated the following files:\nM a"),
            "{form}: {output}"
        );
        assert_eq!(tree(&place.root), of(&[("sub/a", "2\n"), ("a", "0\n")]), "{form}");
    }
}

#[test]
fn a_refusal_says_why_and_what_to_do() {
    let Some(place) = place() else { return };
    put(&place.root, &of(&[("a", "0\n")]));
    for (arguments, words) in [
        (
            &[ONE][..],
            &["Failed to apply patch: `a`: ", "No file was changed. Read the file again"][..],
        ),
        (&[], &["There is no patch", "Usage: apply_patch"]),
        (&["x"], &["Failed to apply patch: ", "Send `*** Begin Patch`"]),
        (&[ONE, "-v"], &["more than one argument", "Usage: apply_patch"]),
        (
            &["*** Begin Patch\n*** Delete File: ../b\n*** End Patch\n"],
            &["`../b`", "No file was changed. Use a path that stays below"],
        ),
        (
            &["*** Begin Patch\n*** Delete File: b\n*** End Patch\n"],
            &["File not found: `b`", "No file was changed. Check the spelling"],
        ),
    ] {
        let finished = place.run("apply_patch", arguments).expect("runs");
        let output = text(&finished);
        assert_eq!(finished.exit, Exit::Code(1), "{output}");
        for words in words {
            assert!(output.contains(words), "{arguments:?}: {output}");
        }
        let args = strings(arguments);
        let request = ExecRequest {
            streams: toolwright_exec::Streams::Apart,
            ..place.request("apply_patch", &args)
        };
        let apart = run(&request).expect("runs");
        assert!(apart.output.bytes.is_empty() && !apart.stderr.expect("apart").bytes.is_empty());
    }
    assert_eq!(tree(&place.root), of(&[("a", "0\n")]));
}

/// Each patch changes `a`, which it may, and one more file.
#[test]
fn what_a_command_may_not_change_leaves_everything_as_it_is() {
    let Some(mut place) = place() else { return };
    let before = of(&[
        ("a", "1\n"),
        ("closed/b", "1\n"),
        ("closed-file", "1\n"),
        (".git/hooks/pre-commit", "1\n"),
        ("read-only/b", "1\n"),
    ]);
    put(&place.root, &before);
    let at = |name: &str| place.root.join(name);
    fs::write(place.outside.join("b"), "1\n").expect("written");
    place.plan.closed = vec![at("closed"), at("closed-file")];
    place.plan.protected = vec![at(".git/hooks"), at(".git/config"), at("read-only")];
    let outside = place.outside.join("b").display().to_string();
    let update = |path: &str| format!("*** Update File: {path}\n@@\n-1\n+2\n");
    for section in [
        update("closed/b"),
        update("closed-file"),
        update("read-only/b"),
        update(".git/hooks/pre-commit"),
        "*** Add File: .git/hooks/post-commit\n+1\n".to_owned(),
        "*** Add File: .git/config\n+[core]\n".to_owned(),
        "*** Add File: read-only/new/c\n+1\n".to_owned(),
        "*** Delete File: read-only/b\n".to_owned(),
        "*** Update File: read-only/b\n*** Move to: b\n".to_owned(),
        update("../b"),
        update(&outside),
        update("/proc/self/comm"),
    ] {
        let patch = format!("*** Begin Patch\n{}{section}*** End Patch\n", update("a"));
        let finished = place.run("apply_patch", &[&patch]).expect("runs");
        assert_eq!(finished.exit, Exit::Code(1), "{section}: {}", text(&finished));
        assert_eq!(tree(&place.root), before, "{section}: {}", text(&finished));
        assert_eq!(fs::read_to_string(&outside).expect("read"), "1\n");
    }
    // The file may be changed, but not the directory where the plan of the changes has to lie.
    let patch = ONE.replace(": a", ": root/a");
    let finished = place.sh(&format!("cd .. && apply_patch '{patch}'")).expect("runs");
    assert_eq!(finished.exit, Exit::Code(1), "{}", text(&finished));
    assert_eq!(tree(&place.root), before);
    assert!(text(&finished).contains("Run apply_patch in a directory"), "{}", text(&finished));
    // And where it may change things, it does.
    assert_eq!(place.run("apply_patch", &[ONE]).expect("runs").exit, Exit::Code(0));
}

#[test]
fn a_program_of_the_user_with_that_name_comes_first() {
    let Some(place) = place() else { return };
    let own = place.root.join("bin/apply_patch");
    put(&place.root, &of(&[("bin/apply_patch", "#!/bin/sh\necho mine\n")]));
    fs::set_permissions(&own, fs::Permissions::from_mode(0o755)).expect("mode");
    let path = std::env::var("PATH").expect("PATH");
    let path = format!("{}:{path}", place.root.join("bin").display());
    let env = ExecEnv::Exactly(vec![("PATH".into(), path.clone().into())].into());
    let sh = strings(&["-c", "apply_patch x"]);
    for (program, args) in [("apply_patch", &sh[2..]), ("sh", &sh)] {
        let request = ExecRequest { env: env.clone(), ..place.request(program, args) };
        assert_eq!(text(&run(&request).expect("runs")), "mine\n");
    }
    let name = strings(&["PATH"]);
    let request = ExecRequest { env, ..place.request("printenv", &name) };
    let seen = text(&run(&request).expect("runs"));
    assert_eq!(seen.trim_end(), format!("{path}:/dev/toolwright"));
}

#[test]
fn the_program_cannot_be_changed_and_is_no_way_to_more() {
    let Some(place) = place() else { return };
    let program = "/dev/toolwright/apply_patch";
    for script in [
        format!("echo x > {program}"),
        format!("rm -f {program}"),
        format!("chmod 777 {program}"),
        format!("mv {program} /tmp/"),
        "touch /dev/toolwright/x".to_owned(),
        "mkdir /dev/toolwright/x".to_owned(),
    ] {
        let finished = place.sh(&script).expect("runs");
        assert_ne!(finished.exit, Exit::Code(0), "{script}");
    }
    assert_eq!(place.output("ls /dev/toolwright"), "apply_patch");
    assert_eq!(place.output(&format!("stat -c '%a %h' {program}")), "555 1");
    // Under its other name it waits for an order, which nobody gives it.
    let other =
        format!("cp {program} /tmp/toolwright-sandbox && /tmp/toolwright-sandbox </dev/null");
    assert_ne!(place.sh(&other).expect("runs").exit, Exit::Code(0));
    put(&place.root, &of(&[("a", "1\n")]));
    assert_eq!(place.run("apply_patch", &[ONE]).expect("runs").exit, Exit::Code(0));
}

#[test]
fn without_a_sandbox_there_is_no_such_program() {
    let mut place = Place::confined();
    place.is_confined = false;
    match place.run("apply_patch", &[ONE]) {
        Err(ExecError::Spawn { reason, .. }) => assert_eq!(reason, SpawnReason::NotFound),
        other => panic!("{other:?}"),
    }
}

/// The kill comes with the timeout of the command, at ever later moments.
#[test]
fn a_killed_patch_is_finished_or_undone_by_the_next_change() {
    const FILES: usize = 300;
    let Some(place) = place() else { return };
    let (mut first, mut second, mut sections) = (Tree::new(), Tree::new(), Vec::new());
    for number in 0..FILES {
        let name = format!("d{}/f{number}", number % 7);
        first.insert(name.clone(), "1\n".repeat(200));
        second.insert(name.clone(), format!("2\n{}", "1\n".repeat(199)));
        sections.push(format!("*** Update File: {name}\n@@ -1,1 +1,1 @@\n-1\n+2\n"));
    }
    let patch = format!("*** Begin Patch\n{}*** End Patch\n", sections.concat());
    first.insert("patch".to_owned(), patch.clone());
    second.insert("patch".to_owned(), patch);
    let script = format!("exec apply_patch < {}", place.root.join("patch").display());
    // How long it takes, and that it works.
    put(&place.root, &first);
    let started = std::time::Instant::now();
    let finished = place.sh(&script).expect("runs");
    assert_eq!(finished.exit, Exit::Code(0), "{}", text(&finished));
    assert_eq!(tree(&place.root), second);
    let whole = started.elapsed();
    let (mut unchanged, mut interrupted) = (0, 0);
    let kills: u32 = 20;
    for kill in 1..=kills {
        put(&place.root, &first);
        let _ = place.within((whole * kill / kills).max(Duration::from_millis(1)), &script);
        assert!(place.is_clear());
        let left = tree(&place.root);
        interrupted += u32::from(left.keys().any(|name| name.contains(".toolwright-")));
        // Anywhere below the root.
        let root = Root::open(&place.root).expect("root");
        let options = WriteOptions::default();
        write(&root, "d0/f0", left["d0/f0"].as_bytes(), &options, &AtomicBool::new(false))
            .expect("written");
        let mut untouched = tree(&place.root);
        untouched.remove("d0/f0");
        let is =
            |state: &Tree| untouched.iter().all(|(path, content)| state.get(path) == Some(content));
        assert!(is(&first) || is(&second), "{kill}: between the states: {:?}", untouched.keys());
        unchanged += u32::from(is(&first));
    }
    assert!(
        interrupted > 0,
        "{unchanged} of {kills} ended as before: every kill came before or after the changes"
    );
}

/// A host that changes a file meanwhile neither undoes a patch that is being applied nor waits for it.
#[test]
fn a_patch_that_is_being_applied_is_not_taken_for_a_dead_one() {
    let Some(place) = place() else { return };
    put(&place.root, &of(&[("a", "1\n"), ("other", "")]));
    let ends = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let writer = scope.spawn(|| {
            let root = Root::open(&place.root).expect("root");
            let never = AtomicBool::new(false);
            while !ends.load(std::sync::atomic::Ordering::Relaxed) {
                write(&root, "other", b"", &WriteOptions::default(), &never).expect("written");
            }
        });
        for round in 0..40 {
            let (from, to) = if round % 2 == 0 { ("-1", "+2") } else { ("-2", "+1") };
            let patch = ONE.replace("-1", from).replace("+2", to);
            let finished = place.run("apply_patch", &[&patch]).expect("runs");
            assert_eq!(finished.exit, Exit::Code(0), "{round}: {}", text(&finished));
        }
        ends.store(true, std::sync::atomic::Ordering::Relaxed);
        writer.join().expect("ends");
    });
    assert_eq!(tree(&place.root), of(&[("a", "1\n"), ("other", "")]));
}

fn reports_of(place: &Place, script: &str, timeout: Duration) -> Vec<PatchReport> {
    let (args, reports) = (strings(&["-c", script]), PatchReports::default());
    let request = place.request("sh", &args);
    let _ = run(&ExecRequest { patches: Some(&reports), timeout, ..request });
    reports.take()
}

const LONG: Duration = Duration::from_secs(60);

#[test]
fn the_host_is_told_of_every_patch() {
    let Some(place) = place() else { return };
    put(&place.root, &of(&[("sub/a", "1\n"), ("a", "1\n")]));
    let bad = ONE.replace("-1", "-x");
    let script = format!(
        "apply_patch '{ONE}'; cd sub && apply_patch <<'EOF'\n{ONE}EOF\napply_patch '{bad}'; apply_patch x; apply_patch"
    );
    let reports = reports_of(&place, &script, LONG);
    let [first, second, refused, nonsense] = &*reports else { panic!("{reports:#?}") };
    for (report, directory) in [(first, place.root.clone()), (second, place.root.join("sub"))] {
        assert!(matches!(report.end, PatchEnd::Applied { .. }), "{report:?}");
        assert_eq!((report.bytes, report.total), (ONE.len() as u64, 1));
        assert_eq!(report.directory, directory);
        assert_eq!((&*report.files[0].path, report.files[0].letter), ("a", b'M'));
        assert_eq!(report.sha256.len(), 64);
    }
    assert_eq!(first.sha256, second.sha256);
    for (report, files) in [(refused, 1), (nonsense, 0)] {
        let PatchEnd::Refused { refusal, .. } = &report.end else { panic!("{report:?}") };
        assert_eq!((refusal.is_mismatch, report.files.len()), (1, files));
        assert!(refusal.what.starts_with("Failed to apply patch"), "{}", refusal.what);
        assert!(refusal.hint.starts_with("No file was changed."), "{}", refusal.hint);
    }
}

/// Some programs close what they have inherited.
#[test]
fn programs_between_the_command_and_the_patch_do_not_hide_it() {
    let Some(place) = place() else { return };
    for between in [
        "env -i /dev/toolwright/apply_patch \"$P\"",
        // A shell that has closed it, and one above that has not.
        "bash -c 'exec 198>&-; apply_patch \"$P\"; :'; :",
        "bash -c 'exec 198>&-; sh -c \"apply_patch \\\"\\$P\\\"; :\"; :'; :",
        "python3 -c 'import subprocess,os; subprocess.run([\"apply_patch\", os.environ[\"P\"]])'; :",
    ] {
        if between.starts_with("python3")
            && std::process::Command::new("python3").arg("-V").output().is_err()
        {
            continue;
        }
        put(&place.root, &of(&[("a", "1\n")]));
        let reports = reports_of(&place, &format!("P='{ONE}'; export P; {between}"), LONG);
        assert_eq!(tree(&place.root), of(&[("a", "2\n")]), "{between}");
        assert_eq!(reports.len(), 1, "{between}");
        assert!(matches!(reports[0].end, PatchEnd::Applied { .. }), "{between}: {reports:?}");
    }
}

/// A file that a script has opened under the number of the pipe is the script's.
#[test]
fn a_file_under_the_number_of_the_pipe_is_not_written_to() {
    let Some(place) = place() else { return };
    put(&place.root, &of(&[("a", "1\n"), ("mine", "")]));
    let script = format!("export P='{ONE}'; bash -c 'exec 198>mine; apply_patch \"$P\"; :'; :");
    let _ = reports_of(&place, &script, LONG);
    assert_eq!(tree(&place.root), of(&[("a", "2\n"), ("mine", "")]));
}

/// What a command writes into the pipe is bounded, and no patch waits for room.
#[test]
fn a_command_that_floods_the_pipe_harms_itself_alone() {
    let Some(place) = place() else { return };
    put(&place.root, &of(&[("a", "1\n")]));
    let script = format!("bash -c 'head -c 3000000 /dev/zero >&198'; apply_patch '{ONE}'");
    assert_eq!(reports_of(&place, &script, LONG), []);
    assert_eq!(tree(&place.root), of(&[("a", "2\n")]));
    // A forged report is one of the command; a hundred of them is all that is kept.
    put(&place.root, &of(&[("a", "1\n")]));
    let script = format!("for i in $(seq 130); do apply_patch '{}' 2>/dev/null; done", "x");
    assert_eq!(reports_of(&place, &script, LONG).len(), 100);
}

#[test]
fn a_killed_patch_has_a_report_without_an_end() {
    let Some(place) = place() else { return };
    let sections: Vec<_> =
        (0..3000).map(|number| format!("*** Add File: d/f{number}\n+x\n")).collect();
    let patch = format!("*** Begin Patch\n{}*** End Patch\n", sections.concat());
    fs::write(place.root.join("patch"), patch).expect("written");
    let script = format!(
        "apply_patch < {} & while [ ! -e d ]; do :; done; kill -9 $!; wait",
        place.root.join("patch").display()
    );
    let reports = reports_of(&place, &script, LONG);
    assert_eq!(reports.len(), 1);
    assert_eq!((&reports[0].end, reports[0].total), (&PatchEnd::Unknown, 3000));
    assert!(reports[0].files.len() > 100 && reports[0].files.len() < 3000);
}

/// A small generator, whose seed a failure names.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % limit as u64).expect("small")
    }
}

/// Patches whose paths try everything, from directories that lead everywhere, many in one command.
#[test]
#[expect(
    clippy::print_stdout,
    clippy::format_push_string,
    clippy::similar_names,
    reason = "a failure names its seed; sections are few"
)]
fn no_patch_of_a_program_leaves_what_its_command_may_change() {
    const BATCH: usize = 250;
    const PARTS: [&str; 22] = [
        "..", ".", "", "a", "src", "out", "link", "loop", "here", ".git", "hooks", "config",
        "HEAD", "secret", "outside", "proc", "self", "%2e%2e", "..%2f", "closed", "\u{1}", "hard",
    ];
    let Some(mut place) = place() else { return };
    let (root, base) = (place.root.clone(), place.outside.clone());
    let outside = base.join("outside");
    let at = |name: &str| root.join(name);
    put(&root, &of(&[("src/a", "secret\n"), ("a", "secret\n"), ("closed/secret", "secret\n")]));
    put(&root, &of(&[(".git/HEAD", "ref: refs/heads/main\n"), (".git/config", "[core]\n")]));
    put(&outside, &of(&[("secret", "secret\n"), ("deep/secret", "secret\n")]));
    fs::create_dir(at(".git/hooks")).expect("dir");
    for (link, target) in [
        ("out", "../outside".to_owned()),
        ("link", outside.join("secret").display().to_string()),
        ("loop", "loop".to_owned()),
        ("here", root.display().to_string()),
    ] {
        symlink(target, at(link)).expect("linked");
    }
    // Writing in place would reach the other name of this file.
    fs::hard_link(outside.join("secret"), at("hard")).expect("linked");
    place.plan.closed = vec![at("closed")];
    place.plan.protected = vec![at(".git/hooks"), at(".git/config")];
    // A command sees it, and what it may not write is not hidden by the private /tmp alone.
    place.plan.readable = vec![outside.clone()];
    assert_eq!(place.output(&format!("cat {}/secret", outside.display())), "secret");
    let (outside_before, hooks) = (tree(&outside), at(".git/hooks"));
    let seed = std::env::var("TOOLWRIGHT_SEED").ok().and_then(|text| text.parse().ok());
    let mut random =
        Random(seed.unwrap_or_else(|| u64::from(std::process::id()) * 2_654_435_761) | 1);
    println!("seed {}", random.0);
    let any_path = |random: &mut Random| {
        let parts: Vec<&str> =
            (0..=random.below(4)).map(|_| PARTS[random.below(PARTS.len())]).collect();
        let path = parts.join("/");
        match random.below(8) {
            0 => format!("/{path}"),
            1 => format!("{}/{path}", [&root, &outside, &base][random.below(3)].display()),
            2 => format!("{path}/"),
            3 => format!(".toolwright-1-2-3-{}.step", parts.len()),
            _ => path,
        }
    };
    let tries = 5_000 * usize::try_from(factor()).expect("small");
    let (mut applied, mut refused) = (0, 0);
    for first in (0..tries).step_by(BATCH) {
        let mut script = String::new();
        for number in first..first + BATCH {
            let mut patch = String::from("*** Begin Patch\n");
            for _ in 0..=random.below(3) {
                let path = any_path(&mut random);
                patch += &match random.below(4) {
                    0 => format!("*** Delete File: {path}\n"),
                    1 => format!("*** Update File: {path}\n@@\n-secret\n+{number}\n"),
                    2 => {
                        format!("*** Update File: {path}\n*** Move to: {}\n", any_path(&mut random))
                    }
                    _ => format!("*** Add File: {path}\n+secret\n"),
                };
            }
            patch.push_str("*** End Patch\n");
            let directory =
                ["src", "out", "here", ".git", "..", "/proc/self", "closed", "."][random.below(8)];
            script += &format!(
                "(cd {directory} 2>/dev/null; apply_patch >/dev/null 2>&1) <<'EOF' && echo yes || echo no\n{patch}EOF\n"
            );
        }
        let output = place.output(&script);
        applied += output.lines().filter(|line| *line == "yes").count();
        refused += output.lines().filter(|line| *line == "no").count();
        assert_eq!(tree(&outside), outside_before, "after {first}");
        assert_eq!(fs::read_dir(&hooks).expect("dir").count(), 0, "after {first}");
        assert_eq!(fs::read_to_string(at(".git/config")).expect("read"), "[core]\n");
        assert_eq!(fs::read_to_string(at("closed/secret")).expect("read"), "secret\n");
        assert_eq!(fs::read_dir(at("closed")).expect("dir").count(), 1);
        assert_eq!(fs::read_dir(&base).expect("dir").count(), 2, "beside the root");
    }
    println!("{applied} applied, {refused} refused");
    assert_eq!(applied + refused, tries);
    assert!(applied > 50 && refused > tries / 10, "{applied} applied, {refused} refused");
}

use super::*;
use toolwright_sandbox::plan::Network;

fn plan(writable: &[&str], closed: &[&str], readable: &[&str], protected: &[&str]) -> Plan {
    let paths = |paths: &[&str]| paths.iter().map(PathBuf::from).collect();
    Plan {
        root: PathBuf::from(writable[0]),
        network: Network::Nothing,
        files: Files::Confined,
        writable: paths(writable),
        closed: paths(closed),
        readable: paths(readable),
        protected: paths(protected),
        ..Plan::default()
    }
}

fn layout(plan: &Plan) -> Layout {
    let system = System {
        temporary: vec![PathBuf::from("/tmp"), PathBuf::from("/var/tmp")],
        devices: Some(PathBuf::from("/dev")),
        windows: Vec::new(),
    };
    Layout::arrange(plan, system).expect("a plan that can be")
}

/// The entries beside those that every layout has.
fn entries_of(plan: &Plan) -> Vec<String> {
    let layout = layout(plan);
    let always = ["/dev", "/dev/shm", "/tmp", "/var/tmp"].map(Path::new);
    let entries = layout.entries.iter();
    entries
        .filter(|entry| !always.contains(&entry.path.as_path()))
        .map(|Entry { path, kind, below }| {
            let below = below.map(|index| layout.entries[index].path.display().to_string());
            format!("{kind:?} {} on {}", path.display(), below.unwrap_or_default())
        })
        .collect()
}

#[test]
fn what_lies_above_comes_first() {
    let plan =
        plan(&["/home/u/p", "/home"], &["/home/u/.ssh", "/home/u"], &["/home/u/.ssh/pub"], &[]);
    assert_eq!(
        entries_of(&plan),
        [
            "Writable /home on ",
            "Closed /home/u on /home",
            "Writable /home/u/p on /home/u",
            "Readable /home/u/.ssh/pub on /home/u",
        ],
    );
}

#[test]
fn what_makes_no_difference_is_left_out() {
    let plan = plan(
        &["/w", "/w/inner"],
        &["/tmp/hidden", "/w/closed", "/w/closed/more"],
        &["/etc", "/w/open"],
        &["/etc/passwd", "/w/closed/p", "/w/p"],
    );
    assert_eq!(
        entries_of(&plan),
        ["Writable /w on ", "Closed /w/closed on /w", "Protected /w/p on /w"]
    );
}

#[test]
fn a_writable_path_below_a_protected_one_is_put_back() {
    let plan = plan(&["/w", "/w/p/inner"], &[], &[], &["/w/p"]);
    let expected = ["Writable /w on ", "Protected /w/p on /w", "Writable /w/p/inner on /w/p"];
    assert_eq!(entries_of(&plan), expected);
}

#[test]
fn at_one_path_the_stricter_one_lies_on_top() {
    let plan = plan(&["/w"], &["/w"], &[], &["/w"]);
    assert_eq!(entries_of(&plan), ["Writable /w on ", "Protected /w on /w", "Closed /w on /w"]);
}

#[test]
fn temporary_directories_that_are_to_be_written_are_the_hosts() {
    let kinds = |plan: &Plan| -> Vec<String> {
        let layout = layout(plan);
        let temporary = layout.entries.iter().filter(|entry| entry.kind == Kind::Temporary);
        temporary.map(|entry| entry.path.display().to_string()).collect()
    };
    assert_eq!(kinds(&plan(&["/w"], &[], &[], &[])), ["/tmp", "/dev/shm", "/var/tmp"]);
    assert_eq!(kinds(&plan(&["/tmp/w"], &[], &[], &[])), ["/tmp", "/dev/shm", "/var/tmp"]);
    assert_eq!(kinds(&plan(&["/tmp"], &[], &[], &[])), ["/dev/shm", "/var/tmp"]);
    assert_eq!(kinds(&plan(&["/var"], &[], &[], &[])), ["/tmp", "/dev/shm"]);
    assert_eq!(kinds(&plan(&["/"], &[], &[], &[])), ["/dev/shm"]);
    let full = Plan { files: Files::Full, ..plan(&["/w"], &[], &[], &[]) };
    assert_eq!(kinds(&full), ["/dev/shm"]);
}

#[test]
fn with_all_files_only_what_is_closed_or_protected_remains() {
    let plan = Plan {
        files: Files::Full,
        ..plan(&["/w", "/h/p"], &["/h"], &["/h/r", "/etc"], &["/w/.git/hooks", "/h/p/x"])
    };
    assert_eq!(
        entries_of(&plan),
        [
            "Closed /h on ",
            "Writable /h/p on /h",
            "Readable /h/r on /h",
            "Protected /h/p/x on /h/p",
            "Protected /w/.git/hooks on ",
        ],
    );
}

#[test]
fn the_highest_writable_directory_is_found() {
    let above =
        |plan: &Plan, path: &str| layout(plan).writable_above(Path::new(path)).map(Path::to_owned);
    let plan = plan(&["/w/inner", "/w"], &["/w/c"], &[], &[]);
    assert_eq!(above(&plan, "/w/inner/x"), Some(PathBuf::from("/w")));
    assert_eq!(above(&plan, "/w"), Some(PathBuf::from("/w")));
    assert_eq!(above(&plan, "/ww"), None);
    let full = Plan { files: Files::Full, ..plan };
    assert_eq!(above(&full, "/etc/x"), Some(PathBuf::from("/")));
}

#[test]
fn the_root_can_be_writable_and_cannot_be_closed() {
    let writable = plan(&["/"], &["/root"], &[], &["/w/p"]);
    assert!(layout(&writable).root_is_writable);
    assert_eq!(entries_of(&writable), ["Closed /root on ", "Protected /w/p on "]);
    let closed = plan(&["/w"], &["/"], &[], &[]);
    assert!(Layout::arrange(&closed, System::default()).is_err());
}

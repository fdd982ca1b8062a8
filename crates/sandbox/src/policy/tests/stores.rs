use std::os::unix::fs::symlink;
use std::thread::sleep;
use std::time::Duration;

use super::{Fixture, Settings, put, *};
use crate::policy::stores::{
    HELD_WHEN_ABSENT, Moves, SERVICE_STORES, STORES, SYSTEM_STORES, VARIABLES,
};

/// The closed paths below the place, without the two stores that every place has.
fn closed(fixture: &Fixture, settings: &Settings) -> Vec<String> {
    let plan = fixture.plan(settings).expect("a plan");
    let base = fixture.at("");
    let below = plan.closed.iter().filter_map(|path| path.strip_prefix(&base).ok());
    below
        .map(|path| path.display().to_string())
        .filter(|path| path != "home/.config/gh" && path != "home/.ssh")
        .collect()
}

fn variable(name: &str, value: impl Into<OsString>) -> Vec<(OsString, OsString)> {
    // Among others, as in every environment.
    [("A", "x".into()), (name, value.into()), ("ZZ", "/".into())].map(|(n, v)| (n.into(), v)).into()
}

#[test]
fn every_store_is_closed_where_it_is() {
    for store in STORES {
        let fixture = Fixture::new();
        if !fixture.at("home").join(store).exists() {
            put(&fixture, &format!("home/{store}"), "secret");
        }
        let closed_paths = fixture.plan(&Settings::default()).expect("a plan").closed;
        assert!(
            closed_paths.contains(&fixture.at("home").join(store)),
            "{store}: {closed_paths:?}"
        );
    }
}

/// Where the kernel does not already refuse them.
#[test]
fn what_root_alone_can_read_is_closed_unless_commands_may_write_everywhere() {
    let fixture = Fixture::new();
    let there: Vec<PathBuf> =
        SYSTEM_STORES.iter().filter_map(|store| fs::canonicalize(store).ok()).collect();
    let closed = |files: Files, readable: &[PathBuf]| {
        let settings = Settings { readable: readable.to_vec(), ..Settings::default() };
        let closed = fixture.plan_for(&settings, files).expect("a plan").closed;
        there.iter().filter(|store| closed.contains(store)).count()
    };
    let is_root = rustix::process::geteuid().is_root();
    assert_eq!(closed(Files::Confined, &[]), if is_root { there.len() } else { 0 });
    assert_eq!(closed(Files::Full, &[]), 0);
    if let Some(first) = there.first().filter(|_| is_root) {
        assert_eq!(closed(Files::Confined, std::slice::from_ref(first)), there.len() - 1);
    }
    assert!(!is_root || !there.is_empty(), "root, and no /etc/shadow");
}

#[test]
fn the_table_has_each_once_and_none_in_another() {
    for (index, store) in STORES.iter().enumerate() {
        assert!(Path::new(store).is_relative() && !store.ends_with('/'), "{store}");
        let around = STORES
            .iter()
            .enumerate()
            .find(|(other, around)| *other != index && Path::new(store).starts_with(around));
        assert_eq!(around, None, "{store}");
    }
    assert!(VARIABLES.is_sorted_by(|one, next| one.0 < next.0));
    for (name, moves) in VARIABLES {
        if let Moves::Directory(directory) = moves {
            let has_store = STORES.iter().any(|store| Path::new(store).starts_with(directory));
            assert!(has_store, "{name} moves no store");
        }
    }
    for store in HELD_WHEN_ABSENT {
        assert!(STORES.contains(&store) && !store.contains('/'), "{store}");
    }
}

/// The page lists every closed store, and no other.
#[test]
fn the_page_has_the_same_list() {
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/security.md");
    let page = fs::read_to_string(page).expect("the page");
    let between = |start: &str, end: &str| {
        let rest = page.split_once(start).expect(start).1;
        rest.split_once(end).expect(end).0.split('`').skip(1).step_by(2).collect::<Vec<_>>()
    };
    let stores = between("<!-- stores -->", "<!-- /stores -->");
    assert_eq!(stores, STORES.map(|store| format!("~/{store}")));
    let of_system = between("<!-- system-stores -->", "<!-- /system-stores -->");
    assert_eq!(of_system, SYSTEM_STORES);
    let of_services = between("<!-- service-stores -->", "<!-- /service-stores -->");
    assert_eq!(of_services, SERVICE_STORES);
    let variables = between("<!-- variables -->", "<!-- /variables -->");
    assert_eq!(variables, VARIABLES.map(|(name, _)| name));
    let listed = between("<!-- held -->", "<!-- /held -->");
    assert_eq!(listed, HELD_WHEN_ABSENT.map(|store| format!("~/{store}")));
}

#[test]
fn what_a_variable_moves_is_closed_where_it_is_and_where_it_was() {
    let fixture = Fixture::new();
    let at = |path: &str| fixture.at(path).into_os_string();
    for (name, value, file, was) in [
        ("XDG_CONFIG_HOME", at("xdg"), "xdg/rclone", "home/.config/rclone"),
        ("XDG_DATA_HOME", at("data"), "data/keyrings", "home/.local/share/keyrings"),
        ("CARGO_HOME", at("cargo"), "cargo/credentials.toml", "home/.cargo/credentials.toml"),
        ("DOCKER_CONFIG", at("docker"), "docker/config.json", "home/.docker/config.json"),
        ("GNUPGHOME", at("gnupg"), "gnupg", "home/.gnupg"),
        ("CLOUDSDK_CONFIG", at("cloud"), "cloud", "home/.config/gcloud"),
        ("AZURE_CONFIG_DIR", at("azure"), "azure", "home/.azure"),
        ("CLAUDE_CONFIG_DIR", at("claude"), "claude", "home/.claude"),
        ("CODEX_HOME", at("codex"), "codex", "home/.codex"),
        ("AWS_SHARED_CREDENTIALS_FILE", at("c"), "c", "home/.aws"),
        ("NPM_CONFIG_USERCONFIG", at("n"), "n", "home/.npmrc"),
        ("GOOGLE_APPLICATION_CREDENTIALS", at("g.json"), "g.json", "home/.config/gcloud"),
        ("PGPASSFILE", at("root/pg"), "root/pg", "home/.pgpass"),
    ] {
        put(&fixture, file, "secret");
        put(&fixture, was, "secret");
        let settings = Settings { variables: variable(name, value), ..Settings::default() };
        let closed_paths = closed(&fixture, &settings);
        assert!(closed_paths.contains(&file.to_owned()), "{name}: {closed_paths:?}");
        assert!(closed_paths.contains(&was.to_owned()), "{name}: {closed_paths:?}");
        // It is the variable that has done it.
        assert!(!closed(&fixture, &Settings::default()).contains(&file.to_owned()), "{name}");
    }
    put(&fixture, "k1", "secret");
    put(&fixture, "k2", "secret");
    let list = env::join_paths([fixture.at("k1"), fixture.at("missing"), fixture.at("k2")]);
    let settings = Settings {
        variables: variable("KUBECONFIG", list.expect("joined")),
        ..Settings::default()
    };
    let closed_paths = closed(&fixture, &settings);
    assert!(
        closed_paths.contains(&"k1".to_owned()) && closed_paths.contains(&"k2".to_owned()),
        "{closed_paths:?}"
    );
}

#[test]
fn what_is_no_store_stays_open_whatever_names_it() {
    let fixture = Fixture::new();
    symlink("/dev/null", fixture.at("home/.bash_history")).expect("linked");
    for (name, value) in [
        ("AWS_CONFIG_FILE", PathBuf::from("/dev/null")),
        ("NETRC", PathBuf::new()),
        ("KUBECONFIG", PathBuf::from("::")),
        ("GNUPGHOME", PathBuf::from("/")),
        ("CODEX_HOME", fixture.at("home")),
        ("CLAUDE_CONFIG_DIR", fixture.at("")),
        ("PGPASSFILE", fixture.at("missing/x")),
    ] {
        let settings = Settings { variables: variable(name, value), ..Settings::default() };
        let plan = fixture.plan(&settings).expect("a plan");
        let expected = ["home/.config/gh", "home/.ssh"].map(|path| fixture.at(path));
        assert_eq!(plan.closed, expected, "{name}");
    }
}

#[test]
fn the_home_of_the_system_counts_whatever_home_says() {
    let fixture = Fixture::new();
    put(&fixture, "passwd/.aws/credentials", "secret");
    let settings = Settings { other_home: Some(fixture.at("passwd")), ..Settings::default() };
    assert_eq!(closed(&fixture, &settings), ["passwd/.aws"]);
}

#[test]
fn a_store_is_opened_by_its_name_and_by_nothing_around_it_or_leading_to_it() {
    let fixture = Fixture::new();
    symlink(fixture.at("home/.ssh"), fixture.at("link")).expect("linked");
    symlink(fixture.at("home"), fixture.at("other")).expect("linked");
    let is_open = |readable: &str| {
        let settings = Settings { readable: vec![readable.into()], ..Settings::default() };
        let plan = fixture.plan(&settings).expect("a plan");
        let store = fixture.at("home/.ssh");
        !plan.closed.contains(&store) || plan.readable.contains(&store)
    };
    put(&fixture, "home/.ssh/key", "secret");
    symlink(fixture.at("home/.ssh/key"), fixture.at("key")).expect("linked");
    let opens = |readable: &str| {
        let settings = Settings { readable: vec![readable.into()], ..Settings::default() };
        fixture
            .plan(&settings)
            .expect("a plan")
            .readable
            .iter()
            .any(|path| path.starts_with(fixture.at("home")))
    };
    // A file inside a store is opened by its own name, too.
    assert!(opens("~/.ssh/key") && !opens("../key") && !opens("../link") && !opens("../link/key"));
    assert!(is_open("~/.ssh") && is_open("../home/.ssh") && is_open("~/x/../.ssh"));
    for other in ["~", "/", "..", "../link", "../other", "~/.ssh/known_hosts", "~/.config"] {
        assert!(!is_open(other), "{other}");
    }
}

/// The directory is watched only through the time of its last change, which is coarse.
#[test]
fn a_store_that_comes_or_goes_is_seen_at_once() {
    let fixture = Fixture::new();
    put(&fixture, "home/.docker/x", "");
    let expect = |expected: &[&str]| assert_eq!(closed(&fixture, &Settings::default()), expected);
    for pause in [0, 150, 2_500] {
        for round in 0..3 {
            expect(&[]);
            sleep(Duration::from_millis(if round == 0 { pause } else { 0 }));
            expect(&[]);
            put(&fixture, "home/.netrc", "");
            expect(&["home/.netrc"]);
            put(&fixture, "home/.docker/config.json", "");
            expect(&["home/.docker/config.json", "home/.netrc"]);
            fs::remove_file(fixture.at("home/.netrc")).expect("removed");
            symlink(fixture.at("home/other"), fixture.at("home/.aws")).expect("linked");
            expect(&["home/.docker/config.json", "home/other"]);
            fs::remove_file(fixture.at("home/.docker/config.json")).expect("removed");
            fs::remove_file(fixture.at("home/.aws")).expect("removed");
        }
    }
}

#[test]
fn absent_stores_are_held_where_commands_could_make_them() {
    let fixture = Fixture::new();
    let absent = |root: &str| -> Vec<PathBuf> {
        let root = fixture.at(root);
        let plan = plan(&Options { root: &root, ..fixture.options(&Settings::default()) });
        plan.protected
    };
    assert_eq!(absent("root"), [""; 0].map(PathBuf::from));
    let mut closed_paths = absent("home");
    closed_paths.sort();
    // `.ssh` is there, and closed.
    let expected = HELD_WHEN_ABSENT[1..].iter().map(|store| fixture.at("home").join(store));
    let mut expected: Vec<PathBuf> = expected.collect();
    expected.sort();
    assert_eq!(closed_paths, expected);
    let settings = Settings { readable: vec!["~/.aws".into()], ..Settings::default() };
    let root = fixture.at("home");
    let plan = plan(&Options { root: &root, ..fixture.options(&settings) });
    assert!(!plan.protected.contains(&fixture.at("home/.aws")), "it is opened by name");
}

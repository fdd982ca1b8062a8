use super::*;
use crate::policy::caches::{CACHES, VARIABLES, holding};

#[test]
fn the_tables_are_in_order_and_no_cache_lies_in_another() {
    assert!(CACHES.is_sorted_by_key(|cache| cache.to_ascii_lowercase()));
    assert!(VARIABLES.is_sorted_by_key(|(name, _)| name.to_ascii_lowercase()));
    for cache in CACHES {
        let inside = CACHES.iter().find(|other| other.starts_with(&format!("{cache}/")));
        assert_eq!(inside, None, "in {cache}");
    }
}

#[test]
fn caches_are_those_that_are_there_and_that_a_command_cannot_write() {
    let fixture = Fixture::new();
    for directory in ["home/.cache", "home/.npm", "home/.gradle", "elsewhere"] {
        fs::create_dir_all(fixture.at(directory)).expect("made");
    }
    // A link may lead anywhere.
    symlink(fixture.at("elsewhere"), fixture.at("home/.ccache")).expect("linked");
    symlink(fixture.at("elsewhere"), fixture.at("home/.m2")).expect("linked");
    fs::create_dir(fixture.at("elsewhere/repository")).expect("made");
    fs::write(fixture.at("home/.yarn"), "a file").expect("written");
    let caches = |settings: &Settings| {
        let plan = fixture.plan(settings).expect("a plan");
        let below = |path: &PathBuf| path.strip_prefix(fixture.at("")).expect("below").to_owned();
        plan.caches.iter().map(|path| below(path).display().to_string()).collect::<Vec<_>>()
    };
    let all = ["home/.cache", "home/.gradle", "home/.npm"];
    assert_eq!(caches(&Settings::default()), all);
    let writable_roots = vec![fixture.at("home/.npm")];
    assert_eq!(caches(&Settings { writable_roots, ..Settings::default() }), all[..2]);
    let deny_read = vec![fixture.at("home/.gradle")];
    assert_eq!(caches(&Settings { deny_read, ..Settings::default() }), [all[0], all[2]]);
    // What a grant lies in is nothing that a command has to itself.
    fs::create_dir(fixture.at("home/.cache/granted")).expect("made");
    let writable_roots = vec![fixture.at("home/.cache/granted")];
    assert_eq!(caches(&Settings { writable_roots, ..Settings::default() }), all[1..]);
    let full = fixture.plan_for(&Settings::default(), Files::Full).expect("a plan");
    assert!(full.caches.is_empty());
}

#[test]
fn a_home_directory_may_be_named_by_a_link() {
    let mut fixture = Fixture::new();
    fs::create_dir(fixture.at("home/.npm")).expect("made");
    symlink(fixture.at("home"), fixture.at("people")).expect("linked");
    let (real, named) = (fixture.at("home/.npm"), fixture.at("people"));
    fixture.home = named.clone();
    let plan = fixture.plan(&Settings::default()).expect("a plan");
    assert_eq!(plan.caches, std::slice::from_ref(&real));
    let held = Some((".npm", Some("npm_config_cache")));
    assert_eq!(holding(&real.join("x"), &named), held);
    assert_eq!(holding(&named.join(".npm/x"), &named), held);
    assert_eq!(holding(&named.join("npm"), &named), None);
}

#[test]
fn a_variable_of_the_host_names_a_cache() {
    let fixture = Fixture::new();
    for directory in ["go/pkg/mod", "uv", "home/x"] {
        fs::create_dir_all(fixture.at(directory)).expect("made");
    }
    symlink(fixture.at("uv"), fixture.at("led")).expect("linked");
    let caches = |variables: &[(&str, PathBuf)]| {
        let variables =
            variables.iter().map(|(name, value)| ((*name).into(), value.clone().into())).collect();
        fixture.plan(&Settings { variables, ..Settings::default() }).expect("a plan").caches
    };
    let named = [("GOPATH", fixture.at("go")), ("UV_CACHE_DIR", fixture.at("uv"))];
    assert_eq!(caches(&named), [fixture.at("go/pkg"), fixture.at("uv")]);
    let no_cache = ["/", "/tmp", "relative", ""].map(PathBuf::from);
    let holds_home = [fixture.at("home"), fixture.at("led"), fixture.at("absent")];
    for path in no_cache.into_iter().chain(holds_home) {
        assert_eq!(caches(&[("XDG_CACHE_HOME", path.clone())]), [] as [&Path; 0], "{path:?}");
    }
}

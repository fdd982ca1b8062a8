use proptest::prelude::*;

use super::*;

fn cache() -> Cache {
    Cache(Mutex::new(None))
}

fn variables(pairs: &[(&str, &str)]) -> Variables {
    pairs.iter().map(|(name, value)| (name.into(), value.into())).collect()
}

fn map(pairs: &[(&str, &str)]) -> HashMap<String, String> {
    pairs.iter().map(|&(name, value)| (name.to_owned(), value.to_owned())).collect()
}

#[test]
fn a_command_gets_the_directory_it_runs_in_and_not_the_host_s() {
    let host = Arc::new(variables(&[("PWD", "/host"), ("OLDPWD", "/before"), ("LANG", "C")]));
    let passed = cache().of_command(&Policy::Inherit, &host, Path::new("/srv"));
    assert_eq!(*passed, variables(&[("LANG", "C"), ("PWD", "/srv")]));
}

#[test]
fn extra_variables_replace_those_of_the_host() {
    let host = map(&[("A", "host"), ("B", "host")]);
    let mut all = (*cache().of_host(Some(host), map(&[("B", "extra"), ("C", "extra")]))).clone();
    all.sort();
    assert_eq!(all, variables(&[("A", "host"), ("B", "extra"), ("C", "extra")]));
}

#[test]
fn without_a_view_of_its_own_the_host_has_the_variables_of_the_process() {
    let all = cache().of_host(None, HashMap::new());
    assert_eq!(*all, std::env::vars_os().collect::<Vec<_>>());
    let more = cache().of_host(None, map(&[("TOOLWRIGHT_EXTRA", "1")]));
    assert_eq!(more.len(), all.len() + 1);
}

#[test]
fn the_variables_of_the_process_are_recognised() {
    let process: Variables = std::env::vars_os().collect();
    assert_eq!(is_of_process(&process), cfg!(target_os = "linux"));
    assert!(!is_of_process(&process[1..].to_vec()), "one less");
    assert!(!is_of_process(&process[..process.len() - 1].to_vec()), "one less at the end");
    let more = [&process[..], &variables(&[("TOOLWRIGHT_EXTRA", "1")])[..]].concat();
    assert!(!is_of_process(&more), "one more");
    let mut changed = process;
    changed[0].1.push("x");
    assert!(!is_of_process(&changed), "another value");
}

/// Bun and workers hand them over in a map, which has another order each time.
#[test]
fn the_variables_of_a_map_are_one_list_however_they_come() {
    let cache = cache();
    let many: Vec<(String, String)> = (0..20).map(|n| (format!("V{n}"), n.to_string())).collect();
    let ask = || {
        let map: HashMap<String, String> = many.iter().cloned().collect();
        let host = cache.of_host(Some(map), HashMap::new());
        cache.of_command(&Policy::default(), &host, Path::new("/srv"));
        host
    };
    let first = ask();
    assert!((0..5).all(|_| Arc::ptr_eq(&first, &ask())));
}

#[test]
fn a_repeated_question_is_answered_from_the_cache() {
    let cache = cache();
    let ask = |host: &[(&str, &str)], policy: &Policy, cwd: &str| {
        let host = cache.of_host(Some(map(host)), HashMap::new());
        cache.of_command(policy, &host, Path::new(cwd))
    };
    let (all, filtered) = (Policy::Inherit, Policy::default());
    let first = ask(&[("API_TOKEN", "a")], &all, "/a");
    assert!(Arc::ptr_eq(&first, &ask(&[("API_TOKEN", "a")], &all, "/a")));
    assert_eq!(ask(&[("API_TOKEN", "b")], &all, "/a")[0].1, "b");
    assert_eq!(ask(&[("API_TOKEN", "b")], &all, "/b")[1].1, "/b");
    assert_eq!(ask(&[("API_TOKEN", "b")], &filtered, "/b").len(), 1);
    let host = cache.of_host(Some(map(&[("X", "1")])), HashMap::new());
    let passed = cache.of_command(&all, &host, Path::new("/"));
    let same = cache.of_host(Some(map(&[("X", "1")])), HashMap::new());
    assert!(Arc::ptr_eq(&host, &same), "the same variables are one list");
    let own = cache.of_command(&all, &cache.of_host(None, HashMap::new()), Path::new("/"));
    assert!(!Arc::ptr_eq(&passed, &own), "the process has other variables");
    let more = cache.of_host(None, map(&[("X", "2")]));
    assert!(
        more.contains(&("X".into(), "2".into())),
        "extra variables are no part of the process's"
    );
}

#[test]
fn a_shell_gets_no_variable_that_changes_what_it_reads() {
    let host = Arc::new(variables(&[("BASH_ENV", "/x"), ("LANG", "C")]));
    let passed = of_shell(&Policy::Inherit, &host, Path::new("/srv"));
    assert_eq!(*passed, variables(&[("LANG", "C"), ("PWD", "/srv")]));
    let host = Arc::new(variables(&[("LANG", "C")]));
    let passed = of_shell(&Policy::Inherit, &host, Path::new("/srv"));
    assert_eq!(*passed, variables(&[("LANG", "C"), ("PWD", "/srv")]));
}

proptest! {
    #[test]
    fn each_name_comes_once_and_sorted(
        pairs in prop::collection::vec(("(A|B|PWD|OLDPWD|API_TOKEN)", "[a-c]{0,2}"), 0..8),
    ) {
        let host: Variables =
            pairs.iter().map(|(name, value)| (name.into(), value.into())).collect();
        for policy in [Policy::Inherit, Policy::default()] {
            let passed = cache().of_command(&policy, &Arc::new(host.clone()), Path::new("/srv"));
            prop_assert!(passed.is_sorted_by(|(one, _), (other, _)| one < other));
            // Of two values the last one counts.
            let mut last: BTreeMap<_, _> = policy.apply(host.clone()).into_iter().collect();
            last.remove(OsStr::new("OLDPWD"));
            last.insert("PWD".into(), "/srv".into());
            prop_assert_eq!(passed.iter().cloned().collect::<BTreeMap<_, _>>(), last);
        }
    }
}

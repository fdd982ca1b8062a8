use super::{Fixture, *};

/// The plan of commands in a fork of the root, or in the root itself.
fn plan_of(fixture: &Fixture, number: Option<u64>) -> Plan {
    let root = fixture.at("root");
    let root_fork = number.map(|number| Forked { number, base: root.clone() });
    plan_at(fixture, &root, &[], root_fork)
}

/// The same for another root, and with other directories that commands write.
fn plan_at(
    fixture: &Fixture,
    root: &Path,
    writable: &[PathBuf],
    root_fork: Option<Forked>,
) -> Plan {
    let (root, writable) = (root.to_owned(), writable.to_vec());
    let resolved = Resolved {
        root: root.clone(),
        named_root: root.clone(),
        writable,
        root_fork,
        ..Resolved::default()
    };
    let deny_write: Vec<_> = presets::DEFAULT.iter().map(PathBuf::from).collect();
    plan(&Options {
        root: &root,
        resolved: &resolved,
        network: Network::Nothing,
        names: None,
        files: Files::Confined,
        read_scope: ReadScope::All,
        writable_roots: &[],
        readable: &[],
        deny_write: &deny_write,
        is_git_strict: false,
        limits: Limits::default(),
        home: None,
        other_home: None,
        variables: &[],
        sessions: None,
        state: Some(&fixture.at("state")),
        path: None,
    })
}

#[test]
fn a_fork_is_its_own_repository_and_sees_no_other_fork() {
    let fixture = Fixture::new();
    for directory in ["root/.git/objects", "root/.git/refs", "root/.vscode", "state/forks"] {
        fs::create_dir_all(fixture.at(directory)).expect("made");
    }
    fs::write(fixture.at("root/.git/HEAD"), "ref: refs/heads/main\n").expect("written");
    let base = plan_of(&fixture, None);
    assert_eq!(base.forks, [fixture.at("root/.git")]);
    assert!(base.hides_git_directories && base.looks_below.is_some());
    assert!(!base.set_aside.is_empty() && !base.closes(&fixture.at("state/forks/x")));

    let fork = plan_of(&fixture, Some(7));
    let seen = Some(Forked { number: 7, base: fixture.at("root") });
    assert_eq!((&fork.root_fork, &fork.origin.as_ref().expect("known").root_fork), (&seen, &seen));
    // The host would look at the root itself.
    assert!(!fork.hides_git_directories && fork.looks_below.is_none());
    assert_eq!((&*fork.forks, &*fork.set_aside), (&[][..], &[][..]));
    assert!(fork.protected.iter().all(|path| !path.starts_with(fixture.at("root/.git"))));
    assert!(fork.protected.contains(&fixture.at("root/.vscode")));
    assert!(fork.closes(&fixture.at("state/forks/x")));
    // Commands of both never share a supervisor, nor a network.
    assert!(!fork.is_but_for_forks(&plan_of(&fixture, Some(8))));
    assert_ne!(fork.origin, base.origin);
}

#[test]
fn the_repository_of_a_forked_directory_is_left_alone_also_from_elsewhere() {
    let fixture = Fixture::new();
    for directory in ["base/.git/objects", "base/.git/refs", "base/.git/hooks", "tree", "beside"] {
        fs::create_dir_all(fixture.at(directory)).expect("made");
    }
    fs::write(fixture.at("base/.git/HEAD"), "ref: refs/heads/main\n").expect("written");
    // A work tree of it, as git makes one.
    fs::write(fixture.at("tree/.git"), format!("gitdir: {}\n", fixture.at("base/.git").display()))
        .expect("written");
    let [base, tree, beside] = ["base", "tree", "beside"].map(|name| fixture.at(name));
    let seen = || Some(Forked { number: 7, base: base.clone() });
    for (root, writable) in [
        (&base, vec![tree.clone(), beside.clone()]),
        (&beside, vec![base.clone(), tree.clone()]),
        (&tree, vec![base.clone()]),
    ] {
        let plan = plan_at(&fixture, root, &writable, seen());
        for path in plan.forks.iter().chain(&plan.hooks).chain(&plan.set_aside) {
            assert!(!plan.is_forked(path), "{}", path.display());
        }
        assert!(plan.is_forked(&base.join("a")) && !plan.is_forked(&tree));
        assert!(plan.looks_below.as_ref().is_none_or(|top| !plan.is_forked(top)));
    }
    // Beside the fork, everything is as it is without one.
    let plan = plan_at(&fixture, &base, std::slice::from_ref(&beside), seen());
    assert!(plan.set_aside.iter().any(|path| path.starts_with(&beside)));
}

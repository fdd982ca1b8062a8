//! Changes that are harmless by themselves, and a result that is not.

use toolwright_git::config::{Merged, RemoteChange};

use super::list::Places;

const REAL: &str = "[remote \"origin\"]\n\turl = https://example.org/a.git\n\tfetch = +refs/heads/*:refs/remotes/origin/*\n\
                    [branch \"m\"]\n\tremote = origin\n\tmerge = refs/heads/m\n";

fn merged(snapshot: &str, view: &str, real: &str) -> Merged {
    Places::new().merge([snapshot, view, real].map(str::as_bytes))
}

/// The command changes the view, and the person's file is what it was.
fn changed(from: &str, to: &str) -> Merged {
    assert!(REAL.contains(from), "{from}");
    merged(REAL, &REAL.replace(from, to), REAL)
}

const URL: &str = "\turl = https://example.org/a.git\n";

#[test]
fn a_refused_name_hides_no_name_that_stays() {
    // The view names another remote, so no name of it would be left there.
    let view = REAL.replace(URL, "").replace("remote = origin", "remote = bogus");
    let result = merged(REAL, &view, REAL);
    assert_eq!(result.text, None);
    assert_eq!(result.refused, ["branch.m.remote", "remote.origin.url"]);
}

#[test]
fn a_remote_that_is_named_keeps_its_address() {
    let result = changed(URL, "");
    assert_eq!((result.text, result.refused), (None, vec!["remote.origin.url".to_owned()]));
    // All of the remote goes, or nothing.
    let remote = REAL.split("[branch").next().unwrap();
    let result = changed(remote, "");
    assert_eq!(result.text, None);
    assert_eq!(result.refused, ["remote.origin.url", "remote.origin.fetch"]);
    // Together with what names it, it goes.
    let result = merged(REAL, "", REAL);
    assert_eq!(result.text, Some(Vec::new()));
    assert_eq!(result.refused, [""; 0]);
    for name in [
        "[remote]\n\tpushDefault = origin\n",
        "[checkout]\n\tdefaultRemote = origin\n",
        "[extensions]\n\tpartialClone = origin\n",
    ] {
        let real = format!("{remote}{name}");
        let result = merged(&real, name, &real);
        assert_eq!(result.text, None, "{name}");
    }
}

#[test]
fn several_values_hide_nothing() {
    // Git takes the last name, and the last of several addresses is no reason to forget the others.
    for values in ["\tremote = x\n\tremote = origin\n", "\tremote = origin\n\tremote = x\n"] {
        let real = REAL
            .replace("\tremote = origin\n", values)
            .replace("[branch", "[remote \"x\"]\n\turl = https://x/\n[branch");
        let view = real.replace("[remote \"x\"]\n\turl = https://x/\n", "");
        let result = merged(&real, &view, &real);
        assert_eq!((result.text, result.refused.len()), (None, 1), "{values}");
    }
    let result = changed(URL, &format!("{URL}\turl =\n"));
    assert_eq!((result.text, result.refused.len()), (None, 1));
    let result = changed("\tremote = origin\n", "\tremote = evil\n\tremote = origin\n");
    assert_eq!((result.text, result.refused.len()), (None, 1));
    let result = changed(URL, "\turl = ./evil\n\turl = https://example.org/a.git\n");
    assert_eq!((result.text, result.refused.len()), (None, 1));
    // A value that did not count does not become the one that counts.
    let real = "[core]\n\tfilemode = false\n\tfilemode = true\n";
    let view = "[core]\n\tfilemode = false\n";
    assert_eq!(merged(real, view, real).text, None);
}

#[test]
fn what_was_refused_before_does_not_count_as_there() {
    // While a process goes on, its view has settings that the person's file does not have.
    let evil = "[remote \"z/b\"]\n\turl = ./z/b\n";
    let snapshot = format!("{REAL}{evil}");
    let view = snapshot.replace("remote = origin", "remote = z/b");
    let result = merged(&snapshot, &view, REAL);
    assert_eq!((result.text, result.refused), (None, vec!["branch.m.remote".to_owned()]));
    let view =
        snapshot.replace("url = ./z/b", "url = ./z/b\n\tfetch = +refs/heads/*:refs/remotes/z/b/*");
    assert_eq!(merged(&snapshot, &view, REAL).text, None);
    // The person has taken the address away meanwhile.
    let real = REAL.replace(REAL.split("[branch").next().unwrap(), "");
    let view = format!("{REAL}[branch \"n\"]\n\tremote = origin\n");
    assert_eq!(merged(REAL, &view, &real).text, None);
}

#[test]
fn names_differ_by_the_case_of_the_subsection_alone() {
    let result = changed("[branch \"m\"]", "[branch \"n\"]\n\tremote = Origin\n[branch \"m\"]");
    assert_eq!((result.text, result.refused), (None, vec!["branch.n.remote".to_owned()]));
    let result = changed("[branch \"m\"]", "[BRANCH \"n\"]\n\tRemote = origin\n[branch \"m\"]");
    assert!(result.text.is_some());
}

#[test]
fn other_files_name_remotes_as_well() {
    let places = Places::new();
    let real = "[remote \"x\"]\n\turl = https://example.org/\n";
    let other: &[u8] = b"[branch \"m\"]\n\tpushRemote = x\n";
    let merge = |others: &[&[u8]]| {
        places.merge_with_others([real.as_bytes(), b"", real.as_bytes()], others)
    };
    assert_eq!(merge(&[other]).text, None);
    assert!(merge(&[]).text.is_some());
}

#[test]
fn a_persons_own_settings_are_not_judged() {
    let real = "[branch \"m\"]\n\tremote = https://example.org/x\n[remote \"mine\"]\n\tpushurl = ext::x\n\
                [alias]\n\tx = !x\n[core]\n\teditor = vi\n";
    let view = format!("{real}[user]\n\tname = A\n");
    let result = merged(real, &view, real);
    assert_eq!(result.text, Some(view.into_bytes()));
    assert_eq!(result.refused, [""; 0]);
    // But they are not changed either, and what a person has changed meanwhile stays.
    let view = real.replace("vi", "x").replace("\tx = !x\n", "");
    let result = merged(real, &view, real);
    assert_eq!((result.text, result.refused.len()), (None, 2));
    let result = merged("", "[user]\n\tname = A\n", "[user]\n\tname = B\n");
    assert_eq!((result.text, result.changed_meanwhile), (None, vec!["user.name".to_owned()]));
}

#[test]
fn a_rule_of_the_person_leads_no_address_to_a_path() {
    let places = Places::new();
    let mirror = places.at("beside");
    let rule = format!("[url \"{}/\"]\n\tinsteadOf = https://mirror/\n", mirror.display());
    for (url, is_carried) in [
        ("https://mirror/", true),
        ("https://mirror/../root/evil", false),
        ("https://other/../root/evil", true),
    ] {
        let view = format!("{rule}[remote \"x\"]\n\turl = {url}\n");
        let result = places.merge([rule.as_bytes(), view.as_bytes(), rule.as_bytes()]);
        assert_eq!(result.text.is_some(), is_carried, "{url}");
    }
}

#[test]
fn changed_targets_are_told() {
    let evil = "https://evil.example.org/";
    let change = |setting: &str, before: &[&str], after: &[&str], is_held| RemoteChange {
        setting: setting.into(),
        before: before.iter().map(|&it| it.into()).collect(),
        after: after.iter().map(|&it| it.into()).collect(),
        is_held,
    };
    let set = REAL.replace("https://example.org/a.git", evil);
    let push = REAL.replace(URL, &format!("{URL}\tpushurl = {evil}\n"));
    let new = format!("[remote \"evil\"]\n\turl = {evil}\n");
    let moved = format!("{REAL}{new}").replace("remote = origin", "remote = evil");
    let default = format!("{REAL}{new}[remote]\n\tpushDefault = evil\n");
    let branch = format!("{REAL}{new}[branch \"m\"]\n\tpushRemote = evil\n");
    let merge = REAL.replace("merge = refs/heads/m", "merge = refs/heads/production");
    let url = "https://example.org/a.git";
    for (view, expected) in [
        (&set, change("remote.origin.url", &[url], &[evil], false)),
        (&push, change("remote.origin.pushurl", &[], &[evil], false)),
        (&moved, change("branch.m.remote", &["origin"], &["evil"], false)),
        (&default, change("remote.pushdefault", &[], &["evil"], false)),
        (&branch, change("branch.m.pushremote", &[], &["evil"], false)),
        (&merge, change("branch.m.merge", &["refs/heads/m"], &["refs/heads/production"], false)),
    ] {
        let places = Places::new();
        let texts = [REAL, view, REAL].map(str::as_bytes);
        let result = places.merge(texts);
        assert!(result.text.is_some() && result.refused.is_empty(), "{view}");
        assert_eq!(result.remotes, std::slice::from_ref(&expected), "{view}");
        let strict = places.carry_with(texts, |policy| policy.is_strict = true);
        assert_eq!(strict.remotes, [RemoteChange { is_held: true, ..expected }], "{view}");
        let text = String::from_utf8(strict.text.unwrap_or_default()).unwrap();
        assert!(text.is_empty() || text.starts_with(REAL), "{text}");
    }
    // One that goes, and one that comes in its place.
    let gone = merged(REAL, "", REAL);
    assert_eq!(gone.remotes, [change("remote.origin.url", &[url], &[], false)]);
    let origin = format!("[remote \"origin\"]\n\turl = {evil}\n");
    let again = merged("", &origin, "");
    assert_eq!(again.remotes, [change("remote.origin.url", &[], &[evil], false)]);
    // Another remote, and a new branch of it, say where they lead by themselves.
    assert_eq!(merged(REAL, &format!("{REAL}{new}"), REAL).remotes, []);
    let tracking = format!("{REAL}{new}[branch \"n\"]\n\tremote = evil\n\tmerge = refs/heads/n\n");
    assert_eq!(
        merged(REAL, &tracking, REAL).remotes,
        [change("branch.n.remote", &[], &["evil"], false)]
    );
    let tracking = format!("{REAL}[branch \"n\"]\n\tremote = origin\n\tmerge = refs/heads/n\n");
    assert_eq!(merged(REAL, &tracking, REAL).remotes, []);
}

use std::path::Path;

use super::super::{Config, changes, with_changes};
use super::*;

/// Whether what a command makes of an empty configuration is carried.
fn carried(text: &str) -> bool {
    let dir = tempfile::tempdir().expect("dir");
    let top = dir.path().canonicalize().expect("real").join("root");
    std::fs::create_dir(&top).expect("made");
    std::fs::create_dir(top.join("evil")).expect("made");
    std::fs::create_dir(top.parent().expect("above").join("beside")).expect("made");
    std::os::unix::fs::symlink("/usr", top.join("link")).expect("linked");
    let is_writable = |path: &Path| path.starts_with(&top);
    let terms = Terms {
        top: Some(&top),
        is_writable: &is_writable,
        has_remote: &|name| name == b"origin",
        holds_worktree_config: true,
    };
    let view = Config::parse(text.as_bytes()).expect("it is read");
    let found = changes(&Config::default(), &view);
    assert!(!found.is_empty(), "{text}");
    let verdicts: Vec<bool> = found.iter().map(|change| is_carried(change, &terms)).collect();
    assert!(verdicts.iter().all(|one| *one == verdicts[0]), "{text}: {verdicts:?}");
    if verdicts[0] {
        let written = with_changes(&Config::default(), &found).expect("written");
        let again = Config::parse(&written).expect("read again");
        assert_eq!(changes(&view, &again), [], "{text}");
    }
    verdicts[0]
}

#[test]
fn what_is_harmless_is_carried() {
    for text in [
        "[user]\n\tname = A B\n\temail = a@b\n",
        "[user] name = \"A ; B # \\\"C\\\" \\\\ \"",
        "[core]\n\tautocrlf = input\n\teol = lf\n\tfileMode\n\tignorecase = FALSE",
        "[remote \"origin\"]\n\turl = https://example.org/a.git\n\tfetch = +refs/heads/*:refs/remotes/origin/*\n",
        "[remote \"up/stream-1\"]\n\turl = git@example.org:a/b.git\n\tpushurl = ssh://git@example.org:22/a.git\n",
        "[remote.old]\n\turl = http://example.org/\n",
        "[remote \"beside\"]\n\turl = ../beside\n",
        "[remote \"usr\"]\n\turl = /usr\n[remote \"two\"]\n\turl = file:///usr\n",
        "[branch \"a.b/c\"]\n\tremote = origin\n\tmerge = refs/heads/x\n\trebase = merges\n\tdescription = one\\ntwo\n",
        "[branch \"x\"]\n\tremote = .\n",
        "[submodule \"a\"]\n\turl = https://example.org/\n\tactive = true\n\tupdate = rebase\n",
        "[extensions]\n\tworktreeConfig = true\n[core]\n\trepositoryformatversion = 1\n\tsparseCheckout = true\n",
        "[pull]\n\trebase = true\n[push]\n\tdefault = current\n[init]\n\tdefaultBranch = main\n",
    ] {
        assert!(carried(text), "{text}");
    }
}

#[test]
fn what_runs_programs_or_leads_elsewhere_is_not() {
    for text in [
        "[core]\n\thooksPath = x",
        "[core]\n\tfsmonitor = x",
        "[core]\n\tfsmonitor",
        "[core]\n\tsshCommand = x",
        "[core]\n\teditor = x",
        "[core]\n\tpager = x",
        "[core]\n\taskPass = x",
        "[core]\n\tworktree = /",
        "[core]\n\tattributesFile = x",
        "[core]\n\tgitProxy = x",
        "[core]\n\talternateRefsCommand = x",
        "[core \"\"]\n\tautocrlf = true",
        "[core \"x\"]\n\tautocrlf = true",
        "[alias]\n\tx = !x",
        "[alias \"x\"]\n\tcommand = !x",
        "[filter \"x\"]\n\tclean = x\n\tsmudge = x\n\tprocess = x",
        "[diff \"x\"]\n\tcommand = x\n\ttextconv = x",
        "[diff]\n\texternal = x",
        "[merge \"x\"]\n\tdriver = x",
        "[merge]\n\ttool = x",
        "[mergetool \"x\"]\n\tcmd = x",
        "[difftool \"x\"]\n\tcmd = x",
        "[include]\n\tpath = x",
        "[includeIf \"gitdir:/\"]\n\tpath = x",
        "[credential]\n\thelper = x",
        "[credential \"https://x\"]\n\thelper = x",
        "[gpg]\n\tprogram = x",
        "[gpg \"ssh\"]\n\tprogram = x\n\tdefaultKeyCommand = x",
        "[commit]\n\tgpgsign = true",
        "[commit]\n\tgpgsign = false",
        "[remote \"origin\"]\n\tfetch = +refs/heads/*:refs/heads/*",
        "[remote \"origin\"]\n\tfetch = +refs/*:refs/*",
        "[remote \"origin\"]\n\tmirror = true",
        "[commit]\n\ttemplate = x",
        "[user]\n\tsigningKey = x",
        "[url \"ext::x\"]\n\tinsteadOf = https://",
        "[protocol]\n\tallow = always",
        "[protocol \"ext\"]\n\tallow = always",
        "[sequence]\n\teditor = x",
        "[pager]\n\tlog = x",
        "[interactive]\n\tdiffFilter = x",
        "[init]\n\ttemplateDir = x",
        "[http]\n\tproxy = x\n\tsslVerify = false\n\tcookieFile = x",
        "[uploadpack]\n\tpackObjectsHook = x",
        "[receive]\n\tprocReceiveRefs = x",
        "[remote \"origin\"]\n\tuploadpack = x\n\treceivepack = x\n\tvcs = x\n\tproxy = x\n\tpromisor = true",
        "[remote \"origin\"]\n\turl = ext::sh -c x",
        "[remote \"origin\"]\n\turl = foo::x",
        "[remote \"origin\"]\n\turl = foo://x",
        "[remote \"origin\"]\n\turl = HTTPS://x",
        "[remote \"origin\"]\n\turl = ssh://-oProxyCommand=x/y",
        "[remote \"origin\"]\n\turl = ssh://a@-oProxyCommand=x/y",
        "[remote \"origin\"]\n\turl = -oProxyCommand=x:y",
        "[remote \"origin\"]\n\turl = --upload-pack=x",
        "[remote \"origin\"]\n\turl = evil",
        "[remote \"origin\"]\n\turl = ./evil",
        "[remote \"origin\"]\n\turl = .",
        "[remote \"origin\"]\n\turl = link",
        "[remote \"origin\"]\n\turl = link/../usr",
        "[remote \"origin\"]\n\turl = evil/../../beside",
        "[remote \"origin\"]\n\turl = ../nowhere",
        "[remote \"origin\"]\n\turl = file://x/y",
        "[remote \"origin\"]\n\turl",
        "[remote \"origin\"]\n\tpush = --receive-pack=x",
        "[remote \"https://example.org/\"]\n\turl = https://evil.example.org/",
        "[remote \"../x\"]\n\turl = https://evil.example.org/",
        "[remote \"-x\"]\n\turl = https://evil.example.org/",
        "[remote \"a:b\"]\n\turl = https://evil.example.org/",
        "[branch \"x\"]\n\tremote = evil",
        "[branch \"x\"]\n\tremote = ext::x",
        "[branch \"x\"]\n\tpushRemote = ./evil",
        "[branch \"x\"]\n\tmergeOptions = -s x",
        "[remote]\n\tpushDefault = evil",
        "[submodule \"a\"]\n\tupdate = !x",
        "[submodule \"../a\"]\n\turl = https://example.org/",
        "[submodule \"a\"]\n\turl = ext::x",
        "[extensions]\n\tpartialClone = origin",
        "[core]\n\trepositoryformatversion = 7",
        "[core]\n\tautocrlf = maybe",
        "[user]\n\tname = \"a\\bb\"",
        "[safe]\n\tdirectory = *",
        "[trailer \"x\"]\n\tcommand = x",
        "[browser \"x\"]\n\tcmd = x",
        "[man \"x\"]\n\tcmd = x",
        "[web]\n\tbrowser = x",
        "[hook \"x\"]\n\tcommand = x",
        "[gc]\n\trecentObjectsHook = x",
        "[sendemail]\n\tsmtpServer = x",
        "[tar \"x\"]\n\tcommand = x",
        "[svn-remote \"x\"]\n\turl = x",
        "[lfs]\n\turl = x",
        "[made-up]\n\tname = x",
    ] {
        assert!(!carried(text), "{text}");
    }
}

#[test]
fn what_a_repository_is_made_of_is_not_taken_away() {
    let terms = Terms {
        top: None,
        is_writable: &|_| true,
        has_remote: &|_| false,
        holds_worktree_config: true,
    };
    let text =
        b"[core]\nbare = false\nrepositoryformatversion = 0\n[extensions]\nobjectformat = sha1";
    let gone = changes(&Config::parse(text).expect("read"), &Config::default());
    assert_eq!(gone.len(), 3);
    assert!(!gone.iter().any(|change| is_carried(change, &terms)));
    let modes = |before: &[u8], after: &[u8]| {
        let [before, after] = [before, after].map(|text| Config::parse(text).expect("read"));
        is_carried(&changes(&before, &after)[0], &terms)
    };
    assert!(!modes(b"[core]\nfilemode = true", b"[core]\nfilemode = false"));
    assert!(modes(b"[core]\nfilemode = false", b"[core]\nfilemode = true"));
    assert!(modes(b"", b"[core]\nfilemode = false"));
    let name = changes(&Config::parse(b"[user]\nname = x").expect("read"), &Config::default());
    assert!(is_carried(&name[0], &terms));
}

#[test]
fn the_extension_is_carried_only_where_its_file_is_held() {
    let terms = |holds| Terms {
        top: Some(Path::new("/x")),
        is_writable: &|_| true,
        has_remote: &|_| false,
        holds_worktree_config: holds,
    };
    let to =
        |text: &[u8]| changes(&Config::default(), &Config::parse(text).expect("read")).remove(0);
    let on = to(b"[extensions]\nworktreeconfig = true");
    assert!(is_carried(&on, &terms(true)) && !is_carried(&on, &terms(false)));
    assert!(!is_carried(&to(b"[extensions]\nworktreeconfig"), &terms(false)));
    assert!(is_carried(&to(b"[extensions]\nworktreeconfig = no"), &terms(false)));
}

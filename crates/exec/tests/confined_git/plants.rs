//! What a command could leave for git to run.

use std::fs;
use std::path::Path;

use super::flows::REPOSITORY;
use super::{Scene, has_namespaces};

/// The command's program, which tells that it has run. `$CANARY` is its path.
const CANARY: &str = "#!/bin/sh\n: > \"$RAN\"\n";

const MODULE: &str = "git submodule --quiet add $BESIDE/lib sub && git commit -qm sub";
const WORKTREE: &str = "git worktree add -q $BESIDE/tree";

/// What is planted in a repository: by setting, by file, by rename, by link, in a race, elsewhere.
const PLANTS: &[(&str, &str)] = &[
    ("core.fsmonitor", "git config core.fsmonitor $CANARY"),
    ("core.hooksPath", "mkdir h; cp $CANARY h/pre-commit; git config core.hooksPath $PWD/h"),
    (
        "core.hooksPath from the top",
        "mkdir h; cp $CANARY h/pre-commit; git config core.hooksPath h",
    ),
    (
        "core.sshCommand",
        "git config core.sshCommand $CANARY; git config remote.origin.url ssh://localhost/x",
    ),
    ("core.editor", "git config core.editor $CANARY"),
    ("core.pager", "git config core.pager $CANARY; git config pager.status true"),
    (
        "core.gitProxy",
        "git config core.gitProxy $CANARY; git config remote.origin.url git://localhost/x",
    ),
    ("core.askPass", "git config core.askPass $CANARY"),
    (
        "core.attributesFile",
        "echo '* filter=x' > at; git config core.attributesFile $PWD/at; git config filter.x.clean $CANARY",
    ),
    (
        "core.worktree",
        "mkdir -p w; cp -r .git w/git; printf '[core]\\n\\tfsmonitor = '$CANARY'\\n' >> w/git/config; git config core.worktree $PWD/w",
    ),
    (
        "core.alternateRefsCommand",
        "git config core.alternateRefsCommand $CANARY; echo $BESIDE/lib/.git/objects > .git/objects/info/alternates",
    ),
    ("alias", "git config alias.status \"!$CANARY\"; git config alias.st \"!$CANARY\""),
    (
        "filter, clean",
        "echo '* filter=x' > .gitattributes; git config filter.x.clean $CANARY; echo 2 >> a",
    ),
    (
        "filter, process",
        "echo '* filter=x' > .gitattributes; git config filter.x.process $CANARY; echo 2 >> a",
    ),
    (
        "filter, smudge",
        "echo '* filter=x' > .git/info/attributes; git config filter.x.smudge $CANARY; rm a",
    ),
    ("diff.external", "git config diff.external $CANARY; echo 2 >> a"),
    (
        "diff command",
        "echo '* diff=x' > .gitattributes; git config diff.x.command $CANARY; echo 2 >> a",
    ),
    (
        "diff textconv",
        "echo '* diff=x' > .gitattributes; git config diff.x.textconv $CANARY; echo 2 >> a",
    ),
    ("merge driver", "echo '* merge=x' > .gitattributes; git config merge.x.driver $CANARY"),
    (
        "include.path",
        "printf '[core]\\n\\tfsmonitor = '$CANARY'\\n' > more; git config include.path ../more",
    ),
    (
        "include.path, absolute",
        "printf '[core]\\n\\tfsmonitor = '$CANARY'\\n' > more; git config include.path $PWD/more",
    ),
    (
        "includeIf",
        "printf '[core]\\n\\tfsmonitor = '$CANARY'\\n' > more; git config includeIf.onbranch:main.path ../more",
    ),
    ("credential.helper", "git config credential.helper \"!$CANARY\""),
    ("gpg.program", "git config gpg.program $CANARY; git config commit.gpgSign true"),
    (
        "gpg.ssh.program",
        "git config gpg.format ssh; git config gpg.ssh.program $CANARY; git config user.signingKey x; git config commit.gpgSign true",
    ),
    (
        "gpg.ssh.defaultKeyCommand",
        "git config gpg.format ssh; git config gpg.ssh.defaultKeyCommand $CANARY; git config commit.gpgSign true",
    ),
    (
        "url.insteadOf",
        "git config protocol.ext.allow always; git config \"url.ext::$CANARY .insteadOf\" $BESIDE",
    ),
    (
        "protocol and ext",
        "git config protocol.ext.allow always; git config remote.origin.url \"ext::$CANARY\"",
    ),
    (
        "a helper's address",
        "mkdir bin; cp $CANARY bin/git-remote-foo; git config remote.origin.url foo::x",
    ),
    ("remote.uploadpack", "git config remote.origin.uploadpack $CANARY"),
    ("remote.receivepack", "git config remote.origin.receivepack $CANARY"),
    ("remote.vcs", "git config remote.origin.vcs foo"),
    ("remote.proxy", "git config remote.origin.proxy http://localhost:1"),
    (
        "a pushed repository with hooks",
        "git init -q --bare evil; cp $CANARY evil/hooks/pre-receive; git config remote.origin.url ./evil",
    ),
    (
        "a pushed repository, by its name",
        "git init -q --bare evil; cp $CANARY evil/hooks/pre-receive; git config remote.pushDefault evil",
    ),
    (
        "a branch's pushed repository",
        "git init -q --bare evil; cp $CANARY evil/hooks/pre-receive; git config branch.main.remote ./evil; git config branch.main.merge refs/heads/main",
    ),
    (
        "a remote that loses its address",
        "git init -q --bare origin; cp $CANARY origin/hooks/pre-receive; git config branch.main.remote origin; git config branch.main.merge refs/heads/main; git config --unset remote.origin.url",
    ),
    ("branch.mergeOptions", "git config branch.main.mergeOptions '-s x'"),
    ("submodule.update", "git config submodule.sub.update \"!$CANARY\""),
    ("sequence.editor", "git config sequence.editor $CANARY"),
    ("interactive.diffFilter", "git config interactive.diffFilter $CANARY"),
    ("uploadpack.packObjectsHook", "git config uploadpack.packObjectsHook $CANARY"),
    (
        "init.templateDir",
        "mkdir -p t/hooks; cp $CANARY t/hooks/pre-commit; git config init.templateDir $PWD/t; git init -q",
    ),
    ("trailer.command", "git config trailer.x.command $CANARY"),
    (
        "a section of the old form",
        "printf '[diff.x]\\n\\tcommand = '$CANARY'\\n' >> .git/config; echo '* diff=x' > .gitattributes",
    ),
    (
        "a comment that hides a line",
        "printf '[user]\\n\\tname = x ; \\\\\\n[core]\\n\\tfsmonitor = '$CANARY'\\n' >> .git/config",
    ),
    (
        "a value that holds a line",
        "git config user.name \"$(printf 'x\\n[core]\\n\\tfsmonitor = '$CANARY)\"",
    ),
    (
        "a subsection that holds a head",
        "printf '[remote \"x]\\n[core]\\nfsmonitor=1\"]\\n\\turl = https://x/\\n' >> .git/config",
    ),
    (
        "a name with a bracket",
        "git config 'branch.x\"]\\n[core.fsmonitor' $CANARY; git config 'branch.a\"] [core] fsmonitor.remote' .; true",
    ),
    (
        "another configuration in its place",
        "printf '[core]\\n\\tfsmonitor = '$CANARY'\\n' > c; mv -f c .git/config; cp -f c .git/config; ln -f c .git/config; true",
    ),
    (
        "a link in its place",
        "printf '[core]\\n\\tfsmonitor = '$CANARY'\\n' > c; ln -sf ../c .git/config; rm -f .git/config; ln -s ../c .git/config; true",
    ),
    (
        "the directory of the view exchanged",
        "printf '[core]\\n\\tfsmonitor = '$CANARY'\\n' > c; v=$(dirname $(readlink .git/config)); mv $v ${v}x; ln -s $PWD $v; cp c config; true",
    ),
    (
        "a link in the view",
        "v=$(readlink .git/config); printf '[core]\\n\\tfsmonitor = '$CANARY'\\n' > c; rm $v; ln -s $PWD/c $v",
    ),
    (
        "the lock beside it",
        "printf '[core]\\n\\tfsmonitor = '$CANARY'\\n' > .git/config.lock; git config user.name x",
    ),
    ("the lock as a link", "ln -s config .git/config.lock; git config user.name x"),
    (
        "the configuration of the working tree",
        "git config extensions.worktreeConfig true; git config --worktree core.fsmonitor $CANARY",
    ),
    (
        "its file",
        "git config extensions.worktreeConfig true; printf '[core]\\n\\tfsmonitor = '$CANARY'\\n' > .git/config.worktree",
    ),
    (
        "its file, by a rename",
        "git config extensions.worktreeConfig true; printf '[core]\\n\\tfsmonitor = '$CANARY'\\n' > c; mv -f c .git/config.worktree; true",
    ),
    (
        "commondir",
        "cp -r .git evil; printf '[core]\\n\\tfsmonitor = '$CANARY'\\n' > evil/c; mv -f evil/c evil/config; echo ../evil > .git/commondir; true",
    ),
    ("a hook", "cp $CANARY .git/hooks/pre-commit; cp $CANARY .git/hooks/post-checkout; true"),
    (
        "hooks exchanged",
        "mkdir h; cp $CANARY h/pre-commit; mv .git/hooks old; mv h .git/hooks; true",
    ),
    (
        "the repository exchanged",
        "cp -r .git evil; cp $CANARY evil/hooks/pre-commit; mv .git old; mv evil .git; true",
    ),
    (
        "a file in place of the repository",
        "cp -r .git evil; cp $CANARY evil/hooks/pre-commit; rm -rf .git; echo gitdir: evil > .git; true",
    ),
    (
        "GIT_DIR",
        "GIT_DIR=.git git config core.fsmonitor $CANARY; GIT_CONFIG=.git/config git config core.fsmonitor $CANARY; GIT_COMMON_DIR=$PWD/.git git config core.hooksPath $PWD",
    ),
    (
        "GIT_TEMPLATE_DIR",
        "mkdir -p t/hooks; cp $CANARY t/hooks/pre-commit; GIT_TEMPLATE_DIR=$PWD/t git init -q; true",
    ),
    (
        "a remote of the old kind",
        "mkdir -p .git/remotes; echo \"URL: ext::$CANARY\" > .git/remotes/old; git config --remove-section remote.origin; git config branch.main.remote old; true",
    ),
    (
        "a branch of the old kind",
        "mkdir -p .git/branches; echo \"foo::x\" > .git/branches/old; true",
    ),
    (
        "the configuration of a submodule",
        "git -C sub config core.fsmonitor $CANARY; printf '[core]\\n\\tfsmonitor = '$CANARY'\\n' >> .git/modules/sub/config",
    ),
    (
        "the configuration of a submodule, exchanged",
        "printf '[core]\\n\\tfsmonitor = '$CANARY'\\n' > c; mv -f c .git/modules/sub/config; cp -r .git/modules m; cp $CANARY m/sub/hooks/pre-commit; mv .git/modules old; true",
    ),
    ("a hook of a submodule", "cp $CANARY .git/modules/sub/hooks/pre-commit; true"),
    (
        "a working tree elsewhere",
        "cp -r .git evil; printf '[core]\\n\\tfsmonitor = '$CANARY'\\n' > c; mv -f c evil/config; echo $PWD/evil > .git/worktrees/tree/commondir; true",
    ),
    (
        "the configuration of a working tree elsewhere",
        "printf '[core]\\n\\tfsmonitor = '$CANARY'\\n' > .git/worktrees/tree/config.worktree; git config extensions.worktreeConfig true",
    ),
    (
        "a program with the name of a merge",
        "mkdir -p bin; cp $CANARY bin/git-merge-x; git config pull.twohead x",
    ),
    (
        "in the background",
        "(sleep 0.1; git config core.fsmonitor $CANARY) & sleep 0.3; (while :; do git config core.fsmonitor $CANARY; done) & sleep 0.2",
    ),
];

/// What a person does afterwards. None of it may run a program of the command.
const LATER: &[&str] = &[
    "git status",
    "git diff",
    "git st",
    "git add -A",
    "git -c core.editor=true commit -q --allow-empty -m later",
    "git log -1 -p",
    "git fetch --all",
    "git fetch old",
    "git push origin HEAD:refs/heads/new",
    "git push",
    "git rebase --continue",
    "git checkout -q -- .",
    "git switch -qc later",
    "git merge -q other",
    "git submodule update",
    "git -C sub status",
    "git -C sub -c core.editor=true commit -q --allow-empty -m later",
    "git -C $BESIDE/tree status",
    "git stash",
    "git gc -q",
    "git init -q again",
];

#[test]
fn nothing_that_a_command_plants_runs_later() {
    if !has_namespaces() {
        return;
    }
    let mut ran = Vec::new();
    for (name, plant) in PLANTS {
        let scene =
            Scene::new(&format!("{REPOSITORY} && git branch other && {MODULE} && {WORKTREE}"));
        let told = scene.place.outside.join("ran");
        scene.put("canary", &CANARY.replace("$RAN", &told.display().to_string()));
        let canary = scene.place.root.join("canary");
        let (printed, _) = scene.confined(&format!("CANARY={}; {plant}", canary.display()));
        let _ = fs::remove_file(&told);
        let root: &Path = &scene.place.root;
        for line in LATER {
            let shown = scene.on_host(root, &format!("PATH=$PATH:{}/bin; {line}", root.display()));
            if told.exists() {
                ran.push(format!("{name}: {line}\n{printed}\n{shown}"));
                break;
            }
        }
    }
    assert!(PLANTS.len() >= 60);
    assert!(ran.is_empty(), "{} of {}\n\n{}", ran.len(), PLANTS.len(), ran.join("\n\n"));
}

/// What is planted where there is no repository when the command begins. `sub` is a directory below.
const NEW: &[(&str, &str)] = &[
    ("a setting of a new repository", "git init -q; git config core.fsmonitor $CANARY"),
    ("a hook of a new repository", "git init -q; cp $CANARY .git/hooks/pre-commit"),
    (
        "hooks elsewhere of a new repository",
        "git init -q; mkdir h; cp $CANARY h/pre-commit; git config core.hooksPath h",
    ),
    (
        "hooks as a link",
        "git init -q; mkdir h; cp $CANARY h/pre-commit; rm -r .git/hooks; ln -s ../h .git/hooks",
    ),
    (
        "an include of a new repository",
        "git init -q; printf '[core]\\n\\tfsmonitor = '$CANARY'\\n' > more; git config include.path ../more",
    ),
    (
        "a configuration as a link",
        "git init -q; cp .git/config c; printf '[core]\\n\\tfsmonitor = '$CANARY'\\n' >> c; ln -sf ../c .git/config",
    ),
    (
        "the configuration of its working tree",
        "git init -q; git config extensions.worktreeConfig true; git config --worktree core.fsmonitor $CANARY",
    ),
    (
        "commondir of a new repository",
        "git init -q; cp -r .git evil; git -C evil config core.fsmonitor $CANARY; git -C evil config core.bare false; echo ../evil > .git/commondir",
    ),
    (
        "a template with hooks",
        "mkdir -p t/hooks; cp $CANARY t/hooks/pre-commit; git init -q --template=$PWD/t",
    ),
    (
        "a repository of a directory, moved to the root",
        "git init -q sub; git -C sub config core.fsmonitor $CANARY; mv sub/.git .git; cp -r sub/.git/. .git/; true",
    ),
    (
        "a file that leads to another one",
        "git init -q sub; git -C sub config core.fsmonitor $CANARY; echo gitdir: sub/.git > .git; true",
    ),
    (
        "a repository elsewhere",
        "git init -q --separate-git-dir=sub/own; git config core.fsmonitor $CANARY; true",
    ),
    (
        "a bare repository of the root",
        "git init -q --bare b; mv b/* .; git config -f config core.bare false; git config -f config core.worktree $PWD; git config -f config core.fsmonitor $CANARY",
    ),
    ("a setting below", "git init -q sub; git -C sub config core.fsmonitor $CANARY"),
    ("a hook below", "git init -q sub; cp $CANARY sub/.git/hooks/pre-commit"),
    (
        "an alias of a clone below",
        "git clone -q $BESIDE/lib sub; git -C sub config alias.st \"!$CANARY\"; git -C sub config remote.origin.uploadpack $CANARY",
    ),
    (
        "a submodule of a new repository",
        "git init -q; git submodule --quiet add $BESIDE/lib sub; git -C sub config core.fsmonitor $CANARY; cp $CANARY .git/modules/sub/hooks/pre-commit",
    ),
    (
        "a file below that leads to another one",
        "git init -q evil; git -C evil config core.fsmonitor $CANARY; mkdir sub; echo gitdir: ../evil/.git > sub/.git",
    ),
    (
        "a file below that leads to one that names it",
        "git init -q sub; cp -r sub/.git sub/x; rm -rf sub/.git; printf '[core]\n\tbare = false\n\tworktree = ..\n\tfsmonitor = '$CANARY'\n' > sub/x/config; echo gitdir: x > sub/.git",
    ),
    (
        "a link below that leads to another one",
        "git init -q evil; git -C evil config core.fsmonitor $CANARY; mkdir sub; ln -s ../evil/.git sub/.git",
    ),
    (
        "a repository that was prepared and is renamed",
        "mkdir -p x/y; git init -q x/y/z; git -C x/y/z config core.fsmonitor $CANARY; mv x/y/z sub",
    ),
    (
        "a bare repository below",
        "git init -q --bare sub; git -C sub config core.bare false; git -C sub config core.worktree $PWD; git -C sub config core.fsmonitor $CANARY",
    ),
    (
        "a configuration below that no one can read",
        "git init -q sub; printf '[core\\n' > sub/.git/config; printf '[core]\\n\\tfsmonitor = '$CANARY'\\n' >> sub/.git/config",
    ),
    (
        "a directory as configuration below, and a lock",
        "git init -q sub; rm sub/.git/config; mkdir -p sub/.git/config/x; touch sub/.git/config.lock",
    ),
    (
        "a directory in the place of the lock",
        "git init -q sub; git -C sub config core.fsmonitor $CANARY; mkdir sub/.git/config.lock",
    ),
    (
        "a hook, and all the names for it are taken",
        "git init -q sub; cp $CANARY sub/.git/hooks/pre-commit; touch sub/.git/hooks/pre-commit.disabled; for n in $(seq 1 30); do touch sub/.git/hooks/pre-commit.disabled-$n; done",
    ),
    (
        "directories that cannot be written",
        "git init -q sub; cp $CANARY sub/.git/hooks/pre-commit; git -C sub config core.fsmonitor $CANARY; chmod 555 sub/.git/hooks sub/.git",
    ),
    (
        "a new repository that cannot be written",
        "git init -q; cp $CANARY .git/hooks/pre-commit; git config core.fsmonitor $CANARY; chmod 555 .git/hooks .git; true",
    ),
    (
        "a file that leads elsewhere and is long",
        "git init -q evil; git -C evil config core.fsmonitor $CANARY; mkdir sub; (echo gitdir: ../evil/.git; yes '' | head -20000) > sub/.git",
    ),
    (
        "a name that ends in a space",
        "git init -q 'evil '; git -C 'evil ' config core.fsmonitor $CANARY; mkdir sub 'x '; mv 'evil /.git' 'x /g '; echo 'gitdir: ../x /g ' > sub/.git",
    ),
    (
        "commondir with a space at its end",
        "git init -q evil; git -C evil config core.fsmonitor $CANARY; git -C evil config core.bare false; mv evil/.git 'evil/c '; mkdir evil/c; git init -q sub; printf '../../evil/c ' > sub/.git/commondir",
    ),
    (
        "one of very many",
        "mkdir d; (cd d; mkdir $(seq 1 4500)); git init -q sub; git -C sub config core.fsmonitor $CANARY",
    ),
    (
        "a worktree of another repository",
        "git init -q evil; cd evil; git commit -q --allow-empty -m x; git worktree add -q ../sub; git config core.fsmonitor $CANARY; cd ..; git -C sub status",
    ),
];

/// What a person does in a directory afterwards.
const THERE: &[&str] = &[
    "git status",
    "git st",
    "git diff",
    "git add -A",
    "git -c core.editor=true commit -q --allow-empty -m later",
    "git fetch --all",
    "git switch -qc later",
    "git push",
];

/// Plants in an empty root or a repository, and what of it a person who works there and in `sub` has run.
fn run_later(name: &str, plant: &str, prepare: &str, is_confined: bool) -> Option<String> {
    let scene = Scene::new(prepare);
    let told = scene.place.outside.join("ran");
    scene.put("canary", &CANARY.replace("$RAN", &told.display().to_string()));
    let root: &Path = &scene.place.root;
    let script = format!("CANARY={}; {plant}", root.join("canary").display());
    let printed = if is_confined {
        let (printed, reports) = scene.confined(&script);
        format!("{printed}\n{:?}", reports.take())
    } else {
        scene.on_host(root, &script)
    };
    let _ = fs::remove_file(&told);
    for below in [".", "sub"] {
        let Ok(directory) = root.join(below).canonicalize() else { continue };
        for line in THERE {
            let shown = scene.on_host(&directory, line);
            if told.exists() {
                return Some(format!(
                    "{name} ({prepare:.7}): {line} in {below}\n{printed}\n{shown}"
                ));
            }
        }
    }
    None
}

#[test]
fn nothing_that_a_command_plants_in_a_new_repository_runs_later() {
    if !has_namespaces() {
        return;
    }
    let all = NEW.iter().flat_map(|plant| ["", REPOSITORY].map(|prepare| (plant, prepare)));
    let ran = all.filter_map(|((name, plant), prepare)| run_later(name, plant, prepare, true));
    let wrong: Vec<String> = ran.collect();
    assert!(wrong.is_empty(), "{} of {}\n\n{}", wrong.len(), NEW.len(), wrong.join("\n\n"));
}

/// Without it, the other one could not fail.
#[test]
fn what_is_planted_outside_of_the_sandbox_runs() {
    let harmless: Vec<&str> = NEW
        .iter()
        .filter(|(name, plant)| run_later(name, plant, "", false).is_none())
        .map(|(name, _)| *name)
        .collect();
    // Git itself refuses these, or the person does something else than what they wait for.
    assert!(harmless.len() * 5 <= NEW.len(), "{harmless:?}");
}

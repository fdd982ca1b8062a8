//! What a command has stopped in, or has ended, comes back, and the person goes on.

mod import;
mod overlay;

use import::{before, import};
use overlay::{Repository, has_git};
use toolwright_git::state::{self, Kind};
use toolwright_git::upper::Bounds;

/// Three branches: `side` conflicts with `main`, `other` does not.
fn repository() -> Repository {
    let repository = Repository::new();
    repository.sh(
        "git config commit.gpgsign false; git config rerere.enabled false; git config advice.mergeConflict false
         echo two > g; git add g; git commit -qm base
         git checkout -qb side; echo side > f; git commit -qam side1; echo more > h; git add h; git commit -qm side2
         git checkout -qb other HEAD~2; echo o > o; git add o; git commit -qm other; echo p > o; git commit -qam other2
         git checkout -q main; echo main > f; git commit -qam main1; echo x > g; git commit -qam main2
         git format-patch -q -1 side~1 -o ../mail",
    );
    repository
}

const VIEW: &str = "git for-each-ref; cat .git/HEAD; git status --porcelain=v2 --branch; git status | grep -v '^  (use'
     git ls-files -s; git reflog; git stash list; ls .git/rebase-merge .git/rebase-apply .git/sequencer 2>/dev/null | grep -v patch-merge-index || :
     cd .git; for f in *_HEAD MERGE_M* AUTO_MERGE BISECT_* rebase-merge/git-rebase-todo rebase-merge/author-script; do
       [ -f $f ] && echo $f && cat $f; done; :";

/// Runs a script in an overlay, brings back what it did, compares, and goes on outside.
fn flow(name: &str, start: &str, inside: &str, outside: &str) {
    let repository = repository();
    repository.sh(start);
    let before = before(&repository);
    let script = format!("{inside}\n({VIEW}) > ../inside 2>&1; exit 0");
    let Some((upper, _)) = repository.in_overlay(&script) else { return };
    let said = import(&repository, &before, &upper);
    assert_eq!(said, Vec::<String>::new(), "{name}");
    let (there, here) = (repository.sh("cat ../inside"), repository.sh(&format!("({VIEW}) 2>&1")));
    assert_eq!(here, there, "{name}");
    repository.sh(outside);
    repository.sh("git fsck --strict --no-dangling 2>&1 | grep -v 4b825dc642 || :; ! find .git -name '*.lock' | grep .; ! test -e .git/toolwright");
}

/// Runs every flow, and names those that failed.
fn flows<'a>(all: impl Iterator<Item = [&'a str; 4]>) {
    let failed: Vec<&str> = all
        .filter(|[name, start, inside, outside]| {
            std::panic::catch_unwind(|| flow(name, start, inside, outside)).is_err()
        })
        .map(|[name, ..]| name)
        .collect();
    assert_eq!(failed, Vec::<&str>::new());
}

#[test]
fn a_stopped_operation_goes_on_outside() {
    if !has_git() {
        return;
    }
    let resolve = "echo resolved > f; git add f;";
    let all = [
        ("merge", "git merge side || :", "git commit -qm merged; git rev-parse HEAD^2"),
        ("merge --abort", "git merge side || :", "git merge --abort; ! test -e .git/MERGE_HEAD"),
        ("merge --squash", "git merge --squash side || :", "git commit -qm squashed"),
        (
            "merge --no-ff",
            "git merge --no-ff --no-commit other",
            "git commit -qm merged; git rev-parse HEAD^2",
        ),
        ("octopus", "git merge --no-commit other side~2 || :", "git commit -qm m || :"),
        (
            "rebase",
            "git rebase side || :",
            "git rebase --continue; git merge-base --is-ancestor side main",
        ),
        (
            "rebase --abort",
            "git rebase side || :",
            "git rebase --abort; ! test -e .git/rebase-merge",
        ),
        ("rebase --skip", "git rebase side || :", "git rebase --skip; ! test -e .git/rebase-merge"),
        (
            "rebase --apply",
            "git rebase --apply side || :",
            "git rebase --continue; ! test -e .git/rebase-apply",
        ),
        (
            "rebase -i edit",
            "GIT_SEQUENCE_EDITOR='sed -i s/^pick/edit/' git rebase -i HEAD~2",
            "git rebase --continue; git rebase --continue",
        ),
        (
            "rebase -i fixup",
            "GIT_SEQUENCE_EDITOR=\"sed -i -e '2s/pick/squash/' -e '1ibreak'\" git rebase -i HEAD~2",
            "git rebase --continue; test $(git rev-list --count HEAD) = 3",
        ),
        (
            "rebase -i reword",
            "GIT_SEQUENCE_EDITOR='sed -i s/^pick/reword/' git rebase -i side || :",
            "git rebase --continue",
        ),
        (
            "rebase -Xtheirs",
            "git config merge.conflictStyle merge; GIT_SEQUENCE_EDITOR='sed -i 1abreak' git rebase -i -Xpatience -Xignore-space-change -s recursive side || :",
            "git rebase --continue; git rebase --continue",
        ),
        (
            "rebase -r",
            "git merge -q --no-ff -m m other; GIT_SEQUENCE_EDITOR=\"sed -i '/^merge/ibreak'\" git rebase -i -r HEAD~3",
            "git rebase --continue; git rev-parse HEAD^2",
        ),
        (
            "rebase --update-refs",
            "git branch mid HEAD~1; GIT_SEQUENCE_EDITOR='sed -i 1ibreak' git rebase -i --update-refs HEAD~2",
            "git rebase --continue",
        ),
        (
            "rebase --root",
            "GIT_SEQUENCE_EDITOR='sed -i 1s/^pick/edit/' git rebase -i --root",
            "git rebase --continue",
        ),
        (
            "rebase --autostash",
            "echo dirty > g; git rebase --autostash side || :",
            "git rebase --continue; git diff --quiet g && exit 1 || :",
        ),
        (
            "cherry-pick",
            "git cherry-pick side~1 || :",
            "git -c core.editor=true cherry-pick --continue",
        ),
        (
            "cherry-pick range",
            "git cherry-pick -x -Xpatience side~2..side || :",
            "git -c core.editor=true cherry-pick --continue; test -f h",
        ),
        (
            "cherry-pick abort",
            "git cherry-pick other~2..other side~1 || :",
            "git cherry-pick --abort; ! test -e .git/sequencer",
        ),
        (
            "revert",
            "git revert --no-edit HEAD~3 HEAD~1 || :",
            "git revert --abort || git revert --quit",
        ),
        ("am", "git am ../mail/* || :", "git am --continue"),
        ("am -3", "git am -3 --whitespace=fix ../mail/* || :", "git am --continue"),
        ("am --skip", "git am ../mail/* || :", "git am --skip; ! test -e .git/rebase-apply"),
        (
            "bisect",
            "git bisect start; git bisect bad; git bisect good HEAD~3",
            "git bisect good; git bisect log; git bisect reset; ! test -e .git/BISECT_LOG",
        ),
        (
            "bisect terms",
            "git bisect start --term-new fast --term-old slow HEAD HEAD~3 -- f g",
            "git bisect slow; git bisect reset",
        ),
        (
            "stash",
            "echo dirty > g; git stash -q; echo again > g; git stash -q",
            "git stash pop -q; git stash pop -q || :",
        ),
        (
            "stash drop",
            "for i in 1 2 3; do echo $i > g; git stash -q; done; git stash drop -q stash@{1}",
            "test $(git stash list | wc -l) = 2; git stash pop -q",
        ),
        (
            "commit",
            "echo y > g; git commit -qam y; git commit -q --amend -m z",
            "git log -g --oneline | grep -q amend",
        ),
        (
            "branches",
            "git branch -m side side/x; git branch -m other a; git branch -D a; git tag -a -m t t; git pack-refs --all",
            "git log -1 side/x",
        ),
        ("exclude", "echo '*.o' >> .git/info/exclude", "grep -q '[.]o' .git/info/exclude"),
    ];
    let outsides = all.map(|(_, inside, outside)| {
        let resolves = inside.contains("|| :") && !outside.contains("--abort");
        if resolves { format!("{resolve} {outside}") } else { outside.to_owned() }
    });
    flows(
        all.iter()
            .zip(&outsides)
            .map(|((name, inside, _), outside)| [*name, "", *inside, &**outside]),
    );
}

#[test]
fn what_a_command_has_ended_is_ended_outside() {
    if !has_git() {
        return;
    }
    let resolve = "echo resolved > f; git add f;";
    let all = [
        ("git merge side || :", "git commit -qm merged"),
        ("git merge side || :", "git merge --abort"),
        ("git rebase side || :", "git rebase --continue"),
        ("git rebase side || :", "git rebase --abort"),
        ("git rebase --apply side || :", "git rebase --continue"),
        ("git cherry-pick side~2..side || :", "git -c core.editor=true cherry-pick --continue"),
        ("git am ../mail/* || :", "git am --continue"),
        ("git bisect start HEAD HEAD~3", "git checkout -q -f; git bisect reset"),
        ("echo d > g; git stash -q", "git checkout -q f; git stash pop -q"),
        (
            "for i in 1 2; do echo $i > g; git stash -q; done",
            "git checkout -q f; git stash drop -q",
        ),
        (
            "git branch a; git branch b/c; git pack-refs --all; git branch -D b/c; git branch b/d",
            "git branch -D a; git branch -m b/d b",
        ),
        ("git branch topic/x; git pack-refs --all", "git branch -m topic/x topic"),
        ("git branch topic", "git branch -m topic topic/x; git pack-refs --all"),
    ];
    let insides = all.map(|(_, inside)| format!("{resolve} {inside}"));
    flows(all.iter().zip(&insides).map(|((start, _), inside)| [&**inside, *start, &**inside, ":"]));
}

#[test]
#[expect(clippy::too_many_lines, reason = "it is a table")]
fn a_file_that_does_not_parse_keeps_its_state_out() {
    let repository = Repository::by_hand_only();
    std::fs::create_dir_all(repository.path().join(".git")).expect("a directory");
    let git = repository.directory();
    let one = "1".repeat(40);
    let rebase = format!(
        "mkdir rebase-merge; cd rebase-merge; echo refs/heads/main > head-name; echo {one} | tee onto orig-head > amend; \
         echo pick {one} x > git-rebase-todo; : > interactive; cd ..;"
    );
    let bisect = "echo main > BISECT_START; echo \"git bisect start 'HEAD'\" > BISECT_LOG; echo > BISECT_NAMES;";
    let pick = format!(
        "mkdir sequencer; echo pick {one} x > sequencer/todo; echo {one} > sequencer/head;"
    );
    let am = "mkdir rebase-apply; cd rebase-apply; echo 1 | tee next > last; cd ..;";
    for (base, kind) in [
        (&rebase[..], Kind::Operation),
        (bisect, Kind::Bisection),
        (&pick, Kind::Operation),
        (am, Kind::Operation),
    ] {
        let found =
            state::changes(&git, &repository.by_hand(base), Bounds::default()).expect("states");
        assert_eq!(found.left_out, [], "{base}");
        assert_eq!(
            found.states.iter().map(|state| state.kind).collect::<Vec<_>>(),
            [kind],
            "{base}"
        );
    }
    for (base, bad) in [
        (&rebase[..], "echo exec touch x >> rebase-merge/git-rebase-todo"),
        (&rebase, "echo x touch x >> rebase-merge/git-rebase-todo"),
        (&rebase, "echo ' exec touch x' >> rebase-merge/git-rebase-todo"),
        (&rebase, "printf '\\texec touch x\\n' >> rebase-merge/git-rebase-todo"),
        (&rebase, "printf '# a\\rexec touch x\\n' >> rebase-merge/git-rebase-todo"),
        (&rebase, "echo exec touch x > rebase-merge/done"),
        (&rebase, "echo exec touch x > rebase-merge/git-rebase-todo.backup"),
        (&rebase, "echo pick --exec=x >> rebase-merge/git-rebase-todo"),
        (&rebase, "echo label ../x >> rebase-merge/git-rebase-todo"),
        (&rebase, "echo update-ref refs/replace/a/b >> rebase-merge/git-rebase-todo"),
        (&rebase, "printf 'pick 1111' >> rebase-merge/git-rebase-todo"),
        (&rebase, "echo -S > rebase-merge/gpg_sign_opt"),
        (&rebase, "echo '../../x' > rebase-merge/strategy"),
        (&rebase, "echo 'recursive --exec' > rebase-merge/strategy"),
        (&rebase, "echo ' --upload-pack=x' > rebase-merge/strategy_opts"),
        (&rebase, "echo ' --ours; touch x' > rebase-merge/strategy_opts"),
        (&rebase, "echo \"GIT_AUTHOR_NAME='a'\" > rebase-merge/author-script"),
        (
            &rebase,
            "printf \"GIT_AUTHOR_NAME='a'; touch x\\nGIT_AUTHOR_EMAIL='b'\\nGIT_AUTHOR_DATE='c'\\n\" > rebase-merge/author-script",
        ),
        (
            &rebase,
            "printf \"GIT_AUTHOR_NAME=a\\nGIT_AUTHOR_EMAIL='b'\\nGIT_AUTHOR_DATE='c'\\n\" > rebase-merge/author-script",
        ),
        (
            &rebase,
            "printf \"GIT_AUTHOR_NAME='a'\\\\n'\\nGIT_AUTHOR_EMAIL='b'\\nGIT_AUTHOR_DATE='c'\\n\" > rebase-merge/author-script",
        ),
        (
            &rebase,
            "printf \"GIT_AUTHOR_NAME='a'\\nGIT_AUTHOR_EMAIL='b'\\nGIT_AUTHOR_DATE='c'\\nGIT_DIR='d'\\n\" > rebase-merge/author-script",
        ),
        (&rebase, "echo x > rebase-merge/trailer"),
        (&rebase, "echo x > rebase-merge/unknown"),
        (&rebase, "mkdir rebase-merge/rewritten"),
        (&rebase, "rm rebase-merge/onto; ln -s /etc/passwd rebase-merge/onto"),
        (&rebase, "rm rebase-merge/onto"),
        (&rebase, "mkfifo rebase-merge/message"),
        (&rebase, "echo ../../x > rebase-merge/head-name"),
        (&rebase, "echo refs/heads/main > rebase-merge/refs-to-delete"),
        (&rebase, "echo x > MERGE_MODE"),
        (&rebase, "echo ref: refs/heads/main > REBASE_HEAD"),
        (bisect, "echo \"'a'; touch x\" > BISECT_NAMES"),
        (bisect, "echo ' $(touch x)' > BISECT_NAMES"),
        (bisect, "echo 'git bisect start $(touch x)' >> BISECT_LOG"),
        (bisect, "echo \"git bisect start 'a';touch\" >> BISECT_LOG"),
        (bisect, "echo touch x >> BISECT_LOG"),
        (bisect, "echo --help > BISECT_START"),
        (bisect, "printf 'bad;touch\\ngood\\n' > BISECT_TERMS"),
        (bisect, "printf 'bad\\n' > BISECT_TERMS"),
        (&pick, "echo exec x >> sequencer/todo"),
        (&pick, "printf '[options]\\n\\tgpg-sign = x\\n' > sequencer/opts"),
        (&pick, "printf '[include]\\n\\tpath = x\\n' > sequencer/opts"),
        (&pick, "printf '[options]\\n\\tstrategy = ../x\\n' > sequencer/opts"),
        (&pick, "rm sequencer/todo"),
        (am, "echo \"'--directory=.git'\" > rebase-apply/apply-opt"),
        (am, "echo \" '--build-fake-ancestor=x'\" > rebase-apply/apply-opt"),
        (am, "rm rebase-apply/next"),
        (am, "ln -s / rebase-apply/0001"),
    ] {
        let found =
            state::changes(&git, &repository.by_hand(&format!("{base} {bad}")), Bounds::default())
                .expect("states");
        assert_eq!(found.states, [], "{bad}");
        assert!(!found.left_out.is_empty(), "{bad}");
    }
    for bad in [
        format!("echo {one} > FETCH_HEAD"),
        format!("printf '{one}\\t\\tx\\033[31m\\n' > FETCH_HEAD"),
        "echo x > ORIG_HEAD".to_owned(),
        "echo x > shallow".to_owned(),
        "mkdir info; ln -s /etc/passwd info/exclude".to_owned(),
        "ln -s / info".to_owned(),
        "mkdir info; mkfifo info/sparse-checkout".to_owned(),
        "printf 'a\\0b' > COMMIT_EDITMSG".to_owned(),
        "head -c 2000000 /dev/zero | tr '\\0' a > COMMIT_EDITMSG".to_owned(),
        "ln -s f COMMIT_EDITMSG".to_owned(),
    ] {
        let found =
            state::changes(&git, &repository.by_hand(&bad), Bounds::default()).expect("states");
        assert_eq!(found.states, [], "{bad}");
        assert!(!found.left_out.is_empty(), "{bad}");
    }
}

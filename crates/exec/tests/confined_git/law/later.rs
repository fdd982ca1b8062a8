//! What a person does with git when a command has ended.

use std::fmt::Write as _;

use super::{Grounds, Numbers};

/// In the root.
const ALL: &[&str] = &[
    "status",
    "status -s --ignored",
    "diff",
    "diff --cached --ext-diff",
    "diff HEAD~1 --submodule=diff",
    "st",
    "s",
    "x",
    "log -p -3 --ext-diff",
    "log --show-signature --all -9",
    "show --textconv HEAD",
    "blame a",
    "grep -n one",
    "grep --recurse-submodules -n l",
    "grep -O one",
    "describe --always --dirty",
    "archive -o ../x.tar HEAD",
    "archive -o ../x.tar.gz HEAD",
    "archive --format=x -o ../x.x HEAD",
    "shortlog HEAD",
    "reflog",
    "range-diff HEAD~1..HEAD HEAD~1..HEAD",
    "format-patch -1 --stdout",
    "branch -avv",
    "tag -l",
    "worktree list",
    "submodule status",
    "submodule summary",
    "submodule foreach true",
    "for-each-ref",
    "count-objects -v",
    "ls-files -s",
    "ls-files -mo --exclude-standard",
    "rev-parse --show-toplevel",
    "config --list",
    "fsck",
    "verify-commit signed-PGP signed-SSH",
    "credential fill",
    "interpret-trailers --trailer x=y",
    "imap-send",
    "help -m status",
    "help -w status",
    "web--browse file:///x",
    "difftool -y -t x HEAD~1",
    "ls-remote",
    "ls-remote ssh://localhost/x",
    "ls-remote git://localhost:1/x",
    "ls-remote https://localhost:1/x",
    "remote show -n origin",
    "remote update",
    "fetch --all",
    "fetch old",
    "fetch --recurse-submodules",
    "pull",
    "push",
    "push origin HEAD:refs/heads/new",
    "push --signed=if-asked origin --all",
    "request-pull HEAD~1 . ",
    "add -A",
    "commit -qm later",
    "commit --allow-empty",
    "commit -S --allow-empty -m signed",
    "commit --amend --no-edit",
    "tag -a -m x t1",
    "tag -s -m x t2",
    "notes add -f -m note",
    "notes edit",
    "stash -u",
    "stash pop",
    "add -p",
    "checkout -- .",
    "checkout other",
    "switch main",
    "merge --no-edit other",
    "mergetool -y -t x",
    "merge --abort",
    "cherry-pick other",
    "cherry-pick --abort",
    "revert --no-edit HEAD",
    "rebase HEAD~1",
    "rebase -i HEAD~1",
    "rebase --continue",
    "rebase --abort",
    "am --continue",
    "am --abort",
    "am ../x.patch",
    "apply ../x.patch",
    "bisect start HEAD HEAD~1",
    "bisect run true",
    "bisect next",
    "bisect reset",
    "rerere",
    "submodule update",
    "submodule update --init gl",
    "sparse-checkout reapply",
    "update-index --really-refresh",
    "mv a a2",
    "rm -q d/f",
    "restore --staged --worktree .",
    "repack -adq",
    "pack-refs --all",
    "commit-graph write --reachable",
    "multi-pack-index write",
    "update-server-info",
    "bundle create ../x.bundle HEAD",
    "hook run --ignore-missing pre-commit",
    "hook run --ignore-missing post-merge",
    "init",
    "clone -q . ../again",
    "gc -q --auto",
    "gc -q",
    "maintenance run",
    "prune",
    "worktree prune",
    "replace -l",
    "rev-list --all --count",
    "clean -fdq",
];

/// Everywhere else.
const SOME: &[&str] = &[
    "status",
    "diff",
    "st",
    "add -A",
    "log -1 -p",
    "commit -q --allow-empty -m later",
    "fetch --all",
    "checkout -q -- .",
    "stash",
    "switch -qc later",
    "push",
    "submodule update",
];

/// Where there is git, as somebody finds it who goes through the directories.
const EVERYWHERE: &str = "{ printf 'd\\nsub\\nwt\\ngl\\nown\\nb.git\\n'; echo $BESIDE/tree; find . -path ./.git -prune -o \
    \\( -iname .git -prune -o -name HEAD -o -name config -o -name objects \\) -print | sed 's,/[^/]*$,,'; } | sort -u | head -$MOST";

/// How many of those somebody does in a directory who does a part of it.
const PART: usize = 5;

/// What is done in each directory.
enum Much<'n> {
    /// Everything, and more in the root.
    Whole,
    Some,
    /// What numbers decide.
    Part(&'n mut Numbers),
}

fn script(much: Much<'_>) -> String {
    let mut script = "unset GIT_EDITOR; export EDITOR=true PAGER=cat GIT_TERMINAL_PROMPT=0 TERM=xterm PATH=$PATH:$PWD/bin\n\
        g() { git \"$@\" </dev/null; }\n"
        .to_owned();
    let add = |script: &mut String, line: &str| {
        let line = line.trim();
        script.push_str(match line {
            "credential fill" => "printf 'protocol=https\\nhost=x\\n\\n' | git ",
            _ => "g ",
        });
        script.push_str(line);
        script.push('\n');
    };
    let everywhere = |script: &mut String, lines: &[&str], most: usize| {
        let all = EVERYWHERE.replace("$MOST", &most.to_string());
        writeln!(script, "for W in $({all}); do (cd $W || exit").expect("written");
        for line in lines {
            add(script, line);
        }
        script.push_str(") ; done\n");
    };
    let mut lines = SOME.to_vec();
    match much {
        Much::Whole => {
            // Git in the root goes into what is below before the person does.
            for line in &ALL[..40] {
                add(&mut script, line);
            }
            everywhere(&mut script, SOME, 16);
            for line in &ALL[40..] {
                add(&mut script, line);
            }
            return script;
        }
        Much::Some => {}
        Much::Part(numbers) => {
            while lines.len() > PART {
                lines.remove(numbers.below(lines.len()));
            }
        }
    }
    for line in SOME {
        add(&mut script, line);
    }
    everywhere(&mut script, &lines, 12);
    script
}

impl Grounds {
    /// Does all of it at a terminal, so that git asks for pagers too. Returns what was shown.
    pub(super) fn later(&self) -> String {
        self.run_later(Much::Whole)
    }

    /// Does a part of it: in directories below, what numbers decide.
    pub(super) fn some_later(&self, numbers: Option<&mut Numbers>) -> String {
        self.run_later(numbers.map_or(Much::Some, Much::Part))
    }

    fn run_later(&self, much: Much<'_>) -> String {
        let path = self.scene.place.outside.join("later.sh");
        std::fs::write(&path, script(much)).expect("written");
        let line =
            format!("timeout -s KILL 60 script -qefc 'sh {}' /dev/null </dev/null", path.display());
        self.scene.on_host(self.root(), &line)
    }
}

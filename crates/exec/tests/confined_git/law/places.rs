//! Where a command plants something, and by what it does so.

/// A name, what makes the git directory `$G`, and what is done when something lies in it. `$N` is a number that no
/// other plant has.
pub(super) const PLACES: &[(&str, &str, &str)] = &[
    ("the root", "G=.git", ""),
    ("the submodule", "G=.git/modules/sub", ""),
    ("the work tree below", "G=.git/worktrees/wt", ""),
    ("the work tree elsewhere", "G=.git/worktrees/tree", ""),
    ("the person's repository below", "G=own/.git", ""),
    ("the person's bare repository", "G=b.git", ""),
    ("a submodule that is not there", "git init -q gl; G=gl/.git", ""),
    (
        "a file at a submodule that is not there",
        "cp -r .git pg$N; G=pg$N",
        "rm -rf gl/.git; mkdir -p gl; echo gitdir: ../pg$N > gl/.git",
    ),
    ("a new repository", "git init -q n$N; G=n$N/.git", "git -C n$N commit -q --allow-empty -m x"),
    ("a clone", "git clone -q $BESIDE/lib c$N; G=c$N/.git", ""),
    (
        "one far below, and linked",
        "D=z$N/b/c/d/e/f/g/h/i/j/k/l; git init -q $D; git -C $D commit -q --allow-empty -m x; G=$D/.git",
        "git add z$N",
    ),
    ("a new bare repository", "git init -q --bare nb$N; G=nb$N", ""),
    (
        "a bare one of plain files",
        "mkdir -p pb$N/objects pb$N/refs; echo ref: refs/heads/main > pb$N/HEAD; G=pb$N; printf '[core]\\n\\tbare = false\\n\\tworktree = ..\\n' > $G/config",
        "",
    ),
    (
        "a bare one that shares",
        "mkdir -p ps$N; cp -r .git pc$N; echo ../pc$N > ps$N/commondir; G=pc$N",
        "echo ref: refs/heads/main > ps$N/HEAD",
    ),
    (
        "what a file leads to",
        "mkdir pf$N; cp -r .git pg$N; G=pg$N",
        "echo gitdir: ../pg$N > pf$N/.git",
    ),
    (
        "what a file leads to, and names it",
        "mkdir pf$N; cp -r .git pg$N; git config -f pg$N/config core.worktree ../pf$N; G=pg$N",
        "echo gitdir: ../pg$N > pf$N/.git",
    ),
    ("one that is moved", "git init -q q$N/w; G=q$N/w/.git", "mv q$N/w mv$N"),
    (
        "one whose directory is moved",
        "git init -q q$N/w; mkdir gm$N; G=q$N/w/.git",
        "mv q$N/w/.git gm$N/.git",
    ),
    (
        "one that is moved twice",
        "git init -q q$N; mkdir g$N; G=q$N/.git",
        "mv q$N/.git q$N/git; mv q$N/git g$N/.git",
    ),
    ("a copy of a prepared one", "cp -r .git pr$N; G=pr$N", "mkdir cp$N; cp -r pr$N cp$N/.git"),
    ("a prepared one that is renamed", "cp -r .git pr$N; G=pr$N", "mkdir rn$N; mv pr$N rn$N/.git"),
    (
        "an archive",
        "cp -r .git ta$N; G=ta$N",
        "mkdir -p tx$N/.git; tar c -C ta$N . | tar x -C tx$N/.git",
    ),
    (
        "a commit that is checked out",
        "mkdir -p ct$N/objects ct$N/refs; echo x | tee ct$N/objects/x > ct$N/refs/x; echo ref: refs/heads/main > ct$N/HEAD; G=ct$N; printf '[core]\\n\\tbare = false\\n\\tworktree = ..\\n' > $G/config",
        "git add -f ct$N && c=$(git commit-tree -m x $(git write-tree)); git rm -rqf ct$N; git restore --source=$c --worktree ct$N",
    ),
    ("a git directory elsewhere", "git init -q --separate-git-dir=sg$N sw$N; G=sg$N", ""),
    ("a new work tree", "git worktree add -q nw$N; G=.git/worktrees/nw$N", ""),
    (
        "a new submodule",
        "git submodule --quiet add $BESIDE/lib ns$N; G=.git/modules/ns$N",
        "git commit -qm ns$N",
    ),
    (
        "a submodule of a new repository",
        "git init -q nn$N; git -C nn$N submodule --quiet add $BESIDE/lib x; G=nn$N/.git/modules/x",
        "git -C nn$N commit -qm x",
    ),
    (
        "another one in the place of the root's",
        "cp -r .git ex$N; G=ex$N",
        "mv .git old$N; mv ex$N .git || cp -r ex$N/. .git/",
    ),
    (
        "one that is exchanged with the root's",
        "cp -r .git ex$N; G=ex$N",
        "perl -e 'syscall(316, -100, q(ex'$N'), -100, q(.git), 2)'; perl -e 'syscall(316, -100, q(ex'$N'/config), -100, q(.git/config), 2)'",
    ),
    (
        "what another one shares",
        "git init -q cd$N; cp -r .git cm$N; G=cm$N",
        "echo ../../cm$N > cd$N/.git/commondir",
    ),
    (
        "what another one borrows",
        "cp -r .git bo$N; G=bo$N; git clone -q --shared . bs$N",
        "echo $PWD/bo$N/objects > bs$N/.git/objects/info/alternates",
    ),
    (
        "a work tree of a repository of plain files",
        "cp -r .git wp$N; G=wp$N; mkdir -p wp$N/worktrees/x wx$N; echo ../.. > wp$N/worktrees/x/commondir; echo ref: refs/heads/main > wp$N/worktrees/x/HEAD; echo $PWD/wx$N/.git > wp$N/worktrees/x/gitdir",
        "echo gitdir: $PWD/wp$N/worktrees/x > wx$N/.git",
    ),
];

/// A name, and how the content `$T` gets to `$G/$P`.
pub(super) const WAYS: &[(&str, &str)] = &[
    ("write", "cat $T > $G/$P; chmod 755 $G/$P"),
    ("rename", "mv -fT $T $G/$P"),
    ("hard link", "ln -fT $T $G/$P"),
    ("symbolic link", "ln -sfnT $PWD/$T $G/$P"),
    ("a link to the person's file", "ln -sfnT %V $G/$P"),
    (
        "a directory exchanged",
        "A=$(dirname $G/$P); cp -r $A $A.x; cp $T $A.x/; mv $A $A.y; mv $A.x $A; cat $T > $G/$P; chmod 755 $G/$P",
    ),
    (
        "a race",
        "(G=$G P=$P T=$T; while :; do cp -f $T $G/$P; ln -sfnT $PWD/$T $G/$P; mv -fT $G/$P $G/$P.x; cp -f $T $T.r; mv -fT $T.r $G/$P; done) & sleep 0.05",
    ),
    ("a directory", "rm -rf $G/$P; mkdir -p $G/$P/x; cp $T $G/$P/"),
    ("removal", "rm -rf $G/$P"),
];

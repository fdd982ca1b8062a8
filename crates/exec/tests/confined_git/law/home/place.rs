//! A random home directory, which is the root of commands.

use super::super::Numbers;

/// What every home directory here has.
const BASE: &str = "umask 022; mkdir -p .ssh .aws .kube .config/git .config/gh .config/app .docker .gnupg .cargo .local/share/x .local/state .vscode keep/deep notes play/a/b dotfiles odd bin; \
    echo key > .ssh/id_ed25519; echo 'Host *' > .ssh/config; echo key > .aws/credentials; echo '[default]' > .aws/config; echo k > .kube/config; echo t > .config/gh/hosts.yml; \
    printf '[alias]\\n\\tst = status\\n' > .config/git/config; echo '*.o' > .config/git/ignore; echo a > .config/app/settings; echo d > .docker/config.json; echo g > .gnupg/secring; \
    echo t > .cargo/credentials.toml; echo '[user]\n\tname = x' > .gitconfig; echo 'export A=1' > .bashrc; echo r > .npmrc; echo n > .netrc; echo '{}' > .vscode/settings.json; echo '{}' > .mcp.json; \
    echo kept > keep/f; echo deep > keep/deep/f; printf x > keep/deep/config; echo s > notes/secret; echo n > notes/n; echo p > play/a/b/f; echo p > play/f; echo z > bin/tool; chmod 755 bin/tool; chmod 700 .ssh .gnupg; chmod 600 .ssh/id_ed25519 .netrc;";

/// What some have. Those of git use the names that steps use.
const SOME: &[&str] = &[
    "git init -q . && git add .bashrc && git commit -qm dotfiles && printf '*\\n' > .git/info/exclude && printf '#!/bin/sh\\nexit 0\\n' > .git/hooks/pre-commit && chmod 755 .git/hooks/pre-commit && git config alias.st status",
    "git init -q own && git -C own commit -q --allow-empty -m own && echo '#!/bin/sh' > own/.git/hooks/post-checkout && mkdir -p own/.git/info && echo '*.x filter=y' > own/.git/info/attributes",
    "git clone -q $BESIDE/lib p && git -C p submodule --quiet add $BESIDE/lib sub && git -C p commit -qm sub && git -C p worktree add -q ../wt && git -C p branch other",
    "mkdir -p d && git init -q --bare b.git && git -C $BESIDE/lib push -q $PWD/b.git main && echo '#!/bin/sh' > b.git/hooks/update && chmod 755 b.git/hooks/update",
    "git init -q --separate-git-dir=s/g s && git -C s commit -q --allow-empty -m s",
    "git init -q deep/1/2/3/4/5 && git -C deep/1/2/3/4/5 commit -q --allow-empty -m deep && git -C deep/1/2/3/4/5 gc -q",
    "ln -s dotfiles/gitconfig .gitconfig-work; printf '[core]\\n\\thooksPath = ~/dotfiles/hooks\\n' >> .gitconfig; mkdir -p dotfiles/hooks; echo '#!/bin/sh' > dotfiles/hooks/pre-push; chmod 755 dotfiles/hooks/pre-push",
    "mv .ssh dotfiles/ssh && ln -s dotfiles/ssh .ssh",
    "mv .vscode dotfiles/vscode && ln -s dotfiles/vscode .vscode",
    "ln -s keep k; ln -s .ssh/id_ed25519 odd/key; ln -s / odd/root; ln -s .. odd/up; ln -s nowhere odd/dangling; ln -s odd/self odd/self",
    "mkfifo odd/pipe; mkdir odd/closed odd/sticky; echo x > odd/closed/f; chmod 1777 odd/sticky; chmod 0 odd/closed; echo x > odd/none; chmod 0 odd/none; echo s > odd/suid; chmod 4755 odd/suid",
    "printf x > \"odd/new\nline\"; printf x > 'odd/ space '; printf x > odd/-dash; printf x > \"odd/$(printf 'la\\377tin')\"; printf x > odd/é; mkdir \"odd/$(printf '%0200d' 0)\" 'odd/*'; printf x > 'odd/*/?'",
    "mkdir -p .claude .cursor .devcontainer .github/workflows && echo '{}' > .claude/settings.json && echo x > .cursor/mcp.json && echo '{}' > .devcontainer/devcontainer.json && echo y > .github/workflows/ci.yml",
    "mkdir -p play/links && ln play/f play/links/f && ln .bashrc play/links/rc",
];

/// A script that makes one.
pub(super) fn script(numbers: &mut Numbers) -> String {
    let mut script = BASE.to_owned();
    for one in SOME {
        if numbers.below(2) == 0 {
            script.push_str("\n( ");
            script.push_str(one);
            script.push_str(" ) || :");
        }
    }
    script.push_str("\ntrue");
    script
}

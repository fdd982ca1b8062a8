import type { Project } from './project.ts'

// A collection of garbage forgets what is older than three months.
const DATE = `${new Date().toISOString().slice(0, 10)}T00:00:00Z`
const IDENTITY = `export GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@localhost GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@localhost GIT_AUTHOR_DATE=${DATE} GIT_COMMITTER_DATE=${DATE}`
const INIT = `${IDENTITY}; git init -q -b main . && echo one > a && git add a && git commit -qm first`
/** What git makes of a run is compared by git: files of a repository have the times of the run in them. */
const FILES = /(?:^|\/)\.git(?:\/|$)|\.git\//
const AFTER = 'git for-each-ref; git status --porcelain; git reflog --all; git ls-files -s; git stash list; git worktree list; git fsck'

const git = (name: string, script: string, more: Partial<Project> = {}): Project => ({
  name: `git: ${name}`,
  needs: ['git'],
  prepare: INIT,
  script: `${IDENTITY}; ${script}`,
  differs: FILES,
  after: AFTER,
  ...more,
})

/** What people do with git in a day. */
export const GIT: Project[] = [
  git(
    'branch, merge, conflict',
    'git switch -qc b && echo two > a && git commit -qam two && git switch -q main && echo three > a && git commit -qam three; git merge b > log; git checkout --theirs a && git add a && git commit -qm merged && git log --format=%s > log',
  ),
  git(
    'stash, rebase, amend',
    'git switch -qc b && echo x > x && git add x && git commit -qm x && echo y >> a && git stash -q && git switch -q main && echo z > z && git add z && git commit -qm z && git rebase -q main b && git stash pop -q && git commit -qa --amend --no-edit && git status --porcelain',
  ),
  git(
    'interactive rebase',
    'for n in 1 2 3; do echo $n > f$n; git add f$n; git commit -qm c$n; done; GIT_SEQUENCE_EDITOR="sed -i 2s/pick/drop/" git rebase -qi HEAD~3 && git log --format=%s',
  ),
  git(
    'worktree',
    'git worktree add -q wt -b w && cd wt && echo w > w && git add w && git commit -qm w && cd .. && git worktree list && git branch',
  ),
  git('submodule', 'git submodule --quiet add ../lib.git lib && git commit -qm lib && git submodule status', {
    prepare: `${INIT}; git config protocol.file.allow always`,
    script: `${IDENTITY}; git clone -q --bare . bare.git && git -c protocol.file.allow=always submodule --quiet add $PWD/bare.git lib && git commit -qm lib && git submodule status && git rm -q --cached lib -f; true`,
    notInForks: 'hard links get new numbers',
    differs: /(?:^|\/)\.git|^lib|^bare\.git|^\.gitmodules/,
  }),
  git('submodule, cloned without hard links', 'git submodule --quiet add ../lib.git lib && git commit -qm lib && git submodule status', {
    prepare: `${INIT}; git config protocol.file.allow always`,
    script: `${IDENTITY}; git clone -q --bare --no-hardlinks . bare.git && git -c protocol.file.allow=always submodule --quiet add $PWD/bare.git lib && git commit -qm lib && git submodule status && git rm -q --cached lib -f; true`,
    differs: /(?:^|\/)\.git|^lib|^bare\.git|^\.gitmodules/,
  }),
  git(
    'shared repository',
    'git init -q --shared=group -b main s && cd s && echo x > x && git add x && git commit -qm x && mkdir d && chmod 2775 d && stat -c %a d',
    { differs: /(?:^|\/)\.git/ },
  ),
  git(
    'set-group directories',
    'mkdir d && chmod 2775 d && mkdir d/e && touch d/e/f && cp -a d c && tar -cpf t.tar d && mkdir x && tar -xpf t.tar -C x && chmod -R u+w d c x && stat -c %a d d/e c x/d',
    { differs: /\.tar$|(?:^|\/)\.git/ },
  ),
  git(
    'large files',
    'git lfs track "*.bin" > log && head -c 100000 /dev/zero > big.bin && git add . && git commit -qm big && git lfs ls-files',
    // The filters are programs that git starts: their settings do not come out of the sandbox.
    { needs: ['git', 'git-lfs'], prepare: `${INIT}; git lfs install --local`, differs: /(?:^|\/)\.git\// },
  ),
  git(
    'signature by SSH',
    'git -c gpg.format=ssh -c user.signingkey=$PWD/key.pub commit -qS --allow-empty -m signed && git cat-file commit HEAD | grep -q "BEGIN SSH SIGNATURE"',
    {
      needs: ['git', 'ssh-keygen'],
      prepare: `${INIT} && ssh-keygen -q -t ed25519 -N '' -f key`,
      differs: /(?:^|\/)\.git/,
    },
  ),
  git(
    'signature by GPG',
    'export GNUPGHOME=/tmp/g; cp -r gnupg $GNUPGHOME && chmod 700 $GNUPGHOME && git -c user.signingkey=a@localhost commit -qS --allow-empty -m signed && git verify-commit HEAD 2>/dev/null; r=$?; gpgconf --kill gpg-agent; rm -rf $GNUPGHOME; exit $r',
    {
      needs: ['git', 'gpg', 'gpg-agent'],
      prepare: `${INIT} && mkdir -m 700 gnupg && GNUPGHOME=$PWD/gnupg gpg --batch --quiet --passphrase '' --quick-generate-key a@localhost default default never && GNUPGHOME=$PWD/gnupg gpgconf --kill gpg-agent; rm -f gnupg/S.*`,
      differs: /(?:^|\/)\.git/,
      // A signature has the time in it, and so the commit.
      after: 'git log --format=%s; git ls-files -s; git status --porcelain; git fsck',
    },
  ),
  git(
    'hooks of husky and lint-staged',
    'export HOME=$PWD; echo "const a=1" > b.js && git add b.js && git commit -qm b && git log --format=%s',
    {
      needs: ['git', 'npm'],
      prepare: `${INIT} && echo node_modules > .gitignore && echo '{"private":true,"scripts":{"prepare":"husky"},"lint-staged":{"*.js":"prettier --write"}}' > package.json && npm install --no-audit --no-fund --loglevel error -D husky lint-staged prettier && npx husky && echo 'npx lint-staged' > .husky/pre-commit && git add . && git commit -qm tools --no-verify`,
      differs: /(?:^|\/)\.git\/|^\.npm\/|^\.cache\//,
    },
  ),
  git(
    'gc, fsck, bundle, archive',
    'for n in 1 2 3; do echo $n > f; git add f; git commit -qm $n; done; git gc -q && git fsck && git bundle create -q b.bundle main && git archive -o a.tar main && git clone -q -b main b.bundle c && git -C c log --format=%s',
    { differs: /(?:^|\/)\.git|\.bundle$/ },
  ),
  git('push to a directory beside', 'git push -q up main && git fetch -q up && git branch -r', {
    prepare: `${INIT}; git init -q --bare up.git && git remote add up $PWD/up.git`,
    differs: /(?:^|\/)\.git\/|^up\.git\//,
    after: `${AFTER}; git -C up.git for-each-ref`,
  }),
  git(
    'sparse checkout and bisect',
    'mkdir -p d e && touch d/f e/f && git add . && git commit -qm dirs && git sparse-checkout set d && test ! -e e && git sparse-checkout disable && for n in 1 2 3 4; do echo $n > n; git add n; git commit -qm $n; done; git bisect start HEAD HEAD~4 > log && git bisect run grep -q "[12]" n >> log 2>&1; git bisect reset 2>> log',
    { differs: /(?:^|\/)\.git\/|^log$/ },
  ),
]

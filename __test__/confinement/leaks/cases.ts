// Nothing here may reach what is not of the project: in work trees of git no sandbox holds it.

/** What an agent does in a fork or a work tree that could come to the original. Each is a shell script in the root of the copy, where `BASE` is the path of the original, and `OUT` a writable directory beside it. */

export interface Leak {
  room: string
  name: string
  script: string
  /** How it is run: once; in eight copies at once; as a process that goes on after its call; by a server of MCP. @default 'once' */
  how?: 'once' | 'eight' | 'process' | 'server'
}

const all = (room: string, scripts: Record<string, string>, how?: Leak['how']): Leak[] =>
  Object.entries(scripts).map(([name, script]) => ({ room, name, script, ...(how !== undefined && { how }) }))

const node = (code: string): string => `node -e '${code}'`

/** A loop that ends by itself, since nothing else ends a process of another session in a work tree. */
const rounds = 'i=0; while [ $i -lt 40 ]; do i=$((i+1)); sleep 0.02;'

export const leaks: readonly Leak[] = [
  ...all('absolute paths', {
    'a redirection': 'echo x > "$BASE/a.txt"',
    'an appending redirection': 'echo x >> "$BASE/src/b.txt"',
    'a new file': 'echo x > "$BASE/new.txt"',
    tee: 'echo x | tee "$BASE/a.txt" "$BASE/src/new.txt"',
    cp: 'cp a.txt "$BASE/src/b.txt"',
    mv: 'mv a.txt "$BASE/moved.txt"',
    'mv of the original': 'mv "$BASE/src/b.txt" "$BASE/src/d.txt"',
    rm: 'rm -f "$BASE/a.txt"',
    'rm -r': 'rm -rf "$BASE/src"',
    mkdir: 'mkdir -p "$BASE/made/deep"',
    'mv of a directory': 'mv "$BASE/src" "$BASE/lib"',
    'sed -i': 'sed -i s/a/z/ "$BASE/a.txt"',
    truncate: 'truncate -s 0 "$BASE/a.txt"',
    'dd without truncation': 'printf z | dd of="$BASE/a.txt" conv=notrunc 2>/dev/null',
    chmod: 'chmod 600 "$BASE/bin/run.sh"',
    touch: 'touch -d 2001-01-01 "$BASE/a.txt"',
    'ln -s': 'ln -sf /etc/hostname "$BASE/a.txt"',
    tar: 'tar cf t.tar a.txt src && tar xf t.tar -C "$BASE/bin" && rm t.tar',
    'install -D': 'install -D -m 755 a.txt "$BASE/opt/bin/a"',
    'Node, by fs.writeFile': node('require("fs").writeFileSync(process.env.BASE + "/a.txt", "x")'),
    'Node, by fs.rename': node('require("fs").renameSync("a.txt", process.env.BASE + "/src/b.txt")'),
    'a file that is ignored': 'echo KEY=2 > "$BASE/.env"; echo 2 > "$BASE/node_modules/dep/index.js"',
  }),
  ...all('cd', {
    'into the original': 'cd "$BASE" && echo x > a.txt',
    physically: 'cd -P "$BASE/src" && echo x > b.txt',
    'up and down again': 'cd .. && cd "$(basename "$BASE")" && echo x > a.txt',
    'from the root of the system': 'cd / && cd "${BASE#/}" && rm -f a.txt',
    'by CDPATH': 'CDPATH="$BASE" cd src >/dev/null && echo x > b.txt',
    'by env -C': `env -C "$BASE" sh -c 'echo x > a.txt'`,
    'by git -C': 'git -C "$BASE" rm -q a.txt',
    'by make -C': 'make -s -C "$BASE" all',
    'by a shell in a new session': `setsid -w sh -c 'cd "$BASE" && echo x > a.txt'`,
    'with OLDPWD': 'cd "$BASE"; cd /; cd - >/dev/null; echo x > new.txt',
  }),
  ...all('links in and out', {
    'a link of the project to the file': 'echo x > to-a',
    'a link of the project to the directory': 'echo x > to-base/a.txt',
    'a relative link': 'echo x > to-src/b.txt',
    'a link that is made': 'ln -s "$BASE" made && echo x > made/a.txt',
    'a link to a file that is made': 'ln -s "$BASE/src/b.txt" made && echo x >> made',
    'a link from elsewhere into the project': 'echo x > "$OUT/lead/a.txt"',
    'a link from elsewhere to a file': 'echo x > "$OUT/lead-a"',
    'a chain of links': 'ln -s "$OUT/lead" one && ln -s one two && rm -f two/a.txt',
    'a link that is made elsewhere': 'ln -s "$BASE/src" "$OUT/again" && echo x > "$OUT/again/b.txt"',
    'cp through a link': 'cp -L a.txt "$OUT/lead/src/b.txt"',
    'rm through a link to a directory': 'rm -rf "$OUT/lead/src/"',
    'rsync through a link': 'mkdir f && echo z > f/a.txt && cp -r f/. "$OUT/lead/"',
  }),
  ...all('git', {
    'checkout of a branch': 'git checkout -q -b mine && echo x > a.txt && git commit -qam x',
    'checkout of files': 'echo x > a.txt && git checkout -q -- a.txt && git checkout -q other',
    commit: 'echo x > a.txt && git commit -qam x',
    stash: 'echo x > a.txt && git stash -q',
    'stash pop': 'echo x > a.txt && git stash -q && git stash pop -q',
    gc: 'git gc -q',
    'gc --prune=now': 'echo x | git hash-object -w --stdin >/dev/null && git gc -q --prune=now',
    'reset --hard': 'echo x > a.txt && git commit -qam x && git reset -q --hard HEAD~1',
    'branch -D': 'git branch -D other -q',
    tag: 'git tag v1',
    config: 'git config user.name x && git config core.hooksPath /tmp',
    'worktree add': 'git worktree add -q "$OUT/tree" other',
    rebase: 'git checkout -q -b mine && echo x > n && git add n && git commit -qm n && git rebase -q other',
    merge: 'git checkout -q other && echo x > o && git add o && git commit -qm o && git checkout -q - && git merge -q other',
    'update-ref': 'git update-ref refs/heads/other "$(git commit-tree -m x "HEAD^{tree}")"',
    'reflog expire': 'git reflog expire --expire=now --all',
    'a hook':
      'h="$(git rev-parse --git-path hooks)"; mkdir -p "$h"; printf "#!/bin/sh\\ntouch $BASE/hooked" > "$h/post-commit"; chmod +x "$h/post-commit"; echo x > a.txt; git commit -qam x',
    'clean -fdx': 'git clean -qfdx',
    'GIT_DIR of the original': 'GIT_DIR="$BASE/.git" GIT_WORK_TREE="$BASE" git commit -q --allow-empty -m x',
    'pack-refs': 'git pack-refs --all',
  }),
  ...all('hard links', {
    'of the project': 'echo x >> hard1',
    'of the project, by the absolute path': 'echo x >> "$BASE/hard2"',
    'that is made': 'ln a.txt b && echo x >> b',
    'that is made to the original': 'ln "$BASE/a.txt" b && echo x >> b',
    'cp -l': 'cp -al "$BASE/src" copy && echo x >> copy/b.txt',
    'git clone --local':
      'git clone -q --local "$BASE" "$OUT/clone" && chmod -R u+w "$OUT/clone/.git/objects" && for f in "$OUT"/clone/.git/objects/??/*; do echo x >> "$f"; done',
  }),
  ...all('/proc', {
    'the root of this process': 'echo x > "/proc/self/root$BASE/a.txt"',
    'the working directory': 'echo x > /proc/self/cwd/a.txt; echo x > "/proc/self/cwd/../base/new.txt"',
    'the root of every process': 'for p in /proc/[0-9]*; do echo x > "$p/root$BASE/a.txt"; done 2>/dev/null; true',
    'the working directory of every process':
      'for p in /proc/[0-9]*; do case "$(readlink -f "$p/cwd")/" in "$BASE"/*) echo x > "$p/cwd/from-proc.txt" ;; esac; done 2>/dev/null; true',
    'descriptors of every process':
      'exec 9< "$BASE"; for f in /proc/[0-9]*/fd/*; do case "$(readlink -f "$f")/" in "$BASE"/*) echo x > "$f/from-fd.txt" ;; esac; done 2>/dev/null; true',
    'directories that mounts name': `tr ', ' '\\n' < /proc/self/mountinfo | sed -n 's/^\\(lowerdir\\|upperdir\\|workdir\\)=//p' | tr ':' '\\n' | while read -r d; do case "$d/" in "$(dirname "$BASE")"/*) echo x > "$d/from-mount.txt" ;; esac; done 2>/dev/null; echo y > own.txt`,
    'a bind mount': 'mkdir m && unshare -rm sh -c \'mount --bind "$BASE" m && echo x > m/a.txt\' 2>/dev/null; echo y > own.txt',
    'taking mounts away':
      'unshare -rm sh -c \'umount -l "$BASE" && echo x > "$BASE/a.txt"\' 2>/dev/null; umount -l "$BASE" 2>/dev/null; echo y > "$BASE/own.txt"',
    'the namespace of the first process': 'nsenter -t 1 -m sh -c \'echo x > "$BASE/a.txt"\' 2>/dev/null; echo y > own.txt',
  }),
  ...all('file watchers', {
    'fs.watch that writes to the original': node(
      'const fs=require("fs");const w=fs.watch(".",()=>{fs.writeFileSync(process.env.BASE+"/seen.txt","x");w.close()});fs.writeFileSync("a.txt","y");setTimeout(()=>{},300)',
    ),
    'fs.watch of the original': node(
      'const fs=require("fs");const w=fs.watch(process.env.BASE,(e,f)=>{fs.appendFileSync(process.env.BASE+"/a.txt",String(f));w.close()});fs.writeFileSync(process.env.BASE+"/b.txt","y");setTimeout(()=>{},300)',
    ),
    'fs.watchFile': node(
      'const fs=require("fs");fs.watchFile(process.env.BASE+"/a.txt",{interval:20},()=>{fs.writeFileSync(process.env.BASE+"/b.txt","x");process.exit()});setTimeout(()=>fs.appendFileSync("a.txt","y"),60);setTimeout(()=>process.exit(),900)',
    ),
    'a builder that writes beside its sources':
      'for i in 1 2 3; do cp "$BASE/src/b.txt" "$BASE/src/b.out"; echo $i >> src/b.txt; sleep 0.02; done',
  }),
  ...all("editors' temporary files", {
    'a new file over the old one': 'cp a.txt .a.txt.swp && echo x >> .a.txt.swp && mv .a.txt.swp "$BASE/a.txt"',
    'a backup': 'cp "$BASE/a.txt" "$BASE/a.txt~" && echo x > "$BASE/a.txt"',
    'a link as a lock': 'ln -s me@host.1 "$BASE/.#a.txt" && echo x > "$BASE/a.txt" && rm "$BASE/.#a.txt"',
    'sed -i with a backup': 'sed -i.bak s/b/z/ "$BASE/src/b.txt"',
    ed: `printf 'a\\nx\\n.\\nw\\nq\\n' | ed -s "$BASE/a.txt"`,
    ex: `ex -s -c '%s/a/z/' -c wq "$BASE/a.txt"`,
    vim: `vim -es -u NONE -c 'set backup backupdir=.' -c 'normal ox' -c wq "$BASE/a.txt" </dev/null >/dev/null 2>&1`,
    'perl -i': 'perl -i.orig -pe s/b/z/ "$BASE/src/b.txt"',
    patch: `printf -- '--- a\\n+++ b\\n@@ -1 +1 @@\\n-a\\n+z\\n' | patch -s "$BASE/a.txt"`,
    mktemp: 't="$(mktemp "$BASE/.tmpXXXXXX")" && echo x > "$t" && mv "$t" "$BASE/src/b.txt"',
  }),
  ...all(
    '8 at once',
    {
      'the same file':
        'for i in 1 2 3 4 5; do echo "$ME $i" >> "$BASE/a.txt"; done; grep -v "^$ME" "$BASE/a.txt" | grep -vx a > strangers.txt; true',
      commits: 'echo "$ME" > a.txt && git add . && git commit -qm "$ME"',
      'the same branch': 'git checkout -q -b mine && echo "$ME" > n && git add n && git commit -qm n',
      stashes: 'echo "$ME" > a.txt && git stash -q && git stash pop -q && grep -qx "$ME" a.txt',
      'removal and making again': 'rm -rf "$BASE/src" && mkdir -p "$BASE/src" && echo "$ME" > "$BASE/src/b.txt"',
      'renames of directories': 'mv "$BASE/src" "$BASE/lib-$ME"',
    },
    'eight',
  ),
  ...all(
    'kept processes',
    {
      'that write to the original': `${rounds} date +%N >> "$BASE/log.txt"; done`,
      'in the original': `cd "$BASE"; ${rounds} date +%N >> log.txt; done`,
      'of a new session': `setsid sh -c '${rounds} date +%N >> "$BASE/log.txt"; done' & wait`,
      'that start others': `nohup sh -c '${rounds} date +%N > "$BASE/src/$$"; done' >/dev/null 2>&1 & ${rounds} echo x > "$BASE/a.txt"; done`,
      'a server': node(
        'const fs=require("fs");require("http").createServer((q,r)=>r.end()).listen(0,()=>setInterval(()=>fs.appendFileSync(process.env.BASE+"/server.log","x"),20))',
      ),
      'that commit': `${rounds} git -C "$BASE" commit -q --allow-empty -m "$i"; done`,
    },
    'process',
  ),
  ...all(
    'MCP servers',
    {
      'by an absolute path': 'echo x > "$BASE/a.txt"',
      'in their directory': 'echo x > new.txt && rm -f src/b.txt',
      'by a link': 'echo x > "$OUT/lead/a.txt"',
      'by cd': 'cd "$BASE" && mkdir made && echo x > made/x',
      'that commit': 'echo x > a.txt && git commit -qam x',
      'by /proc': 'echo x > "/proc/self/root$BASE/a.txt"',
    },
    'server',
  ),
]

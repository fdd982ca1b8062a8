import type { Scene } from './scene.ts'

/** Something that people do with commands every day. */
export interface Work {
  name: string
  /** Made beforehand, by the host. */
  prepare?: (scene: Scene) => void | Promise<void>
  script: string
  /** What it prints, without confinement and with it. */
  prints: RegExp
}

const AUTHOR = 'git -c user.name=a -c user.email=a@localhost'

const repository = async (scene: Scene): Promise<void> => {
  scene.within('a.txt', 'one\n')
  const script = `git init -q . && git add a.txt && ${AUTHOR} commit -qm first`
  await scene.host.order({ how: 'plain', argv: ['sh', '-c', script], cwd: scene.inside })
}

const byHost = (scene: Scene, script: string) => scene.host.order({ how: 'plain', argv: ['sh', '-c', script], cwd: scene.inside })

const worktree = async (scene: Scene): Promise<void> => {
  await repository(scene)
  await byHost(scene, 'git worktree add -q wt')
}

const submodule = async (scene: Scene): Promise<void> => {
  await repository(scene)
  const lib = `git init -q lib && cd lib && cp ../a.txt . && git add a.txt && ${AUTHOR} commit -qm first && cd ..`
  await byHost(scene, `${lib} && git -c protocol.file.allow=always submodule --quiet add "$PWD/lib" sub && ${AUTHOR} commit -qm sub`)
}

const apart = async (scene: Scene): Promise<void> => {
  scene.within('a.txt', 'one\n')
  await byHost(scene, 'git init -q --separate-git-dir=.bare .')
}

/** A file with what stands in the template. */
const put =
  (name: string, text: string) =>
  (scene: Scene): void =>
    void scene.within(name, text)

const project = (scene: Scene): void => {
  scene.within('package.json', '{ "name": "p", "version": "1.0.0", "type": "module", "scripts": { "test": "node --test" } }\n')
  scene.within(
    'node_modules/dependency/package.json',
    '{ "name": "dependency", "version": "1.0.0", "type": "module", "exports": "./index.js" }\n',
  )
  scene.within('node_modules/dependency/index.js', 'export const twice = (n) => 2 * n\n')
  scene.within(
    'p.test.js',
    "import test from 'node:test'\nimport { twice } from 'dependency'\ntest('twice', () => { if (twice(2) !== 4) throw new Error() })\n",
  )
}

const crate = (scene: Scene): void => {
  scene.within('Cargo.toml', '[package]\nname = "p"\nversion = "0.1.0"\nedition = "2021"\n\n[workspace]\n')
  scene.within('src/main.rs', 'fn main() { println!("{}", 6 * 7); }\n')
}

const SERVER = `
  import { createServer } from 'node:http'
  const server = createServer((_, response) => response.end('served')).listen(0, '127.0.0.1', async () => {
    console.log(await (await fetch('http://127.0.0.1:' + server.address().port)).text())
    server.close()
  })`

/** Ordinary work, which must not notice where it is done. */
export const works: readonly Work[] = [
  {
    name: 'git status, add, commit and diff',
    prepare: repository,
    script: `echo two >> a.txt; git diff --stat; git add -A; ${AUTHOR} commit -qm second; git status --short; git log --format=%s`,
    prints: /1 insertion[\s\S]*second\nfirst/u,
  },
  {
    name: 'git branches, stash and merge',
    prepare: repository,
    script: `${AUTHOR} switch -qc b; echo b > b; git add b; ${AUTHOR} commit -qm b; git switch -q -; ${AUTHOR} merge -q --no-edit b; echo c >> a.txt; ${AUTHOR} stash -q; git stash list; ls`,
    prints: /stash@\{0\}[\s\S]*b\n/u,
  },
  {
    name: 'git init in a directory of the root',
    script: `mkdir sub && cd sub && git init -q . && echo x > x && git add x && ${AUTHOR} commit -qm in && git log --format=%s`,
    prints: /^in$/mu,
  },
  { name: 'git worktree', prepare: repository, script: 'git worktree add -q wt 2>&1; cat wt/a.txt', prints: /one/u },
  {
    name: 'git worktree, and away with it',
    prepare: worktree,
    script: `cd wt && echo two >> a.txt && ${AUTHOR} commit -qam second && cd .. && git worktree add -q other && git worktree remove other && git worktree remove wt && git worktree list | wc -l`,
    prints: /^1$/mu,
  },
  {
    name: 'git with submodules',
    prepare: submodule,
    script: `(cd sub && echo two >> a.txt && ${AUTHOR} commit -qam second && git log --format=%s) && ${AUTHOR} commit -qam 'move on' && git submodule status && git submodule --quiet update && git submodule --quiet foreach 'git status --short' && git log --format=%s`,
    prints: /second\nfirst[\s\S]*move on/u,
  },
  {
    name: 'git where the repository lies apart',
    prepare: apart,
    script: `git add a.txt && ${AUTHOR} commit -qm first && git switch -qc b && git log --format=%s`,
    prints: /^first$/mu,
  },
  {
    name: 'node with child processes',
    prepare: put(
      'c.mjs',
      "import { execFileSync, fork, spawn } from 'node:child_process'\nconsole.log(execFileSync('echo', ['sync']).toString().trim())\nspawn('cat', { stdio: ['pipe', 'inherit', 'inherit'] }).stdin.end('piped\\n')\nif (process.send) process.send('up')\nelse fork('c.mjs').on('message', console.log)\n",
    ),
    script: 'node c.mjs',
    prints: /sync[\s\S]*(?:piped[\s\S]*up|up[\s\S]*piped)/u,
  },
  {
    name: 'node: workers, file watching, interfaces',
    prepare: put(
      'w.mjs',
      "import { Worker } from 'node:worker_threads'\nimport { watch, writeFileSync } from 'node:fs'\nimport { networkInterfaces, userInfo, hostname, cpus } from 'node:os'\nif (typeof networkInterfaces() !== 'object' || hostname() === '' || userInfo().uid < 0 || cpus().length === 0) throw new Error()\nconst watcher = watch('.', () => { console.log('seen'); watcher.close() })\nnew Worker('require(\"node:worker_threads\").parentPort.postMessage(1)', { eval: true }).on('message', () => { console.log('worked'); writeFileSync('new', '') })\n",
    ),
    script: 'node w.mjs',
    prints: /worked[\s\S]*seen/u,
  },
  { name: 'npm test of an installed project', prepare: project, script: 'npm test 2>&1', prints: /pass 1/u },
  { name: 'an offline cargo build', prepare: crate, script: 'cargo build --offline --quiet 2>&1 && target/debug/p', prints: /^42$/mu },
  {
    name: 'python',
    script: `python3 -c 'import os, tempfile, subprocess; print(subprocess.check_output(["echo", "sub"]).decode().strip()); print(os.path.exists(tempfile.mkdtemp()))'`,
    prints: /sub\nTrue/u,
  },
  {
    name: 'python: several processes',
    prepare: put(
      'm.py',
      'import multiprocessing\ndef f(n):\n    return n * n\nif __name__ == "__main__":\n    with multiprocessing.Pool(2) as pool:\n        print(sum(pool.map(f, range(4))))\n',
    ),
    script: 'python3 m.py',
    prints: /^14$/mu,
  },
  {
    name: 'python: a database',
    script: `python3 -c 'import sqlite3; c = sqlite3.connect("d.db"); c.execute("create table t(n)"); c.execute("insert into t values(7)"); c.commit(); print(c.execute("select n from t").fetchone())'`,
    prints: /\(7,\)/u,
  },
  {
    name: 'gcc',
    prepare: put('h.c', '#include <stdio.h>\nint main(void) { puts("compiled"); return 0; }\n'),
    script: 'gcc -o h h.c && ./h',
    prints: /compiled/u,
  },
  {
    name: 'make, with several jobs',
    prepare: put('Makefile', 'all: a b\n\techo made\na b:\n\tsleep 0.05; touch $@\n'),
    script: 'make -s -j2',
    prints: /made/u,
  },
  { name: 'a server with its client', prepare: put('s.mjs', SERVER), script: 'node s.mjs', prints: /served/u },
  {
    name: 'a server in the background',
    prepare: put(
      's.mjs',
      "import { createServer } from 'node:http'\nimport { writeFileSync } from 'node:fs'\nconst server = createServer((_, response) => response.end('from behind\\n'))\nserver.listen(0, '127.0.0.1', () => writeFileSync('port', String(server.address().port)))\n",
    ),
    script:
      'node s.mjs & until [ -s port ]; do sleep 0.02; done; node -e \'fetch(`http://127.0.0.1:${require("fs").readFileSync("port")}`).then((r) => r.text()).then(console.log)\'; kill $!; wait $!; echo $?',
    prints: /from behind[\s\S]*143/u,
  },
  { name: 'ps', script: 'ps -o pid= -p $$ && ps ax | grep -c "p[s]"', prints: /\d/u },
  {
    name: 'mktemp',
    script: 'f=$(mktemp) && echo kept > "$f" && cat "$f" && d=$(mktemp -d) && ls -d "$d" && rm -r "$f" "$d"',
    prints: /kept/u,
  },
  { name: 'timeout', script: 'timeout 5 echo in time; timeout 0.05 sleep 5; echo $?', prints: /in time\n124/u },
  { name: 'pipes', script: 'seq 1000 | grep 7 | sort -rn | head -n 1 | tr 9 x', prints: /xx7/u },
  { name: 'here-documents', script: "cat <<'EOF'\nhere $HOME\nEOF", prints: /here \$HOME/u },
  {
    name: 'bash: here-strings and process substitution',
    script: `bash -c 'cat <<< string; diff <(echo a) <(echo a) && echo same'`,
    prints: /string\nsame/u,
  },
  {
    name: 'jobs of the shell',
    script: '(sleep 0.05; echo later) & sleep 0 & wait; echo done; nohup true 2>/dev/null; setsid -w echo apart; trap "echo trapped" EXIT',
    prints: /later\ndone\napart\ntrapped/u,
  },
  { name: 'sort with temporary files', script: 'seq 200000 | sort -S 1M -r | head -n 1', prints: /99999/u },
  { name: 'tar', script: 'mkdir d && echo in > d/f && tar czf d.tgz d && rm -r d && tar xzf d.tgz && cat d/f', prints: /in/u },
  {
    name: 'xargs and find',
    script: 'touch a b c && find . -maxdepth 1 -name "[abc]" -print0 | xargs -0 -P2 -n1 echo | sort',
    prints: /\.\/a\n\.\/b\n\.\/c/u,
  },
  { name: 'a terminal', script: 'script -qec "tty && stty size" /dev/null', prints: /\/dev\/pts\/\d/u },
  {
    name: 'locks, links and modes',
    script: 'flock l echo locked; ln -s l s; ln l h; chmod 600 l; stat -c %a s -L; umask 077; touch n; stat -c %a n',
    prints: /locked\n600\n600/u,
  },
  {
    name: 'devices',
    script: 'echo gone > /dev/null; head -c 3 /dev/zero | wc -c; head -c 4 /dev/urandom | wc -c; cat < /dev/null',
    prints: /3\n4/u,
  },
  { name: 'perl', script: "perl -e 'print `echo from perl`'", prints: /from perl/u },
  { name: 'names of the machine', script: 'getent hosts localhost; getent passwd "$(id -u)"; uname -s', prints: /localhost[\s\S]*Linux/u },
  { name: 'a long script on standard input of a shell', script: 'echo "echo from stdin" | sh', prints: /from stdin/u },
  {
    name: 'signals within the command',
    script: 'sh -c "trap \'echo got it; exit 0\' TERM; kill -TERM \\$\\$; sleep 1"; sleep 5 & kill $!; wait $!; echo $?',
    prints: /got it[\s\S]*143/u,
  },
]

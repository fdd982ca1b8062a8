/** Typical mistakes of models with the tools of `createTools`, and what each has to be told. */
import { call, next, type Row, sh } from './support/row.ts'

const diff = (...lines: string[]): string => ['--- a/src/app.ts', '+++ b/src/app.ts', ...lines, ''].join('\n')

const hostMoves = /raise|--\w/u

const reading: Row[] = [
  call(
    'read missing',
    'read',
    { path: 'src/ap.ts' },
    [/File not found: `src\/ap\.ts`/u, /Did you mean `src\/app\.ts`\?/u],
    next('read', { path: 'src/app.ts' }, /export function main/u),
  ),
  call(
    'read directory',
    'read',
    { path: 'src' },
    [/`src` is a directory/u, /app\.ts/u, /math\.ts/u],
    next('read', { path: 'src/math.ts' }, /sum/u),
  ),
  call('read empty path', 'read', { path: '' }, [/empty/u], { never: /must be a string/u }),
  call('read absolute outside', 'read', { path: '/etc/passwd' }, [/Path escapes sandbox root/u, /`\/project`/u]),
  call('read symlink out', 'read', { path: 'link' }, [/via symlink/u]),
  call('read huge', 'read', { path: 'big.log' }, [/too large/u, /offset and limit/u, /lines/u], {
    never: hostMoves,
    ...next('read', { path: 'big.log', offset: 1, limit: 2 }, /^line 0\nline 1\n\(There are more lines: go on with offset 3\.\)$/u),
  }),
  call(
    'read binary png',
    'read',
    { path: 'img.png' },
    [/^✘ .*Binary file/u, /TOOL_FILE_BINARY/u],
    next('bash', { cmd: 'od', args: ['-c', 'img.png'] }, /P {3}N {3}G/u),
  ),
  call('read empty file', 'read', { path: 'empty.txt' }, [/^\(empty file\)$/u]),
  call(
    'read with offset and limit',
    'read',
    { path: 'big.log', offset: 11, limit: 2 },
    [/^line 10\nline 11\n/u, /offset 13/u],
    next('read', { path: 'big.log', offset: 13, limit: 1 }, /^line 12\n/u),
  ),
  call(
    'read beyond the end',
    'read',
    { path: 'src/app.ts', offset: 500 },
    [/no line 500/u, /has 14/u],
    next('read', { path: 'src/app.ts', offset: 14 }, /^\}\n$/u),
  ),
  call('read with file_path', 'read', { file_path: 'src/app.ts' }, [/`file_path` is called `path` here/u]),
]

const writing: Row[] = [
  call(
    'write outside',
    'write',
    { path: '/tmp/x.txt', content: 'x' },
    [/Path escapes sandbox root/u, /`\/project`/u],
    next('write', { path: 'x.txt', content: 'x' }, /^ok$/u),
  ),
  call('write too big', 'write', { path: 'a.txt', content: 'x'.repeat(200_001) }, [/too large/u, /in parts/u], {
    never: hostMoves,
    ...next('write', { path: 'a.txt', content: 'x'.repeat(1_000) }, /^ok$/u),
  }),
  call('write .git/config', 'write', { path: '.git/config', content: 'x' }, [/Path is protected/u, /the host can change/u]),
  call('write under a file', 'write', { path: 'package.json/x', content: 'x' }, [/Not a directory/u, /is a file/u]),
]

const newHelper = ['@@ -8,3 +8,3 @@', ' export function helper() {', '-  return 1', '+  return 2', ' }']
const editing: Row[] = [
  call(
    'edit missing file',
    'edit',
    { path: 'src/new.ts', patch: '--- /dev/null\n+++ b/src/new.ts\n@@ -0,0 +1 @@\n+x\n' },
    [/File not found/u, /write/u],
    next('write', { path: 'src/new.ts', content: 'x\n' }, /^ok$/u),
  ),
  call(
    'edit in the format of apply_patch',
    'edit',
    {
      path: 'src/app.ts',
      patch: '*** Begin Patch\n*** Update File: src/app.ts\n@@\n export function helper() {\n-  return 1\n+  return 2\n*** End Patch',
    },
    [/^ok\n/u, /Applied at line 9/u, /one place fits/u],
  ),
  call(
    'edit of two files in the format of apply_patch',
    'edit',
    {
      path: 'src/app.ts',
      patch:
        '*** Begin Patch\n*** Update File: src/app.ts\n@@\n export function helper() {\n-  return 1\n+  return 2\n*** Update File: src/math.ts\n@@\n-x\n+y\n*** End Patch',
    },
    [/one call edits one file/u],
  ),
  call(
    'edit bare @@',
    'edit',
    { path: 'src/app.ts', patch: diff('@@', ' export function helper() {', '-  return 1', '+  return 2', ' }') },
    [/^ok\n/u, /no line numbers/u, /line 9/u],
    next('read', { path: 'src/app.ts', offset: 9, limit: 1 }, /return 2/u),
  ),
  call(
    'edit bare @@ in two places',
    'edit',
    { path: 'src/app.ts', patch: diff('@@', '-  return 1', '+  return 2', ' }') },
    [/^✘/u, /fits at line 9 and at line 13/u, /context lines/u],
    next('edit', { path: 'src/app.ts', patch: diff('@@ -13,2 +13,2 @@', '-  return 1', '+  return 2', ' }') }, /Applied at line 13/u),
  ),
  call(
    'edit SEARCH/REPLACE',
    'edit',
    { path: 'src/app.ts', patch: '<<<<<<< SEARCH\n  return 1\n=======\n  return 2\n>>>>>>> REPLACE' },
    [/not a unified diff/u, /@@ -3,2 \+3,3 @@/u],
    next('edit', { path: 'src/app.ts', patch: diff(...newHelper) }, /^ok/u),
  ),
  call(
    'edit stale context',
    'edit',
    {
      path: 'src/app.ts',
      patch: diff(
        '@@ -3,4 +3,4 @@',
        ' export function main(args: string[]) {',
        '-  const n = args.map(parseInt)',
        '+  const n = args.map(parseFloat)',
        '   console.log(sum(n))',
        ' }',
      ),
    },
    [/does not fit the file/u, /line 4 should be/u, /args\.map\(Number\)/u, /Read the file again/u],
  ),
  call(
    'edit whitespace wrong',
    'edit',
    {
      path: 'src/app.ts',
      patch: diff(
        '@@ -3,4 +3,4 @@',
        ' export function main(args: string[]) {',
        '-    const n = args.map(Number)',
        '+    const n = args.map(parseFloat)',
        '     console.log(sum(n))',
        ' }',
      ),
    },
    [/white ?space/iu, /spaces and tabs/u],
  ),
  call(
    'edit wrong counts',
    'edit',
    {
      path: 'src/app.ts',
      patch: diff(
        '@@ -3,3 +3,9 @@',
        ' export function main(args: string[]) {',
        '-  const n = args.map(Number)',
        '+  const n = args.map(parseFloat)',
        '   console.log(sum(n))',
        ' }',
      ),
    },
    [/^ok\n/u, /counts in the header are wrong/u, /Applied at line 4/u],
  ),
  call(
    'edit wrong line number',
    'edit',
    {
      path: 'src/app.ts',
      patch: diff(
        '@@ -30,4 +30,4 @@',
        ' export function main(args: string[]) {',
        '-  const n = args.map(Number)',
        '+  const n = args.map(parseFloat)',
        '   console.log(sum(n))',
        ' }',
      ),
    },
    [/^ok\n/u, /the header says line 30/u, /found at line 3/u],
  ),
  call(
    'edit cut off',
    'edit',
    {
      path: 'src/app.ts',
      patch: diff(
        '@@ -3,4 +3,9 @@',
        ' export function main(args: string[]) {',
        '-  const n = args.map(Number)',
        '+  const n = args.ma',
      ).trimEnd(),
    },
    [/^✘/u, /cut off/u, /Send the whole patch again/u],
  ),
  call(
    'edit two files',
    'edit',
    { path: 'src/app.ts', patch: diff(...newHelper, '--- a/src/math.ts', '+++ b/src/math.ts', '@@ -1 +1 @@', '-x', '+y') },
    [/one call edits one file/u],
    next('edit', { path: 'src/app.ts', patch: diff(...newHelper) }, /^ok/u),
  ),
  call(
    'edit delete file',
    'edit',
    {
      path: 'src/math.ts',
      patch: '--- a/src/math.ts\n+++ /dev/null\n@@ -1 +0,0 @@\n-export const sum = (xs: number[]) => xs.reduce((a, b) => a + b, 0)\n',
    },
    [/deletes the file/u, /`rm`/u],
    next('bash', { cmd: 'rm', args: ['src/math.ts'] }, /^\(no output\)$/u),
  ),
  call(
    'edit already applied',
    'edit',
    {
      path: 'src/math.ts',
      patch:
        '--- a/src/math.ts\n+++ b/src/math.ts\n@@ -1 +1 @@\n-export const sum = (xs) => 0\n+export const sum = (xs: number[]) => xs.reduce((a, b) => a + b, 0)\n',
    },
    [/made already at line 1/u],
  ),
  call(
    'edit context without its space',
    'edit',
    { path: 'src/app.ts', patch: diff('@@ -8,3 +8,3 @@', ' export function helper() {', '-  return 1', '+  return 2', '}') },
    [/^ok\n/u, /were read as context/u],
  ),
  call(
    'edit line without a sign',
    'edit',
    { path: 'src/app.ts', patch: diff('@@ -8,3 +8,4 @@', ' export function helper() {', '   return 1', 'more()', ' }') },
    [/begins with neither/u, /one space/u],
  ),
  call('edit binary', 'edit', { path: 'img.png', patch: '@@ -1 +1 @@\n-a\n+b\n' }, [/binary/u], { never: /\\u\{0\}/u }),
]

const searching: Row[] = [
  call(
    'grep bad regex',
    'grep',
    { pattern: 'foo(', path: 'src' },
    [/unclosed group/u, /backslash/u],
    next('grep', { pattern: 'main\\(', path: 'src' }, /app\.ts:3:/u),
  ),
  call('grep lookahead', 'grep', { pattern: 'foo(?=bar)' }, [/look-around/u], { never: /pcre2|--/u }),
  call(
    'grep missing path',
    'grep',
    { pattern: 'x', path: 'nope' },
    [/No such file/u, /leave it out/u],
    next('grep', { pattern: 'reduce' }, /math\.ts/u),
  ),
  call(
    'grep glob as path',
    'grep',
    { pattern: 'sum', path: 'src/*.ts' },
    [/no wildcards/u, /directory/u],
    next('grep', { pattern: 'sum', path: 'src' }, /app\.ts/u),
  ),
  call('grep no match', 'grep', { pattern: 'zzzz' }, [/^\(no matches in \d+ files; /u, /search for a part of it/u]),
  call(
    'grep rg flags',
    'grep',
    { pattern: '-i SUM' },
    [/`-i` was searched for as text/u, /\(\?i\)/u],
    next('grep', { pattern: '(?i)SUM', path: 'src' }, /math\.ts/u),
  ),
]

const running: Row[] = [
  call(
    'bash shell string in cmd',
    'bash',
    { cmd: 'ls -la' },
    [/no such program/u, /put arguments into args/u],
    next('bash', { cmd: 'ls', args: ['-la'] }, /package\.json/u),
  ),
  call(
    'bash pipe in cmd',
    'bash',
    { cmd: 'cat src/app.ts | wc -l' },
    [/shell syntax needs `sh`/u],
    next('bash', sh('cat src/app.ts | wc -l'), /14/u),
  ),
  call(
    'bash pipe in args',
    'bash',
    { cmd: 'cat', args: ['src/app.ts', '|', 'wc', '-l'] },
    [/`\|` was passed to cat as it is/u, /args \["-c"/u],
    next('bash', sh('cat src/app.ts | wc -l'), /14/u),
  ),
  call(
    'bash redirect in args',
    'bash',
    { cmd: 'echo', args: ['hi', '>', 'out.txt'] },
    [/^hi > out\.txt\n/u, /`>` was passed to echo as it is/u],
    next('bash', sh('echo hi > out.txt && cat out.txt'), /^hi\n$/u),
  ),
  call(
    'bash glob in args',
    'bash',
    { cmd: 'ls', args: ['src/*.ts'] },
    [/`src\/\*\.ts` was passed to ls as it is/u],
    next('bash', sh('ls src/*.ts'), /src\/app\.ts/u),
  ),
  call(
    'bash $VAR in args',
    'bash',
    { cmd: 'echo', args: ['$HOME'] },
    [/`\$HOME` was passed to echo as it is/u],
    next('bash', sh('echo $PWD'), /^\/project\n$/u),
  ),
  call(
    'bash builtin cd',
    'bash',
    { cmd: 'cd', args: ['src'] },
    [/builtin of the shell/u, /Nothing carries over/u],
    next('bash', sh('cd src && ls'), /app\.ts/u),
  ),
  call('bash not found', 'bash', { cmd: 'pnpmx', args: ['test'] }, [/no such program/u, /Check the spelling/u], { never: /shell syntax/u }),
  call('bash script not executable', 'bash', { cmd: './package.json' }, [/not an executable file/u]),
  call(
    'bash cwd missing',
    'bash',
    { cmd: 'ls', opts: { cwd: 'nope' } },
    [/Directory not found: `nope`/u, /opts\.cwd/u],
    next('bash', { cmd: 'ls' }, /src/u),
  ),
  call('bash exit 1', 'bash', sh('echo out; echo err >&2; exit 1'), [/exit code 1/u, /out\nerr/u]),
  call('bash exit 1 silent', 'bash', { cmd: 'false' }, [/exit code 1/u, /It printed nothing/u]),
  call('bash timeout', 'bash', sh('echo started; sleep 60'), [/timed out after/u, /started/u, /several calls/u], {
    never: /ask for more time/u,
  }),
  call('bash npm install', 'bash', { cmd: 'npm', args: ['install'] }, [/`npm install`/u, /packages that are installed/u], { never: /--/u }),
  call('bash npm test', 'bash', { cmd: 'npm', args: ['test'] }, [/42/u]),
  call('bash npx of what is not installed', 'bash', { cmd: 'npx', args: ['cowsay', 'hi'] }, [
    /`cowsay` is not installed/u,
    /node_modules\/\.bin/u,
  ]),
  call('bash curl', 'bash', { cmd: 'curl', args: ['https://example.com'] }, [/Network access is disabled/u], { never: /--allow/u }),
  call('bash curl that says nothing', 'bash', sh('curl -s "$(echo https://example.com)"'), [
    /exit code 6/u,
    /`curl` could not find the host/u,
    /network is blocked/u,
  ]),
  call(
    'bash network at kernel',
    'bash',
    { cmd: 'node', args: ['-e', 'fetch("http:"+"//93.184.216.34").catch(e=>{console.error(e.cause?.code);process.exit(1)})'] },
    [/ENETUNREACH/u, /This may be the sandbox: the network is blocked/u],
  ),
  call(
    'bash git commit that mentions fetch',
    'bash',
    { cmd: 'git', args: ['commit', '--allow-empty', '-m', 'fetch data lazily'] },
    [/fetch data lazily/u],
    { never: /✘/u },
  ),
  call('bash git push', 'bash', { cmd: 'git', args: ['push'] }, [/Git remote operations are disabled/u, /named by its path/u]),
  call('bash git init', 'bash', { cmd: 'git', args: ['init'] }, [/Reinitialized existing Git repository/u]),
  call('bash git config', 'bash', { cmd: 'git', args: ['config', 'user.name', 'y'] }, [/^\(no output\)$/u]),
  call('bash git alias', 'bash', { cmd: 'git', args: ['config', 'alias.st', '!status'] }, [
    /`alias\.st` applied to this command only/u,
    /git -c/u,
  ]),
  call(
    'bash write outside root',
    'bash',
    sh('echo x > /usr/x.txt'),
    [/This may be the sandbox/u, /writableRoots/u],
    next('bash', sh('echo x > x.txt'), /^\(no output\)$/u),
  ),
  call('bash sudo', 'bash', { cmd: 'no-sudo', args: ['ls'] }, [/no such program/u]),
  call('bash background server', 'bash', sh('node -e "setInterval(()=>{},1e3)" & echo started'), [
    /^started\n/u,
    /left in the background/u,
    /stopped/u,
  ]),
  call('bash segv', 'bash', sh('kill -SEGV $$'), [/SIGSEGV/u]),
  call(
    'bash docker',
    'bash',
    sh('echo "permission denied while trying to connect to the Docker daemon socket at unix:///var/run/docker.sock" >&2; exit 1'),
    [/This may be the sandbox/u, /unix sockets/u],
  ),
  call('bash reads stdin', 'bash', { cmd: 'cat' }, [/^\(no output\)\n`cat` read the standard input, which is empty/u]),
  call('bash args as string', 'bash', { cmd: 'ls', args: '-la' }, [/give `args` the array itself/u]),
  call('bash command key', 'bash', { command: 'ls -la' }, [/cmd/u]),
  call('unknown tool', 'list', { pattern: '**/*.ts' }, [/read, write, edit, grep, bash, glob/u]),
]

const foreign: ReadonlySet<string> = new Set([
  'bash pipe in args',
  'bash glob in args',
  'bash npm test',
  'bash git commit that mentions fetch',
  'bash git init',
  'bash git config',
  'bash write outside root',
])

/** The mistakes of the first survey, by tool. */
export const surveyed: Row[] = [...reading, ...writing, ...editing, ...searching, ...running.map(withForeignWords)]

function withForeignWords(row: Row): Row {
  return { ...row, foreign: foreign.has(row.name) }
}

/** Further mistakes of models, beyond the survey: habits from other tools, paths, patches, searches, commands. */
import { call, next, type Row, sh } from './support/row.ts'

const patch = (...lines: string[]): string => [...lines, ''].join('\n')

const paths: Row[] = [
  call(
    'a path from /workspace',
    'read',
    { path: '/workspace/src/app.ts' },
    [/escapes/u, /`\/project`/u],
    next('read', { path: 'src/app.ts' }, /main/u),
  ),
  call('a path of the home directory', 'read', { path: '~/.ssh/id_rsa' }, [/File not found|escapes/u]),
  call('a path with ..', 'read', { path: '../outside/secret' }, [/escapes/u, /`\/project`/u]),
  call('a path in quotes', 'read', { path: '"src/app.ts"' }, [/File not found/u]),
  call('another case', 'read', { path: 'SRC/App.ts' }, [/File not found/u]),
  call(
    'another extension',
    'read',
    { path: 'src/app.js' },
    [/Did you mean `src\/app\.ts`\?/u],
    next('read', { path: 'src/app.ts' }, /main/u),
  ),
  call('a directory that is missing', 'read', { path: 'source/app.ts' }, [/File not found/u]),
  call('a trailing slash', 'read', { path: 'src/' }, [/directory/u, /app\.ts/u]),
  call('a NUL byte', 'read', { path: 'src\0app.ts' }, [/NUL/u]),
  call('a path that is too long', 'read', { path: 'x'.repeat(5_000) }, [/too long/u]),
  call(
    'a write to a directory',
    'write',
    { path: 'src', content: 'x' },
    [/directory/u],
    next('write', { path: 'src/x.ts', content: 'x' }, /^ok$/u),
  ),
  call('a hook', 'write', { path: '.git/hooks/pre-commit', content: 'x' }, [/protected/u]),
]

const lines: Row[] = [
  call(
    'an offset below 0',
    'read',
    { path: 'src/app.ts', offset: -1 },
    [/offset/u, /1/u],
    next('read', { path: 'src/app.ts', offset: 1, limit: 1 }, /import/u),
  ),
  call('an offset as text', 'read', { path: 'src/app.ts', offset: '3' }, [/offset/u, /number/u]),
  call('an offset in an empty file', 'read', { path: 'empty.txt', offset: 5 }, [/^\(empty file\)$/u]),
  call('lines of a binary file', 'read', { path: 'img.png', offset: 1, limit: 5 }, [/TOOL_FILE_BINARY/u]),
  call('the last line', 'read', { path: 'big.log', offset: 30_000 }, [/^line 29999\n$/u]),
]

const edits: Row[] = [
  call('an empty patch', 'edit', { path: 'src/app.ts', patch: '' }, [/empty/u, /unified diff/u]),
  call('a whole file for a patch', 'edit', { path: 'src/app.ts', patch: 'export const a = 1\n' }, [/not a unified diff/u]),
  call(
    'a patch in a fence',
    'edit',
    { path: 'src/app.ts', patch: patch('```diff', '@@ -9,1 +9,1 @@', '-  return 1', '+  return 3', '```') },
    [/Applied at line 9/u],
  ),
  call('a patch that changes nothing', 'edit', { path: 'src/app.ts', patch: patch('@@ -9,1 +9,1 @@', '   return 1') }, [/chang/u]),
  call(
    'line numbers copied into a patch',
    'edit',
    { path: 'src/app.ts', patch: patch('@@ -9,1 +9,1 @@', '-     9\t  return 1', '+     9\t  return 3') },
    [/does not fit/u],
  ),
  call(
    'ellipses in a patch',
    'edit',
    {
      path: 'src/app.ts',
      patch: patch('@@ -3,4 +3,4 @@', ' export function main(args: string[]) {', ' ...', '-  console.log(sum(n))', '+  console.log(n)'),
    },
    [/does not fit|line \d+ should be/u],
  ),
  call(
    'hunks in the wrong order',
    'edit',
    {
      path: 'src/app.ts',
      patch: patch(
        '@@ -12,2 +12,2 @@',
        ' export function other() {',
        '-  return 1',
        '+  return 5',
        '@@ -3,2 +3,2 @@',
        ' export function main(args: string[]) {',
        '-  const n = args.map(Number)',
        '+  const n = args.map(parseFloat)',
      ),
    },
    [/order/u],
  ),
  call('an insertion without context', 'edit', { path: 'src/app.ts', patch: patch('@@', '+// new') }, [/line numbers/u]),
  call(
    'a rename',
    'edit',
    { path: 'src/app.ts', patch: patch('diff --git a/src/app.ts b/src/main.ts', 'rename from src/app.ts', 'rename to src/main.ts') },
    [/renames/u, /`mv`/u],
    next('bash', { cmd: 'mv', args: ['src/app.ts', 'src/main.ts'] }, /^\(no output\)$/u),
  ),
  call(
    'a file of apply_patch to add',
    'edit',
    { path: 'src/new.ts', patch: '*** Begin Patch\n*** Add File: src/new.ts\n+x\n*** End Patch' },
    [/write/u],
    next('write', { path: 'src/new.ts', content: 'x\n' }, /^ok$/u),
  ),
  call('a replacement by sed', 'edit', { path: 'src/app.ts', patch: 's/return 1/return 2/' }, [/not a unified diff/u]),
]

const searches: Row[] = [
  call('a backreference', 'grep', { pattern: '(a)\\1' }, [/backreference/u], { never: /pcre2/u }),
  call('a pattern over two lines', 'grep', { pattern: 'main.*\\n.*args' }, [/set `multiline` to true/u]),
  call('an empty class', 'grep', { pattern: '[' }, [/unclosed|class/u]),
  call('a path outside', 'grep', { pattern: 'x', path: '/etc' }, [/escapes/u, /`\/project`/u]),
  call('a flag with two dashes', 'grep', { pattern: '--ignore-case sum' }, [/takes no flags/u]),
  call('a path with ./', 'grep', { pattern: 'reduce', path: './src/' }, [/math\.ts:1:/u]),
]

const commands: Row[] = [
  call('&& among arguments', 'bash', { cmd: 'ls', args: ['src', '&&', 'pwd'] }, [/`&&` was passed to ls/u], {
    foreign: true,
    ...next('bash', sh('ls src && pwd'), /\/project/u),
  }),
  call('2>&1 among arguments', 'bash', { cmd: 'echo', args: ['hi', '2>&1'] }, [/`2>&1` was passed to echo/u]),
  call('a redirection without a space', 'bash', { cmd: 'echo', args: ['hi', '>out.txt'] }, [/`>out\.txt` was passed to echo/u]),
  call('~ among arguments', 'bash', { cmd: 'ls', args: ['~/x'] }, [/`~\/x` was passed to ls/u], { foreign: true }),
  call('export', 'bash', { cmd: 'export', args: ['A=1'] }, [/builtin of the shell/u], next('bash', sh('export A=1; echo $A'), /^1\n$/u)),
  call('a pattern for grep is no mistake', 'bash', { cmd: 'grep', args: ['-c', 'x*', 'src/app.ts'] }, [/^14\n$/u], { never: /no shell/u }),
  call('a script with a syntax error', 'bash', sh('if true; then echo'), [/Syntax error|syntax error|unexpected/u], { foreign: true }),
  call('an unset variable is empty', 'bash', sh('echo "[$NOPE]"'), [/^\[\]\n$/u]),
  call('a command that waits for an answer', 'bash', sh('read answer; echo "got $answer"'), [/got/u]),
  call('pip install', 'bash', { cmd: 'pip', args: ['install', 'requests'] }, [/`pip install`/u, /the host program can allow it/u]),
  call('yarn', 'bash', { cmd: 'yarn' }, [/`yarn`/u]),
  call('git pull in a script', 'bash', sh('git add -A && git pull'), [/git pull/u]),
  call('a clone of a directory', 'bash', { cmd: 'git', args: ['clone', '-q', '.', 'copy'] }, [/Cloning|no output|sandbox|warning/iu], {
    foreign: true,
  }),
  call('a file as a directory to run in', 'bash', { cmd: 'ls', opts: { cwd: 'package.json' } }, [/Not a directory/u]),
  call('a working directory outside', 'bash', { cmd: 'ls', opts: { cwd: '/' } }, [/escapes/u, /`\/project`/u]),
  call('an empty command', 'bash', { cmd: ' ' }, [/cmd must be a non-empty string/u]),
]

/** Mistakes beyond the survey. */
const habits: Row[] = [
  call(
    'a variable for the next call',
    'bash',
    sh('export A=1'),
    [/`export` holds for this call alone/u],
    next('bash', sh('A=1; echo "$A"'), /^1/u),
  ),
  call('an interpreter without a program', 'bash', { cmd: 'node', args: [] }, [/standard input, which is empty/u]),
  call(
    'a line as the name of a script',
    'bash',
    { cmd: 'sh', args: ['ls src'] },
    [/put "-c" in front of it/u],
    next('bash', { cmd: 'sh', args: ['-c', 'ls src'] }, /app\.ts/u),
  ),
  call(
    'a variable as the program',
    'bash',
    { cmd: 'A=1', args: ['node', '--version'] },
    [/use `env` as cmd/u],
    next('bash', { cmd: 'env', args: ['A=1', 'node', '--version'] }, /^v\d/u),
  ),
  call('a timeout of what follows a file', 'bash', { cmd: 'tail', args: ['-f', 'src/app.ts'] }, [/does not end by itself/u]),
  call(
    'a path with backslashes',
    'read',
    { path: 'src\\app.ts' },
    [/Did you mean `src\/app\.ts`/u],
    next('read', { path: 'src/app.ts' }, /main/u),
  ),
  call('a path with its lines', 'read', { path: 'src/app.ts:3-5' }, [/Did you mean `src\/app\.ts`/u]),
  call('an address as a path', 'read', { path: 'https://example.org/x' }, [/takes the path of a file/u]),
  call('a pattern as a path', 'read', { path: 'src/*.ts' }, [/the tool glob lists/u], next('glob', { pattern: 'src/*.ts' }, /app\.ts/u)),
  call('line ends as two characters', 'edit', { path: 'src/app.ts', patch: '@@ -1 +1 @@\\n-a\\n+b\\n' }, [
    /two characters where lines end/u,
  ]),
]

export const furtherMistakes: Row[] = [...paths, ...lines, ...edits, ...searches, ...commands, ...habits]

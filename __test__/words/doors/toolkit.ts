/** Mistakes with the tools of `createTools`: with glob, apply_patch and processes. */
import { sh } from '../support/row.ts'
import { type DoorMistake, row } from './mistake.ts'

const app = { path: 'src/app.ts' }
const reads = ['read', app, /export function main/u] as const
const lists = ['bash', { cmd: 'ls', args: ['src'] }, /app\.ts/u] as const
const find = ['grep', { pattern: 'main', path: 'src' }, /app\.ts:3/u] as const
const hunk = '@@ -9 +9 @@\n-  return 1\n+  return 2\n'
const edits = ['edit', { ...app, patch: hunk }, /^ok/u] as const
const patch = (...lines: string[]): object => ({ patch: ['*** Begin Patch', ...lines, '*** End Patch', ''].join('\n') })

const paths: DoorMistake[] = [
  row('$HOME', ['read', { path: '$HOME/notes.md' }], /stand for no directory\. Give a path below the root/u, reads),
  row('a tilde', ['read', { path: '~/notes.md' }], /stand for no directory/u, reads),
  row('a path of Windows', ['read', { path: 'C:\\project\\src\\app.ts' }], /Did you mean `src\/app\.ts`\?/u, reads),
  row('a file address', ['read', { path: 'file:///project/src/app.ts' }], /Did you mean `src\/app\.ts`\?/u, reads),
  row('backticks', ['read', { path: '`src/app.ts`' }], /Did you mean `src\/app\.ts`\?/u, reads),
  row('an at sign', ['read', { path: '@src/app.ts' }], /Did you mean `src\/app\.ts`\?/u, reads),
  row('a prefix of git diff', ['read', { path: 'a/src/app.ts' }], /Did you mean `src\/app\.ts`\?/u, reads),
  row('the root as /', ['read', { path: '/src/app.ts' }], [/root directory is `\/project`/u, /Did you mean `src\/app\.ts`\?/u], reads),
  row('the root as /repo', ['edit', { path: '/repo/src/app.ts', patch: hunk }], /Did you mean `src\/app\.ts`\?/u, edits),
  row('a line end', ['read', { path: 'src/app.ts\n' }], /Did you mean `src\/app\.ts`\?/u, reads),
  row('no path', ['read', { path: null }], /`path`|\/path/u, reads),
  row('a write into ~', ['write', { path: '~/a.txt', content: 'x' }], /TOOL_PATH_INVALID.*below the root/su, [
    'write',
    { path: 'a.txt', content: 'x' },
    /^ok$/u,
  ]),
  row('a write into $HOME', ['write', { path: '$HOME/a.txt', content: 'x' }], /as a shell writes it/u, [
    'write',
    { path: './~/a', content: 'x' },
    /^ok/u,
  ]),
  row(
    'a patch into ~',
    ['apply_patch', patch('*** Add File: ~/a.txt', '+x')],
    [/as a shell writes it/u, /No file was changed/u],
    ['apply_patch', patch('*** Add File: a.txt', '+x'), /A a\.txt/u],
  ),
  row('a device', ['read', { path: '/dev/stdin' }], /below the root directory/u, reads),
]

const names: DoorMistake[] = [
  row('read: file_path', ['read', { file_path: 'src/app.ts' }], /`file_path` is called `path` here/u, reads, {
    never: /missing|expected/u,
  }),
  row('read: paths', ['read', { paths: ['src/app.ts'] }], /One call takes one file: give `path`/u, reads),
  row(
    'read: start_line and end_line',
    ['read', { ...app, start_line: 3, end_line: 4 }],
    [/`start_line` is called `offset` here/u, /`limit` the number of lines/u],
    ['read', { ...app, offset: 3, limit: 2 }, /main/u],
  ),
  row('read: a number in quotes', ['read', { ...app, offset: '3' }], /give `offset` without quotes, as a number/u, [
    'read',
    { ...app, offset: 3 },
    /main/u,
  ]),
  row('read: half a line', ['read', { ...app, offset: 1.5 }], /\/offset/u, ['read', { ...app, offset: 1 }, /import/u]),
  row('write: file_text', ['write', { path: 'a', file_text: 'x' }], /`file_text` is called `content` here/u, [
    'write',
    { path: 'a', content: 'x' },
    /^ok/u,
  ]),
  row('write: an object', ['write', { path: 'a', content: { a: 1 } }], /give `content` as a text, for example the JSON/u, [
    'write',
    { path: 'a', content: '{"a":1}' },
    /^ok/u,
  ]),
  row('write: no content', ['write', { path: 'a' }], /`content` is missing/u, ['write', { path: 'a', content: '' }, /^ok/u]),
  row('write: append', ['write', { path: 'a', content: 'x', append: true }], /to add to it, use edit/u, edits),
  row('edit: old_string', ['edit', { ...app, old_string: 'a', new_string: 'b' }], /edit takes a unified diff as `patch`/u, edits),
  row('edit: diff', ['edit', { ...app, diff: hunk }], /`diff` is called `patch` here/u, edits),
  row('edit: a list', ['edit', { ...app, patch: ['-a'] }], /give `patch` one text/u, edits),
  row('grep: glob', ['grep', { pattern: 'main', glob: '*.ts' }], /Files cannot be chosen by an argument/u, find),
  row('grep: -i', ['grep', { pattern: 'MAIN', '-i': true }], /begin it with \(\?i\)/u, ['grep', { pattern: '(?i)MAIN' }, /app\.ts/u]),
  row('grep: query', ['grep', { query: 'main' }], /`query` is called `pattern` here/u, find),
  row('grep: -C', ['grep', { pattern: 'main', '-C': 1 }], /`-C` is called `context` here/u, [
    'grep',
    { pattern: 'main', context: 1 },
    /app\.ts-2-/u,
  ]),
  row('grep: output_mode', ['grep', { pattern: 'main', output_mode: 'files_with_matches' }], /Set `files` for the names/u, [
    'grep',
    { pattern: 'main', files: true },
    /^src\/app\.ts$/mu,
  ]),
  row('grep: a context in quotes', ['grep', { pattern: 'main', context: '2' }], /give `context` without quotes/u, [
    'grep',
    { pattern: 'main', context: 2 },
    /app/u,
  ]),
  row('grep: several paths', ['grep', { pattern: 'main', path: ['src'] }], /give `path` one text/u, find),
  row('bash: command', ['bash', { command: 'ls src' }], [/Give the program as `cmd`/u, /`args`/u], ['bash', sh('ls src'), /app\.ts/u]),
  row(
    'bash: cwd',
    ['bash', { cmd: 'ls', cwd: 'src' }],
    /The directory is `opts\.cwd`/u,
    ['bash', { cmd: 'ls', opts: { cwd: 'src' } }, /app\.ts/u],
    {
      never: /Did you mean `cmd`/u,
    },
  ),
  row('bash: timeout', ['bash', { cmd: 'ls', timeout: 60 }], /The host sets the time limit: leave it out|leave `timeout` out/u, [
    'bash',
    { cmd: 'ls' },
    /src/u,
  ]),
  row('bash: a timeout in opts', ['bash', { cmd: 'ls', opts: { timeout: 60 } }], /`\/opts` takes `cwd`/u, [
    'bash',
    { cmd: 'ls', opts: {} },
    /src/u,
  ]),
  row('bash: args as text', ['bash', { cmd: 'ls', args: '-a src' }], /give `args` the array itself/u, lists),
  row('bash: numbers', ['bash', { cmd: 'echo', args: [1] }], /\/args\/0: .*is invalid/u, ['bash', { cmd: 'echo', args: ['1'] }, /^1$/mu]),
  row('bash: run_in_background', ['bash', { cmd: 'ls', run_in_background: true }], /start with process_start what is to go on/u, [
    'bash',
    { cmd: 'ls' },
    /src/u,
  ]),
  row('apply_patch: input', ['apply_patch', { input: '' }], /`input` is called `patch` here/u, [
    'apply_patch',
    patch('*** Delete File: empty.txt'),
    /D empty\.txt/u,
  ]),
  row('process_read: a number', ['process_read', { process_id: 1 }], /give `process_id` in quotes, as a text/u),
  row('process_start: cmd', ['process_start', { cmd: 'ls' }], /`cmd` is called `command` here/u, [
    'process_start',
    { command: 'ls' },
    /app|src/u,
  ]),
  row('process_stop: pid', ['process_stop', { pid: 1 }], /`pid` is called `process_id` here/u),
  row('glob: nothing', ['glob', { pattern: '' }], /\/pattern is empty/u, ['glob', { pattern: '*.ts' }, /app\.ts/u]),
]

const searches: DoorMistake[] = [
  row('an empty pattern', ['grep', { pattern: '' }], /pattern is empty: give a text to look for, or list files with glob/u, [
    'glob',
    { pattern: '**' },
    /app\.ts/u,
  ]),
  row('quotes around a pattern', ['grep', { pattern: '"function main"' }], /the quotes around .* search for `function main`/u, [
    'grep',
    { pattern: 'function main' },
    /app/u,
  ]),
  row('slashes around a pattern', ['grep', { pattern: '/main/i' }], /the slashes around .* search for `main`/u, find),
  row('a glob as a pattern', ['grep', { pattern: '*.ts' }], /no glob: `\.\*` stands for any text/u, [
    'grep',
    { pattern: '.*sum' },
    /math\.ts/u,
  ]),
  row('an open brace', ['grep', { pattern: 'import {' }], /put a backslash before each of/u, [
    'grep',
    { pattern: 'import \\{' },
    /app\.ts:1/u,
  ]),
  row('empty brackets', ['grep', { pattern: 'number[]' }], /put a backslash before each of/u, [
    'grep',
    { pattern: 'number\\[\\]' },
    /math\.ts:1/u,
  ]),
  row('another case', ['grep', { pattern: 'MAIN', path: 'src' }], /\(\?i\)/u, ['grep', { pattern: '(?i)MAIN', path: 'src' }, /app\.ts:3/u]),
  row('what is ignored', ['grep', { pattern: 'ignoredword' }], /not searched: .*`dist` \(ignored\)/u, [
    'grep',
    { pattern: 'ignoredword', path: 'dist' },
    /dist\/o\.js:1/u,
  ]),
  row('a binary file', ['grep', { pattern: 'IHDR', path: 'img.png' }], /binary file matches/u, undefined, { never: /no matches/u }),
  row('a directory as a glob', ['glob', { pattern: 'src/' }], /give `src\/\*\*`/u, ['glob', { pattern: 'src/**' }, /app\.ts/u]),
  row('an open group of a glob', ['glob', { pattern: '*.{ts' }], /missing '\}'/u, ['glob', { pattern: '*.{ts,js}' }, /app\.ts/u]),
  row('letters of a glob', ['glob', { pattern: 'SRC/*.TS' }], /the case of letters counts; give `src\/app\.ts`/u, [
    'glob',
    { pattern: 'src/app.ts' },
    /app/u,
  ]),
  row('a text of a file as a glob', ['glob', { pattern: 'sum' }], /the pattern `\*\*` lists all/u, ['glob', { pattern: '**' }, /app\.ts/u]),
  row('a directory that is missing', ['glob', { pattern: '*', path: 'nope' }], /leave it out to search everything/u, [
    'glob',
    { pattern: '*' },
    /app/u,
  ]),
]

const commands: DoorMistake[] = [
  row('quotes for find', ['bash', { cmd: 'find', args: ['src', '-name', '"*.ts"'] }], /`"\*\.ts"` was passed to find with its quotes/u, [
    'bash',
    sh('find src -name "*.ts"'),
    /app\.ts/u,
  ]),
  row('quotes for grep', ['bash', { cmd: 'grep', args: ['-r', "'sum'", 'src'] }], /`'sum'` was passed to grep with its quotes/u, [
    'bash',
    sh("grep -r 'sum' src"),
    /math/u,
  ]),
  row('words after the line', ['bash', { cmd: 'sh', args: ['-c', 'ls', 'src'] }], /ran `ls` alone: write the whole line .*"ls src"/u, [
    'bash',
    sh('ls src'),
    /app\.ts/u,
  ]),
  row(
    'a here-document in args',
    ['bash', { cmd: 'cat', args: ['<<EOF', 'hi', 'EOF'] }],
    /`<<EOF` was passed to cat as it is/u,
    ['bash', sh('cat <<EOF\nhi\nEOF'), /^hi$/mu],
    {
      foreign: true,
    },
  ),
  row('nohup', ['bash', sh('nohup sleep 60 > out.log 2>&1 &')], /Start with process_start what is to go on/u, [
    'process_start',
    { command: 'sleep 60' },
    /"running":true/u,
  ]),
  row(
    'a server',
    ['bash', sh('node -e \'require("http").createServer().listen(4321,()=>console.log("ready"))\'')],
    [/listened at port 4321/u, /start it with process_start/u],
    ['process_start', { command: 'node -e \'require("http").createServer().listen(4322,()=>console.log("ready"))\'' }, /ready/u],
  ),
  row('an editor', ['bash', { cmd: 'vim', args: ['src/app.ts'] }], /`vim` waits for keys|no such program/u, edits, { foreign: true }),
  row('sudo', ['bash', { cmd: 'sudo', args: ['ls'] }], /make the first of args the cmd|src|sudo/u, ['bash', { cmd: 'ls' }, /src/u], {
    foreign: true,
  }),
  row('sudo in a line', ['bash', sh('no-such-sudo ls; sudo ls')], /sudo|src/u, ['bash', sh('ls'), /src/u], { foreign: true }),
  row('a code fence', ['bash', sh('```bash\nls src\n```')], /send it without the fence/u, ['bash', sh('ls src'), /app\.ts/u], {
    foreign: true,
  }),
  row('a prompt', ['bash', sh('$ ls src')], /begins with the prompt `\$`: send `ls src`/u, ['bash', sh('ls src'), /app\.ts/u], {
    foreign: true,
  }),
  row('quotes around a program', ['bash', { cmd: '"ls"' }], /`cmd` is one program without arguments/u, ['bash', { cmd: 'ls' }, /src/u]),
  row(
    'git commit',
    ['bash', sh('git add -A && git commit')],
    /git commit and git tag take -m TEXT/u,
    ['bash', sh('git add src && git commit -qm x && git log --oneline'), / x$/mu],
    {
      foreign: true,
    },
  ),
  row('cd in a line', ['bash', sh('cd src')], /`cd` holds for this call alone/u, ['bash', sh('cd src && ls'), /app\.ts/u]),
  row('a secret', ['bash', sh('echo "[$GITHUB_TOKEN]"')], /is set on the host and kept from commands/u),
  row('a remote machine', ['bash', { cmd: 'ssh', args: ['host.test', 'ls'] }], /the network is blocked|no such program/u, undefined, {
    foreign: true,
  }),
  row('a pattern for rm', ['bash', { cmd: 'rm', args: ['-f', '*.log'] }], /`\*\.log` was passed to rm as it is/u, [
    'bash',
    sh('rm -f *.log && ls'),
    /package\.json/u,
  ]),
]

const patches: DoorMistake[] = [
  row(
    'nothing in it',
    ['apply_patch', patch()],
    [/has no file section/u, /No file was changed/u],
    ['apply_patch', patch('*** Add File: n.ts', '+x'), /A n\.ts/u],
  ),
  row('a file that is not there', ['apply_patch', patch('*** Update File: src/ap.ts', '@@', '-a', '+b')], /Did you mean `src\/app\.ts`\?/u),
  row('a removal of what is not there', ['apply_patch', patch('*** Delete File: nope.md')], /File not found: `nope\.md`/u),
  row('no end', ['apply_patch', { patch: '*** Begin Patch\n*** Add File: n.ts\n+x\n' }], /has no last line `\*\*\* End Patch`/u, [
    'apply_patch',
    patch('*** Add File: n.ts', '+x'),
    /A n\.ts/u,
  ]),
  row('a new file without +', ['apply_patch', patch('*** Add File: n.ts', 'export {}')], /Begin every line of a new file with `\+`/u, [
    'apply_patch',
    patch('*** Add File: n.ts', '+export {}'),
    /A n\.ts/u,
  ]),
  row('a file that is there', ['apply_patch', patch('*** Add File: src/math.ts', '+x')], /replaced a file of 1 line/u),
  row('escaped quotes', ['edit', { ...app, patch: "@@ -1 +1 @@\n-import { sum } from \\'./math.ts\\'\n+x\n" }], /line 1 should be/u, [
    'read',
    { ...app, limit: 1 },
    /'\.\/math\.ts'/u,
  ]),
  row('an empty file', ['edit', { path: 'empty.txt', patch: '@@ -1 +1 @@\n-a\n+b\n' }], /the file is empty/u, [
    'edit',
    { path: 'empty.txt', patch: '@@ -0,0 +1 @@\n+b\n' },
    /^ok/u,
  ]),
  row('an id that there is not', ['process_read', { process_id: 'p9' }], /Start one with process_start/u, [
    'process_start',
    { command: 'echo hi' },
    /hi/u,
  ]),
  row('a background process of a process', ['process_start', { command: 'sleep 60 &' }], /program that it had started was stopped/u, [
    'process_start',
    { command: 'sleep 60' },
    /"running":true/u,
  ]),
  row('a whole file is emptied', ['write', { ...app, content: '' }], /held 14 lines, 206 bytes, and had not been read/u),
]

export const toolkit: DoorMistake[] = [...paths, ...names, ...searches, ...commands, ...patches]

/** Mistakes with the tools of a contract session, processes among them. */
import { type DoorMistake, row } from './mistake.ts'

const app = { path: 'src/app.ts' }
const line = (command: string, more: object = {}): object => ({ command, ...more })
const reads = ['read', app, /export function main/u] as const
const lists = ['bash', line('ls src'), /app\.ts/u] as const
const old = '  const n = args.map(Number)'
const edits = ['edit', { ...app, old_string: old, new_string: 'x' }, /"replacements":1/u] as const
const serve = 'node -e \'require("http").createServer().listen(4321,()=>console.log("ready"))\''

const paths: DoorMistake[] = [
  row('$HOME', ['read', { path: '$HOME/notes.md' }], /stand for no directory\. Give a path in the workspace/u, reads),
  row('a path of Windows', ['read', { path: 'C:\\project\\src\\app.ts' }], /Did you mean `src\/app\.ts`\?/u, reads),
  row('a name of Windows that is not there', ['read', { path: 'src\\none.ts' }], /the pattern `none\.ts`/u, [
    'glob',
    { pattern: '*.ts' },
    /app\.ts/u,
  ]),
  row('quotes', ['read', { path: "'src/app.ts'" }], /Did you mean `src\/app\.ts`\?/u, reads),
  row('a prefix of git diff', ['read', { path: 'b/src/app.ts' }], /Did you mean `src\/app\.ts`\?/u, reads),
  row('the workspace as /', ['read', { path: '/src/app.ts' }], /Use a path that is granted, most often one in the workspace/u, reads),
  row('no path', ['read', { path: null }], /\/path: .*Expected \\"string\\"/u, reads),
  row('no arguments', ['read', {}], /`path` is missing/u, reads),
  row('a write into ~', ['write', { path: '~/a.txt', content: 'x' }], /as a shell writes it/u, [
    'write',
    { path: 'a.txt', content: 'x' },
    /"created":true/u,
  ]),
  row('a write of all', ['write', { ...app, content: '' }], /held 14 lines, 206 bytes, and had not been read/u),
  row('a file by web_fetch', ['web_fetch', { url: 'file:///etc/passwd' }], /Only http: and https: can be fetched/u),
  row('half an address', ['web_fetch', { url: 'example.com' }], /Write it whole, for example https/u),
  row('this machine', ['web_fetch', { url: 'http://localhost:4321/' }], /have to be granted by name/u),
]

const changes: DoorMistake[] = [
  row('entities', ['edit', { path: 'src/math.ts', old_string: '=&gt; xs', new_string: 'x' }], /such as < for &lt;/u, [
    'edit',
    { path: 'src/math.ts', old_string: '=> xs', new_string: 'x' },
    /"replacements":1/u,
  ]),
  row('\\n as two characters', ['edit', { ...app, old_string: `${old}\\n  console`, new_string: 'y' }], /a line end for \\\\n/u, edits),
  row('line numbers', ['edit', { ...app, old_string: `4\t${old}`, new_string: 'y' }], /at line 4 without the numbers in front/u, edits),
  row('a regular expression', ['edit', { ...app, old_string: 'args\\.map', new_string: 'y' }], /copy the text exactly/u, edits),
  row(
    'an ellipsis',
    ['edit', { ...app, old_string: 'export function main(args: string[]) {\n...\n}', new_string: 'y' }],
    /expected \\"\.\.\.\\", found/u,
    edits,
  ),
  row('other quotes', ['edit', { ...app, old_string: 'import { sum } from "./math.ts"', new_string: 'y' }], /near line 1/u, edits),
  row(
    'a change that is made',
    ['edit', { ...app, old_string: 'args.map(parseInt)', new_string: 'args.map(Number)' }],
    /new_string is at line 4 already/u,
    reads,
  ),
  row('a picture', ['edit', { path: 'img.png', old_string: 'a', new_string: 'b' }], /Binary file \(16 bytes\)/u, [
    'bash',
    line('od -c img.png'),
    /P {3}N {3}G/u,
  ]),
  row('no new_string', ['edit', { ...app, old_string: old }], /`new_string` is missing/u, [
    'edit',
    { ...app, old_string: old, new_string: '' },
    /"replacements":1/u,
  ]),
  row('new_string null', ['edit', { ...app, old_string: old, new_string: null }], /\/new_string: .*Expected/u, edits),
]

const searches: DoorMistake[] = [
  row('quotes around a pattern', ['grep', { pattern: '"main"' }], /The quotes around|the quotes around/u, [
    'grep',
    { pattern: 'main' },
    /"line":3/u,
  ]),
  row('slashes around a pattern', ['grep', { pattern: '/sum/' }], /search for `sum`/u, ['grep', { pattern: 'sum' }, /math\.ts/u]),
  row('another case', ['grep', { pattern: 'MAIN' }], /in another case it is there: `\(\?i\)MAIN`/u, [
    'grep',
    { pattern: '(?i)MAIN' },
    /"line":3/u,
  ]),
  row('what is ignored', ['grep', { pattern: 'ignoredword' }], /`dist` \(ignored\)/u, [
    'grep',
    { pattern: 'ignoredword', path: 'dist' },
    /dist\/o\.js/u,
  ]),
  row('a binary file', ['grep', { pattern: 'IHDR', path: 'img.png' }], /none is looked for in a binary one/u, [
    'bash',
    line('grep -c IHDR img.png'),
    /1\\n/u,
  ]),
  row('a glob that no file has', ['grep', { pattern: 'sum', glob: '*.py' }], /none matches the `glob` `\*\.py`; leave it out/u, [
    'grep',
    { pattern: 'sum' },
    /math/u,
  ]),
  row('a directory as glob', ['grep', { pattern: 'sum', glob: 'src' }], /give `src\/\*\*`/u, [
    'grep',
    { pattern: 'sum', glob: 'src/**' },
    /math/u,
  ]),
  row('nothing to look for', ['grep', { pattern: '' }], /\/pattern is empty/u, ['grep', { pattern: 'sum' }, /math/u]),
  row('an ending as a glob', ['glob', { pattern: '.ts' }], /`\*\.ts\*` finds `src\/app\.ts`/u, ['glob', { pattern: '*.ts*' }, /app\.ts/u]),
  row('what is ignored by glob', ['glob', { pattern: 'dist/**' }], /give `dist` as `path`/u, [
    'glob',
    { pattern: '**', path: 'dist' },
    /dist\/o\.js/u,
  ]),
  row(
    'too many lines',
    ['grep', { pattern: 'line' }],
    /30000 matches are shown\. All of it is in/u,
    ['grep', { pattern: 'line 29999' }, /big\.log/u],
    { foreign: true },
  ),
]

const commands: DoorMistake[] = [
  row(
    'a timeout in seconds',
    ['bash', line('sleep 1; echo done', { timeout_ms: 5 })],
    /stopped after 5 ms: timeout_ms counts milliseconds/u,
    ['bash', line('sleep 0.1; echo done', { timeout_ms: 5_000 }), /done/u],
  ),
  row('too little time', ['bash', line('sleep 3', { timeout_ms: 1_200 })], /"timed_out":true.*"option":"timeout_ms"/u, [
    'bash',
    line('sleep 1.3', { timeout_ms: 5_000 }),
    /"timed_out":false/u,
  ]),
  row('a time as text', ['bash', line('true', { timeout_ms: '60s' })], /give `timeout_ms` without quotes/u, [
    'bash',
    line('true', { timeout_ms: 60_000 }),
    /"exit_code":0/u,
  ]),
  row('a day of time', ['bash', line('true', { timeout_ms: 99_999_999 })], /greater than 3600000/u, [
    'bash',
    line('true', { timeout_ms: 3_600_000 }),
    /"exit_code":0/u,
  ]),
  row(
    'a server',
    ['bash', line(serve, { timeout_ms: 2_500 })],
    [/listened at port 4321/u, /start it with process_start/u],
    ['process_start', line(serve), /ready/u],
    { never: /with `&`/u },
  ),
  row('nohup', ['bash', line('nohup sleep 60 > out.log 2>&1 &')], /Start with process_start/u, [
    'process_start',
    line('sleep 60'),
    /"running":true/u,
  ]),
  row('an editor', ['bash', line('vim src/app.ts', { timeout_ms: 1_500 })], /`vim` waits for keys|command not found/u, edits, {
    foreign: true,
  }),
  row(
    'a watcher',
    ['bash', line('tail -f big.log', { timeout_ms: 1_000 })],
    /`tail -f` does not end by itself/u,
    ['bash', line('tail -n 1 big.log'), /29999/u],
    { foreign: true },
  ),
  row(
    'git commit',
    ['bash', line('git add -A; git commit')],
    /take -m TEXT/u,
    ['bash', line('git add src && git commit -qm x && git log --oneline'), / x/u],
    { foreign: true },
  ),
  row('a question', ['bash', line('cat')], /standard input, which is empty/u, ['bash', line('cat src/math.ts'), /sum/u]),
  row('an open interpreter', ['bash', line('python3')], /pass the program with `-c`|command not found/u, undefined, { foreign: true }),
  row('a code fence', ['bash', line('```bash\nls src\n```')], /send it without the fence/u, lists, { foreign: true }),
  row('a prompt', ['bash', line('$ ls src')], /begins with the prompt `\$`: send `ls src`/u, lists, { foreign: true }),
  row('sudo', ['bash', line('sudo ls src')], /run `ls src` without it|app\.ts|sudo/u, lists, { foreign: true }),
  row('a secret', ['bash', line('printenv GITHUB_TOKEN')], /kept from commands/u),
  row('a patch by the shell', ['bash', line("apply_patch <<'EOF'\n*** Begin Patch\n*** End Patch\nEOF")], /has no file section/u, [
    'bash',
    line("apply_patch <<'EOF'\n*** Begin Patch\n*** Add File: n.ts\n+x\n*** End Patch\nEOF"),
    /A n\.ts/u,
  ]),
  row(
    'the system directory',
    ['bash', line('echo x > /usr/x')],
    /only the root directory and the temporary directory can be written/u,
    ['bash', line('echo x > x.txt'), /"exit_code":0/u],
    {
      foreign: true,
    },
  ),
  row(
    'a long output',
    ['bash', line('seq 1 100000')],
    /bytes of the output are left out between head and tail\. All of it is in/u,
    ['bash', line('seq 1 100000 | tail -n 1'), /100000/u],
    {
      foreign: true,
    },
  ),
  row('export', ['bash', line('export A=1')], /`export` holds for this call alone/u, ['bash', line('A=1; echo "$A"'), /1\\n/u]),
]

const processes: DoorMistake[] = [
  row('an id by number', ['process_read', { process_id: 1 }], /give `process_id` in quotes, as a text/u),
  row('an id that there is not', ['process_read', { process_id: 'p7' }], /No process runs\. Start one with process_start/u, [
    'process_start',
    line('echo hi'),
    /hi/u,
  ]),
  row('a pid', ['process_stop', { pid: 4242 }], /`pid` is called `process_id` here/u),
  row('cmd', ['process_start', { cmd: 'echo hi' }], /`cmd` is called `command` here/u, ['process_start', line('echo hi'), /hi/u], {
    never: /missing/u,
  }),
  row('a time limit', ['process_start', line('echo hi', { timeout_ms: 500 })], /A process has no time limit/u, [
    'process_start',
    line('echo hi', { wait_ms: 500 }),
    /hi/u,
  ]),
  row('a name', ['process_start', line('echo hi', { name: 'x' })], /`name` is called `description` here/u, [
    'process_start',
    line('echo hi', { description: 'x' }),
    /hi/u,
  ]),
  row('input', ['process_write', { process_id: 'p1', input: 'y' }], /`input` is called `text` here/u),
  row('a background command', ['process_start', line('sleep 60 &')], /program that it had started was stopped/u, [
    'process_start',
    line('sleep 60'),
    /"running":true/u,
  ]),
]

const others: DoorMistake[] = [
  row(
    'Read',
    ['Read', { file_path: 'x' }],
    /There is no tool Read\. Did you mean `read`\? The tools of this session are: read, write/u,
    reads,
  ),
  row('list_dir', ['list_dir', { path: 'src' }], /are: read, write, edit, glob/u, ['glob', { pattern: 'src/*' }, /app\.ts/u]),
  row('run_command', ['run_command', { command: 'ls' }], /bash/u, lists),
  row('apply_patch', ['apply_patch', { patch: '' }], /There is no tool apply_patch.*edit/u, edits),
  row('parallel calls', ['multi_tool_use.parallel', { tool_uses: [] }], /There is no tool multi_tool_use\.parallel/u, reads),
  row('todos as texts', ['todo', { todos: ['a'] }], /give an object with `content` and `status`/u, [
    'todo',
    { todos: [{ content: 'a', status: 'pending' }] },
    /"count":1/u,
  ]),
  row('no question', ['question', { questions: [] }], /too few items/u),
  row('a skill', ['skill', { name: 'pdf' }], /There are none in this session/u),
  row('a search', ['web_search', { query: 'x' }], /Go on without/u),
]

export const session: DoorMistake[] = [...paths, ...changes, ...searches, ...commands, ...processes, ...others]

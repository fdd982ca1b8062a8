/** Mistakes with providers' tools, a sandbox session, a thread of Standard Agents and the MCP server. */
import { type DoorMistake, row } from './mistake.ts'

const line = (command: string, more: object = {}): object => ({ command, ...more })
const editor = (command: string, more: object): readonly [string, object] => ['str_replace_based_edit_tool', { command, ...more }]
const app = { path: 'src/app.ts' }
const view = [...editor('view', app), /export function main/u] as const
const serve = 'node -e \'require("http").createServer().listen(4321,()=>console.log("ready"))\''

const anthropic: DoorMistake[] = [
  row('bash: nothing', ['bash', {}], /no command provided/u, ['bash', line('ls src'), /app\.ts/u]),
  row(
    'bash: in the background',
    ['bash', line('sleep 60 &')],
    /nothing runs on after its call/u,
    ['bash', line('echo a & wait'), /a\\n/u],
    { never: /process_start/u },
  ),
  row(
    'bash: a server',
    ['bash', line(serve)],
    [/killed after 3000 ms/u, /start it with `&` in the command line that uses it/u],
    ['bash', line(`${serve} & sleep 1; curl -s -o /dev/null -w '%{http_code}' --max-time 1 http://localhost:4321/ || true`), /ready/u],
    { never: /process_start/u },
  ),
  row('bash: a secret', ['bash', line('printenv GITHUB_TOKEN')], /kept from commands/u),
  row('bash: the network', ['bash', line('curl https://example.com')], /Work with what is on this machine/u),
  row('bash: the system directory', ['bash', line('echo x > /usr/x')], /only the root directory and the temporary directory/u, [
    'bash',
    line('echo x > x.txt; cat x.txt'),
    /x\\n/u,
  ]),
  row('editor: a name that is nearly there', editor('view', { path: 'src/ap.ts' }), /does not exist\. Please provide a valid path/u, view),
  row(
    'editor: the root as /repo',
    editor('view', { path: '/repo/src/app.ts' }),
    [/The root directory is/u, /Did you mean `src\/app\.ts`\?/u],
    view,
  ),
  row('editor: a range as text', editor('view', { ...app, view_range: '1,2' }), /a list of two integers/u, [
    ...editor('view', { ...app, view_range: [1, 2] }),
    /import/u,
  ]),
  row('editor: old_string', editor('str_replace', { ...app, old_string: 'a', new_string: 'b' }), /`old_str` is required/u, [
    ...editor('str_replace', { ...app, old_str: 'args.map(Number)', new_str: 'b' }),
    /has been edited/u,
  ]),
  row('editor: content', editor('create', { path: 'n.ts', content: 'x' }), /`file_text` is required/u, [
    ...editor('create', { path: 'n.ts', file_text: 'x' }),
    /created/u,
  ]),
  row('editor: write', editor('write', { path: 'n.ts', file_text: 'x' }), /allowed commands .* are: view, create, str_replace, insert/u, [
    ...editor('create', { path: 'n.ts', file_text: 'x' }),
    /created/u,
  ]),
  row('editor: two places', editor('str_replace', { ...app, old_str: '  return 1', new_str: 'x' }), /in lines \[9, 13\]/u, [
    ...editor('str_replace', { ...app, old_str: 'helper() {\n  return 1', new_str: 'x' }),
    /edited/u,
  ]),
  row('editor: ~', editor('create', { path: '~/a.txt', file_text: 'x' }), /as a shell writes it/u, [
    ...editor('create', { path: 'a.txt', file_text: 'x' }),
    /created/u,
  ]),
  row('editor: a line that there is not', editor('insert', { ...app, insert_line: 99, insert_text: 'x' }), /\[0, 15\]/u, [
    ...editor('insert', { ...app, insert_line: 15, insert_text: 'x' }),
    /edited/u,
  ]),
  row('editor: nulls', editor('view', { ...app, view_range: null, old_str: null }), /export function main/u),
  row(
    'memory: rename with path',
    ['memory', { command: 'rename', path: '/memories/a', new_path: '/memories/b' }],
    /`old_path` is required for command: rename/u,
    ['memory', { command: 'create', path: '/memories/a', file_text: 'x' }, /created/u],
  ),
  row('memory: another place', ['memory', { command: 'view', path: 'notes.md' }], /must start with \/memories/u, [
    'memory',
    { command: 'view', path: '/memories' },
    /\/memories/u,
  ]),
  row(
    'memory: content',
    ['memory', { command: 'create', path: '/memories/a', content: 'x' }],
    /`file_text` is required for command: create/u,
    ['memory', { command: 'create', path: '/memories/a', file_text: 'x' }, /created/u],
  ),
]

const openai: DoorMistake[] = [
  row('shell: one text', ['shell', { commands: 'ls' }], /an array of command lines/u, ['shell', { commands: ['ls src'] }, /app\.ts/u]),
  row(
    'shell: words of one command',
    ['shell', { commands: ['bash', '-lc', 'ls src'] }],
    /pass the program with `-c`/u,
    ['shell', { commands: ["bash -c 'ls src'"] }, /app\.ts/u],
    {
      foreign: true,
    },
  ),
  row('shell: cd', ['shell', { commands: ['cd src', 'ls'] }], /`cd` holds for this call alone/u, [
    'shell',
    { commands: ['cd src && ls'] },
    /app\.ts/u,
  ]),
  row(
    'shell: a timeout in seconds',
    ['shell', { commands: ['sleep 1'], timeoutMs: 5 }],
    /stopped after 5 ms: the timeout counts milliseconds/u,
    ['shell', { commands: ['sleep 0.1'], timeoutMs: 2_000 }, /"exitCode":0/u],
  ),
  row(
    'local_shell: a line',
    ['local_shell', { type: 'exec', command: ['ls src'], env: {} }],
    /a line for the shell is/u,
    ['local_shell', { type: 'exec', command: ['sh', '-c', 'ls src'], env: {} }, /app\.ts/u],
    { never: /`cmd`|`args`/u },
  ),
  row('local_shell: cd', ['local_shell', { type: 'exec', command: ['cd', 'src'], env: {} }], /a line for the shell is/u, [
    'local_shell',
    { type: 'exec', command: ['sh', '-c', 'cd src && ls'], env: {} },
    /app\.ts/u,
  ]),
  row(
    'local_shell: a pipe',
    ['local_shell', { type: 'exec', command: ['cat', 'src/app.ts', '|', 'wc'], env: {} }],
    /`\|` was passed to cat as it is/u,
    ['local_shell', { type: 'exec', command: ['sh', '-c', 'cat src/app.ts | wc -l'], env: {} }, /14/u],
    { foreign: true, never: /args \[/u },
  ),
  row(
    'local_shell: a directory',
    ['local_shell', { type: 'exec', command: ['ls'], env: {}, workingDirectory: 'nope' }],
    /`working_directory`, or leave it out/u,
    ['local_shell', { type: 'exec', command: ['ls'], env: {} }, /src/u],
    { never: /opts\.cwd/u },
  ),
  row('local_shell: one text', ['local_shell', { type: 'exec', command: 'ls src', env: {} }], /must hold a program and its arguments/u, [
    'local_shell',
    { type: 'exec', command: ['ls', 'src'], env: {} },
    /app\.ts/u,
  ]),
  row(
    'apply_patch: a removal of what is not there',
    ['apply_patch', { type: 'delete_file', path: 'nope.md' }],
    /There is nothing to delete/u,
    undefined,
    { never: /write tool/u },
  ),
  row(
    'apply_patch: a file that is not there',
    ['apply_patch', { type: 'update_file', path: 'src/ap.ts', diff: '@@\n-a\n+b\n' }],
    /Did you mean `src\/app\.ts`\?/u,
    ['apply_patch', { type: 'update_file', path: 'src/app.ts', diff: '@@\n-  console.log(sum(n))\n+b\n' }, /M src\/app\.ts/u],
    { never: /write tool/u },
  ),
  row(
    'apply_patch: a whole file',
    ['apply_patch', { type: 'update_file', path: 'src/math.ts', diff: 'export {}\n' }],
    /every further hunk with a line `@@`/u,
  ),
  row(
    'apply_patch: the envelope',
    ['apply_patch', { type: 'update_file', ...app, diff: '*** Begin Patch\n*** Update File: src/app.ts\n*** End Patch' }],
    /Send only the hunks of this file/u,
    ['apply_patch', { type: 'update_file', path: 'src/app.ts', diff: '@@\n-  console.log(sum(n))\n+b\n' }, /M src\/app\.ts/u],
  ),
  row(
    'apply_patch: a new file without +',
    ['apply_patch', { type: 'create_file', path: 'n.ts', diff: 'export {}\n' }],
    /Begin every line of a new file with `\+`/u,
    ['apply_patch', { type: 'create_file', path: 'n.ts', diff: '+export {}\n' }, /A n\.ts/u],
  ),
  row(
    'apply_patch: a file that is there',
    ['apply_patch', { type: 'create_file', path: 'src/math.ts', diff: '+x\n' }],
    /Change it with update_file/u,
  ),
  row('apply_patch: edit_file', ['apply_patch', { type: 'edit_file', ...app, diff: '' }], /one of create_file, update_file, delete_file/u),
  row('exec_command: command', ['exec_command', line('ls')], /`command` is called `cmd` here/u, [
    'exec_command',
    { cmd: 'ls src' },
    /app\.ts/u,
  ]),
  row('exec_command: a list', ['exec_command', { cmd: ['ls', 'src'] }], /cmd must be a string/u, [
    'exec_command',
    { cmd: 'ls src' },
    /app\.ts/u,
  ]),
  row(
    'exec_command: a directory',
    ['exec_command', { cmd: 'ls', workdir: 'nope' }],
    /`workdir`, or leave it out/u,
    ['exec_command', { cmd: 'ls' }, /src/u],
    { never: /opts\.cwd/u },
  ),
  row(
    'write_stdin: a session that there is not',
    ['write_stdin', { session_id: 12, chars: 'x' }],
    /Start the command again with exec_command/u,
    ['exec_command', { cmd: 'ls src' }, /app/u],
  ),
  row('write_stdin: a session as text', ['write_stdin', { session_id: '1', chars: 'x' }], /must be a whole number/u),
]

/** Its caller is a program, most often one that shows a model what it gets. */
const sandbox: DoorMistake[] = [
  row('a list', ['run', { command: ['ls'] }], /command must be a string/u, ['run', line('ls src'), /app\.ts/u]),
  row('cwd', ['run', line('ls', { cwd: 'src' })], /there are command, workingDirectory/u, [
    'run',
    line('ls', { workingDirectory: 'src' }),
    /app\.ts/u,
  ]),
  row(
    'a directory that is not there',
    ['run', line('ls', { workingDirectory: 'nope' })],
    /Give the path of a directory as workingDirectory, or leave it out/u,
    ['run', line('ls'), /src/u],
  ),
  row('a directory as a file', ['readTextFile', { path: 'src' }], /Name a file inside it/u, ['readTextFile', app, /main/u]),
  row('offset', ['readTextFile', { ...app, offset: 1 }], /startLine, endLine/u, [
    'readTextFile',
    { ...app, startLine: 3, endLine: 3 },
    /main/u,
  ]),
  row('an object', ['writeTextFile', { path: 'a', content: {} }], /content must be a string/u, [
    'writeTextFile',
    { path: 'a', content: '{}' },
    /./u,
  ]),
  row('text', ['writeTextFile', { path: 'a', text: 'x' }], /there are path, abortSignal, content/u, [
    'writeTextFile',
    { path: 'a', content: 'x' },
    /./u,
  ]),
  row('~', ['writeTextFile', { path: '~/a', content: 'x' }], /as a shell writes it/u, ['writeTextFile', { path: 'a', content: 'x' }, /./u]),
  row('a removal of a directory', ['deleteFile', { path: 'src' }], /is a directory/u),
  row('a removal of nothing', ['deleteFile', { path: '' }], /must be a non-empty string/u),
  row('a list of a file', ['listDirectory', { path: 'package.json' }], /Not a directory/u, ['listDirectory', { path: 'src' }, /app\.ts/u]),
]

const order = ['order', { article: 'tea', count: 1 }, /1 of tea/u] as const
const agents: DoorMistake[] = [
  row('an argument is missing', ['order', { article: 'tea' }], /\[count\]/u, order),
  row('another name', ['order', { item: 'tea', count: 1 }], /\[article\]/u, order),
  row('a number in quotes', ['order', { article: 'tea', count: '1' }], /\[count\] Invalid input: expected number/u, order),
  row('nothing for what is optional', ['order', { article: 'tea', count: 1, gift: null }], /1 of tea/u),
  row('nothing for what is needed', ['order', { article: null, count: 1 }], /\[article\]/u, order),
  row('too few', ['order', { article: 'tea', count: 0 }], />=1/u, order),
  row('another tool', ['orders', { article: 'tea' }], /Available tools: order/u, order),
]

const mcpRead = ['read', app, /export function main/u] as const
const mcp: DoorMistake[] = [
  row('file_path', ['read', { file_path: 'src/app.ts' }], /`file_path` is called `path` here/u, mcpRead),
  row('nulls', ['read', { ...app, offset: null, limit: null }], /export function main/u),
  row('~', ['read', { path: '~/x' }], /stand for no directory/u, mcpRead),
  row('a file outside', ['read', { path: '/etc/passwd' }], /most often one in the workspace/u, mcpRead),
  row('cd', ['bash', line('cd src')], /`cd` holds for this call alone/u, ['bash', line('cd src && ls'), /app\.ts/u]),
  row(
    'a server',
    ['bash', line(serve, { timeout_ms: 2_500 })],
    /start it with `&` in the command line/u,
    ['bash', line(`(${serve}) & sleep 1; echo used`), /used/u],
    { never: /process_start/u },
  ),
  row('a timeout in seconds', ['bash', line('sleep 3', { timeout_ms: 3 })], /timeout_ms counts milliseconds/u, [
    'bash',
    line('true', { timeout_ms: 3_000 }),
    /no output/u,
  ]),
  row(
    'in the background',
    ['bash', line('sleep 60 &')],
    /nothing runs on after its call/u,
    ['bash', line('sleep 0.1 & wait; echo done'), /done/u],
    { never: /process_start/u },
  ),
  row('nothing is found', ['grep', { pattern: 'zzz' }], [/\(no matches\)/u, /not searched/u], ['grep', { pattern: 'sum' }, /math\.ts/u]),
  row('-i', ['grep', { pattern: 'SUM', '-i': true }], /`-i` is called `case_insensitive` here/u, [
    'grep',
    { pattern: 'SUM', case_insensitive: true },
    /math/u,
  ]),
  row('a regular expression as a glob', ['glob', { pattern: '.*\\.ts$' }], /`\*\.ts` finds `src\/app\.ts`/u, [
    'glob',
    { pattern: '*.ts' },
    /app/u,
  ]),
  row('old_str', ['edit', { ...app, old_str: 'a', new_str: 'b' }], /`old_str` is called `old_string` here/u, [
    'edit',
    { ...app, old_string: 'args.map(Number)', new_string: 'b' },
    /1/u,
  ]),
  row('two places', ['edit', { ...app, old_string: 'return 1', new_string: 'x' }], /lines 9, 13/u, [
    'edit',
    { ...app, old_string: 'return 1', new_string: 'x', replace_all: true },
    /2/u,
  ]),
  row('cmd', ['bash', { cmd: 'ls' }], /`cmd` is called `command` here/u, ['bash', line('ls src'), /app/u]),
  row(
    'a long output',
    ['bash', line('seq 1 100000')],
    /^\d+ bytes of the output are left out/u,
    ['bash', line('seq 1 100000 | tail -n 1'), /100000/u],
    { foreign: true },
  ),
  row('append', ['write', { path: 'a.txt', content: 'x', append: true }], /to add to it, use edit/u, [
    'edit',
    { path: 'src/math.ts', old_string: 'sum', new_string: 'sum2' },
    /1/u,
  ]),
]

export const others = { providers: [...anthropic, ...openai], sandbox, agents, mcp }

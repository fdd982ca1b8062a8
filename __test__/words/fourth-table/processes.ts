// Mistakes with the process tools of `createTools`.
import type { SecondRow } from '../second-table/row.ts'
import { call, row } from '../third-table/row.ts'

const start = (command: string, more: object = {}) => call('process_start', { command, ...more })
const server = start('node server.js', { wait_ms: 5_000 })
const wizard = start('node wizard.js', { wait_ms: 5_000 })

export const processRows: SecondRow[] = [
  row(
    'F4X01',
    'background',
    start('sleep 60 &', { wait_ms: 500 }),
    'either',
    'With & the shell ends at once, and the program with it (or goes on): leave & out.',
    /background|ended|stopped|exit|not running|"?running"?:? ?(?:false|true)/i,
  ),
  row('F4X02', 'argument', [server, call('process_read', { pid: 'p1' })], false, 'pid is called process_id.', /\bpid\b/, /process_id/),
  row(
    'F4X03',
    'unknown process',
    call('process_read', { process_id: 'p7' }),
    false,
    'No process has that id, and none runs: process_start starts one.',
    /no process|not found|unknown|no such|never/i,
    /process_start|start/i,
  ),
  row(
    'F4X04',
    'ended process',
    [start('echo done', { wait_ms: 3_000 }), call('process_write', { process_id: 'p1', text: 'y\n' })],
    false,
    'p1 has ended and takes no input: its last output can be read, or it is started again.',
    /ended|exited|has finished|not running/i,
    /process_read|process_start|start it again|again/i,
  ),
  row(
    'F4X05',
    'stopped twice',
    [server, call('process_stop', { process_id: 'p1' }), call('process_stop', { process_id: 'p1' })],
    'either',
    'p1 has ended already.',
    /ended|stopped|already|not running|"?running"?:? ?false|signal|SIG/i,
  ),
  row(
    'F4X06',
    'line without its end',
    [wizard, call('process_write', { process_id: 'p1', text: 'box', wait_ms: 600 })],
    'either',
    'The program reads a whole line: the text has no line break, and enter was not pressed.',
    /enter|\\n|line (?:end|break)|newline|end of (?:the|a) line|return key/i,
  ),
  row(
    'F4X07',
    'name of a key',
    [server, call('process_write', { process_id: 'p1', keys: ['^C'] })],
    'either',
    'The key is called ctrl+c.',
    /ctrl\+c|SIGINT|ended|exited|"?running"?:? ?false/i,
  ),
  row(
    'F4X08',
    'escaped line break',
    [wizard, call('process_write', { process_id: 'p1', text: 'box\\n', wait_ms: 600 })],
    'either',
    'The text ends in a backslash and an n, and no line break: the program still waits.',
    /two characters|backslash|enter|line (?:end|break)|newline|made box/i,
  ),
  row(
    'F4X09',
    'unknown choice',
    [server, call('process_read', { process_id: 'p1', stream: 'both' })],
    false,
    'stream has no such value; without it both come.',
    /stream/,
    /stdout|stderr|one of|leave|without|null/i,
  ),
  row(
    'F4X10',
    'beyond the end',
    [start('echo hi', { wait_ms: 3_000 }), call('process_read', { process_id: 'p1', from: 100_000 })],
    'either',
    'The output ends before that position.',
    /ends?\b|only|beyond|past|\b3\b/i,
  ),
  row(
    'F4X11',
    'wrong tool',
    [server, call('bash', { cmd: 'kill', args: ['p1'] })],
    false,
    'p1 is no number of a process for kill: process_stop ends it.',
    /process_stop|arguments? must|invalid|illegal|failed to parse|no such process|garbage/i,
  ),
  row(
    'F4X12',
    'program that does not exist',
    start('parcel-dev-server --port 5173', { wait_ms: 3_000 }),
    'either',
    'There is no such program, and the process has ended with 127.',
    /not found|no such/i,
    /127|exit/i,
  ),
]

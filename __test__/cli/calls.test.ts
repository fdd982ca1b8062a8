import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readdirSync, readFileSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { openJournal } from 'toolwright'
import { describe, expect, onTestFinished, test } from 'vitest'
import { startScript } from '../support/child-script.ts'
import { eventually } from '../support/processes.ts'
import { runCli, startCli } from '../support/run-cli.ts'
import { makeSandbox } from '../support/sandbox.ts'
import { writeEngineDatabase } from './engine-databases.ts'
import { NOON } from './recorded-calls.ts'

const run = promisify(execFile)
const killedCaller = fileURLToPath(new URL('killed-caller.ts', import.meta.url))
const cli = fileURLToPath(new URL('../../dist/cli.js', import.meta.url))
const UTC = { env: { TZ: 'UTC', NO_COLOR: undefined, FORCE_COLOR: undefined } }

const call = (runId: string, seq: number) =>
  ({
    runId,
    nodeId: 'work',
    attempt: 1,
    seq,
    toolName: 'bash',
    inputJson: '{"cmd":"npm","args":["test"]}',
    sideEffect: true,
    startedAtMs: NOON + seq,
  }) as const

/** A journal of ours with two runs; the one that began later is written first. */
async function writeJournal(path: string) {
  const journal = await openJournal(`file:${path}`)
  onTestFinished(() => journal.close())
  await journal.insertToolCall({ ...call('later', 60_000) })
  const first = await journal.insertToolCall(call('first', 1))
  await journal.updateToolCall(first, { status: 'success', outputJson: '"ok"', finishedAtMs: NOON + 1_501 })
  const second = await journal.insertToolCall({
    ...call('first', 2),
    toolName: 'write',
    inputJson: '{"path":"a.txt","contentBytes":9000,"contentHash":"h"}',
  })
  await journal.updateToolCall(second, {
    status: 'error',
    acted: false,
    errorJson: '{"name":"ToolError","code":"TOOL_PATH_ESCAPE","summary":"Path escapes sandbox root"}',
    finishedAtMs: NOON + 5,
  })
  await journal.flush()
  return journal
}

const FIRST_RUN = `run first  2026-11-20 14:33:59  2 calls, 1 refused  1.50s
  start         # tool  status    time      in→out  target
 work
  14:33:59.001  1 bash  success  1.50s      29B→4B  npm test
  14:33:59.002  2 write refused    3ms     9.0KB→–  a.txt
                  TOOL_PATH_ESCAPE: Path escapes sandbox root
`
const LATER_RUN = `run later  2026-11-20 14:34:59  1 call, 1 not ended  –
  start         # tool status    time      in→out  target
 work
  14:34:59.000 60000 bash started      –       29B→–  npm test
`

describe('toolwright calls', () => {
  test('shows the runs of a journal, the newest last', async () => {
    const { at } = makeSandbox()
    await writeJournal(at('runs.db'))
    for (const location of [at('runs.db'), `file:${at('runs.db')}`]) {
      const { code, stdout, stderr } = await runCli(['calls', location], UTC)
      expect(stdout).toBe(`${FIRST_RUN}\n${LATER_RUN}`)
      expect(stderr).toBe('')
      expect(code).toBe(0)
    }
  })

  test('--run shows one of them', async () => {
    const { root, at } = makeSandbox()
    await writeJournal(at('runs.db'))
    expect(await runCli(['calls', '--run', 'first', 'runs.db'], { ...UTC, cwd: root })).toMatchObject({
      code: 0,
      stdout: FIRST_RUN,
      stderr: '',
    })
    expect(await runCli(['calls', 'runs.db', '--run', 'fir'], { cwd: root })).toMatchObject({
      code: 1,
      stdout: '',
      stderr: 'toolwright: no run "fir" in runs.db, whose runs are "first", "later"\n',
    })
  })

  test('--json shows one object for each call, with all that is recorded', async () => {
    const { at } = makeSandbox()
    const journal = await writeJournal(at('runs.db'))
    const { code, stdout } = await runCli(['calls', at('runs.db'), '--json'])
    const rows = stdout
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as Record<string, unknown>)
    expect(rows).toMatchObject([
      { ...(await journal.listRun('first'))[0], target: 'npm test', durationMs: 1_500, inputBytes: 29, outputBytes: 4, exit: '' },
      {
        runId: 'first',
        seq: 2,
        toolName: 'write',
        status: 'error',
        acted: false,
        target: 'a.txt',
        durationMs: 3,
        inputBytes: 9_000,
        outputBytes: null,
        exit: '',
      },
      { runId: 'later', status: 'started', finishedAtMs: null, durationMs: null },
    ])
    expect(code).toBe(0)
  })

  test('says that nothing is recorded', async () => {
    const { at } = makeSandbox()
    await (await openJournal(at('runs.db'))).close()
    expect(await runCli(['calls', at('runs.db')])).toMatchObject({
      code: 0,
      stdout: `No calls are recorded in ${at('runs.db')}.\n`,
      stderr: '',
    })
    expect(await runCli(['calls', at('runs.db'), '--json'])).toMatchObject({ code: 0, stdout: '', stderr: '' })
  })

  test('does not mind that its reader has seen enough', async () => {
    const { root, at } = makeSandbox()
    const journal = await openJournal(at('runs.db'))
    for (let seq = 1; seq <= 3_000; seq++) await journal.insertToolCall({ ...call('long', seq), status: 'success', sideEffect: false })
    await journal.close()
    for (const options of [[], ['--json'], ['--follow'], ['--follow', '--json']]) {
      const args = [process.execPath, cli, 'calls', 'runs.db', ...options]
      const { stdout, stderr } = await run('sh', ['-c', '"$@" | head -n 1', 'sh', ...args], { cwd: root, timeout: 15_000 })
      expect(stdout).toMatch(/^(?:run long|\{"row":1).*\n$/u)
      expect(stderr).toBe('')
    }
  })
})

test.skipIf(process.platform !== 'linux' || !existsSync('/usr/bin/script'))(
  'a terminal gets colours, unless its user wants none',
  async () => {
    const { at } = makeSandbox()
    await writeJournal(at('runs.db'))
    const inTerminal = async (env: NodeJS.ProcessEnv): Promise<string> => {
      const line = [process.execPath, cli, 'calls', at('runs.db')].map((word) => `'${word}'`).join(' ')
      const { stdout } = await run('/usr/bin/script', ['-qec', line, '/dev/null'], {
        env: { ...process.env, ...UTC.env, TERM: 'xterm', ...env },
      })
      return stdout.replaceAll('\r\n', '\n')
    }
    const coloured = await inTerminal({})
    expect(coloured).toContain('\u001b[32msuccess\u001b[39m')
    // oxlint-disable-next-line no-control-regex -- the colours
    expect(coloured.replaceAll(/\u001b\[\d+m/gu, '')).toBe(`${FIRST_RUN}\n${LATER_RUN}`)
    expect(await inTerminal({ NO_COLOR: '1' })).toBe(`${FIRST_RUN}\n${LATER_RUN}`)
  },
)

describe('a database of smithers-orchestrator', () => {
  const row = { run_id: 'run', node_id: 'chore', attempt: 1, tool_name: 'email.send', input_json: '{"to":"ann"}', started_at_ms: NOON }

  test('with 23 columns is shown in the words of ours, and not changed', async () => {
    const { at } = makeSandbox()
    writeEngineDatabase(at('run.db'), 23, [
      { ...row, seq: 0, kind: 'task', tool_name: 'chore', input_json: null, status: 'intended' },
      {
        ...row,
        seq: 1,
        kind: 'tool',
        status: 'succeeded',
        output_json: '"sent"',
        finished_at_ms: NOON + 7,
        idempotency_key: 'k',
        side_effect: 1,
        revert_status: 'reverted',
      },
      { ...row, seq: 2, kind: 'tool', status: 'unknown', error_json: '{"name":"Error","message":"gone"}', finished_at_ms: NOON + 9 },
    ])
    const before = contents(at(''))
    const { code, stdout, stderr } = await runCli(['calls', at('run.db')], UTC)
    expect(stdout).toBe(`run run  2026-11-20 14:33:59  3 calls, 1 unknown, 1 not ended  9ms
  start         # tool       status    time      in→out  target
 chore
  14:33:59.000  0 task       started      –         –→–  (the whole task)
  14:33:59.000  1 email.send success    7ms      12B→6B  [reverted] {"to":"ann"}
  14:33:59.000  2 email.send unknown    9ms       12B→–  {"to":"ann"}
                  Error: gone
`)
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    expect(contents(at(''))).toEqual(before)
  })

  test('with 12 columns, too', async () => {
    const { at } = makeSandbox()
    writeEngineDatabase(at('run.db'), 12, [
      { ...row, seq: 1, status: 'success', output_json: '"sent"', finished_at_ms: NOON + 7 },
      { ...row, seq: 2, status: 'error', error_json: '{"message":"gone"}', finished_at_ms: NOON + 9 },
    ])
    const before = contents(at(''))
    const { code, stdout, stderr } = await runCli(['calls', at('run.db')], UTC)
    expect(stdout).toBe(`run run  2026-11-20 14:33:59  2 calls, 1 error  9ms
  start         # tool       status    time      in→out  target
 chore
  14:33:59.000  1 email.send success    7ms      12B→6B  {"to":"ann"}
  14:33:59.000  2 email.send error      9ms       12B→–  {"to":"ann"}
                  gone
`)
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    expect(contents(at(''))).toEqual(before)
  })
})

test('a call whose process was killed says so, and stays as it is', async () => {
  const { at } = makeSandbox()
  const killed = startScript(killedCaller, [at('runs.db')])
  await killed.ended
  const { stdout } = await runCli(['calls', at('runs.db')], UTC)
  expect(stdout).toMatch(/ bash started +.* npm test\n +its process is gone, and nobody knows how it ended\n$/u)
  await using journal = await openJournal(at('runs.db'), { readOnly: true })
  expect(await journal.leftOpen?.()).toEqual([expect.any(Number)])
  expect(await journal.listRun('r')).toMatchObject([{ status: 'started' }])
})

describe('toolwright calls --follow', () => {
  test('shows what is there, what comes and how it ended, until ^C', async () => {
    const { at } = makeSandbox()
    const journal = await openJournal(at('runs.db'))
    onTestFinished(() => journal.close())
    await journal.insertToolCall({ ...call('r', 1), status: 'success', outputJson: '"ok"', finishedAtMs: NOON + 9 })
    await journal.flush()
    const { child, written, ended } = startCli(['calls', at('runs.db'), '--follow'], UTC)
    onTestFinished(() => void child.kill('SIGKILL'))
    const sees = async (text: string): Promise<void> => {
      expect(await eventually(() => written.stdout.endsWith(text), 10_000), written.stdout + written.stderr).toBe(true)
    }
    await sees(
      'run r  2026-11-20 14:33:59\n  start         # tool status    time      in→out  target\n work\n  14:33:59.001  1 bash success    8ms      29B→4B  npm test\n',
    )
    const second = await journal.insertToolCall(call('r', 2))
    await sees('  14:33:59.002  2 bash started      –       29B→–  npm test\n')
    await journal.updateToolCall(second, { status: 'unknown', finishedAtMs: NOON + 4 })
    await sees('  14:33:59.002  2 bash unknown    2ms       29B→–  npm test\n')
    await journal.insertToolCall(call('other', 1))
    await sees(
      '\nrun other  2026-11-20 14:33:59\n  start         # tool status    time      in→out  target\n work\n  14:33:59.001  1 bash started      –       29B→–  npm test\n',
    )
    child.kill('SIGINT')
    expect(await ended).toMatchObject({ code: 0, signal: null, stderr: '' })
  })

  test('with --run and --json shows the calls of one run, also of one that has not begun', async () => {
    const { at } = makeSandbox()
    const journal = await openJournal(at('runs.db'))
    onTestFinished(() => journal.close())
    await journal.insertToolCall(call('other', 1))
    const { child, written, ended } = startCli(['calls', at('runs.db'), '--follow', '--json', '--run', 'mine'])
    onTestFinished(() => void child.kill('SIGKILL'))
    await journal.insertToolCall(call('other', 2))
    await journal.insertToolCall(call('mine', 1))
    expect(await eventually(() => written.stdout.includes('\n'), 10_000)).toBe(true)
    expect(JSON.parse(written.stdout)).toMatchObject({ runId: 'mine', seq: 1, status: 'started', target: 'npm test' })
    child.kill('SIGINT')
    expect(await ended).toMatchObject({ code: 0, signal: null, stderr: '' })
  })
})

describe('what cannot be shown', () => {
  test('is told in one line, and ends with 1', async () => {
    const { root, at, put } = makeSandbox()
    put('text.db', 'this is not a database, however long it gets '.repeat(100))
    mkdirSync(at('folder'))
    const other = new DatabaseSync(at('other.db'))
    other.exec('CREATE TABLE _smithers_tool_calls (something TEXT)')
    other.close()
    const codes = {
      'missing.db': 'JOURNAL_NOT_FOUND',
      'text.db': 'JOURNAL_NOT_A_DATABASE',
      folder: 'JOURNAL_[A-Z_]+',
      'other.db': 'JOURNAL_SCHEMA_MISMATCH',
      'mysql://host/db': 'JOURNAL_LOCATION_INVALID',
      '': 'JOURNAL_LOCATION_INVALID',
    }
    for (const [location, expected] of Object.entries(codes)) {
      for (const options of [[], ['--follow'], ['--json']]) {
        const { code, stdout, stderr } = await runCli(['calls', location, ...options], { cwd: root })
        expect(stderr, location).toMatch(new RegExp(`^toolwright: .+\\[${expected}\\].+\\n$`, 'u'))
        expect({ code, stdout }, location).toEqual({ code: 1, stdout: '' })
      }
    }
    expect(readdirSync(root)).not.toContain('missing.db')
  }, 60_000)

  test.each([
    [[], 'name a journal'],
    [['a.db', 'b.db'], 'name one journal'],
    [['memory:'], 'memory:'],
    [['a.db', '--runs'], '--runs'],
    [['a.db', '--run'], '--run'],
    [['a.db', '--follow=1'], '--follow'],
  ])('calls %j ends with 2 and one line that names the mistake', async (args, named) => {
    const { code, stdout, stderr } = await runCli(['calls', ...args])
    expect(stderr).toMatch(/^toolwright: [^.;]+; see toolwright calls --help\n$/u)
    expect(stderr).toContain(named)
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
  })
})

test.each(['--help', '-h'])('calls %s shows the options and does nothing else', async (help) => {
  const { code, stdout, stderr } = await runCli(['calls', '/no/such/journal.db', help])
  expect(stdout).toMatch(/^Usage: toolwright calls <journal> \[options\]\n/u)
  for (const option of ['--run <id>', '--follow', '--json', '--help']) expect(stdout).toContain(`  ${option} `)
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
  expect((await runCli(['--help'])).stdout).toMatch(/^ {2}calls +\S/mu)
})

/** The bytes of what is in a folder, but for what a reader keeps beside a database while it reads. */
function contents(folder: string): Record<string, string> {
  const files = readdirSync(folder).filter((name) => !/-(?:wal|shm)$/u.test(name))
  return Object.fromEntries(
    files.map((name) => [
      name,
      createHash('sha256')
        .update(readFileSync(`${folder}/${name}`))
        .digest('hex'),
    ]),
  )
}

import { beforeAll, describe, expect, test } from 'vitest'
import { makeTimeline } from '../../ts/cli/calls/timeline.ts'
import type { ToolCallRow } from '../../ts/journal/journal-store.ts'
import { NOON, recorded } from './recorded-calls.ts'

beforeAll(() => {
  process.env['TZ'] = 'UTC'
})

function inOneText(options: Parameters<typeof makeTimeline>[0]) {
  const timeline = makeTimeline(options)
  return { ...timeline, run: (calls: ToolCallRow[]) => [...timeline.parts(calls)].join('') }
}

const plain = (columns?: number) => inOneText({ isColoured: false, columns })

describe('a run', () => {
  test('is a heading, a heading for each attempt of a task, and a line for each call', () => {
    const text = plain().run([
      recorded(),
      recorded({
        seq: 2,
        toolName: 'bash',
        startedAtMs: NOON + 20,
        finishedAtMs: NOON + 3_000,
        inputJson: '{"cmd":"npm","args":["test"]}',
        outputJson: '"ok\\n"',
      }),
      recorded({
        nodeId: 'mail',
        iteration: 3,
        attempt: 2,
        toolName: 'email.send',
        inputJson: '{"to":"ann"}',
        outputBytes: 250_000,
        startedAtMs: NOON + 3_100,
        finishedAtMs: NOON + 3_200,
      }),
    ])
    expect(text).toBe(`run r1  2026-11-20 14:33:59  3 calls  3.20s
  start         # tool       status    time      in→out  target
 work
  14:33:59.000  1 read       success   15ms      22B→6B  src/main.ts
  14:33:59.020  2 bash       success  2.98s      29B→6B  npm test
 mail, iteration 3, attempt 2
  14:34:02.100  1 email.send success  100ms   12B→250KB  {"to":"ann"}
`)
  })

  test('says how many calls did not succeed, and why below each of them', () => {
    const error = { name: 'ToolError', code: 'TOOL_COMMAND_FAILED', summary: 'Command failed with exit code 1', message: 'longer' }
    const text = plain().run([
      recorded({ status: 'error', outputJson: null, errorJson: JSON.stringify(error) }),
      recorded({ seq: 2, status: 'error', acted: false, outputJson: null, errorJson: '{"name":"TypeError","message":"no\\nstack"}' }),
      recorded({ seq: 3, status: 'unknown', outputJson: null, errorJson: 'not JSON' }),
      recorded({ seq: 4, status: 'started', outputJson: null, finishedAtMs: null }),
    ])
    expect(text).toBe(`run r1  2026-11-20 14:33:59  4 calls, 1 error, 1 refused, 1 unknown, 1 not ended  15ms
  start         # tool status    time      in→out  target
 work
  14:33:59.000  1 read error     15ms       22B→–  src/main.ts
                  TOOL_COMMAND_FAILED: Command failed with exit code 1
  14:33:59.000  2 read refused   15ms       22B→–  src/main.ts
                  TypeError: no
  14:33:59.000  3 read unknown   15ms       22B→–  src/main.ts
                  not JSON
  14:33:59.000  4 read started      –       22B→–  src/main.ts
`)
  })

  test('of a workflow engine may have rows for whole tasks and for calls that were undone', () => {
    const text = plain().run([
      recorded({ kind: 'task', toolName: 'work', seq: 0, inputJson: null, outputJson: null, status: 'started', finishedAtMs: null }),
      recorded({ kind: 'tool', revertStatus: 'reverted' }),
      recorded({ seq: 2, status: 'unknown', errorJson: 'null' }),
    ])
    expect(text).toBe(`run r1  2026-11-20 14:33:59  3 calls, 1 unknown, 1 not ended  15ms
  start         # tool status    time      in→out  target
 work
  14:33:59.000  0 task started      –         –→–  (the whole task)
  14:33:59.000  1 read success   15ms      22B→6B  [reverted] src/main.ts
  14:33:59.000  2 read unknown   15ms      22B→6B  src/main.ts
`)
  })

  test('without calls is nothing', () => {
    expect(plain().run([])).toBe('')
  })

  test('is kept apart from the one before it', () => {
    const timeline = plain()
    expect(timeline.run([recorded()])).toMatch(/^run r1/u)
    expect(timeline.run([recorded({ runId: 'r2' })])).toMatch(/^\nrun r2.*\n {2}start .*\n work\n/u)
  })
})

describe('calls that come one by one', () => {
  test('have the headings that they need', () => {
    const timeline = plain()
    const lines = [
      recorded(),
      recorded({ seq: 2 }),
      recorded({ attempt: 2 }),
      recorded({ runId: 'r2', attempt: 2 }),
      recorded({ runId: 'r2', attempt: 2, seq: 2 }),
    ].map((call) =>
      String(timeline.next(call))
        .split('\n')
        .map((line) => line.slice(0, 18)),
    )
    expect(lines).toEqual([
      ['run r1  2026-11-20', '  start         # ', ' work', '  14:33:59.000  1 ', ''],
      ['  14:33:59.000  2 ', ''],
      [' work, attempt 2', '  14:33:59.000  1 ', ''],
      ['', 'run r2  2026-11-20', '  start         # ', ' work, attempt 2', '  14:33:59.000  1 ', ''],
      ['  14:33:59.000  2 ', ''],
    ])
  })
})

describe('a terminal', () => {
  test('is not written over its edge', () => {
    const long = 'x'.repeat(500)
    const call = recorded({ inputJson: JSON.stringify({ path: long }), status: 'error', errorJson: JSON.stringify({ message: long }) })
    for (const columns of [80, 100, 300]) {
      for (const line of plain(columns).run([call]).split('\n')) expect(line.length).toBeLessThanOrEqual(columns)
    }
    // However narrow it is, and however wide the file.
    expect(plain(20).run([call])).toContain(`${'x'.repeat(9)}…`)
    expect(plain().run([call])).toContain(`  ${'x'.repeat(199)}…`)
  })

  test('shows what would command it', () => {
    const evil = '\u001b]0;title\u0007\u009b31m\nrun r9\u202e'
    const text = plain().run([
      recorded({
        runId: evil,
        nodeId: evil,
        toolName: evil,
        inputJson: JSON.stringify({ path: evil }),
        status: 'error',
        errorJson: JSON.stringify({ message: evil }),
        revertStatus: evil,
      }),
    ])
    // oxlint-disable-next-line no-control-regex -- that is what must not be there
    expect(text.replaceAll('\n', '')).not.toMatch(/[\u0000-\u001f\u007f-\u009f\u202e]/u)
    expect(text).toContain(String.raw`\u001b]0;title\u0007\u009b31m\nrun r9\u202e`)
    expect(text.split('\n')).toHaveLength(6)
  })

  test('is coloured by how a call ended, and nothing else is different', () => {
    const calls = [recorded(), recorded({ seq: 2, status: 'error', errorJson: '{"message":"no"}' })]
    const coloured = inOneText({ isColoured: true }).run(calls)
    expect(coloured).toContain('\u001b[1mrun r1\u001b[22m')
    expect(coloured).toContain('\u001b[32msuccess\u001b[39m')
    expect(coloured).toContain('\u001b[31merror  \u001b[39m')
    // oxlint-disable-next-line no-control-regex -- the colours
    expect(coloured.replaceAll(/\u001b\[\d+m/gu, '')).toBe(plain().run(calls))
  })
})

test('a hundred thousand calls are written in a moment', () => {
  const calls = Array.from({ length: 100_000 }, (_, index) => recorded({ row: index, seq: index }))
  const start = performance.now()
  const text = plain().run(calls)
  expect(performance.now() - start).toBeLessThan(5_000)
  expect(text.split('\n')).toHaveLength(100_004)
})

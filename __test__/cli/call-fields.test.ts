import { describe, expect, test } from 'vitest'
import { durationOf, errorOf, exitOf, inputBytesOf, jsonLine, outputBytesOf } from '../../ts/report/call-fields.ts'
import { targetOf } from '../../ts/journal/call-target.ts'
import { shownTarget } from '../../ts/report/shown-target.ts'
import { wantsColours } from '../../ts/cli/calls/timeline.ts'
import { printable } from '../../ts/core/printable.ts'
import { cut, formatBytes, formatDuration } from '../../ts/report/format.ts'
import { NOON, recorded } from './recorded-calls.ts'

const given = (input: unknown) => recorded({ inputJson: JSON.stringify(input) })

describe('the target of a call', () => {
  test.each([
    [{ path: 'src/a b.ts' }, 'src/a b.ts'],
    [{ path: 'a', contentBytes: 5, contentHash: 'h' }, 'a'],
    [{ cmd: 'ls' }, 'ls'],
    [{ cmd: 'sh', args: ['-c', "echo 'it' | wc -l", ''] }, String.raw`sh -c 'echo '\''it'\'' | wc -l' ''`],
    [{ cmd: 'node', args: 'no list', opts: { cwd: 'x' } }, 'node'],
    [{ command: 'ls | wc -l' }, 'ls | wc -l'],
    [{ pattern: 'TODO' }, 'TODO'],
    [{ pattern: 'a b', path: 'src' }, "'a b' in src"],
    [{ url: 'https://example.com/' }, 'https://example.com/'],
    [
      {
        patchBytes: 9,
        files: [
          { path: 'a.ts', change: 'update' },
          { path: 'b.ts', change: 'add' },
          { path: 'c', change: 'delete' },
          { path: 'd', change: 'move', to: 'e' },
        ],
      },
      'M a.ts, A b.ts, D c, R d',
    ],
    [{ files: [] }, '{"files":[]}'],
    [{ files: ['a', 'b'] }, '{"files":["a","b"]}'],
    [{ files: [null] }, '{"files":[null]}'],
    [{ to: 'ann' }, '{"to":"ann"}'],
    [{ path: 7 }, '{"path":7}'],
    [[1, 2], '[1,2]'],
    [null, 'null'],
    ['text', '"text"'],
  ])('%j is %s', (input, target) => {
    expect(targetOf(given(input))).toBe(target)
  })

  test.each([
    ['approval', { tool: 'write', subjects: ['fs.write /a', 'x'], args: 'hash' }, 'write fs.write /a x'],
    ['approval', { path: 'a' }, 'a'],
    ['task', { subagent_type: 'tests', prompt: 'Run them.' }, 'tests: Run them.'],
    ['question', { questions: [{ question: 'Which port?' }] }, 'Which port?'],
    [
      'todo',
      {
        todos: [
          { content: 'a', status: 'completed' },
          { content: 'b', status: 'in_progress' },
        ],
      },
      '1 of 2 done: b',
    ],
    ['skill', { name: 'release' }, 'release'],
    ['web_search', { query: 'node 26' }, 'node 26'],
    ['process_read', { process_id: 'p1', from: 3 }, 'p1'],
    ['skill', { name: 7 }, '{"name":7}'],
    ['question', { questions: 'none' }, '{"questions":"none"}'],
    ['todo', null, 'null'],
    ['deploy', { query: 'x' }, '{"query":"x"}'],
    ['toString', { name: 'x' }, '{"name":"x"}'],
  ])('of a %s with %j is shown as %s', (toolName, input, target) => {
    expect(shownTarget({ ...given(input), toolName })).toBe(target)
  })

  test('of arguments that are no JSON is what was recorded', () => {
    expect(targetOf(recorded({ inputJson: '{"path":' }))).toBe('{"path":')
    expect(targetOf(recorded({ inputJson: null }))).toBe('')
  })
})

test('bytes: of a content its own size, of anything else the length as recorded, before it was cut', () => {
  expect(inputBytesOf(given({ path: 'a', contentBytes: 150_000 }))).toBe(150_000)
  expect(inputBytesOf(given({ path: 'a', patchBytes: 0 }))).toBe(0)
  expect(inputBytesOf(given('é'))).toBe(4)
  expect(inputBytesOf(recorded({ inputJson: null }))).toBeNull()
  expect(outputBytesOf(recorded({ outputJson: '"é"' }))).toBe(4)
  expect(outputBytesOf(recorded({ outputJson: '"é"', outputBytes: 9_000 }))).toBe(9_000)
  expect(outputBytesOf(recorded({ outputJson: null }))).toBeNull()
})

test.each([
  [{ type: 'output', data: { stdout: '', exit_code: 0 } }, ''],
  [{ type: 'output', data: { stdout: '', exit_code: 2 } }, 'exit 2'],
  [{ type: 'output', data: { stdout: '', exit_code: null, signal: 'SIGKILL' } }, 'SIGKILL'],
  [{ type: 'output', data: { stdout: '', exit_code: null, signal: 'SIGKILL', timed_out: true } }, 'timed out'],
  ['a text with "exit_code"', ''],
  [{ exit_code: 1 }, ''],
])('of a command that returned %j the end is %j', (output, exit) => {
  expect(exitOf(recorded({ outputJson: JSON.stringify(output) }))).toBe(exit)
})

test.each([
  [null, '–'],
  [0, '0B'],
  [999, '999B'],
  [1_000, '1.0KB'],
  [9_949, '9.9KB'],
  [9_950, '10KB'],
  [200_000, '200KB'],
  [999_499, '999KB'],
  [999_500, '1.0MB'],
  [10_485_760, '10MB'],
  [5e15, '5000TB'],
])('%d bytes are %s', (bytes, text) => {
  expect(formatBytes(bytes)).toBe(text)
})

test.each([
  [null, '–'],
  [0, '0ms'],
  [999, '999ms'],
  [1_000, '1.00s'],
  [59_994, '59.99s'],
  [59_995, '1m00s'],
  [185_000, '3m05s'],
  [3_599_400, '59m59s'],
  [3_599_500, '1h00m'],
  [7_500_000, '2h05m'],
])('%d ms are %s', (ms, text) => {
  expect(formatDuration(ms)).toBe(text)
})

test('a call lasts no less than nothing, and nobody knows how long before it ended', () => {
  expect(durationOf(recorded({ finishedAtMs: NOON - 5 }))).toBe(0)
  expect(durationOf(recorded({ finishedAtMs: null }))).toBeNull()
})

test.each([
  [null, ''],
  ['{"name":"Error","message":"first\\nsecond"}', 'Error: first'],
  ['{"name":"ToolError","code":"X","summary":"short","message":"short and long"}', 'X: short'],
  ['{"code":5,"message":"m"}', 'm'],
  ['{}', ''],
  ['null', ''],
  ['"text"', 'text'],
  ['{"name":"Er', '{"name":"Er'],
])('the error %s is %s', (errorJson, text) => {
  expect(errorOf(recorded({ errorJson }))).toBe(text)
})

describe('text for a terminal', () => {
  test('is in one line, obeyed nowhere, and otherwise as it was', () => {
    expect(printable('größe 漢字 😀')).toBe('größe 漢字 😀')
    expect(printable('a\tb\r\nc\0')).toBe(String.raw`a\tb\r\nc\u0000`)
    expect(printable('\ud83d \u2028 \u{e0041}')).toBe(String.raw`\ud83d \u2028 \udb40\udc41`)
  })

  test('is cut at characters', () => {
    expect(cut('abc', 3)).toBe('abc')
    expect(cut('abcd', 3)).toBe('ab…')
    expect(cut('😀😀😀', 3)).toBe('😀😀😀')
    expect(cut('😀😀😀😀', 3)).toBe('😀😀…')
    expect(cut('x'.repeat(1e7), 1)).toBe('…')
  })
})

test('a line of JSON has the row, and what the timeline shows besides', () => {
  const call = recorded({ inputJson: '{"path":"\u009b\u202e"}', outputBytes: 12 })
  const line = String(jsonLine(call))
  expect(line).toMatch(/^[ -~]+\n$/u)
  expect(JSON.parse(line)).toEqual({ ...call, target: '\u009b\u202e', durationMs: 15, inputBytes: 16, outputBytes: 12, exit: '' })
})

test('only a terminal is coloured, and only if its user wants that', () => {
  expect(wantsColours({ isTTY: true }, {})).toBe(true)
  expect(wantsColours({ isTTY: true }, { NO_COLOR: '' })).toBe(true)
  expect(wantsColours({ isTTY: true }, { NO_COLOR: '1' })).toBe(false)
  expect(wantsColours({ isTTY: true }, { TERM: 'dumb' })).toBe(false)
  expect(wantsColours({ isTTY: false }, {})).toBe(false)
  expect(wantsColours({}, {})).toBe(false)
})

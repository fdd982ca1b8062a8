/** Lines that fit a terminal of any width, words that are meant, and readers that have seen enough. */
import fc from 'fast-check'
import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { openJournal } from 'toolwright'
import { beforeAll, expect, test } from 'vitest'
import { makeTimeline } from '../../ts/cli/calls/timeline.ts'
import { cutToWidth, textWidth, wrapped } from '../../ts/core/columns.ts'
import { runs, seed } from '../support/randomised.ts'
import { runCli } from '../support/run-cli.ts'
import { makeSandbox } from '../support/sandbox.ts'
import { NOON, recorded } from './recorded-calls.ts'

const cli = fileURLToPath(new URL('../../dist/cli.js', import.meta.url))

beforeAll(() => {
  process.env['TZ'] = 'UTC'
})

const calls = [
  recorded({ inputJson: '{"path":"src/a/rather/long/path/to/a/file/that/is/read.ts"}' }),
  recorded({ seq: 2, toolName: 'bash', inputJson: '{"cmd":"npm","args":["test"]}', finishedAtMs: NOON + 3_000 }),
  recorded({
    seq: 3,
    status: 'error',
    outputJson: null,
    errorJson: '{"code":"TOOL_FILE_NOT_FOUND","message":"File not found: `名前/の/ファイル.ts`"}',
  }),
]

test.each([100, 72, 36])('calls on %i columns', (columns) => {
  const text = [...makeTimeline({ isColoured: false, columns }).parts(calls)].join('')
  expect(text).toMatchSnapshot()
  for (const line of text.split('\n')) expect(textWidth(line)).toBeLessThanOrEqual(columns)
})

test('a line breaks between words, below its last column', () => {
  const help = '  --run <id>     show only the calls of this run, and of no other\nshort'
  expect(wrapped(help, 44)).toBe('  --run <id>     show only the calls of this\n                 run, and of no other\nshort')
  expect(wrapped(help, 30)).toBe('  --run <id>     show only the\n  calls of this run, and of no\n  other\nshort')
})

const words = fc.array(fc.constantFrom('a', 'word', 'longer-word', '名前', '🙂', 'é', '-'), { maxLength: 30 }).map((all) => all.join(' '))

test('no line is wider than the terminal, and no word is lost', () => {
  fc.assert(
    fc.property(words, fc.integer({ min: 12, max: 60 }), (text, columns) => {
      const lines = wrapped(text, columns).split('\n')
      expect(lines.every((line) => textWidth(line) <= columns)).toBe(true)
      expect(lines.join(' ').split(/ +/u).join(' ').trim()).toBe(text.trim())
      expect(textWidth(cutToWidth(text, columns))).toBeLessThanOrEqual(columns)
    }),
    { seed, numRuns: runs(200) },
  )
})

test.each([
  [['call'], 'unknown command "call" (did you mean calls?); see toolwright --help'],
  [['zzzzzzzz'], 'unknown command "zzzzzzzz"; see toolwright --help'],
  [['calls', 'a.db', '--follow-up'], 'unknown option --follow-up (did you mean --follow?); see toolwright calls --help'],
  [['calls', 'a.db', '--jsn'], 'unknown option --jsn (did you mean --json?); see toolwright calls --help'],
  [['checkpoints', 'lst'], 'checkpoints: no command "lst" (did you mean list?); see toolwright checkpoints --help'],
  [
    ['checkpoints', 'gc', '--keep', '-3'],
    '--keep takes a value, and one that begins with a dash as --keep=-3; see toolwright checkpoints --help',
  ],
  [['journal', 'migrat'], 'journal: say migrate, prune or archive (did you mean migrate?); see toolwright journal --help'],
  [['mcp', '--read-only=yes'], '--read-only takes no value; see toolwright mcp --help'],
  [['doctor', 'here\u202E'], String.raw`unexpected argument "here\u202e"; see toolwright doctor --help`],
])('%j names what is meant', async (args, words_) => {
  expect(await runCli(args)).toMatchObject({ code: 2, stdout: '', stderr: `toolwright: ${words_}\n` })
})

test('a page that is larger than its pipe ends in silence with its reader', async () => {
  const { root, at } = makeSandbox()
  const journal = await openJournal(at('runs.db'))
  for (let seq = 1; seq <= 300; seq += 1) {
    const noise = Array.from({ length: 400 }, () => Math.random().toString(36)).join('')
    const call = { runId: 'r', nodeId: 'n', attempt: 1, seq, toolName: 'bash', inputJson: '{"cmd":"x"}' } as const
    await journal.insertToolCall({ ...call, status: 'success', outputJson: JSON.stringify(noise) })
  }
  await journal.close()
  const line = '"$@" | head -c 100 >/dev/null'
  const { stderr } = await promisify(execFile)('sh', ['-c', line, 'sh', process.execPath, cli, 'report', 'runs.db', '-o', '-'], {
    cwd: root,
  })
  expect(stderr).toBe('')
})

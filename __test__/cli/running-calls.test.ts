import { expect, onTestFinished, test, vi } from 'vitest'
import { RunningCalls } from '../../ts/cli/calls/running-calls.ts'
import { NOON, recorded } from './recorded-calls.ts'

/** A terminal that remembers what it shows. */
function terminal(columns = 80) {
  let text = ''
  const stream = { columns, write: (part: string) => void (text += part) } as unknown as NodeJS.WriteStream
  return { stream, take: () => [text, (text = '')][0] as string }
}

function following(columns?: number) {
  vi.useFakeTimers({ now: NOON + 1_000 })
  onTestFinished(() => void vi.useRealTimers())
  const { stream, take } = terminal(columns)
  return { running: new RunningCalls(stream), take }
}

const started = (row: number, inputJson = '{"command":"npm test"}') =>
  recorded({ row, toolName: 'bash', status: 'started', inputJson, finishedAtMs: null, outputJson: null })

test('a call that runs has a line with its time, which goes when it ends', () => {
  const { running, take } = following()
  expect(running.take(started(1))).toBe(false)
  vi.advanceTimersByTime(100)
  expect(take()).toMatch(/^. bash 1\.10s npm test\n$/u)
  vi.advanceTimersByTime(100)
  expect(take().replace('\u{1b}[1A\u{1b}[J', '<up>')).toMatch(/^<up>. bash 1\.20s npm test\n$/u)
  expect(running.take(recorded({ row: 1 }))).toBe(true)
  running.clear()
  expect(take()).toBe('\u{1b}[1A\u{1b}[J')
  vi.advanceTimersByTime(500)
  expect(take()).toBe('')
})

test('of many calls some are shown and the others counted; no line is wider than the terminal or obeyed', () => {
  const { running, take } = following(30)
  for (let row = 1; row <= 9; row += 1) running.take(started(row, JSON.stringify({ command: `\u{1b}[2J${'x'.repeat(100)}` })))
  vi.advanceTimersByTime(100)
  const lines = take().split('\n')
  expect(lines.slice(6)).toEqual(['  and 3 more', ''])
  for (const line of lines) {
    expect(line.length).toBeLessThan(30)
    expect(line).not.toContain('\u{1b}')
  }
  expect(running.rest).toHaveLength(9)
  running[Symbol.dispose]()
  expect(take()).toBe('\u{1b}[7A\u{1b}[J')
})

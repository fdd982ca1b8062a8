import { setTimeout as sleep } from 'node:timers/promises'
import { expect, onTestFinished, test } from 'vitest'
import { shown } from '../../ts/core/terminal.ts'
import { startProgress } from '../../ts/cli/progress.ts'

/** Goes to the beginning of the line, and clears it. */
const BEGINNING = '\r\u{1b}[K'

function streamOf(isTTY: boolean, columns = 40) {
  const written: string[] = []
  const stream = { isTTY, columns, write: (text: string) => written.push(text) > 0 } as unknown as NodeJS.WriteStream
  return { stream, written }
}

test('long work has one line on a terminal, which is rewritten, cut at the edge and gone at the end', async () => {
  const term = process.env['TERM']
  process.env['TERM'] = 'xterm'
  onTestFinished(() => void (process.env['TERM'] = term))
  const { stream, written } = streamOf(true)
  const progress = startProgress(stream)
  progress.show(shown`what is quick shows nothing`)
  expect(written).toEqual([])
  await sleep(320)
  progress.show(shown`sending calls: 5 of 9 ${'x'.repeat(100)}`)
  // At most ten times a second.
  progress.show(shown`at once again`)
  expect(written).toHaveLength(1)
  const [line = ''] = written
  expect(line.startsWith(BEGINNING)).toBe(true)
  expect(line.slice(BEGINNING.length)).toMatch(/^\S sending calls: 5 of 9 x+$/u)
  expect(line.length - BEGINNING.length).toBeLessThan(40)
  progress.end()
  progress.end()
  expect(written.slice(1)).toEqual([BEGINNING])
})

test('a pipe and a terminal that cannot move its cursor show nothing', async () => {
  const pipe = streamOf(false)
  const progress = startProgress(pipe.stream)
  await sleep(320)
  progress.show(shown`work`)
  progress.end()
  expect(pipe.written).toEqual([])
})

// Many forks of one directory at once: each has its own files, and all of them together take little memory.
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { createTools, openFork } from 'toolwright'
import { expect, test } from 'vitest'
import { makeSandbox } from '../../support/sandbox.ts'

const FORKS = 64
const MAX_MB = 64

/** The memory of a process that no other one shares, with its part of what is shared, in megabytes. */
function memoryOf(process: string): number {
  const line = /^Pss:\s+(?<kilobytes>\d+) kB$/mu.exec(readFileSync(`/proc/${process}/smaps_rollup`, 'utf8'))
  return Number(line?.groups?.['kilobytes']) / 1024
}

/** The processes that this one has started, by any of its threads. */
const children = (): string[] =>
  readdirSync('/proc/self/task').flatMap((thread) => readFileSync(`/proc/self/task/${thread}/children`, 'utf8').split(' ').filter(Boolean))

test.skipIf(process.platform !== 'linux')('64 forks at once', { timeout: 60_000 }, async () => {
  const box = makeSandbox()
  for (let file = 0; file < 200; file += 1) box.put(`src/file-${file}.txt`, 'base\n')
  const open = () => openFork({ rootDir: box.root, store: join(box.outside, 'forks') })
  // Whatever is loaded for the first one.
  await (await open()).discard()
  const others = children()
  const before = memoryOf('self')
  const forks = await Promise.all(Array.from({ length: FORKS }, open))
  await Promise.all(
    forks.map(async (fork, number) => {
      const { write, read } = createTools({ rootDir: fork })
      await write.execute({ path: 'src/file-7.txt', content: `${number}\n` })
      expect(await read.execute({ path: 'src/file-7.txt' })).toContain(String(number))
    }),
  )
  const holders = children().filter((child) => !others.includes(child))
  expect(holders.length).toBeGreaterThanOrEqual(FORKS)
  const megabytes = holders.map(memoryOf).reduce((sum, one) => sum + one, memoryOf('self') - before)
  expect(megabytes).toBeLessThan(MAX_MB)
  const changed = await Promise.all(forks.map((fork) => fork.status()))
  expect(changed.map(({ changes }) => changes.map(({ path }) => path))).toEqual(forks.map(() => ['src/file-7.txt']))
  expect(box.text('src/file-7.txt')).toBe('base\n')
  await Promise.all(forks.map((fork) => fork.discard()))
})

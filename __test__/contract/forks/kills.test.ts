import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { collectForks, createTools, listForks, openFork, ToolError } from 'toolwright'
import { expect, test } from 'vitest'
import { expectGone, sleepingMark } from '../../support/processes.ts'
import { randomNumbers, runs, seed } from '../../support/randomised.ts'
import { makeSandbox } from '../../support/sandbox.ts'

const program = fileURLToPath(new URL('kills-process.ts', import.meta.url))
const files = Array.from({ length: 12 }, (_, number) => `d${number % 3}/f${number}`)
/** How long the work of one round takes, roughly. */
const WORK_MS = 400

// Needs overlays: see docs/guides/forks.md.
test.skipIf(process.platform !== 'linux').each(['sessions', 'subagents'])(
  'a host of %s in forks that is killed leaves the workspace as before or as after, no process, and forks that can go',
  { timeout: 60_000 + runs(3) * 20_000 },
  async (door) => {
    const { root } = makeSandbox()
    for (const path of files) {
      mkdirSync(dirname(join(root, path)), { recursive: true })
      writeFileSync(join(root, path), '1')
    }
    const random = randomNumbers(seed)
    let applied = 0
    for (let round = 0; round < runs(3); round += 1) {
      const mark = sleepingMark()
      const before = readFileSync(join(root, files[0] as string), 'utf8')
      const child = spawn(process.execPath, [program, door, root, mark], { stdio: ['ignore', 'pipe', 'inherit'] })
      const ended = once(child, 'exit')
      await Promise.race([once(child.stdout, 'data'), ended.then(() => Promise.reject(new Error('the host has ended')))])
      await sleep(random(WORK_MS * 2))
      child.kill('SIGKILL')
      await ended
      await expectGone(mark)
      // The next call below the directory finishes an apply, or takes it back.
      const tools = createTools({ rootDir: root })
      expect(await tools.write.execute({ path: 'next.txt', content: String(round) })).toBeDefined()
      const numbers = new Set(files.map((path) => readFileSync(join(root, path), 'utf8')))
      expect([...numbers], `round ${round}`).toHaveLength(1)
      const [now = ''] = numbers
      if (Number(now) > 1) expect(existsSync(join(root, 'made', now))).toBe(true)
      if (now !== before) applied += 1
      for (const { id, state } of await listForks({ rootDir: root })) {
        expect(['kept', 'damaged', 'open']).toContain(state)
        const fork = await openFork({ id }).catch((error: unknown) => {
          if (ToolError.isInstance(error)) return undefined
          throw error
        })
        await fork?.discard()
      }
      await collectForks({})
      expect(await listForks({ rootDir: root })).toEqual([])
    }
    console.info(`${door}: of ${runs(3)} kills, ${applied} came after an apply`)
  },
)

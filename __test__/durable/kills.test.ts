/** A process that is killed at any moment of its calls, and executed again until it comes to its end. */
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { openJournal } from 'toolwright'
import { expect, test } from 'vitest'
import { startScript } from '../support/child-script.ts'
import { runs } from '../support/randomised.ts'
import { makeSandbox } from '../support/sandbox.ts'

test.each(['tell', 'probe'])('%s: no call is made twice, none is lost, and nobody waits', { timeout: 180_000 }, async (kind) => {
  let kills = 0
  for (let round = 0; round < runs(3); round += 1) {
    const { root } = makeSandbox()
    const [file, effects] = [join(root, 'runs.db'), join(root, 'effects.txt')]
    let printed = ''
    for (let executions = 0; ; executions += 1) {
      expect(executions).toBeLessThan(40)
      const { child, ended, printed: until } = startScript(join(import.meta.dirname, 'killed-process.ts'), [file, effects, kind])
      await until('open')
      // Later ones run to their end.
      if (executions < 3) setTimeout(() => child.kill('SIGKILL'), Math.random() * 60)
      const { code, stdout } = await ended
      printed = stdout
      if (code === 0) break
      kills += 1
    }
    const made = existsSync(effects) ? readFileSync(effects, 'utf8').trim().split('\n').map(Number) : []
    expect(made).toHaveLength(new Set(made).size)
    const told = printed.trim().split('\n').slice(1)
    expect(told).toHaveLength(10)
    for (const [n, line] of told.entries()) {
      if (kind === 'probe') expect(line).toBe(`${n} paid ${n}`)
      else expect(line).toMatch(new RegExp(`^${n} (?:paid ${n}|OUTCOME_UNKNOWN)$`, 'u'))
      // Whoever reads that it was paid has paid.
      if (line.includes('paid')) expect(made).toContain(n)
    }
    const journal = await openJournal(file)
    const rows = await journal.listRun('run')
    expect(rows).toHaveLength(10)
    expect(rows.filter(({ status }) => status === 'started')).toEqual([])
    await journal.close()
  }
  console.log(`${kind}: ${kills} kills`)
})

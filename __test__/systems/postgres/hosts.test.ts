import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { expect, onTestFinished, test } from 'vitest'
import { startScript } from '../../support/child-script.ts'
import { opened, useServer } from './servers.ts'

const own = useServer()
const program = fileURLToPath(new URL('host-process.ts', import.meta.url))

async function scene(leaseMs: number, times: { before: number; after: number }) {
  const schema = own.schema()
  const store = own.open({ schema })
  await store.migrate()
  const folder = mkdtempSync(join(tmpdir(), 'toolwright-hosts-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  const file = join(folder, 'effects')
  const journal = await opened(store)
  onTestFinished(() => journal.close())
  const host = (before = times.before, after = times.after) =>
    startScript(program, [own.server.socket.host, schema, String(leaseMs), file, String(before), String(after)])
  const effects = (): string[] => (existsSync(file) ? readFileSync(file, 'utf8').trim().split('\n') : [])
  return { host, effects, journal }
}

const lines = (text: string): Record<string, unknown>[] =>
  text
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Record<string, unknown>)

test.each([2_000, 500])(
  'a host is killed after the effect: another goes on within the lease of %d ms, and does not repeat it',
  { timeout: 60_000 },
  async (leaseMs) => {
    const { host, effects, journal } = await scene(leaseMs, { before: 100, after: 60_000 })
    const a = host()
    await a.printed('acted')
    const b = host()
    await pause(100)
    const killed = Date.now()
    a.child.kill('SIGKILL')
    const said = lines((await b.ended).stdout)
    expect(said[0]).toMatchObject({ attempt: 2, prior: ['charge unknown'] })
    expect(said.at(-1)).toMatchObject({ text: 'left alone' })
    expect(effects()).toHaveLength(1)
    const after = Number(said[0]?.['at']) - killed
    console.log(`takeover of a killed host: ${after} ms, lease ${leaseMs} ms`)
    expect(after).toBeLessThan(leaseMs + 1_000)
    expect(await journal.listToolCalls('run', 'charge', 0)).toMatchObject([{ status: 'unknown' }])
  },
)

test('the call of a killed host is named for a reader, which marks nothing', { timeout: 60_000 }, async () => {
  const { host, journal } = await scene(500, { before: 100, after: 60_000 })
  const a = host()
  await a.printed('acted')
  expect(await journal.leftOpen?.()).toEqual([])
  a.child.kill('SIGKILL')
  await expect.poll(() => journal.leftOpen?.(), { timeout: 5_000 }).toEqual([expect.any(Number)])
  expect(await journal.listToolCalls('run', 'charge', 0)).toMatchObject([{ status: 'started' }])
})

test(
  'a host is stopped over its lease and wakes up: its outcome lands, its next call is refused, its task is aborted',
  { timeout: 60_000 },
  async () => {
    const { host, effects, journal } = await scene(1_000, { before: 50, after: 2_500 })
    const a = host()
    await a.printed('acted')
    a.child.kill('SIGSTOP')
    const stopped = Date.now()
    const b = host()
    const said = lines((await b.ended).stdout)
    const after = Number(said[0]?.['at']) - stopped
    console.log(`takeover of a stopped host: ${after} ms, lease 1000 ms`)
    expect(said[0]).toMatchObject({ attempt: 2, prior: ['charge unknown'] })
    expect(after).toBeLessThan(2_000)
    a.child.kill('SIGCONT')
    const waking = lines((await a.ended).stdout)
    expect(waking).toContainEqual(expect.objectContaining({ failed: 'JOURNAL_OWNER_FENCED' }))
    expect(waking).toContainEqual(
      expect.objectContaining({ result: 'charged', next: expect.stringMatching(/JOURNAL_OWNER_FENCED|TASK_ENDED/u) }),
    )
    expect(effects()).toHaveLength(1)
    expect(await journal.listToolCalls('run', 'charge', 0)).toMatchObject([{ status: 'success', outputJson: '"charged"' }])
  },
)

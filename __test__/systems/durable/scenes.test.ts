// What an agent does, on engines that exist: undisturbed, and with a worker that dies after a call and before its engine has kept it.
import { fileURLToPath } from 'node:url'
import { inspect } from 'node:util'
import { openJournal } from 'toolwright'
import { postgresStore } from 'toolwright/postgres'
import { describe, expect, test } from 'vitest'
import { type StartedScript, startScript } from '../../support/child-script.ts'
import { installedEngines } from './engines.ts'
import { dueOf, INQUIRY, type Scene, type SceneEnd, SCENES } from './scenes.ts'
import { type RestateTest, useEngines, useRestate } from './use-engines.ts'

const program = fileURLToPath(new URL('scene-worker.ts', import.meta.url))
const own = useEngines(installedEngines)
let tasks = 0

interface Engine {
  /** Runs a task to its end. `dies` is the number of the call of a tool after which its first worker is gone; 0 for none. */
  run(scene: Scene, task: string, dies: number): Promise<SceneEnd>
  /** Whether it carries out steps at once. */
  isParallel: boolean
}

const started = (engine: string, dies: number, ...where: string[]): StartedScript =>
  startScript(program, [engine, own.engines, own.server.url, own.service.url, String(dies), ...where])

const dbos: Engine = {
  isParallel: true,
  async run(scene, task, dies) {
    if (dies > 0) expect(await started('DBOS', dies, scene, task).ended).toMatchObject({ signal: 'SIGKILL' })
    const { stdout, stderr } = await started('DBOS', 0, scene, task).ended
    const line = stdout.split('\n').find((text) => text.startsWith('{'))
    expect(line, stderr).toBeDefined()
    return JSON.parse(line ?? '') as SceneEnd
  },
}

const onRestate = (restate: RestateTest): Engine => ({
  isParallel: false,
  async run(scene, task, dies) {
    const first = started('Restate', dies, String(restate.workerPort))
    await first.printed('ready')
    await restate.server.register(restate.workerPort)
    const answer = restate.server.call(task, { scene, task }, 45_000)
    let last = first
    try {
      if (dies > 0) {
        expect(await first.ended).toMatchObject({ signal: 'SIGKILL' })
        last = started('Restate', 0, String(restate.workerPort))
      }
      const response = await answer
      const end = (await response.json()) as SceneEnd & { message: string }
      return response.ok ? end : { text: '', results: [], failed: `${response.status} ${end.message}` }
    } finally {
      last.child.kill('SIGKILL')
      await last.ended
    }
  },
})

describe.each([
  ['DBOS', () => dbos],
  ['Restate', () => onRestate(useRestate(own))],
] as const)('%s', (name, use) => {
  const engine = use()

  /** Runs a scene, and reads what the service and the journal say of it. */
  async function played(scene: Scene, dies = 0) {
    const task = `${name}-${scene}-${(tasks += 1)}`
    const began = performance.now()
    const end = await engine.run(scene, task, dies)
    const tookMs = performance.now() - began
    const made = Object.fromEntries(Object.keys(dueOf(scene)).map((n) => [n, own.service.count(task, Number(n))]))
    const journal = await openJournal(postgresStore(own.pool, { readOnly: true }))
    const rows = await journal.listRun(task)
    await journal.close()
    return { task, end, made, rows, tookMs, asked: own.service.count(task, INQUIRY), atOnce: own.service.atOnce(task) }
  }
  const paid = (scene: Scene): string[] => SCENES[scene].flat().map(({ input }) => `paid ${input.n}`)
  const LIMIT = { timeout: 90_000 }
  /** Undisturbed; and with the second call done but not kept, which is in the middle of every scene. */
  const deaths = [0, 2]

  test.each(deaths)('equal calls are made as often as the model makes them (a worker dies after call %i)', LIMIT, async (dies) => {
    const { end, made, rows, asked } = await played('equal', dies)
    // A call that was under way beside the one that killed the worker is unknown, and told.
    const told = end.results.filter((text) => text.includes('OUTCOME_UNKNOWN')).length
    expect(end.text).toBe('done')
    if (dies === 0) expect([end.results, made]).toEqual([paid('equal'), { 4: 4 }])
    expect(Number(made[4])).toBeLessThanOrEqual(4)
    expect(Number(made[4]) + told).toBeGreaterThanOrEqual(4)
    expect(rows).toHaveLength(4)
    expect(asked).toBe(4)
  })

  test.each(deaths)('ids that the model repeats are calls of their own (a worker dies after call %i)', LIMIT, async (dies) => {
    const { end, made, rows, asked } = await played('repeated-ids', dies)
    const told = end.results.filter((text) => text.includes('OUTCOME_UNKNOWN')).length
    expect(end.text).toBe('done')
    if (dies === 0) expect([end.results, made]).toEqual([paid('repeated-ids'), { 1: 1, 2: 2, 3: 1 }])
    expect([made[1], made[3]]).toEqual([1, 1])
    expect(Number(made[2])).toBeLessThanOrEqual(2)
    expect(Number(made[2]) + told).toBeGreaterThanOrEqual(2)
    expect(rows).toHaveLength(4)
    expect(asked).toBe(4)
  })

  test.each(deaths)('calls at once: each is made once, in the order of the answer (a worker dies after call %i)', LIMIT, async (dies) => {
    const { end, made, asked, atOnce } = await played('parallel', dies)
    expect(end).toMatchObject({ text: 'done', results: { length: 4 } })
    for (const [index, text] of end.results.entries()) {
      const n = index + 1
      expect(text).toMatch(dies === 0 ? new RegExp(`^paid ${n}$`, 'u') : new RegExp(`^paid ${n}$|OUTCOME_UNKNOWN`, 'u'))
      // One of which nobody knows may have been made or not; it is never made twice, and one that was told as made was.
      if (text === `paid ${n}`) expect(made[n]).toBe(1)
      else expect(made[n]).toBeLessThanOrEqual(1)
    }
    expect(asked).toBe(2)
    if (engine.isParallel) expect(atOnce).toBeGreaterThan(1)
    else expect(atOnce).toBe(1)
  })

  test.each(deaths)('an answer that streams is whole, and its calls are made once (a worker dies after call %i)', LIMIT, async (dies) => {
    const { end, made, asked } = await played('streamed', dies)
    expect(end).toEqual({ text: 'done', results: ['paid 1', 'paid 2'] })
    expect(made).toEqual({ 1: 1, 2: 1 })
    expect(asked).toBe(3)
  })

  test.each(deaths)(
    'what a tool throws is told to the model, and the call is not repeated (a worker dies after call %i)',
    LIMIT,
    async (dies) => {
      const { end, made, rows, asked, tookMs } = await played('tool-error', dies)
      expect(end.text).toBe('done')
      expect(end.results).toEqual([expect.stringContaining('card 1 declined'), expect.stringContaining('card 2 declined')])
      expect(made).toEqual({ 1: 1, 2: 1 })
      expect(rows).toMatchObject([{ status: 'error' }, { status: 'error' }])
      expect(asked).toBe(3)
      // No engine tries the step again, and waits before it.
      if (dies === 0) expect(tookMs).toBeLessThan(10_000)
    },
  )

  test.each(deaths)(
    'turns of a chat, whose model counts its ids anew, are calls of their own (a worker dies after call %i)',
    LIMIT,
    async (dies) => {
      const { end, made, rows, asked } = await played('turns', dies)
      expect(end).toEqual({ text: 'done', results: ['paid 4', 'paid 4'] })
      expect(made).toEqual({ 4: 2 })
      expect(rows).toMatchObject([{ status: 'success' }, { status: 'success' }])
      expect(asked).toBe(4)
    },
  )

  test.each(deaths)('what JSON has no form for comes back as it was (a worker dies after call %i)', LIMIT, async (dies) => {
    const { end, made } = await played('values', dies)
    expect(end).toEqual({
      text: 'done',
      results: [inspect({ at: new Date(0), bytes: new Uint8Array([1, 2]), ratio: Number.NaN }), 'undefined'],
    })
    expect(made).toEqual({ 1: 1, 2: 1 })
  })

  test.runIf(name === 'Restate')('an error of the engine’s own, with which a run ends, is not tried again', LIMIT, async () => {
    const { end, made, asked, tookMs } = await played('final')
    expect(end.failed).toMatch(/^500 .*it is not known whether 1 was paid/u)
    expect(made).toEqual({ 1: 1, 2: 0 })
    expect(asked).toBe(1)
    expect(tookMs).toBeLessThan(10_000)
  })

  test('an abort ends the run; the call that had acted is unknown, and nothing follows it', LIMIT, async () => {
    const { end, made, rows, asked, tookMs } = await played('aborted')
    expect(end).toMatchObject({ failed: 'AbortError' })
    expect(made).toEqual({ 1: 1, 2: 0 })
    expect(rows).toMatchObject([{ status: 'unknown' }])
    expect(asked).toBe(1)
    expect(tookMs).toBeLessThan(10_000)
  })

  test('a worker that dies in an abort: the next one tells the model of the call, and does not repeat it', LIMIT, async () => {
    const { end, made } = await played('aborted', 1)
    expect(made).toMatchObject({ 1: 1 })
    // The next call is aborted in its turn, in the worker that lives.
    expect(end).toMatchObject({ failed: 'AbortError' })
    expect(made).toEqual({ 1: 1, 2: 1 })
  })
})

/**
 * The network fails at each statement of a program, for less than patience up to four leases, which is a minute of the default. The law: no effect twice, none
 * lost in silence, and nobody waits longer than the outage, the lease and five seconds.
 */
import { setTimeout as pause } from 'node:timers/promises'
import { defineTool, type Journal, openJournal, runTask } from 'toolwright'
import { callOnce } from 'toolwright/durable'
import { postgresStore } from 'toolwright/postgres'
import { beforeEach, expect, onTestFinished, test, vi } from 'vitest'
import { z } from 'zod'
import { runs } from '../../support/randomised.ts'
import { FailingClient, type Fate, statements } from './lost-answers.ts'
import { useServer } from './servers.ts'

const own = useServer()
const FATES: readonly Fate[] = ['answer lost', 'never sent', 'late']
// Each outage is warned of.
beforeEach(() => void vi.spyOn(console, 'warn').mockImplementation(() => undefined))

type Protection = 'tell' | 'keys'
/** How the calls are kept. */
const LAYOUTS = ['table', 'days'] as const
type Layout = (typeof LAYOUTS)[number]
interface Times {
  leaseMs: number
  patienceMs: number
}
const SHORT: Times = { leaseMs: 1_500, patienceMs: 500 }
const SLACK_MS = 5_000

const codeOf = (error: unknown): string => String((error as { code?: unknown }).code)

/** One program on a network of its own, in a schema that all share, and another process that takes over. */
class Place {
  readonly client = new FailingClient(own.pool)
  readonly effects: string[] = []
  readonly #run: string
  readonly #protection: Protection
  readonly here: Promise<Journal>
  readonly #there: Journal

  constructor(run: string, schema: string, there: Journal, protection: Protection, times: Times) {
    this.#run = run
    this.#protection = protection
    this.#there = there
    this.here = openJournal(postgresStore(this.client, { schema, ...times }))
  }

  #tool(name: string, takesMs: number) {
    return defineTool({
      name,
      schema: z.object({}),
      sideEffect: true,
      ...(this.#protection === 'keys' && { usesIdempotencyKey: true }),
      execute: async (_args, ctx) => {
        this.effects.push(`${name} ${ctx.callIdempotencyKey}`)
        await pause(takesMs)
        return 'paid'
      },
    })
  }

  /** What the program wants of a process; it is asked until it has an answer, as an engine does. */
  async #answers(journal: Journal, takesMs: number): Promise<string[]> {
    const once = (name: string) => () => callOnce(journal, { runId: this.#run, callId: name, tool: this.#tool(name, takesMs), input: {} })
    const task = () =>
      runTask({ journal, runId: this.#run, nodeId: 'task', onReplayUnsafe: 'refuse' }, async () => {
        if (this.effects.some((effect) => effect.startsWith('three '))) return 'paid'
        await this.#tool('three', takesMs).execute({})
        return 'paid'
      })
    const answers: string[] = []
    for (const step of [once('one'), once('two'), task]) answers.push(await untilAnswered(step))
    return answers
  }

  run(takesMs: number): Promise<string[]> {
    return this.here.then((journal) => this.#answers(journal, takesMs))
  }

  takeOver(takesMs: number): Promise<string[]> {
    return this.#answers(this.#there, takesMs)
  }

  /** What is not as the law has it. */
  async complaints(answers: readonly string[][]): Promise<string[]> {
    const found: string[] = []
    for (const [index, name] of ['one', 'two', 'three'].entries()) {
      const made = this.effects.filter((effect) => effect.startsWith(`${name} `))
      const heard = answers.map((some) => some[index] ?? '')
      if (this.#protection === 'tell' && made.length > 1) found.push(`${name} was made ${made.length} times`)
      // With a key the service makes it once.
      if (new Set(made).size > 1) found.push(`${name} had ${new Set(made).size} keys`)
      const isTold = heard.some((answer) => /^(?:OUTCOME_UNKNOWN|REPLAY_UNSAFE)$/u.test(answer))
      if (made.length === 0 && !isTold) found.push(`${name} is lost: ${heard.join()}`)
      if (this.#protection === 'keys' && made.length === 0) found.push(`${name} was never made: ${heard.join()}`)
      for (const answer of heard) if (!/^(?:paid|OUTCOME_UNKNOWN|REPLAY_UNSAFE)$/u.test(answer)) found.push(`${name}: ${answer}`)
    }
    for (const { toolName, status } of await this.#there.listRun(this.#run))
      if (status === 'started') found.push(`${toolName} is ${status}`)
    return found
  }
}

/** Asks again until there is an answer that is not one of the journal. */
async function untilAnswered(step: () => Promise<unknown>): Promise<string> {
  for (;;) {
    try {
      return String(await step())
    } catch (error) {
      const code = codeOf(error)
      if (!code.startsWith('JOURNAL_')) return code
      await pause(50)
    }
  }
}

async function shared(times: Times, layout: Layout) {
  const schema = own.schema()
  const there = await openJournal(own.open({ schema, ...times, ...(layout === 'days' && { partition: 'day' }) }))
  await there.lastRow()
  onTestFinished(() => there.close())
  return { schema, there }
}

/** One place of the matrix. @returns what is wrong, with its name. */
async function judged(
  place: Place,
  times: Times,
  fault: { at: RegExp | number; fate: Fate; silentMs: number },
  takesMs: number,
): Promise<string[]> {
  const here = await place.here
  place.client.failAt(fault.at, fault.fate, fault.silentMs)
  const limitMs = fault.silentMs + times.leaseMs + SLACK_MS
  const began = performance.now()
  const one = place.run(takesMs)
  await pause(takesMs / 2)
  const both = await Promise.race([Promise.all([one, place.takeOver(takesMs)]), pause(limitMs + 12 * takesMs, undefined)])
  const found = both === undefined ? [`stuck after ${Math.round(performance.now() - began)} ms`] : []
  // What comes late has come.
  await pause(Math.max(0, fault.silentMs + 900 - (performance.now() - began)))
  if (both !== undefined) {
    // Whoever comes later is answered at once.
    const later = await Promise.race([place.takeOver(takesMs), pause(times.leaseMs + SLACK_MS, undefined)])
    found.push(...(later === undefined ? ['stuck afterwards'] : await place.complaints([...both, later])))
  }
  await here.close().catch(() => undefined)
  return found
}

async function inTurns<T>(jobs: readonly T[], at: number, run: (job: T) => Promise<void>): Promise<void> {
  const left = [...jobs]
  const lane = async (): Promise<void> => {
    for (let job = left.shift(); job !== undefined; job = left.shift()) await run(job)
  }
  await Promise.all(Array.from({ length: at }, lane))
}

test.each<Protection>(['tell', 'keys'])(
  '200 places: each statement of a program, each fate, four outages: %s',
  { timeout: 580_000 },
  async (protection) => {
    const kept = { table: await shared(SHORT, 'table'), days: await shared(SHORT, 'days') }
    const silences = [250, 900, 2_400, 4 * SHORT.leaseMs]
    // The first statements look for the tables, make partitions and begin a lease; then come claims, notes of keys, outcomes, a lock, an intent, heartbeats.
    const places = Array.from({ length: 18 }, (_, index) => index + 1).flatMap((at) =>
      // Each statement fails in both layouts.
      FATES.flatMap((fate, row) =>
        silences.map((silentMs, column) => ({ at, fate, silentMs, layout: LAYOUTS[(at + row + column) % 2] ?? 'table' })),
      ),
    )
    const complaints: string[] = []
    let failures = 0
    await inTurns(places, 32, async (fault) => {
      const name = `${protection} ${fault.layout} ${fault.at} ${fault.fate} ${fault.silentMs}`
      const { schema, there } = kept[fault.layout]
      const place = new Place(`${name} ${Math.random()}`, schema, there, protection, SHORT)
      const found = await judged(place, SHORT, fault, 300)
      failures += place.client.failures
      complaints.push(...found.map((what) => `${name}: ${what}`))
    })
    console.log(`${places.length} places, ${failures} outages (${protection})`)
    expect(complaints).toEqual([])
    expect(failures).toBeGreaterThan(places.length / 2)
  },
)

const KINDS = ['claim', 'intent', 'outcome', 'heartbeat', 'lock'] as const

const PROTECTIONS = ['tell', 'keys'] as const
const EACH = PROTECTIONS.flatMap((protection) => LAYOUTS.map((layout) => [protection, layout] as const))

test.each(EACH)('four leases of silence at each kind of statement: %s, %s', { timeout: 300_000 }, async (protection, layout) => {
  expect(await matrix(protection, layout, SHORT, 4 * SHORT.leaseMs, 700)).toEqual([])
})

/** Shorter than patience; between patience and the lease; longer than the lease; a minute. */
const REAL_SILENCES = [1_000, 11_500, 18_000, 60_000]

test.runIf(runs(1) >= 10).each(EACH)(
  'a second to a minute of silence, with the default lease: %s, %s',
  { timeout: 580_000 },
  async (protection, layout) => {
    const times = { leaseMs: 15_000, patienceMs: 10_000 }
    const found = await Promise.all(REAL_SILENCES.map((silentMs) => matrix(protection, layout, times, silentMs, 2_500)))
    expect(found).toEqual(REAL_SILENCES.map(() => []))
  },
)

async function matrix(protection: Protection, layout: Layout, times: Times, silentMs: number, takesMs: number): Promise<string[]> {
  const { schema, there } = await shared(times, layout)
  const complaints: string[] = []
  const jobs = KINDS.flatMap((kind) => FATES.map((fate) => ({ kind, fate })))
  await inTurns(jobs, jobs.length, async ({ kind, fate }) => {
    const place = new Place(`${kind} ${fate}`, schema, there, protection, times)
    // The lease begins before.
    await callOnce(await place.here, {
      runId: `first ${kind} ${fate}`,
      callId: 'first',
      tool: defineTool({ name: 'first', schema: z.object({}), execute: () => 1 }),
      input: {},
    })
    const found = await judged(place, times, { at: statements[kind], fate, silentMs }, takesMs)
    if (place.client.failures !== 1) found.push(`${place.client.failures} outages`)
    complaints.push(...found.map((what) => `${kind} ${fate}: ${what}`))
  })
  return complaints
}

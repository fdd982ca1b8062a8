/** Calls at a constant rate, beside whatever else a journal does. */
import { setTimeout as pause } from 'node:timers/promises'
import { defineTool, type Journal } from 'toolwright'
import { callOnce } from 'toolwright/durable'
import { z } from 'zod'

export interface LoadReport {
  calls: number
  perSecond: number
  /** The errors of calls that were refused. */
  refused: string[]
  /** The ids of calls whose effect was made more than once, and of those whose effect was not. */
  doubled: string[]
  lost: string[]
  slowestMs: number
  p99Ms: number
}

let loads = 0

/** Every fifth id is asked for twice at once. The load goes on until it is ended. */
export function constantLoad(journals: readonly Journal[], wantedPerSecond: number): { end(): Promise<LoadReport> } {
  const effects = new Map<string, number>()
  const refused: string[] = []
  const times: number[] = []
  const wanted = new Set<string>()
  const pay = defineTool({
    name: 'pay',
    schema: z.object({ id: z.string() }),
    sideEffect: true,
    usesIdempotencyKey: false,
    execute: ({ id }) => {
      effects.set(id, (effects.get(id) ?? 0) + 1)
      return { paid: id, note: 'x'.repeat(200) }
    },
  })
  const began = performance.now()
  const name = `load ${(loads += 1)}`
  let sent = 0
  const state = { isOver: false }
  const one = async (id: string, lane: number): Promise<void> => {
    const start = performance.now()
    const journal = journals[lane % journals.length] as Journal
    await callOnce(journal, { runId: `${name} ${id.slice(0, -2)}`, callId: id, tool: pay, input: { id } }).catch((error: unknown) => {
      refused.push(`${id}: ${String((error as { code?: unknown }).code ?? error)}`)
    })
    times.push(performance.now() - start)
  }
  const lanes = Array.from({ length: 32 }, async (_, lane) => {
    while (!state.isOver) {
      // Whoever is ahead of the rate waits.
      const dueMs = began + (sent / wantedPerSecond) * 1_000
      sent += 1
      if (dueMs > performance.now()) await pause(dueMs - performance.now())
      const id = String(sent).padStart(8, '0')
      wanted.add(id)
      await Promise.all(sent % 5 === 0 ? [one(id, lane), one(id, lane + 1)] : [one(id, lane)])
    }
  })
  return {
    async end() {
      const seconds = (performance.now() - began) / 1_000
      state.isOver = true
      await Promise.all(lanes)
      const sorted = times.toSorted((a, b) => a - b)
      return {
        calls: wanted.size,
        perSecond: Math.round(times.length / seconds),
        refused,
        doubled: [...effects].filter(([, made]) => made > 1).map(([id]) => id),
        lost: [...wanted].filter((id) => !effects.has(id)),
        slowestMs: Math.round(sorted.at(-1) ?? 0),
        p99Ms: Math.round(sorted[Math.floor(sorted.length * 0.99)] ?? 0),
      }
    },
  }
}

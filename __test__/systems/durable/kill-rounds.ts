import { setTimeout as pause } from 'node:timers/promises'
import type { EndedScript, StartedScript } from '../../support/child-script.ts'
import { DUE } from './agent.ts'
import type { Service } from './service.ts'

/** What came of some rounds, in each of which a worker was killed. */
export interface Matrix {
  kills: number
  double: number
  lost: number
  stuck: number
  told: number
  recoveryMs: number[]
}

export const noMatrix = (): Matrix => ({ kills: 0, double: 0, lost: 0, stuck: 0, told: 0, recoveryMs: [] })

/** Adds what a task has come to. */
export function judge(matrix: Matrix, service: Service, task: string, told: readonly number[]): void {
  for (const [name, due] of Object.entries(DUE)) {
    const n = Number(name)
    const unknown = told.filter((one) => one === n).length
    const made = service.count(task, n)
    if (made > due) matrix.double += made - due
    if (made + unknown < due) matrix.lost += due - made - unknown
  }
  matrix.told += told.length
}

/** Kills a worker at a random moment after it is ready. @returns whether it was still at work. */
export async function killAtRandom(worker: StartedScript, withinMs: number): Promise<boolean> {
  await worker.printed('ready')
  await pause(Math.random() * withinMs)
  return worker.child.kill('SIGKILL')
}

/** What a worker's start may take: as long as the machine is busy. */
const START_MS = 120_000

/** Waits for the end of a worker. It is killed when it has been ready for this long. */
export async function endsWithin(worker: StartedScript, limitMs: number): Promise<EndedScript> {
  const kill = (): unknown => worker.child.kill('SIGKILL')
  let timer = setTimeout(kill, START_MS)
  const onReady = (): void => {
    clearTimeout(timer)
    timer = setTimeout(kill, limitMs)
  }
  void worker.printed('ready').then(onReady, () => undefined)
  const ended = await worker.ended
  clearTimeout(timer)
  return ended
}

export const summary = (name: string, { recoveryMs, ...counts }: Matrix): string => {
  const sorted = recoveryMs.toSorted((a, b) => a - b)
  return `${name}: ${JSON.stringify(counts)}, recovery p50 ${Math.round(sorted[sorted.length >> 1] ?? 0)} ms`
}

import { setTimeout as pause } from 'node:timers/promises'
import type { StartedScript } from '../../support/child-script.ts'
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

export const summary = (name: string, { recoveryMs, ...counts }: Matrix): string => {
  const sorted = recoveryMs.toSorted((a, b) => a - b)
  return `${name}: ${JSON.stringify(counts)}, recovery p50 ${Math.round(sorted[sorted.length >> 1] ?? 0)} ms`
}

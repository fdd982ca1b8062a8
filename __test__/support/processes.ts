import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect } from 'vitest'

/** Whether a process of the host runs; one that has ended and was not waited for does not. */
export function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0)
  } catch {
    return false
  }
  try {
    return !/\) Z /u.test(readFileSync(`/proc/${pid}/stat`, 'utf8'))
  } catch {
    return process.platform !== 'linux'
  }
}

let marks = 0

/**
 * A time to sleep, in seconds, that no other process sleeps for: how a process of a test is known from
 * outside, where numbers of processes mean nothing, because a confined command has its own.
 */
export function sleepingMark(seconds = 60): string {
  marks += 1
  return `${seconds}.${process.pid}${String(marks).padStart(4, '0')}`
}

/** Waits until `condition` holds; gives whether it did so in time. */
export async function eventually(condition: () => boolean, ms = 2_000): Promise<boolean> {
  const end = performance.now() + ms
  while (!condition()) {
    if (performance.now() > end) return false
    await sleep(10)
  }
  return true
}

/** The processes that have `argument` among their arguments, zombies aside. */
export function running(argument: string): string[] {
  return execFileSync('ps', ['-eo', 'pid,stat,args'], { encoding: 'utf8' })
    .split('\n')
    .filter((line) => line.split(/\s+/u).includes(argument) && !/^\s*\d+\s+Z/u.test(line))
}

/** Waits until no process has `argument` among its arguments. */
export async function expectGone(argument: string): Promise<void> {
  const leftovers = (): string[] => running(argument)
  await eventually(() => leftovers().length === 0)
  expect(leftovers()).toEqual([])
}

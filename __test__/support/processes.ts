import { readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'

/** Whether a process runs; one that has ended and was not waited for does not. */
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

/** Waits until `condition` holds; gives whether it did so in time. */
export async function eventually(condition: () => boolean, ms = 2_000): Promise<boolean> {
  const end = performance.now() + ms
  while (!condition()) {
    if (performance.now() > end) return false
    await sleep(10)
  }
  return true
}

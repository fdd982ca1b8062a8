import os from 'node:os'
import { execFileSync } from 'node:child_process'

/** What a reader of the numbers has to know of where they come from. */
export function machineFacts() {
  const cpus = os.cpus()
  return {
    node: process.version,
    bun: version('bun'),
    platform: `${process.platform} ${process.arch}`,
    kernel: os.release(),
    cpu: cpus[0]?.model ?? 'unknown',
    cpus: cpus.length,
    memoryMb: Math.round(os.totalmem() / 1e6),
  }
}

/** 1, 5 and 15 minutes. */
export const loadAverage = () => os.loadavg().map((load) => Number(load.toFixed(2)))

function version(program) {
  try {
    return execFileSync(program, ['--version'], { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }).trim()
  } catch {
    return null
  }
}

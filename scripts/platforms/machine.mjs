// A machine in emulation, which needs no rights and no hardware.
import { spawn } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { cache, Skipped } from './cache.mjs'

/** The longest time for a machine, in milliseconds. */
const MAX_MS = 12 * 60_000

/** Boots a kernel, and returns what it printed. It ends when it has switched itself off. */
export async function boot(name, { kernel, files, parameters = '' }) {
  const args = ['-machine', 'q35', '-accel', 'tcg,thread=multi', '-cpu', 'max', '-smp', '2', '-m', '2048', '-nographic', '-no-reboot']
  const line = `console=ttyS0 panic=-1 quiet ${parameters}`
  const child = spawn('qemu-system-x86_64', [...args, '-kernel', kernel, '-initrd', files, '-append', line], {
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let log = ''
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (text) => (log += text))
  const timer = setTimeout(() => child.kill('SIGKILL'), MAX_MS)
  await new Promise((resolve, reject) => {
    child.once('close', resolve)
    child.once('error', (error) => {
      reject(error.code === 'ENOENT' ? new Skipped('there is no qemu-system-x86_64: apt-get install qemu-system-x86 seabios') : error)
    })
  }).finally(() => clearTimeout(timer))
  writeFileSync(join(cache, `${name}.log`), log)
  if (!/^DONE\r?$/mu.test(log)) throw new Error(`the machine did not finish; see ${join(cache, `${name}.log`)}`)
  return log
}

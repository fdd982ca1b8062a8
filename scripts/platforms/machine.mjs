// A machine in emulation, which needs no rights and no hardware.
import { spawn } from 'node:child_process'
import { appendFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { cache, Skipped } from './cache.mjs'

/** The longest time for a machine, in milliseconds: two processors that are free need a quarter of it for the attacks. */
const MAX_MS = 60 * 60_000
const MODELS = {
  x64: {
    program: 'qemu-system-x86_64',
    options: ['-machine', 'q35', '-cpu', 'max'],
    console: 'ttyS0',
    packages: 'qemu-system-x86 seabios',
  },
  arm64: {
    program: 'qemu-system-aarch64',
    options: ['-machine', 'virt,gic-version=3', '-cpu', 'cortex-a72'],
    console: 'ttyAMA0',
    packages: 'qemu-system-arm',
  },
}

/** Boots a kernel, and returns what it printed. It ends when it has switched itself off. */
export async function boot(name, { architecture = 'x64', kernel, files, parameters = '' }) {
  const { program, options, console, packages } = MODELS[architecture]
  const args = [...options, '-accel', 'tcg,thread=multi', '-smp', '2', '-m', '3072', '-nographic', '-no-reboot']
  const line = `console=${console} panic=-1 quiet ${parameters}`
  const child = spawn(program, [...args, '-kernel', kernel, '-initrd', files, '-append', line], { stdio: ['ignore', 'pipe', 'pipe'] })
  const file = join(cache, `${name}.log`)
  writeFileSync(file, '')
  let log = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', (text) => {
      log += text
      appendFileSync(file, text)
    })
  }
  const timer = setTimeout(() => child.kill('SIGKILL'), MAX_MS)
  const end = await new Promise((resolve, reject) => {
    child.once('close', (code, signal) => resolve(signal ?? code))
    child.once('error', (error) => {
      reject(error.code === 'ENOENT' ? new Skipped(`there is no ${program}: apt-get install ${packages}`) : error)
    })
  }).finally(() => clearTimeout(timer))
  if (!/^DONE\r?$/mu.test(log)) throw new Error(`the machine did not finish, and ended with ${end}; see ${file}`)
  return log
}

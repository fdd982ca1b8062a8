import { spawn } from 'node:child_process'
import { constants } from 'node:os'
import { delimiter } from 'node:path'
import { binDir } from './paths.mjs'
import { SetupError } from './setup-error.mjs'

const FORWARDED = ['SIGTERM', 'SIGHUP', 'SIGINT']

/** PATH as the project's own programs need it: the installed Node and Bun before the system's. */
export function environment() {
  const rest = (process.env.PATH || '').split(delimiter).filter((entry) => entry !== binDir)
  return { ...process.env, PATH: [binDir, ...rest].join(delimiter) }
}

/**
 * Runs a program with this process's stdio and passes signals on. Resolves with how it ended,
 * and with its stdout when that was asked to be a pipe.
 */
export function run(program, args, { env = environment(), cwd, stdio = 'inherit' } = {}) {
  return new Promise((resolve, reject) => {
    const child = spawn(program, args, { stdio, env, cwd })
    const forward = (signal) => {
      // A terminal has already sent ^C to the whole process group.
      if (signal !== 'SIGINT' || !process.stdin.isTTY) child.kill(signal)
    }
    const settle = (action, value) => {
      for (const signal of FORWARDED) process.removeListener(signal, forward)
      action(value)
    }
    let stdout = ''
    if (child.stdout) child.stdout.setEncoding('utf8').on('data', (text) => (stdout += text))
    for (const signal of FORWARDED) process.on(signal, forward)
    child.once('error', (error) => settle(reject, error))
    child.once('close', (code, signal) => settle(resolve, { code, signal, stdout }))
  })
}

/** Replaces this process by the command as nearly as Node can: same stdio, signals and exit code. */
export async function runCommand([program, ...args]) {
  let ended
  try {
    ended = await run(program, args)
  } catch (error) {
    if (error.code !== 'ENOENT') throw error
    throw new SetupError(`cannot run ${program}: no such program`)
  }
  if (ended.signal === null) {
    process.exitCode = ended.code
    return
  }
  process.exitCode = 128 + (constants.signals[ended.signal] || 0)
  process.kill(process.pid, ended.signal)
}

import { spawn } from 'node:child_process'
import { createInterface } from 'node:readline'
import { root } from '../setup/paths.mjs'

/** Without this, vitest colours its output in a pipe too. */
const colours = () => (process.stdout.isTTY || process.env.FORCE_COLOR ? {} : { NO_COLOR: '1' })

/**
 * Runs a program whose output is shown as it comes.
 * `onLine` also sees each line of stdout; without it the program keeps the terminal for itself.
 * Resolves with `problem`, a few words when the program did not end with exit code 0.
 */
export function stream(program, args, { env = process.env, limitMs, onLine, isShown = true } = {}) {
  const child = spawn(program, args, {
    cwd: root,
    env: { ...colours(), ...env },
    stdio: ['ignore', onLine ? 'pipe' : 'inherit', 'inherit'],
  })
  if (onLine) {
    createInterface({ input: child.stdout }).on('line', (line) => {
      if (isShown) process.stdout.write(`${line}\n`)
      onLine(line)
    })
  }
  return ending(child, program, limitMs)
}

/** Runs a program whose output is given when it has ended: `output`, and `problem` as above. */
export async function gathered(program, args, { cwd = root, env = process.env, limitMs } = {}) {
  const child = spawn(program, args, { cwd, env: { ...colours(), ...env }, stdio: ['ignore', 'pipe', 'pipe'] })
  let output = ''
  for (const pipe of [child.stdout, child.stderr]) pipe.setEncoding('utf8').on('data', (text) => (output += text))
  const { problem } = await ending(child, program, limitMs)
  return { output, problem }
}

function ending(child, program, limitMs) {
  return new Promise((resolve) => {
    let problem
    const timer =
      limitMs &&
      setTimeout(() => {
        problem = `stopped after ${Math.round(limitMs / 60_000)} min`
        child.kill('SIGTERM')
        setTimeout(() => child.kill('SIGKILL'), 5_000).unref()
      }, limitMs)
    child.on('error', (error) => {
      problem = `${program} did not start: ${error.code}`
      clearTimeout(timer)
      resolve({ problem })
    })
    child.on('close', (code, signal) => {
      clearTimeout(timer)
      if (code !== 0) problem ??= signal ? `ended by ${signal}` : `exit code ${code}`
      resolve({ problem })
    })
  })
}

import { spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'

const cli = fileURLToPath(new URL('../../dist/cli.js', import.meta.url))

/** How a program ended, and what it wrote. */
export interface Ended {
  code: number | null
  signal: NodeJS.Signals | null
  stdout: string
  stderr: string
}

export interface CliOptions {
  cwd?: string
  env?: NodeJS.ProcessEnv
  /** A program and its arguments that run the command for us. */
  under?: readonly string[]
}

/** Starts the `toolwright` command by the runtime of this process. */
export function startCli(args: readonly string[], { cwd, env, under = [] }: CliOptions = {}) {
  const [program, ...rest] = [...under, process.execPath, cli, ...args]
  const child = spawn(program as string, rest, { cwd, env: { ...process.env, ...env }, stdio: ['ignore', 'pipe', 'pipe'] })
  const written = { stdout: '', stderr: '' }
  child.stdout.setEncoding('utf8').on('data', (text: string) => (written.stdout += text))
  child.stderr.setEncoding('utf8').on('data', (text: string) => (written.stderr += text))
  const ended = new Promise<Ended>((resolve, reject) => {
    child.on('error', reject)
    child.on('close', (code, signal) => resolve({ code, signal, ...written }))
  })
  return { child, written, ended }
}

/** Runs the `toolwright` command to its end. */
export function runCli(args: readonly string[], options?: CliOptions): Promise<Ended> {
  return startCli(args, options).ended
}

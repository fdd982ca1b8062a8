import { spawn, type ChildProcess } from 'node:child_process'

/** A process that ended. */
export interface EndedScript {
  code: number | null
  signal: NodeJS.Signals | null
  stdout: string
  stderr: string
}

/** A process that runs. */
export interface StartedScript {
  child: ChildProcess
  ended: Promise<EndedScript>
  /** Settles when it has printed this. */
  printed(text: string): Promise<void>
}

/**
 * Runs a TypeScript file as a process of its own, in the runtime of the test.
 *
 * @param under a program and its arguments that run it for us
 * @param where its folder and its variables
 */
export function startScript(
  path: string,
  args: readonly string[],
  under: readonly string[] = [],
  where: { cwd?: string; env?: NodeJS.ProcessEnv } = {},
): StartedScript {
  const [command, ...rest] = [...under, process.execPath, path, ...args] as [string, ...string[]]
  const child = spawn(command, rest, { stdio: ['ignore', 'pipe', 'pipe'], ...where })
  let [stdout, stderr] = ['', '']
  let look: () => void = () => undefined
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    stdout += text
    look()
  })
  child.stderr.setEncoding('utf8').on('data', (text: string) => (stderr += text))
  const ended = new Promise<EndedScript>((resolve, reject) => {
    child.on('error', reject)
    child.on('close', (code, signal) => resolve({ code, signal, stdout, stderr }))
  })
  const printed = (wanted: string): Promise<void> =>
    new Promise((resolve, reject) => {
      look = () => {
        if (stdout.includes(wanted)) resolve()
      }
      look()
      void ended.then(() => reject(new Error(`ended without printing ${wanted}:\n${stdout}\n${stderr}`)))
    })
  return { child, ended, printed }
}

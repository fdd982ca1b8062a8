import { spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { makeFolder } from '../standard-agents/tool-folder.ts'
import { codeBlocks } from './code-blocks.ts'

const model = fileURLToPath(new URL('obedient-model.ts', import.meta.url))

/** A folder with the files that the blocks of a page are, and others. */
export function guideFolder(page: string, others: Record<string, string> = {}): string {
  const files = codeBlocks(page).flatMap(({ path, code }) => (path === undefined ? [] : [[path, code] as const]))
  return makeFolder({ ...Object.fromEntries(files), ...others })
}

interface Options {
  args?: readonly string[]
  env?: NodeJS.ProcessEnv
}

/** Starts a program in its folder, with a model that does what it is told. */
export function startGuide(folder: string, path: string, { args = [], env = {} }: Options = {}) {
  const preload = process.versions['bun'] === undefined ? '--import' : '--preload'
  const child = spawn(process.execPath, [preload, model, path, ...args], {
    cwd: folder,
    env: { ...process.env, ...env },
    stdio: ['pipe', 'pipe', 'pipe'],
  })
  const written = { stdout: '', stderr: '' }
  let look: () => void = () => undefined
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    written.stdout += text
    look()
  })
  child.stderr.setEncoding('utf8').on('data', (text: string) => (written.stderr += text))
  const ended = new Promise<{ code: number | null; stdout: string; stderr: string }>((resolve, reject) => {
    child.on('error', reject)
    // A guide's program lies in its own root, of which the package tells its person.
    child.on('close', (code) =>
      resolve({ code, ...written, stderr: written.stderr.replace(/^\[toolwright\] commands may write .*'@host'.*\n/mu, '') }),
    )
  })
  /** Settles when it has printed this. */
  const printed = (wanted: string): Promise<void> =>
    new Promise((resolve, reject) => {
      look = () => written.stdout.includes(wanted) && resolve()
      look()
      void ended.then(({ stdout, stderr }) => reject(new Error(`ended without printing ${wanted}:\n${stdout}\n${stderr}`)))
    })
  return { child, ended, printed }
}

/** Runs a program to its end, with nothing to read. */
export function runGuide(folder: string, path: string, options?: Options) {
  const { child, ended } = startGuide(folder, path, options)
  child.stdin.end()
  return ended
}

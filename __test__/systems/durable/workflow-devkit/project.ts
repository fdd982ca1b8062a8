import { execFile, spawn } from 'node:child_process'
import { cpSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { blockOf } from '../../../support/code-blocks.ts'
import type { StartedScript } from '../../../support/child-script.ts'
import { installedProject } from '../../../support/installed-packages.ts'

const here = fileURLToPath(new URL('.', import.meta.url))
const checkout = fileURLToPath(new URL('../../../..', import.meta.url))
/** Its server is one for Node. */
const node = join(checkout, 'node_modules/.bin/node')

/** The folder with the engine, in the versions of the lockfile. @throws {RegistryUnreachable} */
export const installedWorkflows = (): Promise<string> => installedProject('workflow-devkit', join(here, 'packages'), 'workflow')

/** Makes the engine's tables. */
export async function prepareDatabase(engine: string, url: string): Promise<void> {
  const program = join(engine, 'node_modules/@workflow/world-postgres/bin/setup.js')
  await promisify(execFile)(node, [program], { env: { ...process.env, WORKFLOW_POSTGRES_URL: url } })
}

/** The files of the documentation. */
const BLOCKS = [
  'workflows/task.ts',
  'agent.mjs',
  'nitro.config.mjs',
  'routes/start.post.mjs',
  'routes/result.post.mjs',
  'plugins/world.mjs',
]

/** A server that was built of the blocks of the documentation, beside the engine. */
export interface WorkflowProject {
  folder: string
  remove(): void
}

/** @param own whether the agent is the one of the documentation; otherwise it is the one of these tests. */
export async function buildProject(engine: string, own: boolean): Promise<WorkflowProject> {
  const folder = mkdtempSync(join(engine, 'project-'))
  for (const name of ['workflows', 'plugins', 'routes', 'node_modules']) mkdirSync(join(folder, name))
  symlinkSync(checkout, join(folder, 'node_modules/toolwright'))
  writeFileSync(join(folder, 'package.json'), '{ "type": "module" }')
  for (const name of BLOCKS) writeFileSync(join(folder, name), blockOf('guides/durable-engines.md', name))
  // The control beside the workflow of the documentation, and a model that is made up.
  if (!own) for (const name of ['agent.mjs', 'workflows/alone.mjs', 'routes/start.post.mjs']) cpSync(join(here, name), join(folder, name))
  const nitro = join(engine, 'node_modules/nitro/dist/cli/index.mjs')
  const remove = (): void => rmSync(folder, { recursive: true, force: true, maxRetries: 5 })
  try {
    await promisify(execFile)(node, [nitro, 'build'], { cwd: folder, maxBuffer: 1 << 26 })
  } catch (error) {
    remove()
    throw error
  }
  return { folder, remove }
}

/** A server, which is a worker. */
export interface WorkflowServer {
  child: StartedScript['child']
  ended: StartedScript['ended']
  /** Settles when it answers. */
  ready(): Promise<void>
  /** Begins a task. @returns the id of its run. */
  begin(task: string): Promise<string>
  /** Waits for the end of a run. @returns its result, or undefined when there is none. */
  result(runId: string, limitMs: number): Promise<string | undefined>
  printed(): string
}

export function startServer({ folder }: WorkflowProject, port: number, env: NodeJS.ProcessEnv): WorkflowServer {
  const child = spawn(node, [join(folder, '.output/server/index.mjs')], {
    cwd: folder,
    env: { ...process.env, ...env, PORT: String(port), HOST: '127.0.0.1', WORKFLOW_TARGET_WORLD: '@workflow/world-postgres' },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let [stdout, stderr] = ['', '']
  child.stdout.setEncoding('utf8').on('data', (text: string) => (stdout += text))
  child.stderr.setEncoding('utf8').on('data', (text: string) => (stderr += text))
  const ended: StartedScript['ended'] = new Promise((resolve) =>
    child.on('close', (code, signal) => resolve({ code, signal, stdout, stderr })),
  )
  const post = async (path: string, body: string): Promise<string> => {
    const response = await fetch(`http://127.0.0.1:${port}/${path}`, { method: 'POST', body })
    if (!response.ok) throw new Error(await response.text())
    return response.text()
  }
  return {
    child,
    ended,
    printed: () => stdout + stderr,
    async ready() {
      for (let tries = 0; ; tries += 1) {
        if (
          await fetch(`http://127.0.0.1:${port}/`).then(
            () => true,
            () => false,
          )
        )
          return
        if (tries > 1_200 || child.exitCode !== null) throw new Error(`the server does not start:\n${stdout}\n${stderr}`)
        await pause(25)
      }
    },
    begin: (task) => post('start', task),
    async result(runId, limitMs) {
      for (const end = Date.now() + limitMs; Date.now() < end; await pause(100)) {
        const answer = await post('result', runId).catch(() => '{}')
        const { status, result } = JSON.parse(answer) as { status?: string; result?: string }
        if (status === 'completed') return result
        if (status === 'failed' || status === 'cancelled') throw new Error(`${runId} ${status}:\n${stdout}\n${stderr}`)
      }
      return undefined
    },
  }
}

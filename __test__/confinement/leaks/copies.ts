/** Copies of a project that agents work in: forks, and work trees of git. */
import { execFile, execFileSync, spawn } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { createTools, type Fork, openFork, ToolError } from 'toolwright'
import { createSession } from 'toolwright/contract'
import { allowAll } from '../../contract/scene.ts'
import { node, ofProject, step } from '../../contract/mcp/servers.ts'
import type { Leak } from './cases.ts'
import { differences, type Project, snapshot } from './project.ts'

const run = promisify(execFile)

/** A server that runs command lines. */
const rawServer = join(import.meta.dirname, '../../contract/mcp/raw-server.mjs')

/** How long a process that is kept may write, in milliseconds. */
const KEPT_MS = 250
const LIMIT_MS = 30_000

/** One copy. */
export interface Copy {
  /** Runs a script to its end, however it ends. */
  run(script: string, me: string): Promise<void>
  /** Runs it as a process beside other calls, and ends it. */
  keep(script: string): Promise<void>
  /** Has a server of the Model Context Protocol run it. */
  serve(script: string): Promise<void>
  /** Whether it has changed anything in the copy. */
  hasChanged(): Promise<boolean>
  close(): Promise<void>
}

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms))

/** A fork, with the tools that an agent has. */
export async function forkedCopy({ base, outside, env }: Project): Promise<Copy> {
  const fork: Fork = await openFork({ rootDir: base, store: join(outside, '..', 'forks') })
  const sandbox = { writableRoots: [outside], readable: [outside] }
  const tools = createTools({ rootDir: fork, sandbox, processes: true, env: { set: env }, toolTimeoutMs: LIMIT_MS })
  const command = (script: string, me = 'me') => ({ cmd: 'sh', args: ['-c', `ME=${me}; export ME; ${script}`] })
  const seen = snapshotOf(fork)
  const before = await seen()
  return {
    async run(script, me) {
      // A script that fails has tried it.
      await tools.bash.execute(command(script, me)).catch((error: unknown) => {
        if (!ToolError.isInstance(error) || error.code !== 'TOOL_COMMAND_FAILED') throw error
      })
    },
    async keep(script) {
      const { process_id } = await tools.process_start.execute({ command: `export ME=me; ${script}`, wait_ms: KEPT_MS })
      await tools.bash.execute({ cmd: 'sleep', args: ['0.1'] })
      await tools.process_stop.execute({ process_id })
    },
    async serve(script) {
      const access = { writableRoots: ['{workspace}', outside], readable: [outside] }
      const server = ofProject({ command: node, args: [rawServer], env: { ...env, ME: 'me' }, cwd: '{workspace}', sandbox: access })
      await using session = await createSession({
        workspace: base,
        fork,
        manifest: {
          name: 'test',
          permissions: allowAll,
          mcpServers: { local: server },
        },
        enabledMcpServers: ['local'],
        toolSearch: { enabled: false },
      })
      await session.prepareStep(step)
      const called = await session.call('local_sh', { line: script })
      if (!['ok', 'tool_failed'].includes(called.metadata.code)) throw new Error(JSON.stringify(called))
    },
    hasChanged: async () => (await seen()) !== before,
    close: () => fork.discard(),
  }
}

/** What the host finds of the changes of a fork. */
const snapshotOf = (fork: Fork) => async (): Promise<string> => JSON.stringify(await fork.status())

/** A work tree of git, in which an agent runs commands as its user: what most programs call isolation. */
export async function workTree({ base, outside, env }: Project, name: string): Promise<Copy> {
  const place = join(outside, name)
  execFileSync('git', ['worktree', 'add', '-q', '--detach', place], { cwd: base, env: { ...process.env, ...env }, stdio: 'ignore' })
  const variables = (me = 'me') => ({ ...process.env, ...env, ME: me })
  const before = snapshot(place)
  const once = async (script: string, me = 'me'): Promise<void> => {
    await run('sh', ['-c', script], { cwd: place, env: variables(me), timeout: LIMIT_MS }).catch(() => undefined)
  }
  return {
    run: once,
    async keep(script) {
      const child = spawn('sh', ['-c', script], { cwd: place, env: variables(), stdio: 'ignore', detached: true })
      await pause(KEPT_MS + 100)
      // Its whole group; a session of its own ends with the test.
      if (child.pid !== undefined) process.kill(-child.pid, 'SIGKILL')
    },
    serve: once,
    hasChanged: async () => differences(before, snapshot(place)).length > 0,
    close: async () => undefined,
  }
}

/** Runs a case in one copy or in eight, and gives what has changed in the original and in copies that had no part in it. */
export async function leaked(
  leak: Leak,
  project: Project,
  make: (name: string) => Promise<Copy>,
): Promise<{ where: string[]; hasChanged: boolean }> {
  const { how = 'once', script } = leak
  const sibling = await make('sibling')
  const copies = await Promise.all(Array.from({ length: how === 'eight' ? 8 : 1 }, (_, index) => make(`copy-${index}`)))
  try {
    const before = snapshot(project.base)
    await Promise.all(
      copies.map((copy, index) => {
        if (how === 'process') return copy.keep(script)
        return how === 'server' ? copy.serve(script) : copy.run(script, `me-${index}`)
      }),
    )
    const where = differences(before, snapshot(project.base)).map((path) => `base: ${path}`)
    if (await sibling.hasChanged()) where.push('sibling')
    const changed = await Promise.all(copies.map((copy) => copy.hasChanged()))
    return { where, hasChanged: changed.every(Boolean) }
  } finally {
    for (const copy of [sibling, ...copies]) await copy.close()
  }
}

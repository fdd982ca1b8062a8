/** Workflows of DBOS whose executor is gone for good: DBOS itself waits until it comes back under its id. */
import { setTimeout as pause } from 'node:timers/promises'
import { callable, checked, type Checks, invalid, optional, parseOptions, positive } from '../core/options.js'

/** The part of `DBOS` that {@link superviseDbos} needs. */
export interface SupervisedDbos {
  readonly executorID: string
  readonly applicationVersion?: string
  listWorkflows(input: { status: 'PENDING'; workflowIDs?: string[] }): Promise<SupervisedWorkflow[]>
  resumeWorkflows(workflowIDs: string[]): Promise<unknown>
}

/** The part of a workflow's status that {@link superviseDbos} needs. */
export interface SupervisedWorkflow {
  readonly workflowID: string
  readonly executorId?: string | undefined
  readonly applicationVersion?: string | undefined
}

/** The part of a store of `postgresStore` that {@link superviseDbos} needs. */
export interface OwnedStore {
  join(): Promise<void>
  owners(): Promise<readonly { label: string | null; isAlive: boolean }[]>
}

/** Options of {@link superviseDbos}. */
export interface SuperviseDbosOptions {
  /** The time between two looks, in milliseconds. An executor is gone that two looks have not found. @default 5000 */
  everyMs?: number | undefined
  /** Called with the workflows that were given to other executors. */
  onRecovered?: ((workflowIDs: readonly string[]) => void) | undefined
  /** Called when a look has failed. The next one is made all the same. */
  onError?: ((error: unknown) => void) | undefined
}

const checks = {
  everyMs: optional(positive(), 5_000),
  onRecovered: optional(callable<NonNullable<SuperviseDbosOptions['onRecovered']>>()),
  onError: optional(callable<NonNullable<SuperviseDbosOptions['onError']>>()),
} satisfies Checks<SuperviseDbosOptions>

/** What {@link superviseDbos} returns. */
export interface Supervision extends AsyncDisposable {
  /** Looks once more, now. @returns the workflows that were given to other executors. */
  look(): Promise<readonly string[]>
  stop(): Promise<void>
}

/**
 * Gives the workflows of executors that are gone to those that are there. An executor is there while its journal has a lease: each
 * opens its store with `label: executorID`, and supervises. Call it after `DBOS.launch()`.
 *
 * @example
 * ```ts
 * const store = postgresStore(pool, { label: hostname() })
 * DBOS.setConfig({ name: 'agents', systemDatabasePool: pool, executorID: hostname() })
 * await DBOS.launch()
 * const supervision = await superviseDbos(DBOS, store)
 * ```
 * @param dbos `DBOS` of `@dbos-inc/dbos-sdk`.
 * @param store the store of this process's journal, of `postgresStore`.
 * @throws {ToolError} INVALID_INPUT, also if the label of the store is not the id of the executor; JOURNAL_…
 */
export async function superviseDbos(dbos: SupervisedDbos, store: OwnedStore, options: SuperviseDbosOptions = {}): Promise<Supervision> {
  const { everyMs, onRecovered, onError } = parseOptions('superviseDbos', options, checks)
  checked('superviseDbos', () => {
    callable()((dbos as Partial<SupervisedDbos> | null)?.resumeWorkflows, 'DBOS.resumeWorkflows')
    callable()((store as Partial<OwnedStore> | null)?.join, 'store.join')
  })
  const ended = new AbortController()
  /** Executors that the last look has not found. */
  let missed = new Set<string>()

  const alive = async (): Promise<Set<string>> => {
    // A process that was silent for too long comes back with a new lease.
    await store.join()
    return new Set((await store.owners()).flatMap(({ label, isAlive }) => (isAlive && label !== null ? [label] : [])))
  }
  const look = async (): Promise<string[]> => {
    const executors = await alive()
    const isOrphan = ({ executorId, applicationVersion }: SupervisedWorkflow): boolean =>
      executorId !== undefined &&
      !executors.has(executorId) &&
      (dbos.applicationVersion === undefined || applicationVersion === dbos.applicationVersion)
    const orphans = (await dbos.listWorkflows({ status: 'PENDING' })).filter(isOrphan)
    const gone = new Set(orphans.map(({ executorId }) => String(executorId)))
    const known = missed
    missed = gone
    const wanted = orphans.filter(({ executorId }) => known.has(String(executorId))).map(({ workflowID }) => workflowID)
    if (wanted.length === 0) return []
    // Another supervisor may have given them away meanwhile. Where both do, two executors run a workflow, and a call is made once.
    const still = await dbos.listWorkflows({ status: 'PENDING', workflowIDs: wanted })
    const ids = still.filter(isOrphan).map(({ workflowID }) => workflowID)
    if (ids.length === 0) return []
    await dbos.resumeWorkflows(ids)
    onRecovered?.(ids)
    return ids
  }

  if (!(await alive()).has(dbos.executorID)) {
    throw checked('superviseDbos', () =>
      invalid(`The store must be opened with label: ${JSON.stringify(dbos.executorID)}, the executor's id.`),
    )
  }
  let looking: Promise<unknown> = Promise.resolve()
  const loop = async (): Promise<void> => {
    for (;;) {
      // Supervisors that began together do not look together.
      await pause(everyMs * (0.75 + Math.random() / 2), undefined, { signal: ended.signal, ref: false })
      looking = look().catch((error: unknown) => onError?.(error))
      await looking
    }
  }
  void loop().catch(() => undefined)
  const stop = async (): Promise<void> => {
    ended.abort()
    await looking
  }
  return { look, stop, [Symbol.asyncDispose]: stop }
}

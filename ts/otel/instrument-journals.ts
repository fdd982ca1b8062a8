import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import type * as Otel from '@opentelemetry/api'
import { type Checks, must, optional, parseOptions } from '../core/options.js'
import { measuredStores, storeLeases, storeLocks, storeWrites } from '../journal/store-channels.js'
import type { StoreLease, StoreLock, StoreWrite } from '../journal/store-channels.js'
import { hasMethod, type Instrumentation, installedApi } from './installed-api.js'

/** Options of {@link instrumentJournals}. */
export interface InstrumentJournalsOptions {
  /** The meter that makes the instruments. @default the meter `toolwright` of the registered provider */
  meter?: Otel.Meter | undefined
  /**
   * The module `@opentelemetry/api`, for a program that is bundled together with it.
   * @default the installed one
   */
  api?: Pick<typeof Otel, 'metrics'> | undefined
}

const checks = {
  meter: optional(must<Otel.Meter>(hasMethod('createHistogram'), 'a meter of OpenTelemetry')),
  api: optional(
    must<Pick<typeof Otel, 'metrics'>>(
      (value) => hasMethod('getMeter')((value as Partial<typeof Otel> | null)?.metrics),
      'the module @opentelemetry/api',
    ),
  ),
} satisfies Checks<InstrumentJournalsOptions>

/** In seconds: a row in memory takes a fraction of a millisecond, and a server that restarts some seconds. */
const BOUNDARIES = [0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10]
const ROW_BOUNDARIES = [1, 2, 4, 8, 16, 32, 64, 128]

/**
 * Measures all journals in PostgreSQL of this process: rows that wait, how long a row takes, how long locks take, and which
 * processes are alive. The last one costs a statement for each collection.
 *
 * @throws {ToolError} INVALID_INPUT for an invalid option, and if `@opentelemetry/api` is not installed.
 *
 * @example
 * ```ts
 * import { instrumentJournals } from 'toolwright/otel'
 *
 * using instrumentation = instrumentJournals()
 * ```
 */
export function instrumentJournals(options: InstrumentJournalsOptions = {}): Instrumentation {
  const parsed = parseOptions('instrumentJournals', options, checks)
  const meter = parsed.meter ?? (parsed.api ?? installedApi('instrumentJournals')).metrics.getMeter('toolwright')
  const seconds = (name: string, description: string): Otel.Histogram =>
    meter.createHistogram(`toolwright.journal.${name}`, { unit: 's', description, advice: { explicitBucketBoundaries: BOUNDARIES } })
  const queueTime = seconds('queue.duration', 'How long rows waited for their turn.')
  const writeTime = seconds('write.duration', 'How long the server took for a statement that writes rows.')
  const lockTime = seconds('lock.duration', 'How long it took to lock a task, or to claim a call.')
  const rows = meter.createHistogram('toolwright.journal.write.rows', {
    unit: '{row}',
    description: 'Rows of one statement.',
    advice: { explicitBucketBoundaries: ROW_BOUNDARIES },
  })
  const leases = meter.createCounter('toolwright.journal.leases', { unit: '{lease}', description: 'Leases by what happened to them.' })
  const queue = meter.createObservableGauge('toolwright.journal.queue', { unit: '{row}', description: 'Rows that wait to be written.' })
  const owners = meter.createObservableGauge('toolwright.journal.owners', {
    unit: '{process}',
    description: 'Processes that record, and those that are silent and not taken over yet.',
  })

  const listeners: [string, (message: unknown) => void][] = [
    [
      String(storeWrites.name),
      (message) => {
        const { store, queuedMs, durationMs, code, ...write } = message as StoreWrite
        const attributes = { store, ...(code !== undefined && { 'error.type': code }) }
        queueTime.record(queuedMs / 1000, attributes)
        writeTime.record(durationMs / 1000, attributes)
        rows.record(write.rows, attributes)
      },
    ],
    [
      String(storeLocks.name),
      (message) => {
        const { store, lock, durationMs, outcome } = message as StoreLock
        lockTime.record(durationMs / 1000, { store, lock, outcome })
      },
    ],
    [
      String(storeLeases.name),
      (message) => {
        const { store, event } = message as StoreLease
        leases.add(1, { store, event })
      },
    ],
  ]
  const observeQueue: Otel.ObservableCallback = (result) => {
    // Stores with one name are one series.
    const counts = new Map<string, number>()
    for (const one of measuredStores()) counts.set(one.store, (counts.get(one.store) ?? 0) + one.queued())
    for (const [store, count] of counts) result.observe(count, { store })
  }
  const observeOwners: Otel.ObservableCallback = async (result) => {
    const asked = new Map(measuredStores().map((one) => [one.store, one]))
    const observed = [...asked.values()].map(async ({ store, owners: ask }) => {
      // A server that does not answer leaves a gap.
      const found = await ask().catch(() => undefined)
      if (found !== undefined) for (const [state, count] of Object.entries(found)) result.observe(count, { store, state })
    })
    await Promise.all(observed)
  }
  for (const [name, listener] of listeners) subscribe(name, listener)
  queue.addCallback(observeQueue)
  owners.addCallback(observeOwners)
  const dispose = (): void => {
    for (const [name, listener] of listeners) unsubscribe(name, listener)
    queue.removeCallback(observeQueue)
    owners.removeCallback(observeOwners)
  }
  return { dispose, [Symbol.dispose]: dispose }
}

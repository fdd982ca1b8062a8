/** What stores on servers publish about themselves. Without a listener, no message is made. */
import { channel } from 'node:diagnostics_channel'

/** Rows that were written by one statement, or could not be: `toolwright:journal-write`. */
export interface StoreWrite {
  /** Where the rows are, without a password. */
  store: string
  rows: number
  /** How long the first of them waited for its turn, in milliseconds. */
  queuedMs: number
  /** How long the server took, in milliseconds. */
  durationMs: number
  /** The code of the error, if they were not written. */
  code: string | undefined
}

/** A lock of a task, or the claim of a call: `toolwright:journal-lock`. */
export interface StoreLock {
  store: string
  lock: 'task' | 'call'
  /** How long it took until it was decided, with the wait for another process that makes the same call, in milliseconds. */
  durationMs: number
  /** `taken`: it is this process's. `held`: another process has it. `recorded`, `unknown`: the call was made, or may have been. */
  outcome: 'taken' | 'held' | 'recorded' | 'unknown' | 'failed'
}

/** The lease of this process: `toolwright:journal-lease`. `lost` is one that another process may have taken over. */
export interface StoreLease {
  store: string
  event: 'opened' | 'lost' | 'closed'
}

export const storeWrites = channel('toolwright:journal-write')
export const storeLocks = channel('toolwright:journal-lock')
export const storeLeases = channel('toolwright:journal-lease')

/** A store that can be asked how it is. */
export interface MeasuredStore {
  store: string
  /** Rows that wait for their turn, or for the server. */
  queued(): number
  /** Processes whose lease runs, and those whose lease has ended and that nobody has taken over yet. */
  owners(): Promise<{ alive: number; silent: number }>
}

/** Shared by all installed copies of the package, as the channels are. A store that nobody uses is forgotten. */
const stores = ((globalThis as { [key: symbol]: unknown })[Symbol.for('toolwright.measured-stores')] ??= new Set()) as Set<
  WeakRef<MeasuredStore>
>

/** @returns what ends it. */
export function addMeasuredStore(store: MeasuredStore): () => void {
  const entry = new WeakRef(store)
  stores.add(entry)
  // Who can end it keeps the store.
  return () => void (entry.deref() === store && stores.delete(entry))
}

export function measuredStores(): MeasuredStore[] {
  return [...stores].flatMap((entry) => {
    const store = entry.deref()
    if (store === undefined) stores.delete(entry)
    return store ?? []
  })
}

/** Publishes how a lock was decided. */
export async function tracedLock<T>(
  about: Pick<StoreLock, 'store' | 'lock'>,
  take: () => Promise<T>,
  outcomeOf: (value: T) => StoreLock['outcome'],
  outcomeOfError: (error: unknown) => StoreLock['outcome'] = () => 'failed',
): Promise<T> {
  if (!storeLocks.hasSubscribers) return take()
  const began = performance.now()
  const publish = (outcome: StoreLock['outcome']): void =>
    storeLocks.publish({ ...about, durationMs: performance.now() - began, outcome } satisfies StoreLock)
  try {
    const value = await take()
    publish(outcomeOf(value))
    return value
  } catch (error) {
    publish(outcomeOfError(error))
    throw error
  }
}

import { openNativeThreads } from '../../core/native.js'
import { checked, givenOptions, invalid } from '../../core/options.js'
import { NativeThreads } from './native-threads.js'
import type { ThreadStore } from './thread-store.js'

/** How a thread store is opened. */
export interface OpenThreadStoreOptions {
  /**
   * What survives once a promise settles: `normal` the end of every process, `full` also a loss of power, at the
   * price of waiting for the disk each time. @default 'normal'
   */
  synchronous?: 'normal' | 'full' | undefined
  /** Whether the store is read only. @default false */
  readOnly?: boolean | undefined
  /** How long a call waits for other processes that write, in milliseconds. @default 10000 */
  busyTimeoutMs?: number | undefined
  /** The most bytes of an attachment. @default 268435456 (256 MiB) */
  maxAttachmentBytes?: number | undefined
  /** The most bytes of a value, arguments, a result or a message, as text. @default 67108864 (64 MiB) */
  maxTextBytes?: number | undefined
}

const optionNames = ['synchronous', 'readOnly', 'busyTimeoutMs', 'maxAttachmentBytes', 'maxTextBytes']

/**
 * Opens a thread store: an SQLite file that any number of processes may share, created when missing, or a store
 * in memory.
 *
 * @param location `file:thread.db`, `file:///var/thread.db`, a path, or `memory:`.
 * @throws {ToolError} THREAD_LOCATION_INVALID, THREAD_STORE_NOT_FOUND, THREAD_OPEN_FAILED,
 * THREAD_READ_ONLY, THREAD_NOT_A_DATABASE, THREAD_CORRUPT, THREAD_SCHEMA_MISMATCH, THREAD_DISK_FULL,
 * THREAD_BUSY; INVALID_INPUT for an invalid option; NATIVE_UNAVAILABLE.
 */
export async function openThreadStore(location: string | URL, options: OpenThreadStoreOptions = {}): Promise<ThreadStore> {
  const given = givenOptions('openThreadStore', options, optionNames)
  const { synchronous = 'normal', readOnly = false, busyTimeoutMs = 10_000 } = given
  const { maxAttachmentBytes = 268_435_456, maxTextBytes = 67_108_864 } = given
  const where = checked('openThreadStore', () => {
    if (typeof location !== 'string' && !(location instanceof URL)) throw invalid('A thread store is opened by a path or by memory:.')
    return String(location)
  })
  if (!['normal', 'full'].includes(synchronous)) throw invalid("synchronous must be 'normal' or 'full'.")
  if (typeof readOnly !== 'boolean') throw invalid('readOnly must be true or false.')
  for (const [name, number] of Object.entries({ busyTimeoutMs, maxAttachmentBytes, maxTextBytes })) {
    if (typeof number !== 'number' || !(number > 0)) throw invalid(`${name} must be positive.`)
  }
  const { native, path } = await openNativeThreads(where, {
    full: synchronous === 'full',
    readOnly,
    busyTimeoutMs,
    attachmentLimitBytes: maxAttachmentBytes,
    textLimitBytes: maxTextBytes,
  })
  return new NativeThreads(native, path)
}

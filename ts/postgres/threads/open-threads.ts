/** Threads by an address: in a file, in memory, or on a server. */
import { type CreateThreadOptions, createThreadIn } from '../../standard-agents/thread/create-thread.js'
import type { Thread } from '../../standard-agents/thread/thread.js'
import { openThreadStore as openFile, type OpenThreadStoreOptions } from '../../standard-agents/store/open-thread-store.js'
import type { ThreadStore } from '../../standard-agents/store/thread-store.js'
import { loadLate } from '../../core/late-code.js'

const loadThreads = loadLate(() => import('./server-threads.js'))

const URL_OF_SERVER = /^postgres(?:ql)?:\/\//iu

/**
 * Opens a store of threads: an SQLite file that any number of processes may share, a store in memory, or one in PostgreSQL, for
 * which `pg` has to be installed.
 *
 * @example
 * ```ts
 * await using store = await openThreadStore('file:thread.db')
 * ```
 * @param location `file:thread.db`, `file:///var/thread.db`, a path, `memory:`, or `postgres://user@host/database` (with
 * `?schema=NAME` for other tables than those in `public`). To a server, `synchronous` does not apply.
 * @throws {ToolError} INVALID_INPUT, THREAD_LOCATION_INVALID, THREAD_STORE_NOT_FOUND, THREAD_OPEN_FAILED, THREAD_READ_ONLY,
 * THREAD_NOT_A_DATABASE, THREAD_CORRUPT, THREAD_SCHEMA_MISMATCH, THREAD_DISK_FULL, THREAD_BUSY, NATIVE_UNAVAILABLE
 */
export async function openThreadStore(location: string | URL, options: OpenThreadStoreOptions = {}): Promise<ThreadStore> {
  const address = location instanceof URL ? location.href : location
  if (typeof address !== 'string' || !URL_OF_SERVER.test(address)) return openFile(location, options)
  const { openServerThreads } = await loadThreads()
  return openServerThreads(address, options)
}

/**
 * Opens a thread: tools with the state they work on.
 *
 * @example
 * ```ts
 * const { tools } = await loadTools('agents/tools')
 * await using thread = await createThread({ tools, store: 'file:thread.db', threadId: 'customer-7' })
 * await thread.call('search_knowledge_base', { query: 'refunds' })
 * ```
 * @throws {ToolError} INVALID_INPUT for an invalid option, and what opening the store throws.
 */
export async function createThread(options: CreateThreadOptions): Promise<Thread> {
  return createThreadIn(options, openThreadStore)
}

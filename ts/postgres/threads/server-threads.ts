/** Threads on connections of our own. */
import type { OpenThreadStoreOptions } from '../../standard-agents/store/open-thread-store.js'
import { parseOpenOptions } from '../../standard-agents/store/open-thread-store.js'
import type { ThreadStore } from '../../standard-agents/store/thread-store.js'
import { openServerClient } from '../server-client.js'
import { postgresThreads } from './postgres-threads.js'
import { threadFailure } from './thread-failures.js'

/** @throws {ToolError} THREAD_LOCATION_INVALID; THREAD_OPEN_FAILED without `pg`, and for a server that refuses; … */
export async function openServerThreads(address: string, options: OpenThreadStoreOptions): Promise<ThreadStore> {
  const { busyTimeoutMs: patienceMs, synchronous: _, ...rest } = parseOpenOptions(options)
  const { client, schema, shown } = await openServerClient(address, patienceMs).catch((error: unknown) => {
    throw threadFailure(error)
  })
  // The store does not close a client that it was given.
  const store = postgresThreads({ query: client.query }, { ...rest, schema, patienceMs, location: shown })
  const { close } = store
  let closing: Promise<void> | undefined
  store.close = () => (closing ??= close().finally(() => client.end()))
  try {
    // A wrong address, a missing right and a foreign schema are told here, not by the first call.
    await store.getThread('toolwright')
  } catch (error) {
    await store.close().catch(() => undefined)
    throw error
  }
  return store
}

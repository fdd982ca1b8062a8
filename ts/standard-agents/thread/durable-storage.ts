import { ToolError } from '../../core/errors.js'
import { threadStorage } from '../store/thread-storage.js'
import type { ThreadStore } from '../store/thread-store.js'
import type { DurableObjectStorage } from './thread-state.js'

/** Methods of a Durable Object's storage that a local thread lacks. */
const unsupported = [
  'transaction',
  'transactionSync',
  'getAlarm',
  'setAlarm',
  'deleteAlarm',
  'sync',
  'getCurrentBookmark',
  'getBookmarkForTime',
  'onNextSessionRestoreBookmark',
] as const

/**
 * The storage of a thread as its tools see it. Methods that are not supported locally throw.
 */
export function durableStorage(store: ThreadStore, threadId: string): DurableObjectStorage {
  const storage = threadStorage(store, threadId)
  for (const name of unsupported) {
    const refuse = (): never => {
      throw notSupported(`state.storage.${name}()`)
    }
    Object.defineProperty(storage, name, { value: refuse })
  }
  for (const name of ['sql', 'kv']) {
    Object.defineProperty(storage, name, {
      get: () => {
        throw notSupported(`state.storage.${name}`)
      },
    })
  }
  return storage as DurableObjectStorage
}

function notSupported(what: string): ToolError {
  return new ToolError({
    code: 'INVALID_INPUT',
    summary: `${what} is not supported locally`,
    hint: 'Use get, put, delete, list and deleteAll; each is one transaction.',
  })
}

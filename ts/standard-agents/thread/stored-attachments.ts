import { streamAttachment } from '../store/stream-attachment.js'
import type { ThreadAttachments } from './thread.js'
import type { ThreadParts } from './thread-parts.js'

/** The files of a thread, for its host. */
export function threadAttachments({ store, thread: { threadId } }: ThreadParts): ThreadAttachments {
  return {
    async put(file) {
      const ref = await store.stageAttachment(threadId, file)
      await store.commit(threadId, { attachments: [ref.path] })
      return ref
    },
    get: (path) => store.getAttachment(threadId, path),
    list: () => store.listAttachments(threadId),
    read: (path, range) => store.readAttachment(threadId, path, range),
    stream: (path) => streamAttachment(store, threadId, path),
    delete: (path) => store.deleteAttachment(threadId, path),
    export: (path, directory) => store.exportAttachment(threadId, path, directory),
  }
}

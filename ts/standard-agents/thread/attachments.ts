import { streamAttachment } from '../store/attachment-bytes.js'
import type { AttachmentRef } from '../store/thread-store.js'
import { failure, isStored, type ToolResult } from '../tools/tool-result.js'
import type { ThreadParts } from './thread-parts.js'
import type { ThreadAttachments } from './thread.js'

/** A result whose attachments are in the store. */
export interface StagedResult {
  result: ToolResult
  /** Paths of staged attachments, to be committed with the result. */
  paths: string[]
}

/**
 * Stages the new files of a result; references come first. If a file cannot be stored, the result becomes an
 * error and none of its files is stored.
 */
export async function stageAttachments(
  { store, thread: { threadId } }: ThreadParts,
  result: ToolResult,
  signal?: AbortSignal,
): Promise<StagedResult> {
  const { attachments, ...rest } = result
  if (attachments === undefined || attachments.length === 0) return { result, paths: [] }
  const known: AttachmentRef[] = []
  const staged: AttachmentRef[] = []
  let current = ''
  try {
    for (const { path } of attachments.filter(isStored)) {
      current = path
      const stored = await store.getAttachment(threadId, path)
      if (stored === undefined) throw new Error('there is no such attachment in this thread')
      known.push(stored)
    }
    for (const attachment of attachments) {
      if (isStored(attachment)) continue
      current = attachment.name
      staged.push(await store.stageAttachment(threadId, attachment, { signal }))
    }
    return { result: { ...rest, attachments: [...known, ...staged] }, paths: staged.map(({ path }) => path) }
  } catch (error) {
    const paths = staged.map(({ path }) => path)
    await store.discardStaged(threadId, paths).catch(() => undefined)
    const why = error instanceof Error ? error.message : String(error)
    // The tool's own text stays readable: its work may have been done.
    return { result: { ...rest, ...failure(`Attachment ${JSON.stringify(current)} could not be stored: ${why}`) }, paths: [] }
  }
}

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

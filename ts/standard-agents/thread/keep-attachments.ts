import { failure } from '../tools/execution/tool-result.js'
import type { ThreadStore } from '../store/thread-store.js'
import type { AttachmentRef, ToolAttachment, ToolResult } from '../tools/tool-definition.js'

/** A result whose attachments are in the store. */
export interface KeptResult {
  result: ToolResult
  /** Those that are staged, and to be committed with it. */
  staged: string[]
}

/**
 * Puts the new files of a result into the store; the ones that were there come first. A file that cannot
 * be stored makes the result an error, and none of its files is kept.
 */
export async function keepAttachments(store: ThreadStore, threadId: string, result: ToolResult, signal: AbortSignal): Promise<KeptResult> {
  const { attachments, ...rest } = result
  if (attachments === undefined || attachments.length === 0) return { result, staged: [] }
  const isNew = (item: ToolAttachment | AttachmentRef): item is ToolAttachment => 'data' in item
  const found: AttachmentRef[] = []
  const stored: AttachmentRef[] = []
  let current = ''
  try {
    for (const ref of attachments) {
      if (isNew(ref)) continue
      current = ref.path
      const known = await store.getAttachment(threadId, ref.path)
      if (known === undefined) throw new Error('there is no such attachment in this thread')
      found.push(known)
    }
    for (const attachment of attachments) {
      if (!isNew(attachment)) continue
      current = attachment.name
      stored.push(await store.stageAttachment(threadId, attachment, { signal }))
    }
    const kept = { ...rest, attachments: [...found, ...stored] }
    return { result: kept, staged: stored.map(({ path }) => path) }
  } catch (error) {
    await store
      .discardStaged(
        threadId,
        stored.map(({ path }) => path),
      )
      .catch(() => undefined)
    const why = error instanceof Error ? error.message : String(error)
    // What the tool has said stays readable: its work may have been done.
    return {
      result: { ...rest, ...failure(`Attachment ${JSON.stringify(current)} could not be stored: ${why}`) },
      staged: [],
    }
  }
}

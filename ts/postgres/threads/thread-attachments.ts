/**
 * Attachments as rows of at most a chunk. The row of the file comes first, with the owner that stages it and a size of -1, then
 * its chunks, each in a transaction of its own; only a commit makes it readable.
 */
import { randomUUID } from 'node:crypto'
import { abortSignal, parseOptions } from '../../core/options.js'
import { attachmentParts, streamAttachment } from '../../standard-agents/store/attachment-bytes.js'
import { attachmentFields, checkBytes, keyList, storedText, threadError } from '../../standard-agents/store/store-checks.js'
import type { AttachmentRef, ThreadStore } from '../../standard-agents/store/thread-store.js'
import type { Owner } from '../owner.js'
import { exportFile } from './attachment-export.js'
import { Chunks, StrictBase64 } from './chunks.js'
import { imageSize } from './image-size.js'
import { missing, threadFailure } from './thread-failures.js'
import type { ThreadLocks } from './thread-locks.js'
import { attachmentOf } from './thread-rows.js'
import type { ThreadSession } from './thread-session.js'
import { checkMimeType, checkName, checkPath, endingOf, isText } from './thread-texts.js'

const CHUNK_BYTES = 1_835_008

type Methods =
  | 'stageAttachment'
  | 'discardStaged'
  | 'getAttachment'
  | 'listAttachments'
  | 'readAttachment'
  | 'deleteAttachment'
  | 'exportAttachment'

export function attachmentsOf(session: ThreadSession, locks: ThreadLocks, owner: Owner, limitBytes: number): Pick<ThreadStore, Methods> {
  const [files, chunks] = [session.table('thread_files'), session.table('thread_file_chunks')]
  const one = 'thread = $1::text::bigint AND path = $2::text'
  const find = async (thread: number, path: string): Promise<AttachmentRef | undefined> => {
    const [row] = await session.ask(`SELECT * FROM ${files} WHERE ${one} AND staged_by IS NULL`, [thread, path])
    return row && attachmentOf(row)
  }
  const discard = (thread: number, path: string) =>
    session.change(`DELETE FROM ${files} WHERE ${one} AND staged_by IS NOT NULL`, [thread, path])
  const tooLarge = (name: string, size: number) =>
    threadError(
      'THREAD_TOO_LARGE',
      'Too large for the thread store',
      `attachment \`${name}\` of ${size} bytes or more, limit ${limitBytes} bytes`,
      'Store less, or raise maxAttachmentBytes.',
      { limitBytes },
    )
  const lease = async (): Promise<number> => {
    try {
      return (await owner.current()).id
    } catch (error) {
      throw threadFailure(error)
    }
  }
  /** Why an upload is no more there. */
  const sweptAway = async (threadId: string, name: string) => {
    await locks.numberOf(threadId)
    const summary = 'The upload was given up, since this process was silent for longer than its lease'
    return threadError('THREAD_IO_FAILED', summary, `\`${name}\``, 'Store it again.', { attachment: name })
  }

  const store: Pick<ThreadStore, Methods> = {
    async stageAttachment(threadId, attachment, options = {}) {
      const { signal } = parseOptions('store.stageAttachment', options, { signal: abortSignal })
      signal?.throwIfAborted()
      session.checkWritable()
      const { name, mimeType, ...given } = attachmentFields(attachment, 'attachment')
      checkName('attachment name', name, 255)
      checkMimeType(mimeType)
      const [id, now] = [randomUUID(), Date.now()]
      const path = `/attachments/${now}-${id.slice(0, 8)}.${endingOf(mimeType, name)}`
      await locks.change(
        threadId,
        `INSERT INTO ${files} (thread, path, id, name, mime_type, size, created_at_ms, staged_by)
         SELECT $1::text::bigint, $4::text, $5::text, $6::text, $7::text, -1, $8::text::bigint, $9::text::bigint WHERE ${locks.fence}
         ON CONFLICT DO NOTHING`,
        [path, id, name, mimeType, now, await lease()],
      )
      const thread = await locks.numberOf(threadId)
      let [size, count, start] = [0, 0, Buffer.alloc(0)]
      const put = async (chunk: Buffer): Promise<void> => {
        if (count === 0) start = Buffer.from(chunk.subarray(0, 65_536))
        const written = await session.change(
          `INSERT INTO ${chunks} SELECT f.thread, f.path, $3::text::bigint, decode($4::text, 'base64') FROM ${files} f
           WHERE f.thread = $1::text::bigint AND f.path = $2::text AND f.staged_by IS NOT NULL
           ON CONFLICT (thread, file_path, chunk_index) DO UPDATE SET data = excluded.data RETURNING 1 AS one`,
          [thread, path, count, chunk.toString('base64')],
        )
        if (written.length === 0) throw await sweptAway(threadId, name)
        count += 1
      }
      try {
        const [pending, base64] = [new Chunks(CHUNK_BYTES), new StrictBase64(name)]
        for await (const part of attachmentParts(attachment.data, signal)) {
          signal?.throwIfAborted()
          const bytes = typeof part === 'string' ? base64.decode(part) : part
          size += bytes.length
          if (size > limitBytes) throw tooLarge(name, size)
          for (const chunk of pending.add(bytes)) await put(chunk)
        }
        signal?.throwIfAborted()
        const last = pending.rest()
        if (last.length > 0) await put(last)
        const isMeasured = given.width !== undefined || given.height !== undefined || isText(mimeType)
        const { width, height } = isMeasured ? given : (imageSize(start) ?? {})
        const [row] = await session.change(
          `UPDATE ${files} SET size = $3::text::bigint, width = $4::text::bigint, height = $5::text::bigint
           WHERE ${one} AND staged_by IS NOT NULL RETURNING *`,
          [thread, path, size, width, height],
        )
        if (row === undefined) throw await sweptAway(threadId, name)
        return attachmentOf(row)
      } catch (error) {
        await discard(thread, path).catch(() => undefined)
        throw error
      }
    },
    async discardStaged(threadId, paths) {
      const list = keyList(paths, 'paths')
      const thread = await locks.numberOf(threadId)
      for (const path of list) await discard(thread, path)
    },
    getAttachment: async (threadId, path) => {
      checkPath(path)
      return find(await locks.numberOf(threadId), path)
    },
    async listAttachments(threadId) {
      const thread = await locks.numberOf(threadId)
      const rows = await session.ask(`SELECT * FROM ${files} WHERE thread = $1::text::bigint AND staged_by IS NULL ORDER BY seq`, [thread])
      return rows.map(attachmentOf)
    },
    async readAttachment(threadId, path, range = {}) {
      checkPath(path)
      const bounds = checkBytes(range)
      const thread = await locks.numberOf(threadId)
      const file = await find(thread, path)
      if (file === undefined) throw missing('THREAD_ATTACHMENT_NOT_FOUND', path)
      const end = Math.min(bounds.end ?? file.size, file.size)
      const start = Math.min(bounds.start, end)
      const bytes = new Uint8Array(end - start)
      for (let at = start; at < end;) {
        const [index, offset] = [Math.floor(at / CHUNK_BYTES), at % CHUNK_BYTES]
        const length = Math.min(end - at, CHUNK_BYTES - offset)
        const [row] = await session.ask(
          `SELECT encode(substring(data FROM $4::text::int FOR $5::text::int), 'base64') AS part FROM ${chunks}
           WHERE thread = $1::text::bigint AND file_path = $2::text AND chunk_index = $3::text::bigint`,
          [thread, path, index, offset + 1, length],
        )
        const part = Buffer.from(String(row?.['part'] ?? ''), 'base64')
        if (part.length !== length) {
          if ((await find(thread, path)) === undefined) throw missing('THREAD_ATTACHMENT_NOT_FOUND', path)
          const where = `\`${path}\` lacks bytes of its chunk ${index}`
          throw threadError('THREAD_CORRUPT', 'Thread store is damaged', where, 'Delete this attachment.', { attachment: path })
        }
        bytes.set(part, at - start)
        at += length
      }
      return bytes
    },
    async deleteAttachment(threadId, path) {
      checkPath(path)
      session.checkWritable()
      const wasThere = (await find(await locks.numberOf(threadId), path)) !== undefined
      let isRepeated = false
      const text = `DELETE FROM ${files} WHERE thread = $1::text::bigint AND path = $4::text AND staged_by IS NULL AND ${locks.fence} RETURNING 1 AS one`
      const gone = await locks.change(threadId, text, (again) => {
        isRepeated = again
        return [path]
      })
      return gone.length > 0 || (isRepeated && wasThere)
    },
    async exportAttachment(threadId, path, directory) {
      const name = checkPath(path).slice('/attachments/'.length)
      const into = storedText(directory, 'directory')
      if ((await store.getAttachment(threadId, path)) === undefined) throw missing('THREAD_ATTACHMENT_NOT_FOUND', path)
      return exportFile(into, name, streamAttachment(store as ThreadStore, threadId, path))
    },
  }
  return store
}

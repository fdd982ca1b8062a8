/** Attachments as rows of at most a chunk. */
import { randomUUID } from 'node:crypto'
import { rename, rm, writeFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { abortSignal, parseOptions } from '../../core/options.js'
import { attachmentParts } from '../../standard-agents/store/attachment-bytes.js'
import { attachmentFields, checkBytes, storedText, threadError } from '../../standard-agents/store/store-checks.js'
import type { AttachmentRef, ThreadStore } from '../../standard-agents/store/thread-store.js'
import type { SqlRow } from '../client.js'
import { imageSize } from './image-size.js'
import type { Ask } from './postgres-threads.js'
import { missing } from './thread-failures.js'
import { asGiven, checkMimeType, checkName, checkPath, endingOf, isText } from './thread-texts.js'

const CHUNK_BYTES = 1_835_008

type Methods =
  | 'stageAttachment'
  | 'discardStaged'
  | 'getAttachment'
  | 'listAttachments'
  | 'readAttachment'
  | 'deleteAttachment'
  | 'exportAttachment'

export interface AttachmentParts {
  ask: Ask
  write: Ask
  numberOf(threadId: string): Promise<number>
  limitBytes: number
  stager(): Promise<number>
}

const refOf = (row: SqlRow): AttachmentRef => ({
  id: String(row['id']),
  type: 'file',
  path: String(row['path']),
  name: asGiven(String(row['name'])),
  mimeType: asGiven(String(row['mime_type'])),
  ...(row['width'] === null ? {} : { width: Number(row['width']) }),
  ...(row['height'] === null ? {} : { height: Number(row['height']) }),
  size: Number(row['size']),
})

function bytesOfBase64(data: string, name: string): Buffer {
  const bytes = Buffer.from(data, 'base64')
  if (bytes.toString('base64') === data) return bytes
  throw threadError(
    'THREAD_ENCODING_INVALID',
    'Attachment data is not base64',
    `\`${name}\``,
    'Give padded base64 of the standard alphabet, without line breaks.',
  )
}

export function attachmentsOf({ ask, write, numberOf, limitBytes, stager }: AttachmentParts): Pick<ThreadStore, Methods> {
  const find = async (thread: number, path: string): Promise<AttachmentRef | undefined> => {
    const [row] = await ask(
      (name) => `SELECT * FROM ${name('thread_files')} WHERE thread = $1::text::bigint AND path = $2::text AND staged_by IS NULL`,
      [thread, path],
    )
    return row && refOf(row)
  }
  const discard = async (thread: number, path: string): Promise<void> => {
    await write(
      (name) => `DELETE FROM ${name('thread_files')} WHERE thread = $1::text::bigint AND path = $2::text AND staged_by IS NOT NULL`,
      [thread, path],
    )
  }
  const store: Pick<ThreadStore, Methods> = {
    async stageAttachment(threadId, attachment, options = {}) {
      const { signal } = parseOptions('store.stageAttachment', options, { signal: abortSignal })
      signal?.throwIfAborted()
      const { name, mimeType, ...given } = attachmentFields(attachment, 'attachment')
      checkName('attachment name', name, 255)
      checkMimeType(mimeType)
      const thread = await numberOf(threadId)
      const data = typeof attachment.data === 'string' ? bytesOfBase64(attachment.data, name) : attachment.data
      const [id, now, stagedBy] = [randomUUID(), Date.now(), await stager()]
      const path = `/attachments/${now}-${id.slice(0, 8)}.${endingOf(mimeType, name)}`
      await write(
        (table) => `INSERT INTO ${table('thread_files')} (thread, path, id, name, mime_type, size, created_at_ms, staged_by)
          VALUES ($1::text::bigint, $2::text, $3::text, $4::text, $5::text, -1, $6::text::bigint, $7::text::bigint) ON CONFLICT DO NOTHING`,
        [thread, path, id, name, mimeType, now, stagedBy],
      )
      let [size, chunks] = [0, 0]
      let [pending, start]: [Buffer, Buffer] = [Buffer.alloc(0), Buffer.alloc(0)]
      const put = async (chunk: Buffer): Promise<void> => {
        if (chunks === 0) start = chunk
        await write(
          (table) =>
            `INSERT INTO ${table('thread_file_chunks')} VALUES ($1::text::bigint, $2::text, $3::text::bigint, decode($4::text, 'base64')) ON CONFLICT DO NOTHING`,
          [thread, path, chunks, chunk.toString('base64')],
        )
        chunks += 1
      }
      try {
        for await (const part of attachmentParts(data, signal)) {
          signal?.throwIfAborted()
          size += part.length
          if (size > limitBytes)
            throw threadError(
              'THREAD_TOO_LARGE',
              'Too large for the thread store',
              `attachment \`${name}\` of ${size} bytes or more, limit ${limitBytes} bytes`,
              'Store less.',
            )
          pending = Buffer.concat([pending, part as Uint8Array])
          while (pending.length >= CHUNK_BYTES) {
            await put(pending.subarray(0, CHUNK_BYTES))
            pending = pending.subarray(CHUNK_BYTES)
          }
        }
        signal?.throwIfAborted()
        if (pending.length > 0) await put(pending)
        const isMeasured = given.width !== undefined || given.height !== undefined || isText(mimeType)
        const { width, height } = isMeasured ? given : (imageSize(start) ?? {})
        const [row] = await write(
          (table) => `UPDATE ${table('thread_files')} SET size = $3::text::bigint, width = $4::text::bigint, height = $5::text::bigint
            WHERE thread = $1::text::bigint AND path = $2::text RETURNING *`,
          [thread, path, size, width, height],
        )
        if (row === undefined) throw missing('THREAD_NOT_FOUND', threadId)
        return refOf(row)
      } catch (error) {
        await discard(thread, path).catch(() => undefined)
        throw error
      }
    },
    async discardStaged(threadId, paths) {
      const thread = await numberOf(threadId)
      for (const path of paths) await discard(thread, storedText(path, 'attachment path'))
    },
    getAttachment: async (threadId, path) => {
      checkPath(path)
      return find(await numberOf(threadId), path)
    },
    async listAttachments(threadId) {
      const thread = await numberOf(threadId)
      return (
        await ask(
          (name) => `SELECT * FROM ${name('thread_files')} WHERE thread = $1::text::bigint AND staged_by IS NULL ORDER BY seq`,
          [thread],
        )
      ).map(refOf)
    },
    async readAttachment(threadId, path, range = {}) {
      checkPath(path)
      const bounds = checkBytes(range)
      const thread = await numberOf(threadId)
      const file = await find(thread, path)
      if (file === undefined) throw missing('THREAD_ATTACHMENT_NOT_FOUND', path)
      const end = Math.min(bounds.end ?? file.size, file.size)
      const start = Math.min(bounds.start, end)
      const parts: Buffer[] = []
      for (let at = start; at < end;) {
        const [index, offset] = [Math.floor(at / CHUNK_BYTES), at % CHUNK_BYTES]
        const length = Math.min(end - at, CHUNK_BYTES - offset)
        const [row] = await ask(
          (
            name,
          ) => `SELECT encode(substring(data FROM $4::text::int FOR $5::text::int), 'base64') AS part FROM ${name('thread_file_chunks')}
            WHERE thread = $1::text::bigint AND file_path = $2::text AND chunk_index = $3::text::bigint`,
          [thread, path, index, offset + 1, length],
        )
        const part = Buffer.from(String(row?.['part'] ?? ''), 'base64')
        if (part.length !== length)
          throw (await find(thread, path)) === undefined
            ? missing('THREAD_ATTACHMENT_NOT_FOUND', path)
            : threadError(
                'THREAD_CORRUPT',
                'Thread store is damaged',
                `\`${path}\` lacks bytes of its chunk ${index}`,
                'Delete this attachment.',
              )
        parts.push(part)
        at += length
      }
      return new Uint8Array(Buffer.concat(parts))
    },
    async deleteAttachment(threadId, path) {
      checkPath(path)
      const thread = await numberOf(threadId)
      return (
        (
          await write(
            (name) =>
              `DELETE FROM ${name('thread_files')} WHERE thread = $1::text::bigint AND path = $2::text AND staged_by IS NULL RETURNING 1 AS one`,
            [thread, path],
          )
        ).length > 0
      )
    },
    async exportAttachment(threadId, path, directory) {
      const name = checkPath(path).slice('/attachments/'.length)
      const bytes = await store.readAttachment(threadId, path)
      const target = join(resolve(storedText(directory, 'directory')), name)
      const fresh = `${target}.${randomUUID()}`
      try {
        await writeFile(fresh, bytes, { flag: 'wx' })
        await rename(fresh, target)
      } finally {
        await rm(fresh, { force: true })
      }
      return target
    },
  }
  return store
}

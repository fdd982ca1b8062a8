import { randomUUID } from 'node:crypto'
import { boolean, type Checks, checked, optional, parseOptions, positive, text } from '../../core/options.js'
import { checkCallPart, checkChanges, checkPart, storedText, threadError } from '../../standard-agents/store/store-checks.js'
import type { ListPart, StoredThread, ThreadStore } from '../../standard-agents/store/thread-store.js'
import { clientOf, type PostgresClient } from '../client.js'
import { Owner } from '../owner.js'
import { Recovery } from '../recovery.js'
import { Session } from '../session.js'
import { statementsFor } from '../statements.js'
import { attachmentsOf } from './thread-attachments.js'
import { threadFailure } from './thread-failures.js'
import { ThreadLocks } from './thread-locks.js'
import { callOf, messageOf, threadOf } from './thread-rows.js'
import { ThreadSession } from './thread-session.js'
import { checkName, checkPath, kept } from './thread-texts.js'
import { valuesOf } from './thread-values.js'

/** Options of {@link postgresThreads}. */
export interface PostgresThreadsOptions {
  /** The schema of the tables, which may be that of a journal. @default 'public' */
  schema?: string | undefined
  /** How long this process may be silent until another one may take over its threads, in milliseconds. @default 15000 */
  leaseMs?: number | undefined
  /** How long a call waits for a server that does not answer, in milliseconds. @default 10000 */
  patienceMs?: number | undefined
  /** Whether statements stay prepared on their connections; false for a pooler that cannot keep them apart. @default true */
  prepare?: boolean | undefined
  /** Whether missing tables are made at the first use. Without it they come from `npx toolwright journal migrate`. @default true */
  migrate?: boolean | undefined
  /** Whether threads are only read, perhaps on a replica. @default false */
  readOnly?: boolean | undefined
  /** The maximum size of an attachment, in bytes. @default 268435456 (256 MiB) */
  maxAttachmentBytes?: number | undefined
  /** The maximum size of a value, arguments, a result or a message, as text, in bytes. @default 67108864 (64 MiB) */
  maxTextBytes?: number | undefined
  /** A name of this process for people, in the table of owners. */
  label?: string | undefined
  /** The name of the store in messages. @default 'postgres' */
  location?: string | undefined
}

const checks = {
  schema: optional(text, 'public'),
  leaseMs: optional(positive(), 15_000),
  patienceMs: optional(positive(), 10_000),
  prepare: optional(boolean, true),
  migrate: optional(boolean, true),
  readOnly: optional(boolean, false),
  maxAttachmentBytes: optional(positive(), 268_435_456),
  maxTextBytes: optional(positive(), 67_108_864),
  label: optional(text),
  location: optional(text, 'postgres'),
} satisfies Checks<PostgresThreadsOptions>

const threadChecks = { threadId: storedText, flowId: storedText }
const queueCheck = optional(storedText)

/**
 * Threads of Standard Agents in PostgreSQL 13 or later, on a client of your own, for any number of processes on any number of
 * machines.
 *
 * @example
 * ```ts
 * const pool = new Pool({ connectionString: process.env.DATABASE_URL })
 * const store = postgresThreads(pool)
 * await using thread = await createThread({ tools, store, threadId: 'customer-7' })
 * ```
 * @param client a pool of `pg`, the `sql` of postgres.js or of Bun, or an object with `query`. The store does not close it.
 * @throws {ToolError} INVALID_INPUT. Each method throws THREAD_OPEN_FAILED, THREAD_READ_ONLY, THREAD_SCHEMA_MISMATCH,
 * THREAD_STORE_NOT_FOUND, THREAD_DISK_FULL or THREAD_IO_FAILED, and THREAD_LOCKED when another process has taken over.
 */
export function postgresThreads(client: PostgresClient, options: PostgresThreadsOptions = {}): ThreadStore {
  const { schema, location, migrate, readOnly, ...parsed } = parseOptions('postgresThreads', options, checks)
  const sql = checked('postgresThreads', () => clientOf(client, parsed.prepare))
  const statements = new Session(sql, location, parsed.patienceMs)
  const owner = new Owner(statements, schema, parsed.leaseMs, parsed.label, () => recovery.begin())
  const session = new ThreadSession(statements, { schema, migrate, readOnly })
  const locks = new ThreadLocks(session, owner)
  const recovery: Recovery = new Recovery(statements, owner, statementsFor(schema, 'table'), () => session.ready())
  const [threads, messages, calls] = [session.table('threads'), session.table('thread_messages'), session.table('thread_calls')]
  let closing: Promise<void> | undefined

  const limited = (what: string, given: string): string => {
    const limitBytes = parsed.maxTextBytes
    if (Buffer.byteLength(given) <= limitBytes) return given
    const where = `${what}, limit ${limitBytes} bytes`
    throw threadError('THREAD_TOO_LARGE', 'Too large for the thread store', where, 'Store less, or raise maxTextBytes.', { limitBytes })
  }
  const commitOf = (given: Parameters<ThreadStore['commit']>[1]) => {
    const changes = checkChanges(given)
    for (const { id, role, bodyJson } of changes.messages) {
      checkName('message id', id)
      checkName('message role', role)
      limited('message', bodyJson)
    }
    for (const { id, name, queue, argumentsJson, infoJson } of changes.enqueue) {
      checkName('call id', id)
      checkName('tool name', name)
      checkName('queue', queue)
      limited('arguments', argumentsJson)
      limited('info', infoJson ?? '')
    }
    changes.attachments.forEach(checkPath)
    if (changes.finish !== undefined) limited('result', changes.finish.resultJson)
    return changes
  }

  const store: ThreadStore = {
    path: location,
    async openThread(thread) {
      const { threadId, flowId } = parseOptions('store.openThread', thread, threadChecks)
      checkName('thread id', threadId)
      checkName('flow id', flowId)
      const insert = `INSERT INTO ${threads} (thread_id, flow_id, created_at_ms) VALUES ($1::text, $2::text, $3::text::bigint) ON CONFLICT DO NOTHING`
      for (;;) {
        await session.change(insert, [threadId, flowId, Date.now()])
        const stored = await store.getThread(threadId)
        // Another process may have deleted it in between.
        if (stored !== undefined) return stored
      }
    },
    async getThread(threadId): Promise<StoredThread | undefined> {
      const [row] = await session.ask(`SELECT * FROM ${threads} WHERE thread_id = $1::text`, [storedText(threadId, 'thread id')])
      return row && threadOf(row)
    },
    listThreads: async () => (await session.ask(`SELECT * FROM ${threads} ORDER BY id`)).map(threadOf),
    async deleteThread(threadId) {
      session.checkWritable()
      if ((await store.getThread(threadId)) === undefined) return false
      const lock = await locks.lock(threadId)
      try {
        await session.change(`DELETE FROM ${threads} WHERE id = $1::text::bigint`, [lock.thread])
        return true
      } finally {
        void locks.unlock(threadId, lock)
      }
    },
    ...valuesOf(session, locks, limited),
    async commit(threadId, given) {
      const changes = commitOf(given)
      storedText(threadId, 'thread id')
      session.checkWritable()
      const id = randomUUID()
      const json = JSON.stringify(changes, (_, value: unknown) => (typeof value === 'string' ? kept(value) : value))
      const [row] = await session.change(
        `SELECT ${session.table('thread_commit')}($1::text, $2::text::bigint, $3::text::bigint, $4::text, $5::text::boolean, $6::text::json) AS thread`,
        (again) => [threadId, ...locks.rightsFor(threadId), id, again, json],
      )
      const thread = Number(row?.['thread'])
      const written = `WHERE thread = $1::text::bigint AND written_by = $2::text ORDER BY seq`
      return {
        messages:
          changes.messages.length === 0 ? [] : (await session.ask(`SELECT * FROM ${messages} ${written}`, [thread, id])).map(messageOf),
        calls: changes.enqueue.length === 0 ? [] : (await session.ask(`SELECT * FROM ${calls} ${written}`, [thread, id])).map(callOf),
      }
    },
    async listMessages(threadId, part = {}) {
      const { end, values } = partOf(checkPart(part), 2)
      const thread = await locks.numberOf(threadId)
      return (await session.ask(`SELECT * FROM ${messages} WHERE thread = $1::text::bigint${end}`, [thread, ...values])).map(messageOf)
    },
    async getCall(threadId, callId) {
      const thread = await locks.numberOf(threadId)
      const find = `SELECT * FROM ${calls} WHERE thread = $1::text::bigint AND id = $2::text`
      return (await session.ask(find, [thread, storedText(callId, 'call id')])).map(callOf)[0]
    },
    async listCalls(threadId, listed = {}) {
      const { status, queue, part } = checkCallPart(listed)
      const { end, values } = partOf(part, 4)
      const which = '($2::text IS NULL OR status = $2::text) AND ($3::text IS NULL OR queue = $3::text)'
      const thread = await locks.numberOf(threadId)
      const all = [thread, status, queue, ...values]
      return (await session.ask(`SELECT * FROM ${calls} WHERE thread = $1::text::bigint AND ${which}${end}`, all)).map(callOf)
    },
    async cancelQueued(threadId, queue) {
      const id = randomUUID()
      // What an earlier try has cancelled is among them.
      const rows = await locks.change(
        threadId,
        `UPDATE ${calls} SET status = 'cancelled', finished_at_ms = $5::text::bigint, changed_by = $6::text
         WHERE thread = $1::text::bigint AND (status = 'queued' OR (status = 'cancelled' AND changed_by = $6::text))
           AND ($4::text IS NULL OR queue = $4::text) AND ${locks.fence} RETURNING *`,
        [queueCheck(queue, 'queue'), Date.now(), id],
      )
      return rows.map(callOf).sort((one, other) => one.seq - other.seq)
    },
    lockThread: (threadId, given = {}) => locks.worker(threadId, given),
    ...attachmentsOf(session, locks, owner, parsed.maxAttachmentBytes),
    close() {
      return (closing ??= (async () => {
        recovery.stop()
        await session.close()
        const { id } = owner
        if (id !== undefined) {
          const discard = `DELETE FROM ${session.table('thread_files')} WHERE staged_by = $1::text::bigint`
          // Whoever opens the store next does it otherwise.
          await statements.ask(discard, [id]).catch(() => undefined)
        }
        statements.close()
        await owner.close().catch((error: unknown) => {
          throw threadFailure(error)
        })
      })())
    },
  }
  return store
}

/** A part of a list by `seq`, with parameters that begin at an index. */
function partOf({ after, limit, reverse = false }: ListPart, index: number): { end: string; values: (number | undefined)[] } {
  const beyond = after === undefined ? '' : ` AND seq ${reverse ? '<' : '>'} $${index + 1}::text::bigint`
  return {
    end: `${beyond} ORDER BY seq${reverse ? ' DESC' : ''} LIMIT $${index}::text::bigint`,
    values: [limit === Infinity ? undefined : limit, ...(after === undefined ? [] : [after])],
  }
}

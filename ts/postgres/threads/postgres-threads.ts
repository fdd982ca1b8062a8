import { randomUUID } from 'node:crypto'
import { nativeAddon } from '../../core/native.js'
import { abortSignal, boolean, type Checks, checked, optional, parseOptions, positive, text } from '../../core/options.js'
import { waitForWorker } from '../../standard-agents/store/open-thread-store.js'
import {
  checkChanges,
  checkEntries,
  checkCallPart,
  checkPart,
  checkRange,
  keyList,
  notNegative,
  storedText,
  threadError,
} from '../../standard-agents/store/store-checks.js'
import type {
  ListPart,
  StoredCall,
  StoredMessage,
  StoredThread,
  ThreadStore,
  ThreadWorker,
  WorkerOptions,
} from '../../standard-agents/store/thread-store.js'
import { clientOf, type PostgresClient, type SqlRow } from '../client.js'
import { Owner } from '../owner.js'
import { checkSchema } from '../ready.js'
import { quoted } from '../schema.js'
import { type Parameter, Session } from '../session.js'
import { attachmentsOf } from './thread-attachments.js'
import { missing, threadFailure } from './thread-failures.js'
import { afterPrefix, asGiven, checkName, checkPath, kept } from './thread-texts.js'

export interface PostgresThreadsOptions {
  schema?: string | undefined
  leaseMs?: number | undefined
  patienceMs?: number | undefined
  prepare?: boolean | undefined
  migrate?: boolean | undefined
  readOnly?: boolean | undefined
  maxAttachmentBytes?: number | undefined
  maxTextBytes?: number | undefined
  label?: string | undefined
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

const workerChecks = { waitMs: optional(notNegative, 30_000), signal: abortSignal } satisfies Checks<WorkerOptions>

export type Ask = (make: (table: (name: string) => string) => string, values?: readonly Parameter[]) => Promise<readonly SqlRow[]>

/** Threads of Standard Agents in PostgreSQL. */
export function postgresThreads(client: PostgresClient, options: PostgresThreadsOptions = {}): ThreadStore {
  const { schema, location, readOnly, ...parsed } = parseOptions('postgresThreads', options, checks)
  const sql = checked('postgresThreads', () => clientOf(client, parsed.prepare))
  const session = new Session(sql, location, parsed.patienceMs)
  const owner = new Owner(session, schema, parsed.leaseMs, parsed.label)
  const table = (name: string): string => `${quoted(schema)}._toolwright_${name}`
  const workers = new Map<string, { owner: number; token: number }>()
  let opening: Promise<string> | undefined
  let closing: Promise<void> | undefined

  const open = async (): Promise<string> => {
    const addon = await nativeAddon()
    await checkSchema(session, schema, parsed.migrate && !readOnly)
    return addon.processDiedJson()
  }
  /** Waits until the schema was seen; a failure is told, and the next call tries again. */
  const ready = async (): Promise<string> => {
    if (closing !== undefined) throw threadError('THREAD_CLOSED', 'Thread store is closed', `\`${location}\``, 'Open it again.')
    opening ??= open()
    try {
      return await opening
    } catch (error) {
      opening = undefined
      throw threadFailure(error)
    }
  }
  const run = async (make: (again: boolean) => { text: string; values: readonly Parameter[] }): Promise<readonly SqlRow[]> => {
    await ready()
    try {
      return await session.run(make)
    } catch (error) {
      throw threadFailure(error)
    }
  }
  const ask: Ask = (make, values = []) => {
    const statement = { text: make(table), values: values.map((value) => (typeof value === 'string' ? kept(value) : value)) }
    return run(() => statement)
  }
  const write: Ask = (make, values) => {
    if (readOnly)
      return Promise.reject(threadError('THREAD_READ_ONLY', 'Thread store is read-only', `\`${location}\``, 'Open it without readOnly.'))
    return ask(make, values)
  }
  const numberOf = async (threadId: string): Promise<number> => {
    const [row] = await ask((name) => `SELECT id FROM ${name('threads')} WHERE thread_id = $1::text`, [storedText(threadId, 'thread id')])
    if (row === undefined) throw missing('THREAD_NOT_FOUND', threadId)
    return Number(row['id'])
  }
  const limited = (what: string, value: string): string => {
    const limit = parsed.maxTextBytes
    if (Buffer.byteLength(value) > limit)
      throw threadError('THREAD_TOO_LARGE', 'Too large for the thread store', `${what}, limit ${limit} bytes`, 'Store less.')
    return value
  }
  const partOf = ({ after, limit, reverse = false }: ListPart): string =>
    `${after === undefined ? '' : ` AND seq ${reverse ? '<' : '>'} ${Number(after)}`} ORDER BY seq${reverse ? ' DESC' : ''}${limit === undefined || limit === Infinity ? '' : ` LIMIT ${Number(limit)}`}`
  const callsOf = async (thread: number, where: string, values: Parameter[] = []): Promise<StoredCall[]> =>
    (await ask((name) => `SELECT * FROM ${name('thread_calls')} WHERE thread = $1::text::bigint AND ${where}`, [thread, ...values])).map(
      callOf,
    )
  const pairs = (rows: readonly SqlRow[]): [string, string][] =>
    rows.map((row) => [asGiven(String(row['key'])), asGiven(String(row['value']))])
  const lock = async (threadId: string): Promise<{ worker: { owner: number; token: number }; interrupted: StoredCall[] }> => {
    const died = await ready()
    const thread = await numberOf(threadId)
    const { id } = await owner.current().catch((error: unknown) => {
      throw threadFailure(error)
    })
    const [row] = await run((again) => ({
      text: `SELECT ${table('thread_lock')}($1::text, $2::text::bigint, $3::text::boolean, $4::text) AS token`,
      values: [kept(threadId), id, again, died],
    }))
    const worker = { owner: id, token: Number(row?.['token']) }
    return { worker, interrupted: await callsOf(thread, "status = 'running' ORDER BY seq") }
  }
  const unlock = async (threadId: string, worker: { owner: number; token: number }): Promise<void> => {
    if (workers.get(threadId) === worker) workers.delete(threadId)
    await ask(
      (name) => `DELETE FROM ${name('thread_locks')} WHERE owner = $1::text::bigint AND token = $2::text::bigint`,
      [worker.owner, worker.token],
    )
  }
  const workerOf = (threadId: string, worker: { owner: number; token: number }, interrupted: StoredCall[]): ThreadWorker => {
    let released = false
    const claim = async (queue: string | null, callId: string | null, to: 'running' | 'queued'): Promise<StoredCall | undefined> => {
      if (released) throw missing('THREAD_LOCKED', threadId)
      const id = randomUUID()
      const [row] = await run((again) => ({
        text: `SELECT c.* FROM ${table('thread_claim')}($1::text, $2::text::bigint, $3::text::bigint, $4::text, $5::text::boolean, $6::text, $7::text, $8::text) m
          JOIN ${table('thread_calls')} c ON c.thread = m.thread AND c.seq = m.seq`,
        values: [kept(threadId), worker.owner, worker.token, id, again, queue && kept(queue), callId && kept(callId), to],
      }))
      if (row === undefined) return undefined
      // The statement sees the row as it was before the function.
      return (await callsOf(Number(row['thread']), 'seq = $2::text::bigint', [Number(row['seq'])]))[0]
    }
    return {
      interrupted,
      claim: (queue = 'root') => claim(storedText(queue, 'queue'), null, 'running'),
      claimCall: async (callId) => (await claim(null, storedText(callId, 'call id'), 'running')) as StoredCall,
      requeue: async (callId) => (await claim(null, storedText(callId, 'call id'), 'queued')) as StoredCall,
      release: () => {
        if (released) return
        released = true
        void unlock(threadId, worker).catch(() => undefined)
      },
    }
  }
  const store: ThreadStore = {
    path: location,
    async openThread({ threadId, flowId }) {
      checkName('thread id', threadId)
      checkName('flow id', flowId)
      await write(
        (name) =>
          `INSERT INTO ${name('threads')} (thread_id, flow_id, created_at_ms) VALUES ($1::text, $2::text, $3::text::bigint) ON CONFLICT DO NOTHING`,
        [threadId, flowId, Date.now()],
      )
      return (await store.getThread(threadId)) as StoredThread
    },
    async getThread(threadId) {
      const [row] = await ask((name) => `SELECT * FROM ${name('threads')} WHERE thread_id = $1::text`, [storedText(threadId, 'thread id')])
      return row && threadOf(row)
    },
    listThreads: async () => (await ask((name) => `SELECT * FROM ${name('threads')} ORDER BY id`)).map(threadOf),
    async deleteThread(threadId) {
      if ((await store.getThread(threadId)) === undefined) return false
      const { worker } = await lock(threadId)
      try {
        return (await write((name) => `DELETE FROM ${name('threads')} WHERE thread_id = $1::text RETURNING id`, [threadId])).length > 0
      } finally {
        await unlock(threadId, worker)
      }
    },
    async readValues(threadId, keys) {
      const list = keyList(keys, 'keys').map(kept)
      const thread = await numberOf(threadId)
      return pairs(
        await ask(
          (name) =>
            `SELECT key, value FROM ${name('thread_values')} WHERE thread = $1::text::bigint AND key IN (SELECT json_array_elements_text($2::text::json)) ORDER BY key`,
          [thread, JSON.stringify(list)],
        ),
      )
    },
    async writeValues(threadId, entries) {
      const [keys, values] = checkEntries(entries)
      const last = new Map(keys.map((key, index) => [kept(limited('key', key)), kept(limited('value', values[index] ?? ''))]))
      const thread = await numberOf(threadId)
      await write(
        (
          name,
        ) => `INSERT INTO ${name('thread_values')} (thread, key, value) SELECT $1::text::bigint, e->>0, e->>1 FROM json_array_elements($2::text::json) e
        ON CONFLICT (thread, key) DO UPDATE SET value = excluded.value`,
        [thread, JSON.stringify([...last])],
      )
    },
    async deleteValues(threadId, keys) {
      const list = keyList(keys, 'keys').map(kept)
      const thread = await numberOf(threadId)
      return (
        await write(
          (name) =>
            `DELETE FROM ${name('thread_values')} WHERE thread = $1::text::bigint AND key IN (SELECT json_array_elements_text($2::text::json)) RETURNING 1 AS one`,
          [thread, JSON.stringify(list)],
        )
      ).length
    },
    async deleteAllValues(threadId) {
      const thread = await numberOf(threadId)
      await write((name) => `DELETE FROM ${name('thread_values')} WHERE thread = $1::text::bigint`, [thread])
    },
    async listValues(threadId, range) {
      const { prefix = '', start, startAfter, end, reverse, limit } = checkRange(range)
      const beyond = prefix === '' ? undefined : afterPrefix(kept(prefix))
      const bounds = [
        ['>=', prefix || undefined],
        ['<', beyond],
        ['>=', start],
        ['>', startAfter],
        ['<', end],
      ] as const
      const given = bounds.filter(([, bound]) => bound !== undefined)
      const where = given.map(([operator], index) => ` AND key ${operator} $${index + 2}::text COLLATE "C"`).join('')
      const thread = await numberOf(threadId)
      return pairs(
        await ask(
          (name) =>
            `SELECT key, value FROM ${name('thread_values')} WHERE thread = $1::text::bigint${where} ORDER BY key${reverse ? ' DESC' : ''}${limit === undefined || limit === Infinity ? '' : ` LIMIT ${limit}`}`,
          [thread, ...given.map(([, bound]) => bound)],
        ),
      )
    },
    async commit(threadId, changes) {
      const parsedChanges = checkChanges(changes)
      const { finish, attachments, messages, enqueue } = parsedChanges
      for (const { id, role, bodyJson } of messages) {
        checkName('message id', id)
        checkName('message role', role)
        limited('message', bodyJson)
      }
      for (const { id, name, queue, argumentsJson, infoJson } of enqueue) {
        checkName('call id', id)
        checkName('tool name', name)
        checkName('queue', queue)
        limited('arguments', argumentsJson)
        limited('info', infoJson ?? '')
      }
      attachments.forEach(checkPath)
      if (finish !== undefined) limited('result', finish.resultJson)
      storedText(threadId, 'thread id')
      const id = randomUUID()
      const worker = workers.get(threadId)
      const json = JSON.stringify(parsedChanges, (_, value: unknown) => (typeof value === 'string' ? kept(value) : value))
      await ready()
      if (readOnly) throw threadError('THREAD_READ_ONLY', 'Thread store is read-only', `\`${location}\``, 'Open it without readOnly.')
      const [row] = await run((again) => ({
        text: `SELECT ${table('thread_commit')}($1::text, $2::text::bigint, $3::text::bigint, $4::text, $5::text::boolean, $6::text::json) AS thread`,
        values: [kept(threadId), worker?.owner ?? null, worker?.token ?? null, id, again, json],
      }))
      const thread = Number(row?.['thread'])
      return {
        messages:
          messages.length === 0
            ? []
            : (
                await ask(
                  (name) =>
                    `SELECT * FROM ${name('thread_messages')} WHERE thread = $1::text::bigint AND written_by = $2::text ORDER BY seq`,
                  [thread, id],
                )
              ).map(messageOf),
        calls: enqueue.length === 0 ? [] : await callsOf(thread, 'written_by = $2::text ORDER BY seq', [id]),
      }
    },
    async listMessages(threadId, part = {}) {
      const where = partOf(checkPart(part))
      const thread = await numberOf(threadId)
      return (await ask((name) => `SELECT * FROM ${name('thread_messages')} WHERE thread = $1::text::bigint${where}`, [thread])).map(
        messageOf,
      )
    },
    getCall: async (threadId, callId) => (await callsOf(await numberOf(threadId), 'id = $2::text', [storedText(callId, 'call id')]))[0],
    async listCalls(threadId, given = {}) {
      const { status, queue, part } = checkCallPart(given)
      return callsOf(
        await numberOf(threadId),
        `($2::text IS NULL OR status = $2::text) AND ($3::text IS NULL OR queue = $3::text)${partOf(part)}`,
        [status, queue],
      )
    },
    async cancelQueued(threadId, queue) {
      const thread = await numberOf(threadId)
      const rows = await write(
        (name) =>
          `UPDATE ${name('thread_calls')} SET status = 'cancelled', finished_at_ms = $3::text::bigint WHERE thread = $1::text::bigint AND status = 'queued' AND ($2::text IS NULL OR queue = $2::text) RETURNING *`,
        [thread, queue, Date.now()],
      )
      return rows.map(callOf).sort((one, other) => one.seq - other.seq)
    },
    async lockThread(threadId, given = {}) {
      const { waitMs, signal } = parseOptions('store.lockThread', given, workerChecks)
      const { worker, interrupted } = await waitForWorker(() => lock(storedText(threadId, 'thread id')), { waitMs, signal })
      if (signal?.aborted === true) await unlock(threadId, worker)
      signal?.throwIfAborted()
      workers.set(threadId, worker)
      return workerOf(threadId, worker, interrupted)
    },
    ...attachmentsOf({ ask, write, numberOf, limitBytes: parsed.maxAttachmentBytes, stager: async () => (await owner.current()).id }),
    close() {
      return (closing ??= (async () => {
        await opening?.catch(() => undefined)
        const { id } = owner
        if (id !== undefined)
          await session.ask(`DELETE FROM ${table('thread_files')} WHERE staged_by = $1::text::bigint`, [id]).catch(() => undefined)
        session.close()
        await owner.close()
      })())
    },
  }
  return store
}

const numberOr = (value: unknown): number | null => (value === null || value === undefined ? null : Number(value))
const textOr = (value: unknown): string | null => (value === null || value === undefined ? null : asGiven(String(value)))
const textAt = (row: SqlRow, column: string): string => asGiven(String(row[column]))

const threadOf = (row: SqlRow): StoredThread => ({
  threadId: textAt(row, 'thread_id'),
  flowId: textAt(row, 'flow_id'),
  createdAtMs: Number(row['created_at_ms']),
})

const messageOf = (row: SqlRow): StoredMessage => ({
  id: textAt(row, 'id'),
  seq: Number(row['seq']),
  role: textAt(row, 'role'),
  bodyJson: textAt(row, 'body'),
  callId: textOr(row['call_id']),
  createdAtMs: Number(row['created_at_ms']),
})

const callOf = (row: SqlRow): StoredCall => ({
  id: textAt(row, 'id'),
  seq: Number(row['seq']),
  name: textAt(row, 'name'),
  argumentsJson: textAt(row, 'arguments'),
  queue: textAt(row, 'queue'),
  forceAllow: row['force_allow'] === true || row['force_allow'] === 't',
  parentCallId: textOr(row['parent_call_id']),
  infoJson: textOr(row['info']),
  status: String(row['status']) as StoredCall['status'],
  attempts: Number(row['attempts']),
  resultJson: textOr(row['result']),
  queuedAtUs: Number(row['queued_at_us']),
  startedAtMs: numberOr(row['started_at_ms']),
  finishedAtMs: numberOr(row['finished_at_ms']),
})

/** Values by key. */
import { checkEntries, checkRange, keyList } from '../../standard-agents/store/store-checks.js'
import type { ThreadStore } from '../../standard-agents/store/thread-store.js'
import type { SqlRow } from '../client.js'
import type { ThreadLocks } from './thread-locks.js'
import type { ThreadSession } from './thread-session.js'
import { afterPrefix, asGiven, kept } from './thread-texts.js'

type Methods = 'readValues' | 'writeValues' | 'deleteValues' | 'deleteAllValues' | 'listValues'

const pairs = (rows: readonly SqlRow[]): [string, string][] =>
  rows.map((row) => [asGiven(String(row['key'])), asGiven(String(row['value']))])

/** @param limited refuses texts that are too long. */
export function valuesOf(
  session: ThreadSession,
  locks: ThreadLocks,
  limited: (what: string, text: string) => string,
): Pick<ThreadStore, Methods> {
  const values = session.table('thread_values')
  const these = (keys: number): string => `thread = $1::text::bigint AND key IN (SELECT json_array_elements_text($${keys}::text::json))`
  return {
    async readValues(threadId, keys) {
      const list = keyList(keys, 'keys').map(kept)
      const thread = await locks.numberOf(threadId)
      return pairs(await session.ask(`SELECT key, value FROM ${values} WHERE ${these(2)} ORDER BY key`, [thread, JSON.stringify(list)]))
    },
    async writeValues(threadId, entries) {
      const [keys, texts] = checkEntries(entries)
      const last = new Map(keys.map((key, index) => [kept(limited('key', key)), kept(limited('value', texts[index] ?? ''))]))
      await locks.change(
        threadId,
        `INSERT INTO ${values} (thread, key, value)
         SELECT $1::text::bigint, e->>0, e->>1 FROM json_array_elements($4::text::json) e WHERE ${locks.fence}
         ON CONFLICT (thread, key) DO UPDATE SET value = excluded.value`,
        [JSON.stringify([...last])],
      )
    },
    async deleteValues(threadId, keys) {
      const list = keyList(keys, 'keys').map(kept)
      const text = `DELETE FROM ${values} WHERE ${these(4)} AND ${locks.fence} RETURNING 1 AS one`
      return (await locks.change(threadId, text, [JSON.stringify(list)])).length
    },
    async deleteAllValues(threadId) {
      await locks.change(threadId, `DELETE FROM ${values} WHERE thread = $1::text::bigint AND ${locks.fence}`)
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
      const where = given.map(([operator], index) => ` AND key ${operator} $${index + 3}::text COLLATE "C"`).join('')
      const thread = await locks.numberOf(threadId)
      return pairs(
        await session.ask(
          `SELECT key, value FROM ${values} WHERE thread = $1::text::bigint${where} ORDER BY key${reverse ? ' DESC' : ''} LIMIT $2::text::bigint`,
          [thread, limit === Infinity ? undefined : limit, ...given.map(([, bound]) => bound)],
        ),
      )
    },
  }
}

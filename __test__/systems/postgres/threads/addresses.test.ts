import { createThread, defineTool, openThreadStore } from 'toolwright/standard-agents'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { useServer } from '../servers.ts'

const own = useServer()
const tools = {
  add: defineTool({
    description: 'adds',
    args: z.object({ a: z.number(), b: z.number() }),
    execute: async (_state, { a, b }) => ({ status: 'success', result: String(a + b) }),
  }),
}
const address = (schema: string): string => `${own.server.url}&schema=${schema}`
const connections = async (): Promise<number> =>
  Number((await own.pool.query("SELECT count(*) AS n FROM pg_stat_activity WHERE backend_type = 'client backend'")).rows[0].n)

test('a thread at an address is there for the next one, and its connections end with it', async () => {
  const schema = own.schema()
  const store = address(schema)
  await own.pool.query('SELECT 1')
  const before = await connections()
  const thread = await createThread({ tools, store, threadId: 'customer-7' })
  expect(await thread.call('add', { a: 1, b: 2 })).toMatchObject({ result: '3' })
  expect(await connections()).toBeGreaterThan(before)
  await thread.close()
  await expect.poll(connections).toBe(before)
  await using again = await createThread({ tools, store, threadId: 'customer-7' })
  expect(again.threadId).toBe('customer-7')
  const opened = await openThreadStore(store, { readOnly: true })
  expect(await opened.listThreads()).toMatchObject([{ threadId: 'customer-7' }])
  await opened.close()
})

test('addresses that are none, servers that refuse, and stores that are not there', async () => {
  const codeOf = (location: string, options = {}): Promise<unknown> =>
    openThreadStore(location, options).then(
      () => undefined,
      (error: { code: unknown }) => error.code,
    )
  expect(await codeOf('postgres://a b/c')).toBe('THREAD_LOCATION_INVALID')
  expect(await codeOf(`${own.server.url}&schema=`)).toBe('THREAD_LOCATION_INVALID')
  expect(await codeOf(own.server.url.replace('/postgres?', '/missing?'))).toBe('THREAD_OPEN_FAILED')
  expect(await codeOf(address(own.schema()), { readOnly: true })).toBe('THREAD_STORE_NOT_FOUND')
  expect(await codeOf('postgres://user@127.0.0.1:1/db')).toBe('THREAD_IO_FAILED')
  expect(await codeOf(address(own.schema()), { maxTextBytes: 0 })).toBe('INVALID_INPUT')
})

import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { openScene } from '../../contract/scene.ts'
import { opened, useServer } from './servers.ts'

const own = useServer()
const LEASE_MS = 900

test('a session that is taken over ends its calls by itself, and makes no more', { timeout: 30_000 }, async () => {
  const schema = own.schema()
  const journal = await opened(own.open({ schema, leaseMs: LEASE_MS }))
  const other = await opened(own.open({ schema }))
  const { root, call } = await openScene({ journal, id: 'session-1' })
  expect(await call('bash', { command: 'true' })).toMatchObject({ type: 'output' })
  const running = call('bash', { command: 'touch began && sleep 20 && touch ended' })
  await expect.poll(() => existsSync(join(root, 'began'))).toBe(true)
  await own.pool.query(`UPDATE "${schema}"._toolwright_owners SET expires_at = 'epoch'`)
  await other.recover()
  const taken = performance.now()
  expect(await running).toMatchObject({ type: 'error', metadata: { code: 'aborted' }, error_text: expect.stringContaining('taken over') })
  // At the next heartbeat, a third of the lease later; and the command has a moment to end.
  expect(performance.now() - taken).toBeLessThan(LEASE_MS / 3 + 750)
  expect(await call('write', { path: 'more.txt', content: 'more' })).toMatchObject({ type: 'error', metadata: { code: 'aborted' } })
  expect(await call('read', { path: 'began' })).toMatchObject({ type: 'error', metadata: { code: 'aborted' } })
  await pause(100)
  expect(existsSync(join(root, 'ended'))).toBe(false)
  expect(existsSync(join(root, 'more.txt'))).toBe(false)
  const rows = await other.listRun('session-1')
  expect(rows.map(({ toolName, status }) => `${toolName} ${status}`).slice(0, 2)).toEqual(['bash success', 'bash unknown'])
  await other.close()
})

import { existsSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { networkWatchdog, type RequirementSet } from 'toolwright/contract'
import { describe, expect, onTestFinished, test } from 'vitest'
import { allowAll, dataOf, failureOf, openScene } from '../scene.ts'

/** Requirements that refuse nothing, and so grant processes everything: capability check and sandbox are off. */
const everything: RequirementSet = { fs: { read: ['/**'], write: ['/**'] }, net: { hosts: ['*'] }, shell: [{ cmd: '*' }] }
const wide = { manifest: { name: 'wide', permissions: allowAll, requires: everything } }

describe('each layer suffices alone', () => {
  test('R45 the capability check alone: a path outside is not read, whatever watchdog and sandbox say', async () => {
    const { call, outside } = await openScene({ watchdog: () => ({ action: 'allow' }) })
    writeFileSync(join(outside, 'secret.txt'), 'secret')
    expect(failureOf(await call('read', { path: join(outside, 'secret.txt') })).code).toBe('capability_refused')
    const open = await openScene(wide)
    writeFileSync(join(open.outside, 'secret.txt'), 'secret')
    expect(dataOf(await open.call('read', { path: join(open.outside, 'secret.txt') })), 'it was this layer').toEqual({ content: 'secret' })
  })

  test('R45 the watchdog alone: data does not leave by a command, though all is granted', async () => {
    const received: string[] = []
    const server = createServer((request, response) => {
      received.push(request.url ?? '')
      response.end()
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    onTestFinished(() => void server.close())
    const { port } = server.address() as AddressInfo
    const command = `curl -s http://127.0.0.1:${port}/exfil`
    const watched = await openScene({ ...wide, sandbox: { loopback: 'host' }, watchdog: networkWatchdog() })
    expect(failureOf(await watched.call('bash', { command })).code).toBe('watchdog_denied')
    expect(received).toEqual([])
  })

  // What commands may write is looked through, here all of the disk.
  test('R45 the sandbox alone: a command that everybody allows does not write outside', { timeout: 120_000 }, async () => {
    const { call, outside } = await openScene({ watchdog: () => ({ action: 'allow' }) })
    const target = join(outside, 'x.txt')
    const ended = dataOf(await call('bash', { command: `echo pwned > '${target}' || echo refused` }))
    expect(ended.stdout).toContain('refused')
    expect(existsSync(target)).toBe(false)
    const open = await openScene(wide)
    const free = join(open.outside, 'x.txt')
    await open.call('bash', { command: `echo x > '${free}'` })
    expect(existsSync(free), 'it was this layer').toBe(true)
  })
})

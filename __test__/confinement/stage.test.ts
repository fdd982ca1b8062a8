import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { answered, freePort } from './stage/knocking.ts'
import { listenTcp } from './stage/listeners.ts'
import { startVictim } from './stage/victim.ts'

describe.skipIf(process.platform !== 'linux')('what attacks are staged with ends by itself:', () => {
  test('knocking at a port where a stranger listens who says nothing', async () => {
    const stranger = await listenTcp('127.0.0.1', await freePort())
    try {
      expect(await answered(stranger.port, 'redteam')).toBe(false)
    } finally {
      await stranger.close()
    }
  })

  test('a victim that is killed while it is asked', async () => {
    const directory = await mkdtemp(join(tmpdir(), 'redteam-'))
    try {
      const victim = await startVictim({ name: 'whoever runs this', uid: Number(process.getuid?.()) }, directory, 'plain')
      process.kill(victim.pid, 'SIGKILL')
      await expect(victim.state()).rejects.toThrow('the victim has ended')
      await victim.end()
    } finally {
      await rm(directory, { recursive: true })
    }
  })
})

import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { State, Victim } from '../stage/victim.ts'
import type { Attack } from './attack.ts'

const reads = (name: string, args: (victim: Victim) => readonly string[]): Attack => ({
  name,
  needs: 'IPC',
  async stage(scene) {
    const victim = await scene.victim('ipc')
    return { run: args(victim), happened: (output) => output.includes(victim.secret) }
  },
})

const finds = (
  name: string,
  args: (victim: Victim, token: string) => readonly string[],
  is: (state: State, token: string) => boolean,
): Attack => ({
  name,
  needs: 'IPC',
  async stage(scene) {
    const victim = await scene.victim('ipc')
    return { run: args(victim, scene.token), happened: async () => is(await victim.state(), scene.token) }
  },
})

export const ipc: readonly Attack[] = [
  reads('shared memory, read', ({ shm }) => ['shm-read', String(shm)]),
  finds(
    'shared memory, written',
    ({ shm }, token) => ['shm-write', String(shm), token],
    ({ shared }, token) => shared.startsWith(token),
  ),
  finds(
    'shared memory, removed',
    ({ shm }) => ['shm-remove', String(shm)],
    ({ removed }) => removed,
  ),
  reads('a message queue, read', ({ msg }) => ['message-receive', String(msg)]),
  finds(
    'a message queue, written',
    ({ msg }, token) => ['message-send', String(msg), token],
    ({ messages }) => messages === 2,
  ),
  finds(
    'a semaphore',
    ({ sem }) => ['semaphore-set', String(sem)],
    ({ semaphore }) => semaphore === 99,
  ),
  reads('a POSIX message queue, read', ({ name }) => ['queue-receive', name]),
  finds(
    'a POSIX message queue, written',
    ({ name }, token) => ['queue-send', name, token],
    ({ queued }) => queued === 2,
  ),
  {
    name: 'a POSIX message queue, removed',
    needs: 'IPC',
    async stage(scene) {
      const { name } = await scene.victim('ipc')
      return {
        run: ['queue-unlink', name],
        happened: async () => !(await scene.beyond('queue-send', name, 'x')).output.includes('reached'),
      }
    },
  },
  {
    name: 'POSIX shared memory, read',
    needs: '/dev/shm',
    stage(scene) {
      const path = scene.file(join(scene.temporary('/dev/shm'), 'memory'), scene.token)
      return { run: ['read', path], happened: (output) => output.includes(scene.token) }
    },
  },
  {
    name: 'POSIX shared memory, written',
    needs: '/dev/shm',
    stage(scene) {
      const path = scene.file(join(scene.temporary('/dev/shm'), 'memory'))
      return { run: ['map-write', path, 'changed!'], happened: () => readFileSync(path, 'utf8') !== 'as it was\n' }
    },
  },
  {
    name: "a file in the host's /tmp, read",
    stage(scene) {
      const path = scene.file(join(scene.temporary(), 'file'), scene.token)
      return { run: ['read', path], happened: (output) => output.includes(scene.token) }
    },
  },
  {
    name: 'a key, read',
    needs: 'keys',
    async stage(scene) {
      const { name, secret } = await scene.victim('ipc')
      return { run: ['key-read', name], happened: (output) => output.includes(secret) }
    },
  },
  {
    name: 'a key, added',
    needs: 'keys',
    stage(scene) {
      scene.afterwards(async () => void (await scene.beyond('key-remove', scene.token)))
      return {
        run: ['key-add', scene.token, 'planted'],
        happened: async () => (await scene.beyond('key-read', scene.token)).output.includes('planted'),
      }
    },
  },
]

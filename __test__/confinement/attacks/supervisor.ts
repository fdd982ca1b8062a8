import { readlinkSync } from 'node:fs'
import { join } from 'node:path'
import { tmpdir } from 'node:os'
import type { Scene } from '../stage/scene.ts'
import type { Attack } from './attack.ts'

const HOST_NAMESPACE = process.platform === 'linux' ? readlinkSync('/proc/self/ns/pid') : ''

/**
 * An attack on whoever runs the command. Without confinement a stand-in takes the place of the
 * supervisor; with it, the next command shows whether there still is one.
 */
const besieges = (name: string, who: 'parent' | '1' | '-1', how: string, proof: (output: string, scene: Scene) => boolean): Attack => ({
  name: `${name} (${who})`,
  ownRoot: true,
  stage: (scene) => ({
    run: ['siege', HOST_NAMESPACE, who, how],
    plainly: ['parent', scene.token, '--', scene.attackProgram, 'siege', HOST_NAMESPACE, 'parent', how],
    killAfterMs: scene.how === 'plain' ? 400 : 5_000,
    happened: async (output) => (scene.how === 'plain' ? proof(output, scene) : output.includes(scene.token) || !(await worksOn(scene))),
  }),
})

/** Whether commands are still run, and tell the truth. */
async function worksOn(scene: Scene): Promise<boolean> {
  for (let n = 0; n < 3; n += 1) {
    const { output, how } = await scene.run(['sh', '-c', 'echo fine; exit 7'], { killAfterMs: 3_000 })
    if (output !== 'fine\n' || how !== '7') return false
  }
  return true
}

const fell = (output: string): boolean => !output.includes('the parent lives')
const reached = (output: string): boolean => output.includes('reached')
const stolen = (output: string, scene: Scene): boolean => output.includes(scene.token)

const both = (name: string, how: string, proof: (output: string, scene: Scene) => boolean): Attack[] =>
  (['parent', '1'] as const).map((who) => besieges(name, who, how, proof))

/** What the next command would inherit of a worker, or would wait for. Another worker has a group of another number. */
const SURROUNDINGS =
  "nice; ulimit -n; ulimit -t; ionice; chrt -p $$ | cut -d: -f2; taskset -p $$ | cut -d: -f2; cat /proc/1/limits 2>/dev/null; sed 's/-[0-9]*//' /proc/1/autogroup 2>/dev/null"

/** A change of the worker, by which later commands would get less than their share. */
const starves = (how: string, needs?: string): Attack => ({
  name: `${how} (1)`,
  ownRoot: true,
  ...(needs !== undefined && { needs }),
  async stage(scene) {
    const seen = async (): Promise<string> => (scene.how === 'plain' ? '' : (await scene.run(['sh', '-c', SURROUNDINGS])).output)
    const before = await seen()
    return {
      run: ['siege', HOST_NAMESPACE, '1', how],
      plainly: ['parent', scene.token, '--', scene.attackProgram, 'siege', HOST_NAMESPACE, 'parent', how],
      happened: async (output) => reached(output) || (await seen()) !== before,
    }
  },
})

/** What one command leaves for the next, where each is to have its own. */
const leaves = (
  name: string,
  leave: (scene: Scene, path: string) => string,
  find: (path: string) => string,
  found: (output: string, scene: Scene) => boolean,
): Attack => ({
  name: `isolation: 'call': ${name}`,
  ownRoot: true,
  sandbox: { isolation: 'call' },
  stage(scene) {
    const path = join(tmpdir(), `left-${process.pid}-${scene.how}`)
    scene.afterwards(
      async () => void (await scene.host.order({ how: 'plain', argv: ['rm', '-rf', path, `/dev/shm/${scene.token}`], cwd: '/' })),
    )
    return {
      run: leave(scene, path),
      happened: async () => found((await scene.run(['sh', '-c', find(path)])).output, scene),
    }
  },
})

/** Seconds, in which the next command has begun also on a busy machine. */
const LINGERS = '10'

export const supervisor: readonly Attack[] = [
  ...both('SIGTERM', 'end', fell),
  ...both('SIGKILL', 'kill', fell),
  ...both('SIGSTOP', 'stop', fell),
  ...both('ptrace', 'trace', reached),
  ...both('writing over its memory', 'overwrite', fell),
  ...both('taking its descriptors', 'steal', stolen),
  ...both('writing to its sockets', 'hijack', reached),
  ...both('SIGKILL by the owner of a pipe', 'owner', fell),
  ...both('looking at what it does', 'look', reached),
  starves('prlimit'),
  starves('setpriority', 'a priority to give up'),
  starves('affinity'),
  starves('io-priority'),
  starves('scheduler', 'a scheduler to leave'),
  starves('attributes'),
  besieges('SIGKILL to everybody', '-1', 'kill', fell),
  besieges('SIGSTOP to everybody', '-1', 'stop', fell),
  leaves(
    'a file in /tmp',
    (scene, path) => `echo ${scene.token} > ${path}`,
    (path) => `cat ${path}`,
    (output, scene) => output.includes(scene.token),
  ),
  leaves(
    'a file in /dev/shm',
    (scene) => `echo ${scene.token} > /dev/shm/${scene.token}`,
    () => 'cat /dev/shm/redteam*',
    (output, scene) => output.includes(scene.token),
  ),
  {
    name: 'a process that stays where the next command works',
    ownRoot: true,
    stage: (scene) => ({
      run: ['linger', 'session', scene.token, LINGERS, 'end'],
      happened: async () => (await scene.run(['sh', '-c', 'cat /proc/[0-9]*/cmdline'])).output.includes(`linger\0session\0${scene.token}`),
    }),
  },
  {
    name: 'numbers of processes used up before the next command',
    ownRoot: true,
    stage: (scene) => ({
      run: ['linger', 'crowd', scene.token, LINGERS, 'end'],
      // Others end while it looks, and what `cat` says of them is no number.
      happened: async () =>
        Number((await scene.run(['sh', '-c', `cat /proc/[0-9]*/cmdline 2>/dev/null | tr '\\0' '\\n' | grep -c ${scene.token}`])).output) >
        50,
    }),
  },
]

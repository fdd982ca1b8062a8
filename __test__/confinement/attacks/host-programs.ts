import { chmodSync, existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Scene } from '../stage/scene.ts'
import type { Attack } from './attack.ts'

/** What the kernel does with the memory of a program that crashes. */
const CORES = '/proc/sys/kernel/core_pattern'
const LONGEST = 127

/** What one crash is known by among others of the machine: the name of the program, cut off by the kernel. */
const crashing = ({ token }: Scene): string => token.slice(-15)

let turn: Promise<void> = Promise.resolve()

/** Attacks on one setting of the machine wait for each other, and each puts it back. */
async function alone(scene: Scene, file: string): Promise<void> {
  const before = turn
  let over = (): void => undefined
  turn = new Promise((resolve) => {
    over = resolve
  })
  scene.afterwards(() => over())
  await before
  const value = readFileSync(file, 'utf8').trim()
  scene.afterwards(() => {
    // Writable for root alone, who has changed it then.
    if (process.getuid?.() === 0) writeFileSync(file, value)
  })
}

/** A program of the host that leaves the token outside, under a condition that is shell, too. */
function program(scene: Scene, made: string, condition = ':'): string {
  const path = scene.beside('p', `#!/bin/sh\n${condition} && echo ${scene.token} > ${made}\n`)
  chmodSync(path, 0o755)
  for (const above of [scene.outside, join(scene.outside, '..')]) chmodSync(above, 0o755)
  return path
}

/** Programs that the kernel starts outside of everything. */
export const hostPrograms: readonly Attack[] = [
  {
    name: 'the settings of the kernel',
    only: 'root',
    needs: 'a writable /proc/sys',
    async stage(scene) {
      await alone(scene, CORES)
      return { run: ['create', CORES, scene.token], happened: () => readFileSync(CORES, 'utf8').includes(scene.token) }
    },
  },
  ...['ulimit -c 0', 'ulimit -Sc unlimited', ':'].map((limit): Attack => ({
    name: `a program of the host that takes the memory of what crashes, after ${limit}`,
    needs: 'a test that is root, and cores that are piped',
    async stage(scene) {
      const made = join(scene.outside, 'made')
      const name = crashing(scene)
      const handler = `|${program(scene, made, `[ "$1" = ${name} ]`)} %e`
      await alone(scene, CORES)
      if (process.getuid?.() === 0 && handler.length <= LONGEST) writeFileSync(CORES, handler)
      // The handler is not waited for by the kernel, so by the command.
      const crash = `cp ${scene.attackProgram} ${name}; sh -c 'exec ./${name} kill $$ 6'; sleep 0.2`
      return { run: `${limit}; ${crash}`, happened: () => scene.isIn(made) }
    },
  })),
  {
    name: 'a program of the host that is run when a control group is empty',
    only: 'root',
    needs: 'a release agent',
    stage(scene) {
      const made = join(scene.outside, 'made')
      const path = program(scene, made)
      const hierarchy =
        ['freezer', 'blkio', 'pids'].map((name) => `/sys/fs/cgroup/${name}`).find((at) => existsSync(`${at}/release_agent`)) ??
        '/sys/fs/cgroup'
      const agent = `${hierarchy}/release_agent`
      const group = `${hierarchy}/${scene.token}`
      const before = existsSync(agent) ? readFileSync(agent, 'utf8').trim() : undefined
      scene.afterwards(async () => {
        await scene.beyond('rmdir', group)
        if (before !== undefined) writeFileSync(agent, `${before}\n`)
      })
      const run = `mkdir ${group}; echo ${path} > ${agent}; echo 1 > ${group}/notify_on_release; sh -c 'echo $$ > ${group}/cgroup.procs'; :`
      return { run, happened: () => scene.isIn(made) }
    },
  },
]

import { existsSync, statSync } from 'node:fs'
import { join } from 'node:path'
import type { SandboxOptions } from '../stage/sandbox-options.ts'
import { PATIENCE } from '../stage/scene.ts'
import type { Attack } from './attack.ts'

const MIB = 1 << 20

const exceeds = (
  name: string,
  limits: NonNullable<SandboxOptions['limits']>,
  run: readonly string[],
  done: string,
  more: Partial<Attack> = {},
): Attack => ({
  name,
  ownRoot: true,
  sandbox: { limits },
  ...more,
  stage: () => ({ run, happened: (output) => output.includes(done) }),
})

export const limits: readonly Attack[] = [
  exceeds('processes', { processes: 24 }, ['processes', '60'], '<60 processes>'),
  exceeds('threads', { processes: 24 }, ['threads', '60'], '<60 threads>'),
  exceeds('memory', { memoryBytes: 128 * MIB }, ['memory', String(300 * MIB)], 'all of it'),
  exceeds('memory of a child', { memoryBytes: 128 * MIB }, ['memory-of-many', String(300 * MIB), '1'], 'all of it'),
  exceeds('processor time', { cpuSeconds: 1 }, ['burn', String(1_300 * PATIENCE)], 'all of it'),
  {
    name: 'a long file',
    ownRoot: true,
    sandbox: { limits: { fileSizeBytes: MIB } },
    stage(scene) {
      const path = join(scene.inside, 'long')
      return { run: ['file-of-size', path, String(3 * MIB)], happened: () => existsSync(path) && statSync(path).size > MIB }
    },
  },
]

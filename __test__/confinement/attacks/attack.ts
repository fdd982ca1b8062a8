import type { SandboxOptions } from '../stage/sandbox-options.ts'
import type { How, Scene } from '../stage/scene.ts'

/** What an attack is on. */
export type Kind = 'network' | 'files' | 'metadata' | 'processes' | 'ipc' | 'environment' | 'kernel' | 'supervisor' | 'limits'

/** One attack on what is outside of a command. */
export interface Attack {
  name: string
  /** What it needs of the machine; where it does not succeed without confinement, it is skipped. */
  needs?: string
  /** Who can make it: without this, anybody. */
  only?: 'root' | 'others'
  sandbox?: SandboxOptions
  /** Whether it has a root directory, and so a sandbox, for itself. */
  ownRoot?: boolean
  stage(scene: Scene): Stage | Promise<Stage>
}

/** An attack that is ready to be made. */
export interface Stage {
  /** Arguments of the attack program, or a script for the shell. */
  run: readonly string[] | string
  /** The same without confinement, where it would hit something else. */
  plainly?: readonly string[]
  /** When it is killed: as one that waits. */
  killAfterMs?: number
  /** Whether a plain command gets the standard input of the host. */
  inheritInput?: boolean
  /** Whether it had its effect: looked at outside, or in what the command could print. */
  happened: (output: string) => boolean | Promise<boolean>
}

/** The command line of a stage, as it is run in a scene. */
export function commandLine({ run, plainly }: Stage, how: How, program: string): string[] {
  if (how === 'plain' && plainly !== undefined) return [program, ...plainly]
  return typeof run === 'string' ? ['sh', '-c', `echo trying; ${run}`] : [program, ...run]
}

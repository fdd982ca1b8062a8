import { realpathSync } from 'node:fs'
import type { Space } from './space.js'

/** Describes the sandbox for the instructions of an agent. */
export function describe(space: Space): string {
  const { settings, options } = space
  const { sandbox } = settings
  const more = sandbox.writableRoots ?? []
  const writable =
    sandbox.files === 'full'
      ? 'Commands may write wherever the user may.'
      : `Commands write below this directory${more.length === 0 ? '' : `, to ${more.join(', ')}`}, to a /tmp of their own${options.home === 'private' ? ' and to $HOME' : ''}; everything else is read-only.`
  return [
    `A sandbox on this machine (${process.platform} ${process.arch}), confined by the kernel.`,
    `Commands are lines for ${options.shell} and start in ${rootOf(settings.rootDir)}. Relative paths begin there.`,
    writable,
    reachOf(space),
    'When a command of run ends, everything that it has started ends too. A spawned process runs until it is killed.',
  ].join('\n')
}

function reachOf({ hosts, network }: Space): string {
  const own = "Commands reach each other's servers at 127.0.0.1."
  if (hosts !== undefined) return `Of the network, only these hosts are reached: ${hosts.allow.join(', ') || 'none'}. ${own}`
  return network ? 'The network can be reached.' : `There is no network. ${own}`
}

/** The root without links, as commands see it. */
export function rootOf(rootDir: string): string {
  try {
    return realpathSync(rootDir)
  } catch {
    return rootDir
  }
}

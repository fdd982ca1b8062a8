import { spawnSync } from 'node:child_process'
import { accessSync, constants } from 'node:fs'
import { delimiter, join } from 'node:path'

/** Whether a program is in the `PATH`, and ends well with these arguments, if there are any. */
export function isRunnable(name: string, ...args: string[]): boolean {
  const isThere = (process.env['PATH'] ?? '').split(delimiter).some((directory) => {
    try {
      accessSync(join(directory, name), constants.X_OK)
      return true
    } catch {
      return false
    }
  })
  return isThere && (args.length === 0 || spawnSync(name, args, { stdio: 'ignore', timeout: 60_000 }).status === 0)
}

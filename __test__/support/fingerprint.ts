import { lstatSync, readdirSync, readFileSync, readlinkSync } from 'node:fs'
import { join } from 'node:path'

/** Everything in a directory, with modes, contents and the targets of links. */
export function fingerprint(directory: string): string {
  return readdirSync(directory, { recursive: true, encoding: 'utf8' })
    .sort()
    .map((name) => {
      const path = join(directory, name)
      const stats = lstatSync(path)
      return `${name} ${stats.mode} ${stats.isFile() ? readFileSync(path, 'utf8') : stats.isSymbolicLink() ? readlinkSync(path) : ''}`
    })
    .join('\n')
}

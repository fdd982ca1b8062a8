import { createHash } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { root } from '../scripts/setup/paths.mjs'

/**
 * A fingerprint of what is measured: the addon and the compiled TypeScript. A build in the middle of
 * a run would have rows of one table speak of two programs.
 */
export function buildFingerprint() {
  const addons = readdirSync(root).filter((name) => name.endsWith('.node'))
  const compiled = readdirSync(join(root, 'dist'), { recursive: true }).filter((name) => name.endsWith('.js'))
  const hash = createHash('sha256')
  for (const name of [...addons, ...compiled.map((name) => join('dist', name))].sort()) {
    hash.update(`${name}\0`).update(readFileSync(join(root, name)))
  }
  return hash.digest('hex').slice(0, 12)
}

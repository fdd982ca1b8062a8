import { copyFileSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { root } from '../scripts/setup/paths.mjs'
import { stageRoot } from '../scripts/package/stage-root.mjs'

/**
 * Writes the package as it is published, with the addon of this checkout: its modules are joined, and a checkout's are not. What an
 * import takes is a figure of the package that people install.
 * @param {string} cache
 * @param {(text: string) => void} say
 * @returns {Promise<Record<'index' | 'contract' | 'cli', string>>} the addresses of entry points
 */
export async function stagePublished(cache, say) {
  say('staging the published package …')
  const folder = join(cache, 'published')
  await stageRoot(folder)
  for (const name of readdirSync(root)) if (name.endsWith('.node')) copyFileSync(join(root, name), join(folder, name))
  const entry = (name) => pathToFileURL(join(folder, 'dist', `${name}.js`)).href
  return { index: entry('index'), contract: entry('contract'), cli: entry('cli') }
}

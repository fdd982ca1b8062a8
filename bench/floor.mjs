import { execFile } from 'node:child_process'
import { copyFileSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { root } from '../scripts/setup/paths.mjs'

const run = promisify(execFile)

const CRATE = 'toolwright-minimal-addon'

/**
 * Builds `minimal-addon`, the floor under every tool that runs programs: it has no confinement, no limits
 * and no errors. Cargo does nothing when it is built already.
 * @param {string} cache
 * @param {(text: string) => void} say
 * @returns {Promise<{ entry?: string, packages: string[], problem?: string }>}
 */
export async function buildFloor(cache, say) {
  const build = ['build', '--release', '--locked', '--package', CRATE, '--message-format=json-render-diagnostics']
  try {
    const { stdout } = await run('cargo', build, { cwd: root, maxBuffer: 1 << 26 })
    const messages = stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line))
    const built = messages.find(({ reason, target }) => reason === 'compiler-artifact' && target.name === CRATE.replaceAll('-', '_'))
    const folder = join(cache, 'floor')
    mkdirSync(folder, { recursive: true })
    copyFileSync(built.filenames[0], join(folder, 'minimal-addon.node'))
    const entry = join(folder, 'entry.mjs')
    writeFileSync(
      entry,
      "import { createRequire } from 'node:module'\nexport const { run } = createRequire(import.meta.url)('./minimal-addon.node')\n",
    )
    return { packages: [], entry }
  } catch (error) {
    const problem = `cannot be built: ${String(error.stderr || error.message)
      .trim()
      .split('\n')
      .at(-1)}`
    say(`floor: ${problem}`)
    return { packages: [], problem }
  }
}

import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

const run = promisify(execFile)
const cache = fileURLToPath(new URL('../../../.cache/engine', import.meta.url))
const UNREACHABLE = /\b(?:ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ECONNRESET|ETIMEDOUT|ENETUNREACH|EHOSTUNREACH|ERR_SOCKET_TIMEOUT)\b/u

const engine = 'smithers-orchestrator@0.32.0'
const manifest = JSON.stringify({
  private: true,
  type: 'module',
  // Its version ranges let in releases of these that cannot be installed or imported together.
  overrides: {
    '@tanstack/electric-db-collection': '0.3.15',
    '@vectorize-io/hindsight-client': '0.9.1',
    effect: '4.0.0-beta.102',
    '@effect/platform-node': '4.0.0-beta.102',
    '@effect/platform-node-shared': '4.0.0-beta.102',
  },
})

/** The registry does not answer, so there is nothing to test with. */
export class RegistryUnreachable extends Error {
  override readonly name = 'RegistryUnreachable'
}

/**
 * The folder of a project that the engine is installed in. It is several hundred packages, so it is
 * installed once for every checkout.
 *
 * @throws {RegistryUnreachable}
 */
export async function installedEngine(): Promise<string> {
  const version = createHash('sha256')
    .update(engine + manifest)
    .digest('hex')
  const folder = join(cache, version.slice(0, 12))
  if (existsSync(folder)) return folder
  await expectRegistry()
  const unfinished = `${folder}.${process.pid}`
  rmSync(unfinished, { recursive: true, force: true })
  mkdirSync(unfinished, { recursive: true })
  try {
    writeFileSync(join(unfinished, 'package.json'), manifest)
    const options = ['--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error']
    await run('npm', ['install', ...options, engine], { cwd: unfinished, maxBuffer: 1 << 26 })
    renameSync(unfinished, folder)
  } finally {
    rmSync(unfinished, { recursive: true, force: true })
  }
  return folder
}

/** Asks once and briefly: an install would try for minutes. */
async function expectRegistry(): Promise<void> {
  try {
    await run('npm', ['view', engine, 'version', '--fetch-retries=0', '--fetch-timeout=20000'])
  } catch (error) {
    const { stderr = '' } = error as { stderr?: string }
    const code = UNREACHABLE.exec(stderr)?.[0]
    if (code === undefined) throw error
    throw new RegistryUnreachable(`the package registry cannot be reached (${code})`, { cause: error })
  }
}

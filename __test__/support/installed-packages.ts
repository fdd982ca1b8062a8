import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

const run = promisify(execFile)
const cache = fileURLToPath(new URL('../../.cache', import.meta.url))
const UNREACHABLE = /\b(?:ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ECONNRESET|ETIMEDOUT|ENETUNREACH|EHOSTUNREACH|ERR_SOCKET_TIMEOUT)\b/u

/** The registry does not answer, so there is nothing to test with. */
export class RegistryUnreachable extends Error {
  override readonly name = 'RegistryUnreachable'
}

/**
 * The folder of a project that these packages are installed in, without their install scripts: once for every checkout, because they
 * are large.
 *
 * @param packages the first one is asked for at the registry before.
 * @throws {RegistryUnreachable}
 */
export async function installedPackages(name: string, packages: readonly [string, ...string[]], manifest: object = {}): Promise<string> {
  const content = JSON.stringify({ private: true, type: 'module', ...manifest })
  return installed(name, [['package.json', content]], packages[0], ['install', ...packages])
}

/**
 * The same, of a manifest and its lockfile, which are in a folder of the checkout. `npm ci` refuses lockfiles without the optional packages of other platforms.
 *
 * @param asked the package that is asked for at the registry before.
 * @throws {RegistryUnreachable}
 */
export async function installedProject(name: string, project: string, asked: string): Promise<string> {
  const files = ['package.json', 'package-lock.json'].map((file) => [file, readFileSync(join(project, file), 'utf8')] as const)
  return installed(name, files, asked, ['install'])
}

/** Installs once what these files describe. */
async function installed(name: string, files: readonly (readonly [string, string])[], asked: string, command: string[]): Promise<string> {
  const version = createHash('sha256')
    .update(command.slice(1).join(' ') + files.map(([, content]) => content).join(''))
    .digest('hex')
  const folder = join(cache, name, version.slice(0, 12))
  if (existsSync(folder)) return folder
  await expectRegistry(asked)
  const unfinished = `${folder}.${process.pid}`
  rmSync(unfinished, { recursive: true, force: true })
  mkdirSync(unfinished, { recursive: true })
  try {
    for (const [file, content] of files) writeFileSync(join(unfinished, file), content)
    const options = ['--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error']
    await run('npm', [command[0] as string, ...options, ...command.slice(1)], { cwd: unfinished, maxBuffer: 1 << 26 })
    renameSync(unfinished, folder)
  } finally {
    rmSync(unfinished, { recursive: true, force: true })
  }
  return folder
}

/** Asks once and briefly: an install would try for minutes. */
async function expectRegistry(name: string): Promise<void> {
  try {
    await run('npm', ['view', name, 'version', '--fetch-retries=0', '--fetch-timeout=20000'])
  } catch (error) {
    const { stderr = '' } = error as { stderr?: string }
    const code = UNREACHABLE.exec(stderr)?.[0]
    if (code === undefined) throw error
    throw new RegistryUnreachable(`the package registry cannot be reached (${code})`, { cause: error })
  }
}

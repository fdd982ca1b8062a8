import { execFile, spawn } from 'node:child_process'
import { copyFileSync, mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

const fixture = (name: string): string => fileURLToPath(new URL(name, import.meta.url))
const UNREACHABLE = /\b(?:ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ECONNRESET|ETIMEDOUT|ENETUNREACH|EHOSTUNREACH|ERR_SOCKET_TIMEOUT)\b/u

const BUNDLERS = {
  '@yarnpkg/cli-dist': '^4.18.1',
  ai: '^7.0.173',
  esbuild: '^0.28.2',
  next: '^16.4.6',
  // Exact: 3.0.0, which npm calls the latest, wants an older Vite than the others.
  nitro: '3.0.260903-beta',
  pnpm: '^12.21.0',
  postject: '1.0.0-alpha.6',
  react: '^19.2.0',
  'react-dom': '^19.2.0',
  rolldown: '^1.2.19',
  vite: '^8.3.8',
  webpack: '^5.112.2',
  'webpack-cli': '^7.3.1',
  zod: '^4.6.7',
}

/** The registry does not answer, so there is nothing to build with. */
export class RegistryUnreachable extends Error {
  override readonly name = 'RegistryUnreachable'
}

/** What a program ended with. */
export interface Ended {
  code: number
  output: string
}

type Environment = Record<string, string>

/** Runs a program to its end, whatever that is. */
export async function run(folder: string, program: string, args: string[], env: Environment = {}): Promise<Ended> {
  // The variables of vitest would make these programs think that they are tests.
  const { NODE_ENV: _env, VITEST: _vitest, NODE_OPTIONS: _options, ...outer } = process.env
  const environment = { ...outer, NEXT_TELEMETRY_DISABLED: '1', CI: '1', ...env }
  const options = { cwd: folder, env: environment, maxBuffer: 1 << 26, timeout: 240_000 }
  try {
    const { stdout, stderr } = await promisify(execFile)(program, args, options)
    return { code: 0, output: stdout + stderr }
  } catch (error) {
    const { code, stdout = '', stderr = '', message } = error as { code?: number; stdout?: string; stderr?: string; message: string }
    return { code: typeof code === 'number' ? code : -1, output: stdout + stderr || message }
  }
}

/** A project in an empty folder, with the package as npm would publish it and the bundlers. */
export interface PackedProject {
  folder: string
  /** The addon in the installed platform package. */
  addon: string
  tarballs: { root: string; platform: string; platformName: string }
  /** A folder of its own beside the project, with the same packages. */
  sibling(name: string, files?: Record<string, string>): string
  /** An empty folder, without packages. */
  empty(): string
  /** Runs a program of an installed package; rejects with what it says when it fails. */
  build(file: string, args: string[], options?: { folder?: string; env?: Environment }): Promise<string>
  remove(): void
}

/** @throws {RegistryUnreachable} */
export async function makePackedProject(): Promise<PackedProject> {
  const work = realpathSync(mkdtempSync(join(tmpdir(), 'toolwright-bundlers-')))
  const { packPlatform, packRoot } = (await import('../../../scripts/package/tarballs.mjs' as string)) as {
    packPlatform(work: string): { tarball: string; name: string; file: string }
    packRoot(work: string, platform: string): Promise<{ tarball: string }>
  }
  const platform = packPlatform(work)
  const root = await packRoot(work, platform.name)
  const folder = join(work, 'project')
  mkdirSync(folder)
  const dependencies = { ...BUNDLERS, toolwright: `file:${root.tarball}`, [platform.name]: `file:${platform.tarball}` }
  writeFileSync(join(folder, 'package.json'), JSON.stringify({ private: true, type: 'module', dependencies }))
  for (const name of ['program.mjs', 'work.mjs']) copyFileSync(fixture(name), join(folder, name))
  const options = ['--ignore-scripts', '--no-audit', '--no-fund', '--no-package-lock', '--legacy-peer-deps', '--loglevel=error']
  const installed = await run(folder, 'npm', ['install', ...options])
  if (installed.code !== 0) {
    rmSync(work, { recursive: true, force: true })
    if (UNREACHABLE.test(installed.output)) throw new RegistryUnreachable('the package registry cannot be reached')
    throw new Error(installed.output)
  }
  const modules = join(folder, 'node_modules')
  return {
    folder,
    addon: join(modules, platform.name, platform.file),
    tarballs: { root: root.tarball, platform: platform.tarball, platformName: platform.name },
    sibling: (name, files = {}) => {
      const other = join(work, name)
      mkdirSync(other)
      symlinkSync(modules, join(other, 'node_modules'))
      for (const [path, text] of Object.entries(files)) {
        mkdirSync(join(other, path, '..'), { recursive: true })
        writeFileSync(join(other, path), text)
      }
      for (const file of ['program.mjs', 'work.mjs']) copyFileSync(fixture(file), join(other, file))
      return other
    },
    empty: () => realpathSync(mkdtempSync(join(work, 'empty-'))),
    build: async (file, args, { folder: where = folder, env = {} } = {}) => {
      const { code, output } = await run(where, 'node', [join(modules, file), ...args], env)
      if (code !== 0) throw new Error(`${file} ended with ${code}:\n${output}`)
      return output
    },
    remove: () => rmSync(work, { recursive: true, force: true, maxRetries: 3 }),
  }
}

/** Puts a file into a folder. Returns its new path. */
export function putInto(folder: string, file: string): string {
  const path = join(folder, basename(file))
  copyFileSync(file, path)
  return path
}

/** Starts a server, asks it for `/check`, and ends it. */
export async function ask(folder: string, server: string): Promise<unknown> {
  const port = await freePort()
  const child = spawn('node', [server], { cwd: folder, env: { ...process.env, NODE_ENV: 'production', PORT: String(port) } })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (text: Buffer) => (output += text.toString()))
  try {
    for (let attempt = 0; attempt < 100; attempt += 1) {
      const answer = await fetch(`http://localhost:${port}/check`).catch(() => undefined)
      if (answer?.ok) return await answer.json()
      if (answer !== undefined) throw new Error(`${answer.status}: ${await answer.text()}\n${output}`)
      await new Promise((resolve) => setTimeout(resolve, 100))
    }
    throw new Error(`the server does not answer:\n${output}`)
  } finally {
    child.kill('SIGKILL')
  }
}

async function freePort(): Promise<number> {
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, () => resolve()))
  const { port } = server.address() as { port: number }
  await new Promise((resolve) => server.close(resolve))
  return port
}

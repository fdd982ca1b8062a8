import { execFile } from 'node:child_process'
import { cpSync, mkdirSync, mkdtempSync, readdirSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

const checkout = fileURLToPath(new URL('../..', import.meta.url))
const run = promisify(execFile)

/** A project of its own, with packages from the registry and this package as it is built here. */
export interface NpmProject {
  folder: string
  /** Runs a program in the project; rejects when it fails. */
  run(program: string, args: string[]): Promise<string>
  remove(): void
}

/** Makes a project and installs `packages` without running their install scripts. */
export async function makeNpmProject(packages: string[]): Promise<NpmProject> {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'toolwright-project-')))
  writeFileSync(join(folder, 'package.json'), JSON.stringify({ private: true, type: 'module' }))
  const project: NpmProject = {
    folder,
    run: async (program, args) => (await run(program, args, { cwd: folder, maxBuffer: 1 << 26 })).stdout,
    remove: () => rmSync(folder, { recursive: true, force: true, maxRetries: 3 }),
  }
  await project.run('npm', ['install', '--ignore-scripts', '--no-audit', '--no-fund', ...packages])
  putPackageInto(folder)
  return project
}

/** Puts this package, as it is built here, into the project in `folder`. */
export function putPackageInto(folder: string): void {
  const installed = join(folder, 'node_modules', 'toolwright')
  mkdirSync(installed, { recursive: true })
  const addons = readdirSync(checkout).filter((name) => name.endsWith('.node'))
  for (const name of ['dist', 'index.js', 'index.cjs', 'package.json', ...addons]) {
    cpSync(join(checkout, name), join(installed, name), { recursive: true })
  }
}

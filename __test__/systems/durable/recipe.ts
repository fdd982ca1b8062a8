import { mkdirSync, mkdtempSync, readdirSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, onTestFinished } from 'vitest'
import { type StartedScript, startScript } from '../../support/child-script.ts'
import { blockOf } from '../../support/code-blocks.ts'

const checkout = fileURLToPath(new URL('../../..', import.meta.url))

const ENGINES = 'guides/durable-engines.md'

/** A project with a program of the documentation as it stands there, this package, and the engines beside it. */
export function recipe(name: string, engines: string): { folder: string; program: string } {
  // A recipe that is longer is none. The name of the file and types are for the reader.
  const lines = blockOf(ENGINES, name)
    .split('\n')
    .filter((line) => line.trim() !== '' && !/^\s*\/[/*]/u.test(line))
  expect(lines.length, `${name} has ${lines.length} lines`).toBeLessThanOrEqual(15)
  const folder = recipeFolder([name], engines)
  return { folder, program: join(folder, name) }
}

/** A project with some files of the documentation, and others. */
export function recipeFolder(names: readonly string[], engines: string, others: Readonly<Record<string, string>> = {}): string {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'toolwright-recipe-')))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true, maxRetries: 5 }))
  const modules = join(folder, 'node_modules')
  mkdirSync(modules)
  symlinkSync(checkout, join(modules, 'toolwright'))
  for (const source of [join(checkout, 'node_modules'), join(engines, 'node_modules')]) {
    for (const entry of readdirSync(source)) {
      if (entry.startsWith('.') || entry === 'toolwright') continue
      if (!entry.startsWith('@')) link(join(source, entry), join(modules, entry))
      else {
        mkdirSync(join(modules, entry), { recursive: true })
        for (const one of readdirSync(join(source, entry))) link(join(source, entry, one), join(modules, entry, one))
      }
    }
  }
  const blocks = names.map((name) => [name, blockOf(ENGINES, name)] as const)
  const files = Object.entries({ ...Object.fromEntries(blocks), ...others })
  for (const [name, content] of files) {
    mkdirSync(dirname(join(folder, name)), { recursive: true })
    writeFileSync(join(folder, name), content)
  }
  return folder
}

/** Starts a program of the documentation. It is killed with the test. */
export function startRecipe(
  folder: string,
  name: string,
  env: Readonly<Record<string, string>>,
  args: readonly string[] = [],
): StartedScript {
  const started = startScript(join(folder, name), args, [], { cwd: folder, env: { ...process.env, ...env } })
  onTestFinished(() => void started.child.kill('SIGKILL'))
  return started
}

function link(target: string, path: string): void {
  try {
    symlinkSync(target, path)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
  }
}

/** What the model answers: it writes a file, and says that it is done. */
export const NOTES = [
  [{ type: 'tool_use', id: 'toolu_1', name: 'write', input: { path: 'notes.txt', content: 'noted' } }],
  [{ type: 'text', text: 'noted it' }],
] as const

import { realpathSync } from 'node:fs'
import { dirname, join, resolve, sep } from 'node:path'
import { fileURLToPath } from 'node:url'
import { type Check, invalid, paths } from './options.js'

/**
 * Names that stand for several paths in `denyWrite`. `@git`: git directories, and what git is led to. `@editors`: `.vscode`,
 * `.idea`, `.zed`. `@agents`: `.claude`, `.codex`, `.cursor`, `.gemini`, `.agents`, `.mcp.json`. `@tools`: what else acts when
 * a project is opened, such as `.devcontainer`, `.windsurf` and `.nvim.lua` (docs/security.md). `@ci`: files of continuous
 * integration. `@host`: the program of this process and its packages.
 */
export const PROTECTED_PLACES = ['@git', '@editors', '@agents', '@tools', '@ci', '@host'] as const

/** Paths that are not written, with `@host` replaced by its paths. @throws {ToolError} INVALID_INPUT */
export const protectedPaths: Check<string[]> = (value, name) =>
  paths(value, name).flatMap((entry) => {
    if (entry === '@host') return hostPaths()
    if (/^@[^/]*$/u.test(entry) && !(PROTECTED_PLACES as readonly string[]).includes(entry)) {
      throw invalid(
        `${name}: ${JSON.stringify(entry)} is none of ${PROTECTED_PLACES.join(', ')}. Write ./${entry} for a path of that name.`,
      )
    }
    return [entry]
  })

/** The main program of this process, the packages beside it, and those that this package is among. */
function hostPaths(): string[] {
  const [, program] = process.argv
  const own = dirname(fileURLToPath(import.meta.url))
  const packages = own.lastIndexOf(`${sep}node_modules${sep}`)
  return [
    ...(program === undefined ? [] : [real(resolve(program)), join(dirname(real(resolve(program))), 'node_modules')]),
    ...(packages === -1 ? [] : [own.slice(0, packages + `${sep}node_modules`.length)]),
  ]
}

function real(path: string): string {
  try {
    return realpathSync(path)
  } catch {
    return path
  }
}

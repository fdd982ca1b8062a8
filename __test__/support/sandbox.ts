import { mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { runWithToolContext, type ToolContext } from 'toolwright'
import { onTestFinished } from 'vitest'

/** A root directory for one test, and a place beside it that is outside of the root. */
export interface Sandbox {
  /** The root directory, without links in its path. */
  root: string
  /** A directory that is not below the root. */
  outside: string
  /** The absolute path of a name in the root. */
  at(path: string): string
  /** Makes a file in the root, with its parents, and gives its absolute path. */
  put(path: string, content: string | Uint8Array): string
  /** The text of a file in the root. */
  text(path: string): string
  /** The bytes of a file in the root. */
  bytes(path: string): Buffer
  /** Runs `fn` in a tool context whose root directory is this one. */
  within<T>(fn: () => T, context?: ToolContext): T
}

/** Makes a sandbox that is removed when the current test has finished. */
export function makeSandbox(): Sandbox {
  const base = realpathSync(mkdtempSync(join(tmpdir(), 'toolwright-')))
  onTestFinished(() => rmSync(base, { recursive: true, force: true }))
  const root = join(base, 'root')
  const outside = join(base, 'outside')
  mkdirSync(root)
  mkdirSync(outside)
  const at = (path: string): string => join(root, path)
  return {
    root,
    outside,
    at,
    put(path, content) {
      mkdirSync(dirname(at(path)), { recursive: true })
      writeFileSync(at(path), content)
      return at(path)
    },
    text: (path) => readFileSync(at(path), 'utf8'),
    bytes: (path) => readFileSync(at(path)),
    within: (fn, context = {}) => runWithToolContext({ rootDir: root, ...context }, fn),
  }
}

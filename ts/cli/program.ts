import { readFileSync } from 'node:fs'
import { release } from 'node:os'

/** A command line that makes no sense. It is reported without a stack. */
export class UsageError extends Error {
  override readonly name = 'UsageError'

  /** The error of `parseArgs`, without the advice on positional arguments that it adds. */
  static of(error: unknown): UsageError {
    const message = error instanceof Error ? error.message : String(error)
    return new UsageError(message.replace(/\. (?:To specify|This command) .*$/su, ''))
  }
}

/** The version of this package. */
export function version(): string {
  const manifest = readFileSync(new URL('../../package.json', import.meta.url), 'utf8')
  return (JSON.parse(manifest) as { version: string }).version
}

/** What a bug report says about the system. */
export function versions(): Record<'toolwright' | 'runtime' | 'system', string> {
  const runtime = process.versions['bun'] === undefined ? `Node ${process.versions.node}` : `Bun ${process.versions['bun']}`
  return { toolwright: version(), runtime, system: `${process.platform} ${process.arch}, kernel ${release()}` }
}

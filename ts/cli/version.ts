import { readFileSync } from 'node:fs'
import { release } from 'node:os'

/** The version of this package. */
export function version(): string {
  const manifest = readFileSync(new URL('../../package.json', import.meta.url), 'utf8')
  return (JSON.parse(manifest) as { version: string }).version
}

/** What a report of a problem has to say of where it happened. */
export function versions(): Record<'toolwright' | 'runtime' | 'system', string> {
  const runtime = process.versions['bun'] === undefined ? `Node ${process.versions.node}` : `Bun ${process.versions['bun']}`
  return { toolwright: version(), runtime, system: `${process.platform} ${process.arch}, kernel ${release()}` }
}

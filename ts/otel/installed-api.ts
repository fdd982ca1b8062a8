import { createRequire } from 'node:module'
import type * as Otel from '@opentelemetry/api'
import { ownFile } from '../core/addon.js'
import { loadLate } from '../core/late-code.js'
import { checked, invalid } from '../core/options.js'

/** What ends an instrumentation. `dispose()` or the end of a `using` block ends it, and all open spans. */
export interface Instrumentation extends Disposable {
  dispose(): void
}

export const hasMethod = (name: string) => (value: unknown) => typeof (value as Record<string, unknown> | null)?.[name] === 'function'

/** The package is required at run time, so that bundlers ignore it. Most programs do not have it. */
const API = '@opentelemetry/api'

let known: ReturnType<typeof lookUp> | undefined

function lookUp(): { api: typeof Otel } | { cause: unknown } {
  try {
    return { api: createRequire(ownFile())(API) as typeof Otel }
  } catch (cause) {
    return { cause }
  }
}

loadLate(async () => (known = lookUp()))

/** @throws {ToolError} INVALID_INPUT */
export function installedApi(caller: string): typeof Otel {
  return checked(caller, () => {
    const found = known ?? lookUp()
    if ('api' in found) return found.api
    const { cause } = found
    throw invalid(`The package ${API} is not installed. Run npm install ${API}, or pass its module as \`api\` in a bundle.`, { cause })
  })
}

import type { LanguageServers, ServerHost } from '../../language-servers/language-servers.js'
import { rootHost } from '../../language-servers/root-host.js'
import { SERVER_IO } from '../../language-servers/server-slot.js'
import type { BoundToolOptions } from '../settings.js'
import { callPlan, type CallSettings } from './call-plan.js'
import { startConfined } from './start-confined.js'

/** How long the start of a server may take, in milliseconds. */
const START_MS = 30_000

/** What language servers need of the tools, in the sandbox of commands but without a network. */
export function serverHost({ memoryBytes }: LanguageServers, bound: BoundToolOptions, call: CallSettings): ServerHost {
  const plan = callPlan(call)
  const { rootDir, rootHolder, env } = plan
  return rootHost({
    rootDir,
    rootHolder,
    path: (env === 'inherit' ? undefined : env.set?.['PATH']) ?? process.env['PATH'],
    // An abort of the call must not leave a check in the middle.
    signal: undefined,
    start: ({ name, command }, signal) =>
      startConfined(plan, bound, { what: `language server ${name}`, command, memoryBytes, timeoutMs: START_MS }, signal, SERVER_IO),
  })
}

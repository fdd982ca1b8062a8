import { isMainThread } from 'node:worker_threads'
import type { EnvironmentOptions } from '../../index.js'

/** Whether `process.env` is the environment of the process and not a copy of it. */
const sharesProcessEnvironment = isMainThread && process.versions['bun'] === undefined

/** The variables of a command: the host's, without what looks like a secret or injects code. */
export function commandEnvironment(network: boolean): { environment: EnvironmentOptions; given?: Record<string, string> } {
  const environment: EnvironmentOptions = { inherit: false, allow: [], set: {}, networkBlocked: !network }
  if (sharesProcessEnvironment) return { environment }
  const given = Object.entries(process.env).filter((entry): entry is [string, string] => entry[1] !== undefined)
  return { environment, given: Object.fromEntries(given) }
}

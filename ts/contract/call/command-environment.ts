import { isMainThread } from 'node:worker_threads'
import type { EnvironmentOptions } from '../../../index.js'
import type { EnvironmentOption } from '../../toolkit/settings.js'

/** Whether `process.env` is the environment of the process and not a copy of it. */
const sharesProcessEnvironment = isMainThread && process.versions['bun'] === undefined

/** The variables of a command: the host's, by default without what looks like a secret or injects code. */
export function commandEnvironment(
  network: boolean,
  option: EnvironmentOption = {},
): { environment: EnvironmentOptions; given?: Record<string, string> } {
  const { allow = [], set = {} } = option === 'inherit' ? {} : option
  const environment: EnvironmentOptions = { inherit: option === 'inherit', allow: [...allow], set: { ...set }, networkBlocked: !network }
  if (sharesProcessEnvironment) return { environment }
  const given = Object.entries(process.env).filter((entry): entry is [string, string] => entry[1] !== undefined)
  return { environment, given: Object.fromEntries(given) }
}

/** Whether commands have a CDPATH, by which `cd` finds directories elsewhere. */
export function hasCdPath(option: EnvironmentOption = {}): boolean {
  const { set = {} } = option === 'inherit' ? {} : option
  return (process.env['CDPATH'] ?? '') !== '' || (set['CDPATH'] ?? '') !== ''
}

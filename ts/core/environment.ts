import type { EnvironmentOptions } from '../../index.js'
import { group, invalid, isNames, optional } from './options.js'

/** Which variables of the environment reach commands. */
export type EnvironmentOption = 'inherit' | { allow?: readonly string[] | undefined; set?: Readonly<Record<string, string>> | undefined }

/** A copy of the option. @throws {ToolError} INVALID_INPUT */
export function parseEnvironment(env: unknown, name: string): EnvironmentOption {
  if (env === 'inherit') return env
  if (typeof env !== 'object' || env === null) throw invalid(`${name} must be 'inherit' or { allow, set }.`)
  return parseVariables(env, name)
}

const parseVariables = group({
  allow: optional<string[]>((allow, name) => {
    if (isNames(allow)) return [...allow]
    throw invalid(`${name} must be an array of names.`)
  }, []),
  set: optional<Record<string, string>>((set, name) => variableTexts(set, name), {}),
})

/** Variables by name. @throws {ToolError} INVALID_INPUT */
export function variableTexts(set: unknown, name: string): Record<string, string> {
  if (typeof set !== 'object' || set === null) throw invalid(`${name} must be an object of strings.`)
  for (const [variable, value] of Object.entries(set)) {
    if (typeof value !== 'string') throw invalid(`${name}.${variable} must be a string.`)
    if (variable !== '' && !variable.includes('=') && !`${variable}${value}`.includes('\0')) continue
    throw invalid(`${name}: ${JSON.stringify(variable)} cannot be a variable.`)
  }
  return { ...set } as Record<string, string>
}

/** The environment of commands for the addon: by default without variables that look like secrets or inject code. */
export function environmentOptions(option: EnvironmentOption = {}, allowNetwork: boolean): EnvironmentOptions {
  const { allow = [], set = {} } = option === 'inherit' ? {} : option
  return { inherit: option === 'inherit', allow: [...allow], set: { ...set }, networkBlocked: !allowNetwork }
}

/** Asked at a call: an import would load the module for threads with this package. */
const isMainThread = (): boolean => process.getBuiltinModule('node:worker_threads').isMainThread

/** Whether `process.env` is the environment of the process, which the addon can read itself, and not a copy. */
const sharesProcessEnvironment = (): boolean => process.versions['bun'] === undefined && isMainThread()

/** The variables of the host, if the addon cannot read them itself. */
export function hostVariables(): Record<string, string> | undefined {
  if (sharesProcessEnvironment()) return undefined
  return Object.fromEntries(Object.entries(process.env).filter((entry): entry is [string, string] => entry[1] !== undefined))
}

/** Whether commands have a CDPATH, through which `cd` finds directories elsewhere. */
export function hasCdPath(option: EnvironmentOption = {}): boolean {
  const { set = {} } = option === 'inherit' ? {} : option
  return (process.env['CDPATH'] ?? '') !== '' || (set['CDPATH'] ?? '') !== ''
}

/**
 * Variables of a process with a terminal. A model reads the output, so they turn off colours and pagers. The host's own
 * variables take precedence.
 */
export const terminalVariables = (): Record<string, string> => ({ TERM: 'dumb', NO_COLOR: '1', PAGER: 'cat', GIT_PAGER: 'cat' })

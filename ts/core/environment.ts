import { isMainThread } from 'node:worker_threads'
import type { EnvironmentOptions } from '../../index.js'
import { checkNames, invalid } from './options.js'

/** Which variables of the environment reach commands. */
export type EnvironmentOption = 'inherit' | { allow?: readonly string[] | undefined; set?: Readonly<Record<string, string>> | undefined }

/** A copy of the option. @throws {ToolError} INVALID_INPUT */
export function parseEnvironment(env: unknown, name: string): EnvironmentOption {
  if (env === 'inherit') return env
  if (typeof env !== 'object' || env === null) throw invalid(`${name} must be 'inherit' or { allow, set }.`)
  checkNames(`${name}.`, env, ['allow', 'set'])
  const { allow = [], set = {} } = env as { allow?: unknown; set?: unknown }
  if (!Array.isArray(allow) || !allow.every((variable) => typeof variable === 'string' && variable !== '')) {
    throw invalid(`${name}.allow must be an array of names.`)
  }
  if (typeof set !== 'object' || set === null) throw invalid(`${name}.set must be an object of strings.`)
  for (const [variable, value] of Object.entries(set)) {
    if (typeof value !== 'string') throw invalid(`${name}.set.${variable} must be a string.`)
    if (variable === '' || variable.includes('=') || `${variable}${value}`.includes('\0')) {
      throw invalid(`${name}.set: ${JSON.stringify(variable)} cannot be a variable.`)
    }
  }
  return { allow: [...(allow as string[])], set: { ...(set as Record<string, string>) } }
}

/** The environment of commands, as the addon takes it: by default without what looks like a secret or injects code. */
export function environmentOptions(option: EnvironmentOption = {}, allowNetwork: boolean): EnvironmentOptions {
  const { allow = [], set = {} } = option === 'inherit' ? {} : option
  return { inherit: option === 'inherit', allow: [...allow], set: { ...set }, networkBlocked: !allowNetwork }
}

/** Whether `process.env` is the environment of the process, which the addon reads by itself, and not a copy of it. */
const sharesProcessEnvironment = isMainThread && process.versions['bun'] === undefined

/** The variables of the host, where the addon cannot read them by itself. */
export function hostVariables(): Record<string, string> | undefined {
  if (sharesProcessEnvironment) return undefined
  return Object.fromEntries(Object.entries(process.env).filter((entry): entry is [string, string] => entry[1] !== undefined))
}

/** Whether commands have a CDPATH, by which `cd` finds directories elsewhere. */
export function hasCdPath(option: EnvironmentOption = {}): boolean {
  const { set = {} } = option === 'inherit' ? {} : option
  return (process.env['CDPATH'] ?? '') !== '' || (set['CDPATH'] ?? '') !== ''
}

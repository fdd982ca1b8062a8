/** What makes sense as a setting. Each refuses what does not with INVALID_INPUT. */
import { constants } from 'node:buffer'
import { checkNames, invalid } from '../core/options.js'
import type { OutputLimits } from './settings.js'
import { BASH_TOOL_MAX_OUTPUT_BYTES } from './tools/bash-limits.js'

/** What no runtime can exceed: a longer string cannot be made, a longer timer ends at once. */
export const widest = { outputBytes: constants.MAX_STRING_LENGTH, timeoutMs: 2_147_000_000 }

export function checkRootDir(rootDir: unknown): void {
  if (typeof rootDir !== 'string' || rootDir === '') throw invalid('rootDir must be a non-empty string.')
  if (rootDir.includes('\0')) throw invalid('rootDir holds a NUL byte.')
}

/** A string such as `'false'` is true in a condition, and would open what it was to close. */
export function checkSwitch(name: string, value: unknown): void {
  if (typeof value !== 'boolean') throw invalid(`${name} must be true or false.`)
}

/** @param where what the option is called. @throws {ToolError} INVALID_INPUT */
export function checkEnvironment(env: unknown, where = 'env'): void {
  if (env === 'inherit') return
  if (typeof env !== 'object' || env === null) throw invalid(`${where} must be 'inherit' or { allow, set }.`)
  checkNames(`${where}.`, env, ['allow', 'set'])
  const { allow = [], set = {} } = env as { allow?: unknown; set?: unknown }
  if (!Array.isArray(allow) || !allow.every((name) => typeof name === 'string' && name !== '')) {
    throw invalid(`${where}.allow must be an array of names.`)
  }
  if (typeof set !== 'object' || set === null) throw invalid(`${where}.set must be an object of strings.`)
  for (const [name, value] of Object.entries(set)) {
    if (typeof value !== 'string') throw invalid(`${where}.set.${name} must be a string.`)
    if (name === '' || name.includes('=') || `${name}${value}`.includes('\0')) {
      throw invalid(`${where}.set: ${JSON.stringify(name)} cannot be a variable.`)
    }
  }
}

/** @throws {ToolError} INVALID_INPUT */
export function checkOutputLimits(limits: unknown): void {
  if (typeof limits !== 'object' || limits === null) throw invalid('limits must be an object of bytes, by the kind of call.')
  checkNames('limits.', limits, ['read', 'grep', 'bash', 'write', 'image'])
  for (const [kind, bytes] of Object.entries(limits as OutputLimits)) {
    const most = kind === 'bash' ? BASH_TOOL_MAX_OUTPUT_BYTES : widest.outputBytes
    const isLimit = typeof bytes === 'number' && (bytes > 0 || (kind === 'image' && bytes === 0)) && bytes <= most
    if (bytes !== undefined && !isLimit) throw invalid(`limits.${kind} must be a positive number of at most ${most} bytes.`)
  }
}

/** NaN would switch a comparison off, and so would infinity. */
export function checkLimits(
  maxOutputBytes: unknown,
  timeoutMs: unknown,
  most: { outputBytes: number; timeoutMs: number },
  timeoutName: 'timeoutMs' | 'toolTimeoutMs' = 'timeoutMs',
): void {
  if (typeof maxOutputBytes !== 'number' || !(maxOutputBytes > 0)) {
    throw invalid('maxOutputBytes must be positive.')
  }
  if (maxOutputBytes > most.outputBytes) {
    const details = { maxOutputBytes, maxAllowed: most.outputBytes }
    throw invalid(`maxOutputBytes exceeds ${most.outputBytes}.`, details)
  }
  if (typeof timeoutMs !== 'number' || !(timeoutMs > 0)) throw invalid(`${timeoutName} must be positive.`)
  if (timeoutMs > most.timeoutMs) {
    throw invalid(`${timeoutName} exceeds ${most.timeoutMs}.`, { [timeoutName]: timeoutMs, maxAllowed: most.timeoutMs })
  }
}

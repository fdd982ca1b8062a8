import type { PublishOptions } from '../../../index.js'
import { ToolError } from '../../core/errors.js'
import type { CallLimits } from '../../core/native.js'
import { boundedPath } from '../../core/text.js'
import { getToolContext } from '../../journal/calls/context.js'
import type { BuiltInContext } from '../define-tool.js'
import { documentedOptions, resolveSettings, type Settings } from '../settings.js'
import { checkContextSettings, type LimitedKind } from '../tool-options.js'

/** When a file operation is given up: a disk that does not answer must not hold an agent for ever. */
const FILE_TIMEOUT_MS = 60_000
/** How long a write or an edit that was given up may still report how it ended. */
const CHANGE_GRACE_MS = 2_000

/** The checked settings of one call, in the forms that its tool needs. */
export interface CallPlan extends Settings {
  publish: PublishOptions
  /** Limits of a call that only reads. */
  limits(what: string, timeoutMs?: number): CallLimits
  /** Limits of a call that changes something. */
  changeLimits(what: string, timeoutMs?: number): CallLimits
}

/** @throws {ToolError} INVALID_INPUT for settings of a context that make no sense. */
export function callPlan({ settings, signal }: Pick<BuiltInContext, 'settings' | 'signal'>): CallPlan {
  checkContextSettings(settings)
  return {
    ...settings,
    publish: {
      fsync: settings.durability === 'fsync',
      allowInPlace: settings.allowInPlace,
      waitMs: FILE_TIMEOUT_MS,
      ...(settings.sandbox.denyWrite === undefined ? {} : { denyWrite: [...settings.sandbox.denyWrite] }),
    },
    limits: (what, timeoutMs = FILE_TIMEOUT_MS) => ({ signal, timeoutMs, what }),
    changeLimits: (what, timeoutMs = FILE_TIMEOUT_MS) => ({ signal, timeoutMs, what, graceMs: CHANGE_GRACE_MS }),
  }
}

/** What a call of a documented function has: the settings of the current context and of `configureTools`. */
export function directCall(kind: LimitedKind): Pick<BuiltInContext, 'settings' | 'signal'> {
  const ambient = getToolContext()
  return { settings: resolveSettings(ambient, documentedOptions, kind), signal: ambient?.signal }
}

/** The path as text. @throws {ToolError} TOOL_PATH_INVALID */
export function pathText(path: unknown): string {
  if (typeof path === 'string') return boundedPath(path)
  throw new ToolError({
    code: 'TOOL_PATH_INVALID',
    summary: 'Path must be a string',
    hint: 'Give the path of a file below the root directory.',
  })
}

/** The path as text; the empty path for what is none, so that the addon refuses it after it has judged the size. */
export const pathOrEmpty = (path: unknown): string => (typeof path === 'string' ? boundedPath(path) : '')

import type { PublishOptions } from '../../../index.js'
import { getToolContext, type ToolContext } from '../context.js'
import { ToolError } from '../../core/errors.js'
import type { CallLimits } from '../../core/native.js'
import { boundedPath } from '../../core/bounded-path.js'
import { checkSettings, type LimitedKind, resolveSettings, type Settings, type ToolOptions } from '../settings.js'

/** When a file operation is given up: a disk that does not answer must not hold an agent for ever. */
const FILE_TIMEOUT_MS = 60_000
/** How long a write or an edit may still tell how it ended after it was given up. */
const CHANGE_GRACE_MS = 2_000

/** Everything one call of a built-in tool needs to know, resolved and checked. */
export interface CallPlan extends Settings {
  publish: PublishOptions
  /** The path as text, or the typed error for what is none. */
  path(path: unknown): string
  /** The path as text; what is none becomes the empty path, which the addon refuses in its turn. */
  pathUnchecked(path: unknown): string
  /** Limits of a call that only reads. */
  limits(what: string, timeoutMs?: number): CallLimits
  /** Limits of a call that changes something. */
  changeLimits(what: string, timeoutMs?: number): CallLimits
}

/** Resolves the settings of one call. */
export function callPlan(ctx: ToolContext | undefined, bound: ToolOptions, kind: LimitedKind): CallPlan {
  const ambient = getToolContext()
  const settings = resolveSettings(ambient, bound, kind)
  checkSettings(settings)
  const signal = ctx === undefined ? ambient?.signal : ctx.signal
  return {
    ...settings,
    publish: {
      fsync: settings.durability === 'fsync',
      allowInPlace: settings.allowInPlace,
      waitMs: FILE_TIMEOUT_MS,
      ...(settings.sandbox.denyWrite === undefined ? {} : { denyWrite: [...settings.sandbox.denyWrite] }),
    },
    path: textPath,
    pathUnchecked: (path) => (typeof path === 'string' ? boundedPath(path) : ''),
    limits: (what, timeoutMs = FILE_TIMEOUT_MS) => ({ signal, timeoutMs, what }),
    changeLimits: (what, timeoutMs = FILE_TIMEOUT_MS) => ({ signal, timeoutMs, what, graceMs: CHANGE_GRACE_MS }),
  }
}

function textPath(path: unknown): string {
  if (typeof path === 'string') return boundedPath(path)
  throw new ToolError({
    code: 'TOOL_PATH_INVALID',
    summary: 'Path must be a string',
    hint: 'Give the path of a file below the root directory.',
  })
}

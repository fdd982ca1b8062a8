import type * as Addon from '../../index.js'
import { sandboxRequest } from '../sandbox.js'
import type { Settings, ToolOptions } from '../settings.js'

interface Known {
  plan: Settings
  native: Addon.CommandSettings
}

/** The last ones of each set of tools: options hardly ever change between two commands. */
const known = new WeakMap<ToolOptions, Known>()

/** The conditions under which a command runs, as the addon takes them. */
export function commandSettings(plan: Settings, bound: ToolOptions): (addon: typeof Addon) => Addon.CommandSettings {
  return (addon) => {
    const last = known.get(bound)
    if (last !== undefined && areSame(last.plan, plan)) return last.native
    const native = new addon.CommandSettings({
      root: plan.rootDir,
      environment: environment(plan),
      sandbox: sandboxRequest(plan.sandbox, plan.allowNetwork),
      limitBytes: plan.maxOutputBytes,
      timeoutMs: plan.timeoutMs,
    })
    known.set(bound, { plan, native })
    return native
  }
}

/** Options of tool sets and of the process are copies that nobody changes: the same object says the same. */
function areSame(a: Settings, b: Settings): boolean {
  return (
    a.rootDir === b.rootDir &&
    a.allowNetwork === b.allowNetwork &&
    a.maxOutputBytes === b.maxOutputBytes &&
    a.timeoutMs === b.timeoutMs &&
    a.env === b.env &&
    a.sandbox === b.sandbox
  )
}

function environment({ env, allowNetwork }: Settings): Addon.EnvironmentOptions {
  const { allow = [], set = {} } = env === 'inherit' ? {} : env
  return { inherit: env === 'inherit', allow: [...allow], set: { ...set }, networkBlocked: !allowNetwork }
}

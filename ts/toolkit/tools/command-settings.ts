import type * as Addon from '../../../index.js'
import { commandGrants } from '../../core/command-grants.js'
import { grantedRoot } from '../../core/granted-root.js'
import { sandboxRequest } from '../../core/sandbox.js'
import type { Settings, ToolOptions } from '../settings.js'

interface Known {
  plan: Settings
  root: Addon.GrantedRoot
  native: Addon.CommandSettings
}

/** The last ones of each set of tools: options hardly ever change between two commands. */
const known = new WeakMap<ToolOptions, Known>()

/** The conditions under which a command runs, as the addon takes them. */
export function commandSettings(plan: Settings, bound: ToolOptions): (addon: typeof Addon) => Addon.CommandSettings {
  return (addon) => {
    const last = known.get(bound)
    const root = grantedRoot(addon, plan)
    if (last !== undefined && last.root === root && areSame(last.plan, plan)) return last.native
    const options = {
      environment: environment(plan),
      sandbox: sandboxRequest(plan.sandbox, plan.allowNetwork),
      limitBytes: plan.maxOutputBytes,
      timeoutMs: plan.timeoutMs,
    }
    const native = new addon.CommandSettings(options, commandGrants(addon, root, plan.sandbox))
    known.set(bound, { plan, root, native })
    return native
  }
}

/** Options of tool sets and of the process are copies that nobody changes: the same object says the same. */
function areSame(a: Settings, b: Settings): boolean {
  return (
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

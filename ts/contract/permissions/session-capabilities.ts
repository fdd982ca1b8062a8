import type * as Addon from '../../../index.js'
import type { ContractPolicy, ContractPolicyRequest, ContractVariables } from '../../../index.js'
import { ToolError } from '../../core/errors.js'
import { nativeFork } from '../../core/grants.js'
import { nativeAddon, unwrap } from '../../core/native.js'
import type { AdHocFiles } from './ad-hoc-files.js'

/** The addon, which enforces the capabilities. */
export type ContractAddon = typeof Addon

/** Loads the addon. @throws {ToolError} NATIVE_UNAVAILABLE, also for an addon of another version. */
export async function loadContractAddon(): Promise<ContractAddon> {
  const addon = await nativeAddon()
  if (typeof addon.compilePolicy === 'function') return addon
  throw new ToolError({
    code: 'NATIVE_UNAVAILABLE',
    summary: 'The native part of toolwright is of another version',
    hint: 'Install again; in a checkout, run `npm run build`.',
  })
}

export interface CapabilitySource extends SessionDirectories {
  addon: ContractAddon
  /** The parent session, which has to allow every access too. */
  parent: SessionCapabilities | undefined
  request: Omit<ContractPolicyRequest, 'variables'>
  /** The fork that stands in the place of a directory; without one, that of the parent. */
  fork: object | undefined
}

/**
 * The capabilities of a session. They change when the user opens and closes files; a call keeps the policy of the moment
 * at which it begins.
 */
export class SessionCapabilities {
  readonly #source: CapabilitySource
  #variables: ContractVariables
  #policy: ContractPolicy
  #directories: readonly string[]
  #above: ContractPolicy | undefined

  /** @throws {ToolError} TOOL_ROOT_CHANGED, and CONTRACT_MANIFEST_INVALID with the place of what is wrong. */
  constructor(source: CapabilitySource) {
    this.#source = source
    this.#directories = source.adHoc.directories
    this.#above = source.parent?.policy
    this.#variables = variablesOf(source)
    const request = { ...source.request, variables: this.#variables }
    this.#policy = unwrap(source.addon.compilePolicy(request, this.#above, source.fork && nativeFork(source.fork)))
  }

  /** The current values of the variables. The object stays the same until one changes. */
  get variables(): ContractVariables {
    this.#renew()
    return this.#variables
  }

  /** The current policy. The object stays the same until it changes. */
  get policy(): ContractPolicy {
    this.#renew()
    return this.#policy
  }

  #renew(): void {
    const { adHoc, parent } = this.#source
    const { directories } = adHoc
    const above = parent?.policy
    if (directories === this.#directories && above === this.#above) return
    this.#directories = directories
    this.#above = above
    this.#variables = variablesOf(this.#source)
    this.#policy = unwrap(this.#policy.withAdHoc([...directories], above))
  }
}

/** The directories that a session works in, without links in their paths. */
export interface SessionDirectories {
  roots: readonly string[]
  adHoc: AdHocFiles
  userData: string | undefined
}

/** The current values of the variables. */
export function variablesOf({ roots, adHoc, userData }: SessionDirectories): ContractVariables {
  return { workspace: [...roots], adHoc: [...adHoc.directories], ...(userData === undefined ? {} : { userData }) }
}

import type { ContractPolicyRequest, ContractVariables } from '../../../index.js'
import type { AdHocFiles } from './ad-hoc-files.js'
import { type ContractAddon, SessionPolicy } from './session-policy.js'

/** The source of a session's capabilities. */
export interface CapabilitySource {
  addon: ContractAddon
  /** The roots of the workspace, without links. */
  roots: readonly string[]
  adHoc: AdHocFiles
  userData: string | undefined
  /** The parent session, which has to allow every access too. */
  parent: SessionCapabilities | undefined
  /** The part that stays the same. */
  request: Omit<ContractPolicyRequest, 'variables'>
}

/**
 * The capabilities of a session. They change when the user opens and closes files; a call keeps the policy of the moment
 * at which it begins.
 */
export class SessionCapabilities {
  readonly #source: CapabilitySource
  #variables: ContractVariables
  #policy: SessionPolicy
  /** The sources of the current policy. */
  #directories: readonly string[]
  #above: SessionPolicy | undefined

  /** @throws {ToolError} CONTRACT_MANIFEST_INVALID with the place of what is wrong. */
  constructor(source: CapabilitySource) {
    this.#source = source
    this.#directories = source.adHoc.directories
    this.#above = source.parent?.policy
    this.#variables = this.#variablesNow()
    this.#policy = new SessionPolicy(source.addon, { ...source.request, variables: this.#variables }, this.#above)
  }

  /** The current values of the variables. The object stays the same until one changes. */
  get variables(): ContractVariables {
    this.#renew()
    return this.#variables
  }

  /** The current policy. The object stays the same until it changes. */
  get policy(): SessionPolicy {
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
    this.#variables = this.#variablesNow()
    this.#policy = this.#policy.withAdHoc(directories, above)
  }

  #variablesNow(): ContractVariables {
    const { roots, userData } = this.#source
    return { workspace: [...roots], adHoc: [...this.#directories], ...(userData === undefined ? {} : { userData }) }
  }
}

import type { ContractPolicyRequest, ContractVariables } from '../../../index.js'
import type { AdHocFiles } from './ad-hoc-files.js'
import { type ContractAddon, SessionPolicy } from './session-policy.js'

/** What the capabilities of a session are compiled from. */
export interface CapabilitySource {
  addon: ContractAddon
  /** The roots of the workspace, without links. */
  roots: readonly string[]
  adHoc: AdHocFiles
  userData: string | undefined
  /** Who has to allow it too. */
  parent: SessionCapabilities | undefined
  /** What does not change. */
  request: Omit<ContractPolicyRequest, 'variables'>
}

/**
 * What a session may do. Files are opened and closed while it runs, so this changes: a call takes the policy of the
 * moment at which it begins, and keeps it.
 */
export class SessionCapabilities {
  readonly #source: CapabilitySource
  #variables: ContractVariables
  #policy: SessionPolicy
  /** What these were made of. */
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

  /** What variables stand for now; the same object until that changes. */
  get variables(): ContractVariables {
    this.#renew()
    return this.#variables
  }

  /** What may be done now; the same object until that changes. */
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

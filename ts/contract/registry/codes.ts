import type { ContractCode } from '../../core/codes.js'
import { checked } from '../../core/options.js'

export { type CodeClass, type ContractCode, contractCodes } from '../../core/codes.js'

/** A failure with its code: what a tool throws to say more than that it failed. */
export class ContractFailure extends Error {
  override readonly name = 'ContractFailure'
  /** The `metadata.code` of the envelope. */
  readonly code: ContractCode

  constructor(code: ContractCode, message: string, options?: ErrorOptions) {
    super(...checked('ContractFailure', () => [message && String(message), options === undefined ? {} : { ...options }] as const))
    this.code = code
    Object.defineProperty(this, mark, { value: true, enumerable: false })
  }

  /** True for a failure of this or any other installed copy of the package. */
  static isInstance(value: unknown): value is ContractFailure {
    return typeof value === 'object' && value !== null && mark in value
  }
}

const mark = Symbol.for('toolwright.contract-failure')

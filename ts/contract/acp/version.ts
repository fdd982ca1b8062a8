import { type Check, must, optional } from '../../core/options.js'

/** One of the versions of the protocol. */
const either = must<1 | 2>((value) => value === 1 || value === 2, '1 or 2')

/**
 * The version of the protocol that a client speaks.
 *
 * 1 is stable. 2 is a draft: its terminals are the agent's, its diffs are patches, and a call can be cancelled.
 *
 * @default 1
 */
export const protocolVersion: Check<1 | 2> = optional<1 | 2>(either, 1)

/** A version of the protocol. */
export type ProtocolVersion = 1 | 2

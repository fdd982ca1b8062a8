import { randomBytes } from 'node:crypto'

/** A text that is nowhere else. */
export const token = (): string => `redteam${randomBytes(12).toString('hex')}`

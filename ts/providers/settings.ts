import type { BoundToolOptions } from '../toolkit/settings.js'

/** What every executor is made of. */
export interface ProviderSettings {
  /** The options that `createTools` takes as well. */
  bound: BoundToolOptions
  /** The longest time that a model may ask for. */
  maxTimeoutMs: number
  /** The most characters of a file that one view shows; `undefined` for no limit but that in bytes. */
  maxCharacters: number | undefined
}

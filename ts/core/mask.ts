import type { MaskRequest } from '../../index.js'
import { boolean, type Check, type Checks, group, invalid, optional } from './options.js'

/**
 * Which secrets are masked in outputs: shown as their names in brackets, such as `[GITHUB_TOKEN]`. `'known'`: the values of variables
 * that commands do not get because they are secret. `'tokens'`: these, and tokens in the formats of their vendors and private keys.
 * `false`: none. An object adds secrets of the host by name.
 */
export type MaskOption = 'known' | 'tokens' | false | MaskChoice

/** What is masked besides known values. */
export interface MaskChoice {
  /** Mask tokens in the formats of their vendors, and private keys. @default false */
  tokens?: boolean | undefined
  /** Secrets of the host, by the names that stand in their places: values of at least eight characters. @default {} */
  values?: Readonly<Record<string, string>> | undefined
}

/** A shorter value would be found in ordinary words. */
const MIN_SECRET_BYTES = 8

const maskChoice = group({
  tokens: optional(boolean),
  values: optional<Readonly<Record<string, string>>>((values, name) => {
    if (typeof values !== 'object' || values === null || Array.isArray(values)) throw invalid(`${name} must be an object of strings.`)
    for (const [secret, value] of Object.entries(values)) {
      if (typeof value !== 'string') throw invalid(`${name}.${secret} must be a string.`)
      if (Buffer.byteLength(value.trim()) >= MIN_SECRET_BYTES) continue
      throw invalid(`${name}.${secret} is shorter than ${MIN_SECRET_BYTES} characters, and would be found in ordinary words.`)
    }
    return Object.freeze({ ...values }) as Readonly<Record<string, string>>
  }),
} satisfies Checks<MaskChoice>)

/** A copy of the option. @throws {ToolError} INVALID_INPUT */
export const parseMask: Check<MaskOption> = (value, name) => {
  if (value === 'known' || value === 'tokens' || value === false) return value
  if (typeof value !== 'object' || value === null) throw invalid(`${name} must be 'known', 'tokens', false or { tokens, values }.`)
  return Object.freeze(maskChoice(value, name))
}

/** The option among others for the addon, which masks nothing without one. */
export function masked(option: MaskOption = 'known'): { mask?: MaskRequest } {
  if (option === false) return {}
  const { tokens = false, values = {} }: MaskChoice = typeof option === 'string' ? { tokens: option === 'tokens' } : option
  return { mask: { tokens, values: { ...values } } }
}

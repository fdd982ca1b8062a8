import type { OpenedTarget } from '../../index.js'

/** More is not kept: the text is for a diff that a person looks at. */
const MOST_BYTES = 200_000

/** By the envelope, or the prompt, of the call that overwrites it: hosts see it, and neither models nor journals do. */
const texts = new WeakMap<object, string>()

/** The text of a file that a call is about to overwrite; nothing for a new one, for one that is no text, and for a long one. */
export function textBefore(target: OpenedTarget | undefined): string | undefined {
  if (target?.kind !== 'file' || (target.bytes ?? Infinity) > MOST_BYTES) return undefined
  return target.readAtOnce(MOST_BYTES)?.toString('utf8')
}

/** Keeps it for {@link overwrittenText}. */
export function keepOverwritten(holder: object, text: string | undefined): void {
  if (text !== undefined) texts.set(holder, text)
}

/** What a file held before a call; nothing where there was none, or where it is not known any more. */
export const overwrittenText = (holder: object | undefined): string | undefined => (holder === undefined ? undefined : texts.get(holder))

import type { OpenedTarget } from '../../../index.js'
import { call, fileText, tryNowait } from '../../core/native.js'

/** More is not kept: the text is for a diff that a person looks at. */
const MOST_BYTES = 200_000
/** When it is given up. */
const READ_MS = 5_000

/** By the envelope, or the prompt, of the call that overwrites it: hosts see it, and neither models nor journals do. */
const texts = new WeakMap<object, string>()

/** The text of a file that a call is about to overwrite; nothing for a new one, for one that is no text, and for a long one. */
export async function textBefore(target: OpenedTarget | undefined, signal: AbortSignal): Promise<string | undefined> {
  if (target?.kind !== 'file' || (target.bytes ?? Infinity) > MOST_BYTES) return undefined
  const whole = tryNowait(signal, () => target.tryReadCached(MOST_BYTES))
  if (whole !== undefined) return fileText(whole)
  const limits = { signal, what: 'read what is overwritten', timeoutMs: READ_MS }
  try {
    const { text, nextOffset, lossy } = await call(limits, (_, cancel) => target.readRange(0, MOST_BYTES, cancel))
    return nextOffset === undefined && !lossy ? fileText(text) : undefined
  } catch {
    // A call is not to fail for what is only shown: an abort is seen by the next step.
    return undefined
  }
}

/** Keeps it for {@link overwrittenText}, and gives the holder back. */
export function attachOverwritten<T extends object>(holder: T, text: string | undefined): T {
  if (text !== undefined) texts.set(holder, text)
  return holder
}

/** What a file held before a call; nothing where there was none, or where it is not known any more. */
export const overwrittenText = (holder: object | undefined): string | undefined => (holder === undefined ? undefined : texts.get(holder))

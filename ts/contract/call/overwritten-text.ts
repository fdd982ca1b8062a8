import type { OpenedTarget } from '../../../index.js'
import { call, fileText, tryNowait } from '../../core/native.js'

/** Longer texts are left out: the text is for a diff that a person reads. */
const MAX_BYTES = 200_000
const READ_MS = 5_000

/** Texts by the envelope, or the prompt, of the call that overwrites them. Hosts see them; models and journals do not. */
const texts = new WeakMap<object, string>()

/** Reads the text that a call is about to overwrite: `undefined` for a new file, a binary file and a long one. */
export async function textBefore(target: OpenedTarget | undefined, signal: AbortSignal): Promise<string | undefined> {
  if (target?.kind !== 'file' || (target.bytes ?? Infinity) > MAX_BYTES) return undefined
  const whole = tryNowait(signal, () => target.tryReadCached(MAX_BYTES))
  if (whole !== undefined) return fileText(whole)
  const limits = { signal, what: 'read what is overwritten', timeoutMs: READ_MS }
  try {
    const { text, nextOffset, lossy } = await call(limits, (_, cancel) => target.readRange(0, MAX_BYTES, cancel))
    return nextOffset === undefined && !lossy ? fileText(text) : undefined
  } catch {
    // The text is only shown, and must not fail the call. The next step notices an abort.
    return undefined
  }
}

export function attachOverwritten<T extends object>(holder: T, text: string | undefined): T {
  if (text !== undefined) texts.set(holder, text)
  return holder
}

/** The text that a file held before a call, if it is known. */
export const overwrittenText = (holder: object | undefined): string | undefined => (holder === undefined ? undefined : texts.get(holder))

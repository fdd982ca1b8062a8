/** Uses of credentials by commands, which the native addon asks about and a session decides. */
import type * as Addon from '../../index.js'
import { nativeAddon } from './native.js'
import type { AskUse } from './sandbox-hosts.js'

/** Why a request may not have a credential, for the command; `undefined` if it may. */
export type RefuseUse = (use: Addon.CredentialUse) => Promise<string | undefined>

/** Answers each question of the addon. A rejection refuses the use. */
export function decidingUses(refusal: RefuseUse): AskUse {
  return (use) => {
    void refusal(use)
      .catch(() => 'it could not be decided about. Try again later, or do without.')
      .then((why) => answer(use.question, why))
  }
}

async function answer(question: number, refusal: string | undefined): Promise<void> {
  const addon = await nativeAddon()
  addon.answerCredentialUse(question, refusal)
}

import { checkPlatform, checkRuntime } from './requirements.mjs'
import { codes } from './codes.mjs'
import { dependencies } from './dependencies.mjs'
import { nativeAddon } from './native-addon.mjs'
import { typescript } from './typescript.mjs'
import { timed } from './progress.mjs'

/** In order: each step needs what the one before it leaves behind. */
const steps = [dependencies, codes, nativeAddon, typescript]

const isDue = (step, { force, profile }) => (force && step.forcible) || !step.isCurrent(profile)

/** The steps that have work to do now; an earlier one may make a later one due. */
export function chooseSteps(wanted) {
  checkPlatform()
  return steps.filter((step) => isDue(step, wanted))
}

export async function runSteps(wanted) {
  for (const step of steps) {
    // Asked again here: another setup may have done the work while this one waited.
    if (isDue(step, wanted)) await timed(step.name, () => step.run(wanted.profile))
    if (step === dependencies) checkRuntime()
  }
}

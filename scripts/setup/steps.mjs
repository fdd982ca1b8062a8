import { checkPlatform, checkRuntime } from './requirements.mjs'
import { codes } from './codes.mjs'
import { dependencies } from './dependencies.mjs'
import { nativeAddon } from './native-addon.mjs'
import { typescript } from './typescript.mjs'
import { timed } from './progress.mjs'

/** In order: each step needs what the one before it leaves behind. */
const steps = [dependencies, codes, nativeAddon, typescript]

const isDue = (step, force) => (force && step.forcible) || !step.isCurrent()

/** The steps that have work to do now; an earlier one may make a later one due. */
export function chooseSteps({ force }) {
  checkPlatform()
  return steps.filter((step) => isDue(step, force))
}

export async function runSteps({ force }) {
  for (const step of steps) {
    // Asked again here: another setup may have done the work while this one waited.
    if (isDue(step, force)) await timed(step.name, () => step.run())
    if (step === dependencies) checkRuntime()
  }
}

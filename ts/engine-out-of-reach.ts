import { createRequire } from 'node:module'
import { join } from 'node:path'

const ENGINE = 'smithers-orchestrator'
const CONTEXT = '@smithers-orchestrator/tool-context'

/**
 * Says that tools will not see the Smithers engine's context, where the engine is installed and the package
 * that holds its context cannot be resolved from here. They would work in the wrong directory, unrecorded,
 * and nothing else would tell.
 */
export function warnIfEngineIsOutOfReach(from: string = join(process.cwd(), 'index.js')): void {
  if (!isInstalled(ENGINE, from)) return
  console.warn(
    `[toolwright] ${ENGINE} is installed, but ${CONTEXT} cannot be resolved from toolwright, so tools do not see the engine's context: ` +
      `they work in the current directory, and the engine records none of their calls. Install ${CONTEXT} beside toolwright.`,
  )
}

function isInstalled(name: string, from: string): boolean {
  const { resolve } = createRequire(from)
  for (const wanted of [`${name}/package.json`, name]) {
    try {
      resolve(wanted)
      return true
    } catch (error) {
      // Its exports may leave out either; then it is there all the same.
      if ((error as NodeJS.ErrnoException).code === 'ERR_PACKAGE_PATH_NOT_EXPORTED') return true
    }
  }
  return false
}

import { existsSync } from 'node:fs'
import { dirname, join } from 'node:path'

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

/** Looked for, not resolved: where there is no `node_modules` at all, Bun resolves a name by installing it. */
function isInstalled(name: string, from: string): boolean {
  for (let folder = dirname(from); ; folder = dirname(folder)) {
    if (existsSync(join(folder, 'node_modules', name, 'package.json'))) return true
    if (folder === dirname(folder)) return false
  }
}

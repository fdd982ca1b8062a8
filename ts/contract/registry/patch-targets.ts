import type { CallTarget } from './contract-tool.js'
import type { PatchedFile } from './tool-runtime.js'

type FileTarget = Extract<CallTarget, { kind: 'file' }>

/** What a patch touches: its files in its order, each followed by the place that it is moved to. */
export function patchTargets(files: readonly PatchedFile[]): FileTarget[] {
  return files.flatMap(({ path, change, moved_to }): FileTarget[] => {
    const first: FileTarget = { kind: 'file', path, access: change === 'add' ? 'write' : 'edit' }
    return moved_to === undefined ? [first] : [first, { kind: 'file', path: moved_to, access: 'write' }]
  })
}

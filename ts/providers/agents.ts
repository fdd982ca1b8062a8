/** The shell and the editor of `@openai/agents-core`. */
import type { ApplyPatchFunction, ApplyPatchOperation, ApplyPatchOutput } from './openai/apply-patch.js'
import type { ShellAction, ShellFunction, ShellOutput } from './openai/shell.js'

/** A `Shell` of the OpenAI Agents SDK. */
export interface AgentsShell {
  /** Runs the commands of an action. It never throws. */
  run(action: ShellAction): Promise<ShellOutput>
}

export function createAgentsShell(shell: ShellFunction): AgentsShell {
  return { run: ({ commands, timeoutMs, maxOutputLength }) => shell({ action: { commands, timeoutMs, maxOutputLength } }) }
}

type Operation<TYPE extends ApplyPatchOperation['type']> = Extract<ApplyPatchOperation, { type: TYPE }>

/** An `Editor` of the OpenAI Agents SDK. None of its methods throws. */
export interface AgentsEditor {
  createFile(operation: Operation<'create_file'>): Promise<ApplyPatchOutput>
  updateFile(operation: Operation<'update_file'>): Promise<ApplyPatchOutput>
  deleteFile(operation: Operation<'delete_file'>): Promise<ApplyPatchOutput>
}

export function createAgentsEditor(applyPatch: ApplyPatchFunction): AgentsEditor {
  // The SDK does not pass the id of the call.
  const apply = (operation: ApplyPatchOperation): Promise<ApplyPatchOutput> => applyPatch({ callId: '', operation })
  return { createFile: apply, updateFile: apply, deleteFile: apply }
}

/**
 * Facts about a tool, in `tool.metadata.toolwright`. AI SDK 7 copies them to `toolCall.toolMetadata`, results and the parts
 * of a user interface.
 */
export interface ToolwrightMetadata {
  /** Whether a call may change something outside the task or session. */
  sideEffect: boolean
  /** Whether a repeated call with the same input is safe. */
  idempotent: boolean
}

/** The `metadata` of an AI SDK tool. It is JSON, and no model sees it. */
export function toolMetadata({ sideEffect, idempotent }: ToolwrightMetadata): { toolwright: ToolwrightMetadata } {
  return { toolwright: { sideEffect, idempotent } }
}

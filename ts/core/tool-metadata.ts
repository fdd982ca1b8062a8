/**
 * What is known of a tool without calling it. It stands in `tool.metadata.toolwright`, from where the AI SDK 7 takes it to
 * `toolCall.toolMetadata`, results and the parts of a user interface.
 */
export interface ToolwrightMetadata {
  /** Whether a call may change something outside of the task or session. */
  sideEffect: boolean
  /** Whether a call with the same input can safely be repeated. */
  idempotent: boolean
}

/** The `metadata` of an AI SDK tool. It is JSON, and no model sees it. */
export function toolMetadata({ sideEffect, idempotent }: ToolwrightMetadata): { toolwright: ToolwrightMetadata } {
  return { toolwright: { sideEffect, idempotent } }
}

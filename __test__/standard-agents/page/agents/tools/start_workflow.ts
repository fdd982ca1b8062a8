// @ts-nocheck As the document has it, which is not strict TypeScript; only the imports are ours.
import { defineTool, emitThreadEvent, queueTool } from 'toolwright/standard-agents'
import { z } from 'zod'

export default defineTool({
  description: 'Start a multi-step workflow',
  args: z.object({
    workflowId: z.string(),
  }),
  execute: async (state, args) => {
    // Queue another tool to run next
    queueTool(state.rootState, 'execute_step', {
      workflowId: args.workflowId,
      step: 1,
    })

    // Emit event to frontend
    await emitThreadEvent(state, 'workflow_started', {
      workflowId: args.workflowId,
    })

    return {
      status: 'success',
      result: 'Workflow initiated',
    }
  },
})

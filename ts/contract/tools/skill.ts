import type { ContractTool } from '../registry/contract-tool.js'
import { parameters } from './parameters.js'

/** Arguments of `skill`. */
export interface SkillArguments {
  name: string
}

/** The result of `skill`: the skill's body between `<skill_content>` markers. */
export interface SkillData {
  content: string
}

/** The body of a skill. */
export const skillTool: ContractTool<SkillArguments, SkillData> = {
  id: 'skill',
  description: 'Load the instructions of a skill by name. The available skills are listed in the system prompt.',
  parameters: parameters({ name: { type: 'string', minLength: 1, maxLength: 200, description: 'The name of the skill' } }, ['name']),
  requires: {},
  kind: 'think',
  async execute({ name }, { session }) {
    return { content: await session.skill(name) }
  },
}

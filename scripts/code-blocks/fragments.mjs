/**
 * Blocks that show a part of a program, with what stands around it. A block is found by a text that no other
 * block of its page has. Everything else in the documentation is a whole module.
 *
 * @type {Record<string, { contains: string, before?: string, after?: string }[]>}
 */
export const fragments = {
  'docs/contract.md': [
    {
      contains: "session.call('read', { path: 'README.md' })",
      before: "declare const model: import('ai').LanguageModel\n",
    },
    { contains: 'const countLines = defineContractTool', before: "import { defineContractTool } from 'toolwright/contract'\n" },
    { contains: 'evaluatePermission(', before: "import { evaluatePermission } from 'toolwright/contract'\n" },
    {
      contains: 'mcpServers: {',
      before:
        "import { ToolLoopAgent } from 'ai'\nimport { createSession } from 'toolwright/contract'\n" +
        "declare const model: import('ai').LanguageModel\ndeclare const token: string\n",
    },
    {
      contains: "agents: [{ name: 'reviewer'",
      before:
        "import { createSession } from 'toolwright/contract'\ndeclare const model: import('ai').LanguageModel\n" +
        "await createSession({ workspace: '.',\n",
      after: '})\n',
    },
    {
      contains: 'replay.finish()',
      before:
        "import { ToolLoopAgent } from 'ai'\nimport type { Journal } from 'toolwright'\nimport { replaySession } from 'toolwright/contract'\n" +
        "declare const model: import('ai').LanguageModel, journal: Journal, id: string, prompt: string\n",
    },
    {
      contains: 'acpUpdates(session, shown)',
      before:
        "declare const connection: { client: import('toolwright/contract').AcpClient }\n" +
        "declare const sessionId: string, prompt: string, clientCapabilities: import('toolwright/contract').AcpClientCapabilities\n" +
        "declare const agent: import('ai').ToolLoopAgent, cancelled: AbortController\n",
    },
    {
      contains: 'contractSuite({ describe, test }',
      before: "declare const countLines: import('toolwright/contract').ContractTool\n",
    },
  ],
}

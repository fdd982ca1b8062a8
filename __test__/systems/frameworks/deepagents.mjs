// deepagents over a sandbox session: its own tools for files, and commands in the sandbox.
import { ChatOpenAI } from '@langchain/openai'
import { BaseSandbox, createDeepAgent } from 'deepagents'
import { createSandboxSession } from 'toolwright/sandbox'
import { baseURL, rootDir, signal } from './setting.mjs'

class Sandbox extends BaseSandbox {
  id = 'toolwright'
  session = createSandboxSession({ rootDir })
  async execute(command) {
    const { stdout, stderr, exitCode } = await this.session.run({ command, abortSignal: signal })
    return { output: stdout + stderr, exitCode, truncated: false }
  }
  uploadFiles(files) {
    return Promise.all(
      files.map(async ([path, content]) => {
        // deepagents keeps long outputs below `/`, which the sandbox does not let it write: the model then gets them whole.
        const written = await this.session.writeBinaryFile({ path, content }).then(
          () => null,
          () => 'permission_denied',
        )
        return { path, error: written }
      }),
    )
  }
  downloadFiles(paths) {
    return Promise.all(
      paths.map(async (path) => {
        const content = await this.session.readBinaryFile({ path })
        return { path, content, error: content === null ? 'file_not_found' : null }
      }),
    )
  }
}

const model = new ChatOpenAI({ model: 'scripted', apiKey: 'none', configuration: { baseURL }, useResponsesApi: false, maxRetries: 0 })
const agent = createDeepAgent({ model, backend: new Sandbox() })
const { messages } = await agent.invoke({ messages: [{ role: 'user', content: 'go' }] }, { signal })
console.log(messages.at(-1)?.text)

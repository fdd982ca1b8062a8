// Executes the steps of a row of the third table at its door, over a project of its own.
import { execFileSync } from 'node:child_process'
import { symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { createTools } from 'toolwright'
import { createSession, presets } from 'toolwright/contract'
import { createThread } from 'toolwright/standard-agents'
import { onTestFinished } from 'vitest'
import { makeSandbox, type Sandbox } from '../../support/sandbox.ts'
import { type Answer, type Make, openDoor } from '../second-table/calls.ts'
import { modelReads } from '../support/model-reads.ts'
import { articleTools } from './articles.ts'
import { files, icon, offer } from './project.ts'
import type { ThirdDoor } from './row.ts'

/** Makes the project in a directory of the name `parcel`, with a repository. */
export function makeParcel(): Sandbox {
  const outer = makeSandbox()
  for (const [path, text] of Object.entries(files)) outer.put(`parcel/${path}`, text)
  outer.put('parcel/assets/icon.png', icon)
  outer.put('parcel/docs/offer.docx', offer)
  const root = outer.at('parcel')
  const git = (...args: string[]): void => void execFileSync('git', ['-C', root, ...args], { stdio: 'ignore' })
  git('init', '-q')
  git('config', 'user.name', 'x')
  git('config', 'user.email', 'x@example.org')
  return { ...outer, root, at: (path) => outer.at(`parcel/${path}`), put: (path, content) => outer.put(`parcel/${path}`, content) }
}

function ofTools(parcel: Sandbox, more: object): Make {
  const tools = createTools({ rootDir: parcel.root, ...more })
  onTestFinished(async () => {
    if (Symbol.asyncDispose in tools) await (tools as unknown as AsyncDisposable)[Symbol.asyncDispose]()
  })
  return async (tool, args) => {
    const text = await modelReads(tools, { tool, input: args as object }, parcel)
    return { ok: !text.startsWith('✘'), text }
  }
}

/** A session that asks nobody: files may be changed, and `npm test` may be executed. */
async function strict(parcel: Sandbox): Promise<Make> {
  const session = await createSession({
    workspace: parcel.root,
    manifest: { name: 'words' },
    permissions: [...presets.acceptEdits, { permission: 'bash', pattern: 'npm test', action: 'allow' }],
    skills: { home: false },
  })
  onTestFinished(() => session.close())
  return async (tool, args) => {
    const envelope = await session.call(tool, args)
    return { ok: envelope.type === 'output', text: JSON.stringify(envelope) }
  }
}

async function standard(): Promise<Make> {
  const thread = await createThread({ tools: articleTools })
  onTestFinished(() => thread.close())
  return async (tool, args) => {
    const called = (await thread.call(tool, args as never)) as unknown as { status: string; result?: string; error?: string }
    return { ok: called.status === 'success', text: called.error ?? called.result ?? '' }
  }
}

/** The names by which the executors of providers are known to a program, in place of those that a model uses. */
const executors: Record<string, string> = {
  str_replace_based_edit_tool: 'textEditor',
  local_shell: 'localShell',
  apply_patch: 'applyPatch',
}

/** Opens a door. The texts have `/shop` in place of the project's path. */
export async function openThirdDoor(door: ThirdDoor, parcel: Sandbox): Promise<Make> {
  const steady =
    (make: Make): Make =>
    async (tool, args): Promise<Answer> => {
      const { ok, text } = await make(tool, args)
      return { ok, text: text.replaceAll(parcel.root, '/shop') }
    }
  if (door === 'documents') return steady(ofTools(parcel, { documents: true }))
  if (door === 'lsp') {
    // The compiler that answers is one of the project's own packages.
    symlinkSync(join(import.meta.dirname, '../../../node_modules'), parcel.at('node_modules'))
    return steady(ofTools(parcel, { languageServers: 'installed' }))
  }
  if (door === 'strict') return steady(await strict(parcel))
  if (door === 'standard') return steady(await standard())
  const make = await openDoor(door, parcel)
  if (door !== 'anthropic' && door !== 'openai') return make
  return (tool, args) => make(executors[tool] ?? tool, args)
}

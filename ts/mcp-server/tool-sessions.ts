import { isAbsolute, relative } from 'node:path'
import { realpathSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import type { Fork } from '../fork/fork.js'
import type { Journal } from '../journal/journal.js'
import type { UnseenChanges } from '../journal/seen-files.js'
import { ContractFailure } from '../contract/registry/envelope.js'
import { presets, type Rule } from '../contract/permissions/rule.js'
import type { Prompt } from '../contract/permissions/prompt.js'
import type { ContractTool } from '../contract/registry/contract-tool.js'
import type { RequirementSet } from '../contract/registry/requirements.js'
import { createSession } from '../contract/session/create-session.js'
import type { CallOptions } from '../contract/call/run-call.js'
import type { Session } from '../contract/session/session.js'
import { applyPatchTool } from '../contract/tools/apply-patch.js'
import { processTools } from '../contract/tools/processes.js'
import { repoOverviewTool } from '../contract/tools/repo-overview.js'

/** The settings of a server. */
export interface ServerSettings {
  /** The directories that calls reach: at least one, absolute, without links. Relative paths begin at the first. */
  roots: readonly string[]
  /** The ids of the offered tools. */
  tools: readonly string[]
  /** Whether every change is refused, whatever the rules allow. */
  isReadOnly: boolean
  /** Rules besides the one that allows reading files. */
  allow: readonly Rule[]
  /** Rules that neither the user nor `allow` can overrule. */
  deny: readonly Rule[]
  /** Whether commands and `web_fetch` reach the network. */
  allowNetwork: boolean
  /** What happens to calls that would undo changes which the client has not been shown. @default 'refuse' */
  unseenChanges?: UnseenChanges | undefined
  /** Which secrets are masked in what commands print. @default 'known' */
  mask?: 'known' | 'tokens' | false | undefined
  /** Whether language servers check changes. @default false */
  hasLanguageServers?: boolean | undefined
  /** Whether files are formatted after a change. @default false */
  formats?: boolean | undefined
  /** Whether `read` shows what is in documents, and images. @default false */
  hasDocuments?: boolean | undefined
  journal?: Journal | undefined
  /** The fork that all sessions work in. The roots lie in its directory. */
  fork?: Fork | undefined
  /** The most bytes of one result. @default 50000 */
  maxOutputBytes?: number | undefined
  /** The version in the server's information. */
  version: string
  /** What the sandbox enforces, in one line. */
  sandbox: string
}

/** The tools that a server can offer. The contract's other tools need more than a client can give. */
export const offeredTools = [
  'read',
  'grep',
  'glob',
  'write',
  'edit',
  'bash',
  'todo',
  'skill',
  'web_fetch',
  'repo_overview',
  'apply_patch',
  'process_start',
  'process_read',
  'process_write',
  'process_stop',
] as const
/** The tools if `--tools` names none. */
export const defaultTools = ['read', 'grep', 'glob', 'write', 'edit', 'bash'] as const
/** The tools that change nothing outside the session. */
export const readOnlyTools: readonly string[] = ['read', 'grep', 'glob', 'todo', 'skill', 'repo_overview', 'lsp']

/** Tools that a session has only if the host passes them. */
const extensionTools: readonly ContractTool[] = [repoOverviewTool as ContractTool, applyPatchTool as ContractTool, ...processTools]

/** The most bytes of a result: clients cut or store what has more than 25,000 tokens, and a token of code or numbers has two bytes at least. */
export const MAX_OUTPUT_BYTES = 50_000
/** The most bytes of an image: in base64 a third more, in one line of the protocol. */
const IMAGE_BYTES = 1_000_000

const WORKSPACE = ['{workspace}/**']

/** Whether a tool runs command lines. */
export const runsCommands = (id: string): boolean => id === 'bash' || id === 'process_start'

/** The contract sessions of a server: one for all its roots, and one for each client that narrows them. */
export class ToolSessions {
  readonly settings: ServerSettings
  readonly #open = new Set<Session>()
  readonly #prompts = new Map<string, Prompt>()

  constructor(settings: ServerSettings) {
    this.settings = settings
  }

  /** Opens a session on some of the roots, or on directories in them. */
  async open(workspace: readonly string[] = this.settings.roots): Promise<Session> {
    const {
      tools,
      allow,
      deny,
      isReadOnly,
      journal,
      fork,
      unseenChanges,
      mask,
      hasLanguageServers,
      hasDocuments,
      formats,
      maxOutputBytes: most = MAX_OUTPUT_BYTES,
    } = this.settings
    const session = await createSession({
      workspace: [...workspace],
      manifest: { name: 'mcp', requires: this.#requires(), permissions: [...deny] },
      tools: { own: extensionTools.filter(({ id }) => tools.includes(id)), only: [...tools] },
      permissions: [...presets.readOnly, ...allow],
      host: { prompt: (request) => this.#ask(request) },
      limits: { readBytes: most, bashBytes: most, outputBytes: most, webFetchBytes: most, imageBytes: IMAGE_BYTES },
      ...(tools.includes('skill') ? {} : { skills: { project: false, home: false } }),
      ...(isReadOnly ? { ceiling: { fs: { read: ['{workspace}/**', '{ad-hoc}/**'] } } } : {}),
      ...(journal === undefined ? {} : { journal }),
      ...(fork === undefined ? {} : { fork }),
      ...(unseenChanges === undefined ? {} : { unseenChanges }),
      ...(mask === undefined ? {} : { mask }),
      ...(formats === true ? { formatOnEdit: 'project' as const } : {}),
      ...(hasDocuments === true ? { documents: true } : {}),
      ...(hasLanguageServers === true ? { languageServers: 'installed' as const } : {}),
    })
    this.#open.add(session)
    return session
  }

  /** Makes a call. `prompt` answers its question, if it has one. */
  async call(
    session: Session,
    tool: string,
    args: unknown,
    { id, prompt, ...options }: { id: string; prompt: Prompt } & Pick<CallOptions, 'signal' | 'onOutput'>,
  ) {
    this.#prompts.set(id, prompt)
    try {
      return await session.call(tool, args, { callId: id, ...options })
    } finally {
      this.#prompts.delete(id)
    }
  }

  #ask(request: Parameters<Prompt>[0]): ReturnType<Prompt> {
    const prompt = this.#prompts.get(request.call_id)
    if (prompt === undefined) throw new ContractFailure('permission_rejected', 'Nobody can be asked about this call any longer.')
    return prompt(request)
  }

  /** Stops the calls of one session or of all. */
  async close(only?: Session): Promise<void> {
    const sessions = only === undefined ? [...this.#open] : [only]
    for (const session of sessions) this.#open.delete(session)
    await Promise.allSettled(sessions.map((session) => session.close()))
  }

  /** The requirements of commands, which reach the roots even if no other tool does. */
  #requires(): RequirementSet {
    const { tools, allowNetwork } = this.settings
    const fs = tools.some(runsCommands) ? { fs: { read: WORKSPACE, write: WORKSPACE } } : {}
    return { ...fs, ...(allowNetwork ? { net: { hosts: ['*'] } } : {}) }
  }
}

/**
 * The part of the server's roots that a client has open. A client can only narrow the roots: directories outside them are
 * left out. A client without roots leaves them unchanged.
 */
export function narrowedRoots(roots: readonly string[], uris: readonly string[]): readonly string[] {
  if (uris.length === 0) return roots
  const named = uris.flatMap((uri) => directoryOf(uri))
  const parts = named.flatMap((path) => {
    if (roots.some((root) => isWithin(path, root))) return [path]
    return roots.filter((root) => isWithin(root, path))
  })
  return [...new Set(parts)]
}

/** The real directory of a `file:` URI, because a link may lead out of the roots. */
function directoryOf(uri: string): string[] {
  try {
    return [realpathSync(fileURLToPath(uri))]
  } catch {
    return []
  }
}

function isWithin(path: string, root: string): boolean {
  const below = relative(root, path)
  return below === '' || (below !== '..' && !below.startsWith('../') && !isAbsolute(below))
}

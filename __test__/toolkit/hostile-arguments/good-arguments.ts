import { type Journal, openJournal } from 'toolwright'
import { createSession, type Session } from 'toolwright/contract'
import { createNetworkSandboxSession } from 'toolwright/sandbox'
import { createThread, defineTool, openThreadStore, type Thread, type ThreadStore } from 'toolwright/standard-agents'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { MockLanguageModelV4 } from 'ai/test'
import { z } from 'zod'

/** What is open while functions are looked at. */
export interface Open {
  journal: Journal
  session: Session
  thread: Thread
  store: ThreadStore
  /** By the names that their methods are told under. */
  objects: Record<string, object>
  directory: string
  close(): Promise<void>
}

const task = { runId: 'run', nodeId: 'node', iteration: 0 }
const call = { ...task, attempt: 1, seq: 1, toolName: 'tool' }
const tool = defineTool({ description: 'A tool', execute: async () => ({ status: 'success', result: 'done' }) })

export async function openObjects(directory: string): Promise<Open> {
  const journal = await openJournal('memory:')
  const session = await createSession({ workspace: directory, manifest: { name: 'hostile' }, skills: { project: false, home: false } })
  const store = await openThreadStore('memory:')
  const thread = await createThread({ tools: { tool }, store, threadId: 'thread' })
  const { storage, messages, attachments } = thread
  const place = mkdtempSync(join(tmpdir(), 'toolwright-hostile-'))
  const sandbox = createNetworkSandboxSession({ rootDir: place })
  return {
    journal,
    session,
    thread,
    store,
    directory,
    objects: { journal, session, thread, store, storage, messages, attachments, sandbox },
    close: async () => {
      await thread.close()
      for (const one of [store, session, journal]) await one.close()
      await sandbox.destroy()
      rmSync(place, { recursive: true, force: true })
    },
  }
}

const schema = z.object({ n: z.number() })
const model = new MockLanguageModelV4()
const contractTool = { id: 'mine', description: 'Mine', parameters: { type: 'object' }, requires: {}, execute: () => 1, sideEffect: false }
const envelope = { type: 'output', data: 1, metadata: { duration_ms: 1, code: 'ok' } }
const acpClient = { notify: async () => undefined, request: async () => undefined }
const suite = { name: 'suite', tools: [contractTool], samples: {}, builtIn: false }

/** Arguments that fit, of those that take more than one thing. */
export const goodArguments = ({ journal, session, thread, directory }: Open): Record<string, unknown[]> => ({
  ToolError: [{ code: 'INVALID_INPUT', summary: 'wrong', hint: 'Do this.' }],
  createTools: [{ journal, rootDir: directory, env: {}, sandbox: {}, streamOutput: false }],
  'providers#providerExecutors': [{ rootDir: directory, env: {}, sandbox: {}, maxTimeoutMs: 1, maxCharacters: 1 }],
  'sandbox#createSandboxSession': [
    { rootDir: directory, sandbox: {}, allowNetwork: false, env: {}, shell: 'sh', home: 'none', journal, runId: 'run', maxOutputBytes: 1 },
  ],
  'sandbox#createNetworkSandboxSession': [{ rootDir: directory, id: 'one', ports: [4000], sandbox: {}, env: {}, home: 'private' }],
  'sandbox#createSandboxProvider': [{ rootDir: directory, ports: [4000], sandbox: {}, env: {}, home: 'private' }],
  'sandbox.getPortEndpoint': [{ port: 4000, protocol: 'http' }],
  'sandbox.getPortUrl': [{ port: 4000, protocol: 'http' }],
  'sandbox.setPorts': [[4000]],
  'sandbox.setNetworkPolicy': [{ mode: 'deny-all' }],
  'sandbox.run': [{ command: 'true', workingDirectory: '.', env: {}, abortSignal: new AbortController().signal }],
  'sandbox.spawn': [{ command: 'true', workingDirectory: '.', env: {}, stdin: true, abortSignal: new AbortController().signal }],
  'sandbox.readFile': [{ path: 'a', abortSignal: new AbortController().signal }],
  'sandbox.readBinaryFile': [{ path: 'a', abortSignal: new AbortController().signal }],
  'sandbox.readTextFile': [{ path: 'a', encoding: 'utf-8', startLine: 1, endLine: 1 }],
  'sandbox.writeFile': [{ path: 'a', content: new Blob(['text']).stream() }],
  'sandbox.writeBinaryFile': [{ path: 'a', content: new Uint8Array(1) }],
  'sandbox.writeTextFile': [{ path: 'a', content: 'text', encoding: 'utf-8' }],
  'sandbox.stat': [{ path: 'a', abortSignal: new AbortController().signal }],
  'sandbox.listDirectory': [{ path: '.', abortSignal: new AbortController().signal }],
  'sandbox.deleteFile': [{ path: 'a', abortSignal: new AbortController().signal }],
  'providers#checkProviderTools': [{ bash: { id: 'anthropic.bash_20250124' } }],
  configureTools: [{ rootDir: directory, maxOutputBytes: 1, networkGuard: 'off', env: {}, sandbox: {}, durability: 'fsync' }],
  defineTool: [
    { name: 'mine', description: 'Mine', schema, execute: () => 1, sideEffect: true, idempotent: true, revert: async () => undefined },
  ],
  openFork: [{ id: 'none', store: directory }],
  undoFork: [{ id: 'none', store: directory }],
  listForks: [{ rootDir: directory, store: directory }],
  collectForks: [{ maxAgeMs: 1, store: directory }],
  openJournal: [
    'memory:',
    { synchronous: 'full', onFailure: 'fail', redactKeys: true, maxOutputBytes: 1, readOnly: false, busyTimeoutMs: 1 },
  ],
  replayRun: [journal, 'run', { signal: new AbortController().signal }],
  revertRun: [journal, 'run', { tools: {}, nodeId: 'node', signal: new AbortController().signal }],
  runTask: [{ journal, ...task, attempt: 1, tools: {}, approved: true, signal: new AbortController().signal, rootDir: directory }, () => 1],
  runWithToolContext: [{ ...task }, () => 1],
  'tools.read.execute': [{ path: 'a.txt' }, { toolCallId: 'one', abortSignal: new AbortController().signal }],
  'tools.bash.execute': [{ cmd: '', args: [], opts: {} }, { toolCallId: 'one' }],
  'contract#createSession': [
    {
      id: 'hostile',
      workspace: directory,
      manifest: { name: 'hostile' },
      tools: [contractTool],
      permissions: { session: [], project: [] },
      host: {},
      headless: true,
      limits: { agents: 1 },
      skills: { project: false, home: false },
      toolSearch: { enabled: true },
      sandbox: { required: false, loopback: 'none', denyRead: [], denyWrite: [] },
      model,
      journal,
      ceiling: {},
      adHoc: [],
      userData: directory,
    },
  ],
  'contract#defineContractTool': [{ ...contractTool, targets: () => [], kind: 'read', extension: true }],
  'contract#compileManifest': [
    { name: 'hostile', requires: {}, permissions: [] },
    { workspace: [directory], adHoc: [], userData: directory },
  ],
  'contract#evaluatePermission': [
    [{ permission: 'bash', pattern: '*', action: 'deny' }],
    [],
    { tool: 'bash', workspace: [directory], adHoc: [] },
  ],
  'contract#brave': [{ apiKey: 'key', baseUrl: 'https://example.com', country: 'de' }],
  'contract#searxng': [{ baseUrl: 'https://example.com', categories: 'it', language: 'de' }],
  'contract#tavily': [{ apiKey: 'key', baseUrl: 'https://example.com', searchDepth: 'basic' }],
  'contract#commandWatchdog': [{ workspace: [directory] }],
  'contract#replaySession': [journal, 'hostile', { tools: [contractTool] }],
  'contract#toAcpToolCall': [
    { id: 'one', tool: 'read', args: { path: 'a' }, pending: true },
    envelope,
    { workspace: directory, kind: 'read', terminalId: 'one' },
  ],
  'contract#toAcpPermissionRequest': [{ call_id: 'one', tool: 'read', args: {} }, 'session', { workspace: directory }],
  'contract#toAcpPlan': [{ todos: [] }, { version: 1 }],
  'contract#toAcpElicitation': [[{ question: 'Which?' }], { sessionId: 'one' }],
  'contract#acpUpdates': [session, { client: acpClient, sessionId: 'one', version: 1, workspace: directory }],
  'contract#acpHost': [{ client: acpClient, sessionId: 'one', version: 1, workspace: directory }],
  'contract/testing#contractSuite': [{ describe: () => undefined, test: () => undefined }, suite],
  'contract/testing#recordingRuntime': [{ files: {}, command: {}, answers: [], pages: {}, results: [], limits: {} }],
  'standard-agents#createThread': [
    {
      tools: { tool },
      store: 'memory:',
      threadId: 'hostile',
      flowId: 'flow',
      tenvs: {},
      env: {},
      context: {},
      agentConfig: {},
      currentSide: 'a',
      messageHistory: [],
      onEvent: () => undefined,
      journal,
      onInterrupted: 'error',
      resume: true,
      lockWaitMs: 1,
    },
  ],
  'standard-agents#defineTool': [
    { description: 'A tool', args: schema, tenvs: schema, execute: tool.execute, executionMode: 'local', executionProvider: 'openai' },
  ],
  'standard-agents#loadTools': [directory, { timeoutMs: 1 }],
  'standard-agents#watchTools': [directory, { timeoutMs: 1, onChange: () => undefined, pollMs: 1_000 }],
  'standard-agents#openThreadStore': [
    'memory:',
    { synchronous: 'full', readOnly: false, busyTimeoutMs: 1, maxAttachmentBytes: 1, maxTextBytes: 1 },
  ],
  'standard-agents#queueTool': [thread.state, 'tool', {}],
  'standard-agents#emitThreadEvent': [thread.state, 'event', 1],
  'standard-agents#toContractTool': [thread, 'tool', { id: 'mine', requires: {}, kind: 'read', sideEffect: true }],
  'journal.insertToolCall': [call],
  'journal.updateToolCall': [
    { ...call, seq: 7 },
    { status: 'success', outputJson: '1' },
  ],
  'journal.listToolCalls': ['run', 'node', 0],
  'journal.listRun': ['run', { reverse: true }],
  'journal.readRows': [0, 1],
  'journal.rows': [[1]],
  'journal.lastAttempt': [task],
  'journal.priorEffects': [task, 1],
  'journal.recordedCall': [task, 'tool', 'hash', 1],
  'journal.beginTask': [{ ...task, nodeId: 'begun' }, 1],
  'journal.claimCall': [{ ...task, attempt: 1, toolName: 'tool', callId: 'one' }, { repeat: true }],
  'journal.readSince': ['0', 1],
  'journal.listRuns': [{ limit: 1, beforeMs: 1 }],
  'postgres#postgresStore': [{ query: async () => [] }, { schema: 'a', leaseMs: 1, prepare: false, writers: 1, patienceMs: 1 }],
  'postgres#postgresThreads': [{ query: async () => [] }, { schema: 'a', leaseMs: 1, prepare: false, maxTextBytes: 1, patienceMs: 1 }],
  'journal.claimRevert': [1],
  'journal.finishRevert': [1, '{}'],
  'journal.tail': [{ runId: 'run', after: 0, follow: false, signal: new AbortController().signal, pollMs: 1 }],
  'session.call': ['todo', {}, { callId: 'one', signal: new AbortController().signal }],
  'session.judge': ['todo', {}, { callId: 'one', signal: new AbortController().signal }],
  'session.agree': ['one', {}, 'allow_once'],
  'session.allow': [[{ permission: 'write', pattern: 'a.txt' }], 'session'],
  'session.toolApproval': [{ toolCall: { toolName: 'todo', toolCallId: 'one', input: {} }, messages: [] }],
  'session.promote': ['a.txt', 'b.txt'],
  'session.prepareStep': [{ messages: [] }],
  'thread.call': ['tool', {}, { signal: new AbortController().signal, context: {}, toolCallId: 'one' }],
  'thread.tools': [{ providers: {}, only: ['tool'], context: {}, maxImageBytes: 1 }],
  'thread.childState': [{ side: 'a', context: {} }],
  'store.stageAttachment': ['thread', { name: 'a.txt', mimeType: 'text/plain', data: 'YQ==' }, { signal: new AbortController().signal }],
  'store.listValues': ['thread', { prefix: 'a', reverse: true }],
  'store.writeValues': ['thread', [['a', '1']]],
  'thread.flush': [{ signal: new AbortController().signal }],
  'thread.recordProviderResult': ['tool', { status: 'success', result: 'done' }, 'one'],
  'messages.list': [{ after: 0, limit: 1, reverse: true }],
  'messages.append': [{ role: 'user', content: 'text' }],
  'attachments.put': [{ name: 'a.txt', mimeType: 'text/plain', data: 'YQ==' }],
  'attachments.read': ['/attachments/a.txt', { start: 0, end: 1 }],
  'storage.list': [{ prefix: 'a', reverse: true, limit: 1 }],
  'store.openThread': [{ threadId: 'other', flowId: 'flow' }],
  'store.commit': ['thread', { attachments: [], messages: [], enqueue: [] }],
  'store.listMessages': ['thread', { after: 0, limit: 1, reverse: false }],
  'store.listCalls': ['thread', { status: 'queued', queue: 'root', limit: 1 }],
  'store.lockThread': ['locked', { waitMs: 1 }],
})

/** What a function promises to have an answer to, by the names of `hostileValues`. */
export const answered: Readonly<Record<string, readonly string[]>> = {
  // What is no option of theirs is data, which may hold more than is looked at.
  ToolError: ['argument 0, a misspelt option'],
  runWithToolContext: ['argument 0, a misspelt option'],
  'contract/testing#contractSuite': ['argument 0, a misspelt option'],
  'tools.bash.execute': ['argument 0, a misspelt option', 'argument 1, a misspelt option'],
  'contract#toAcpToolCall': ['argument 0, a misspelt option', 'argument 1, a misspelt option'],
  'contract#toAcpPermissionRequest': ['argument 0, a misspelt option'],
  'standard-agents#queueTool': ['argument 2, a misspelt option'],
  'standard-agents#toContractTool': ['argument 0, a misspelt option'],
  'journal.insertToolCall': ['argument 0, a misspelt option'],
  'journal.updateToolCall': ['argument 0, a misspelt option', 'argument 1, a misspelt option'],
  'journal.lastAttempt': ['argument 0, a misspelt option'],
  'journal.priorEffects': ['argument 0, a misspelt option'],
  'journal.recordedCall': ['argument 0, a misspelt option'],
  'journal.beginTask': ['argument 0, a misspelt option'],
  'journal.claimCall': ['argument 0, a misspelt option'],
  'journal.readSince': ['a number'],
  // A client is an object of any kind.
  'postgres#postgresStore': ['argument 0, a misspelt option'],
  'postgres#postgresThreads': ['argument 0, a misspelt option'],
  'postgres#migrationScript': ['nothing', 'a text that no path is'],
  'thread.call': ['argument 1, a misspelt option'],
  'thread.recordProviderResult': ['argument 1, a misspelt option'],
  'attachments.put': ['argument 0, a misspelt option'],
  'store.stageAttachment': ['argument 1, a misspelt option'],
  'session.prepareStep': ['argument 0, a misspelt option'],
  'session.toolApproval': ['argument 0, a misspelt option'],
  // All of them, where no owner is named.
  detachedProcesses: ['nothing'],
  // It says that there is no such tool.
  'session.judge': ['nothing', 'argument 1, a misspelt option'],
  'session.agree': ['argument 1, a misspelt option'],
  // Observers may be objects of any class.
  'session.observe': ['anything'],
  'tools.read.execute': ['argument 0, a misspelt option', 'argument 1, a misspelt option'],

  // They take nothing, or whatever there is.
  createTools: ['null'],
  'addon#addonPath': ['anything'],
  'sandbox.restricted': ['anything'],
  'sandbox.setPorts': ['a list'],
  'sandbox.setNetworkPolicy': ['argument 0, a misspelt option'],
  getToolContext: ['anything'],
  getToolIdempotencyKey: ['anything'],
  nextToolSeq: ['anything'],
  getDefinedToolMetadata: ['anything'],
  'contract#isLockedToolId': ['anything'],
  'contract#acpToolKind': ['anything'],
  'contract#fromAcpPermission': ['anything'],
  'contract#toAcpPlan': ['nothing', 'argument 0, a misspelt option'],
  'contract#ContractFailure': ['anything'],
  'contract#allWatchdogs': ['a function'],
  'contract/testing#envelopeProblem': ['anything'],
  'contract/testing#hostAccessDuring': ['a function'],
  'contract/testing#hostAccessIsSeen': ['anything'],
  'contract/testing#sampleOf': ['a list', 'an object with a name that is no option'],
  'contract/testing#invalidArguments': ['a list', 'an object with a name that is no option'],
  'journal.listRuns': ['anything'],
  'journal.lastRow': ['anything'],
  'journal.leftOpen': ['anything'],
  'journal.recover': ['anything'],
  'journal.flush': ['anything'],
  'journal.readRows': ['a number'],
  'session.scratchPrompt': ['anything'],
  'session.skillsPrompt': ['anything'],
  'session.projectInstructions': ['anything'],
  'thread.definition': ['anything'],
  'thread.queued': ['anything'],
  'store.listThreads': ['anything'],
  'attachments.list': ['anything'],
  'storage.deleteAll': ['anything'],
}

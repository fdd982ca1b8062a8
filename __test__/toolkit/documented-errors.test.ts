import { createHash } from 'node:crypto'
import { chmodSync, mkdirSync, symlinkSync } from 'node:fs'
import { bashTool, editFileTool, grepTool, readFileTool, ToolError, toolErrorCodes, writeFileTool } from 'toolwright'
import { describe, expect, test } from 'vitest'
import { expectReadable, refusal } from '../support/refusal.ts'
import { makeSandbox, type Sandbox } from '../support/sandbox.ts'

const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex')
const patch = '@@ -1 +1 @@\n-x\n+y\n'
const tiny = { maxOutputBytes: 3 }

interface Row {
  code: string
  summary: string | RegExp
  details?: object | ((fixture: Sandbox) => object)
  context?: object
  call: (fixture: Sandbox) => Promise<unknown>
}

const wrong = (value: unknown): never => value as never

/** Every error of the document that is kept. */
const rows: Record<string, Row> = {
  'TOOL_PATH_INVALID: empty': {
    code: 'TOOL_PATH_INVALID',
    summary: 'Path must be a string',
    call: () => readFileTool(''),
  },
  'TOOL_PATH_INVALID: no string': {
    code: 'TOOL_PATH_INVALID',
    summary: 'Path must be a string',
    call: () => readFileTool(wrong(7)),
  },
  'TOOL_PATH_ESCAPE: lexical': {
    code: 'TOOL_PATH_ESCAPE',
    summary: 'Path escapes sandbox root',
    call: () => readFileTool('../x'),
  },
  'TOOL_PATH_ESCAPE: via symlink': {
    code: 'TOOL_PATH_ESCAPE',
    summary: 'Path escapes sandbox root (via symlink)',
    call: (fixture) => {
      symlinkSync(fixture.outside, fixture.at('out'))
      return readFileTool('out/x')
    },
  },
  TOOL_FILE_TOO_LARGE: {
    code: 'TOOL_FILE_TOO_LARGE',
    summary: 'File too large (4 bytes)',
    details: { bytes: 4, limitBytes: 3, path: 'f' },
    context: tiny,
    call: (fixture) => {
      fixture.put('f', '1234')
      return readFileTool('f')
    },
  },
  TOOL_CONTENT_TOO_LARGE: {
    code: 'TOOL_CONTENT_TOO_LARGE',
    summary: 'Content too large (4 bytes)',
    details: { contentBytes: 4, contentHash: sha256('1234') },
    context: tiny,
    call: () => writeFileTool('f', '1234'),
  },
  TOOL_PATCH_TOO_LARGE: {
    code: 'TOOL_PATCH_TOO_LARGE',
    summary: `Patch too large (${patch.length} bytes)`,
    details: { patchBytes: patch.length, patchHash: sha256(patch) },
    context: tiny,
    call: () => editFileTool('f', patch),
  },
  TOOL_PATCH_FAILED: {
    code: 'TOOL_PATCH_FAILED',
    summary: 'Failed to apply patch',
    call: (fixture) => {
      fixture.put('f', 'other\n')
      return editFileTool('f', patch)
    },
  },
  'TOOL_GREP_FAILED: the words of rg': {
    code: 'TOOL_GREP_FAILED',
    summary: /regex parse error[\s\S]*unclosed character class/u,
    call: () => grepTool('[a'),
  },
  TOOL_COMMAND_FAILED: {
    code: 'TOOL_COMMAND_FAILED',
    summary: 'Command failed with exit code 3',
    details: { cmd: 'sh', args: ['-c', 'echo out; exit 3'], output: 'out\n' },
    call: () => bashTool('sh', ['-c', 'echo out; exit 3']),
  },
  'TOOL_NETWORK_DISABLED: an executable': {
    code: 'TOOL_NETWORK_DISABLED',
    summary: 'Network access is disabled for the bash tool',
    call: () => bashTool('curl', ['localhost']),
  },
  'TOOL_NETWORK_DISABLED: an address': {
    code: 'TOOL_NETWORK_DISABLED',
    summary: 'Network access is disabled for the bash tool',
    call: () => bashTool('echo', ['https://example.com']),
  },
  TOOL_GIT_REMOTE_DISABLED: {
    code: 'TOOL_GIT_REMOTE_DISABLED',
    summary: 'Git remote operations are disabled for the bash tool',
    call: () => bashTool('git', ['push']),
  },
  PROCESS_TIMEOUT: {
    code: 'PROCESS_TIMEOUT',
    summary: 'Command timed out after 200ms',
    details: (fixture) => ({ command: 'sleep', args: ['9'], cwd: fixture.root, timeoutMs: 200 }),
    context: { timeoutMs: 200 },
    call: () => bashTool('sleep', ['9']),
  },
  PROCESS_FAILED: {
    code: 'PROCESS_FAILED',
    summary: 'Failed to spawn no-such-program',
    details: (fixture) => ({ command: 'no-such-program', args: ['x'], cwd: fixture.root }),
    call: () => bashTool('no-such-program', ['x']),
  },
  'missing root (the original: INTERNAL_ERROR realpath root)': {
    code: 'TOOL_ROOT_INVALID',
    summary: /^Root directory cannot be opened/u,
    context: { rootDir: '/no/such/root' },
    call: () => readFileTool('f'),
  },
  'a NUL byte in a path (the original: INTERNAL_ERROR realpath check)': {
    code: 'TOOL_PATH_INVALID',
    summary: /NUL/u,
    call: () => readFileTool('a\0b'),
  },
  'ENOENT on read': { code: 'TOOL_FILE_NOT_FOUND', summary: 'File not found', call: () => readFileTool('no') },
  'ENOENT on edit': { code: 'TOOL_FILE_NOT_FOUND', summary: 'File not found', call: () => editFileTool('no', patch) },
  EISDIR: { code: 'TOOL_NOT_A_FILE', summary: /./u, call: () => readFileTool('.') },
  'EISDIR on write': {
    code: 'TOOL_NOT_A_FILE',
    summary: /./u,
    call: (fixture) => {
      mkdirSync(fixture.at('dir'))
      return writeFileTool('dir', 'x')
    },
  },
  ENOTDIR: {
    code: 'TOOL_NOT_A_DIRECTORY',
    summary: /./u,
    call: (fixture) => {
      fixture.put('f', 'x')
      return readFileTool('f/x')
    },
  },
  'non-string content': { code: 'INVALID_INPUT', summary: /content/u, call: () => writeFileTool('f', wrong(5)) },
  'non-string patch': { code: 'INVALID_INPUT', summary: /patch/u, call: () => editFileTool('f', wrong(null)) },
  'non-string pattern': { code: 'INVALID_INPUT', summary: /pattern/u, call: () => grepTool(wrong({})) },
  'malformed and multi-file patches (the original: raw Error)': {
    code: 'TOOL_PATCH_FAILED',
    summary: 'Failed to apply patch',
    call: (fixture) => {
      fixture.put('f', 'x\n')
      return editFileTool('f', `--- a/f\n+++ b/f\n${patch}--- a/g\n+++ b/g\n${patch}`)
    },
  },
  'a bad cwd is named as such (the original: "Failed to spawn echo")': {
    code: 'TOOL_FILE_NOT_FOUND',
    summary: /./u,
    details: { path: 'no/such' },
    call: () => bashTool('echo', ['x'], { cwd: 'no/such' }),
  },
  'a file as cwd': {
    code: 'TOOL_NOT_A_DIRECTORY',
    summary: /./u,
    call: (fixture) => {
      fixture.put('f', 'x')
      return bashTool('echo', ['x'], { cwd: 'f' })
    },
  },
}

const text = 'x'.repeat(8193)
const inputs: [string, () => Promise<unknown>, object?, object?][] = [
  ['cmd must be a non-empty string.', () => bashTool('')],
  ['cmd must be a non-empty string.', () => bashTool(wrong(1))],
  ['cmd must be a non-empty string.', () => bashTool(' ')],
  ['args[1] must be a string.', () => bashTool('echo', ['x', wrong(1)])],
  ['args[0] exceeds 8192 characters.', () => bashTool('echo', [text]), { maxLength: 8192, length: 8193 }],
  ['cmd exceeds 8192 characters.', () => bashTool(text), { maxLength: 8192, length: 8193 }],
  ['opts.cwd must be a string.', () => bashTool('echo', [], { cwd: wrong(1) })],
  ['opts.cwd exceeds 1024 characters.', () => bashTool('echo', [], { cwd: 'x'.repeat(1025) }), { maxLength: 1024, length: 1025 }],
  ['args must be an array.', () => bashTool('echo', wrong('x'))],
  ['args exceeds 128 entries.', () => bashTool('echo', Array<string>(129).fill('x'))],
  ['maxOutputBytes must be positive.', () => bashTool('echo'), {}, { maxOutputBytes: 0 }],
  ['maxOutputBytes must be positive.', () => bashTool('echo'), {}, { maxOutputBytes: Number.NaN }],
  [
    'maxOutputBytes exceeds 10485760.',
    () => bashTool('echo'),
    { maxOutputBytes: 10_485_761, maxAllowed: 10_485_760 },
    { maxOutputBytes: 10_485_761 },
  ],
  ['timeoutMs must be positive.', () => bashTool('echo'), {}, { timeoutMs: -1 }],
  ['timeoutMs exceeds 3600000.', () => bashTool('echo'), { timeoutMs: 3_600_001, maxAllowed: 3_600_000 }, { timeoutMs: 3_600_001 }],
]

describe('code, summary and details', () => {
  test.each(Object.entries(rows))('%s', async (_name, { code, summary, details = {}, context, call }) => {
    const fixture = makeSandbox()
    const error = await refusal(fixture.within(() => call(fixture), context))
    expect(error.code).toBe(code)
    expect(error.summary).toMatch(summary instanceof RegExp ? summary : /./su)
    if (typeof summary === 'string') expect(error.summary).toBe(summary)
    expect(error.details).toMatchObject(typeof details === 'function' ? details(fixture) : details)
    expect(toolErrorCodes).toContain(error.code)
    expectReadable(error)
  })

  test.each(inputs)('INVALID_INPUT: %s', async (summary, call, details = {}, context = {}) => {
    const fixture = makeSandbox()
    const error = await refusal(fixture.within(call, context))
    expect(error).toMatchObject({ code: 'INVALID_INPUT', summary, details })
    expectReadable(error)
  })

  test.skipIf(process.getuid?.() === 0)('a file without permission (the original: INTERNAL_ERROR or raw EACCES)', async () => {
    const fixture = makeSandbox()
    chmodSync(fixture.put('f', 'x'), 0)
    const error = await refusal(fixture.within(() => readFileTool('f')))
    expect(error).toMatchObject({ code: 'TOOL_PERMISSION_DENIED', details: { errno: 'EACCES' } })
  })
})

describe('Errors: message = summary + where + [CODE] + hint', () => {
  test('the parts a caller gives make the message', () => {
    const error = new ToolError({
      code: 'TOOL_FILE_TOO_LARGE',
      summary: 'File too large (4 bytes)',
      place: 'File too large (4 bytes): `f`',
      hint: 'Read less.',
      details: { bytes: 4 },
      cause: 'why',
    })
    expect(error.message).toBe('File too large (4 bytes): `f` [TOOL_FILE_TOO_LARGE] Read less.')
    expect(error).toMatchObject({ summary: 'File too large (4 bytes)', hint: 'Read less.', details: { bytes: 4 }, cause: 'why' })
  })

  test('isInstance by a Symbol.for mark: nothing else passes', () => {
    expect(ToolError.isInstance(new ToolError({ code: 'INVALID_INPUT', summary: 'x' }))).toBe(true)
    for (const value of [new Error('x'), { name: 'ToolError', code: 'INVALID_INPUT' }, null, undefined, 'ToolError', 5]) {
      expect(ToolError.isInstance(value)).toBe(false)
    }
  })
})

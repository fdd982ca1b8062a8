import { mkdirSync } from 'node:fs'
import { bashTool, editFileTool, grepTool, readFileTool, writeFileTool } from 'toolwright'
import { describe, expect, test } from 'vitest'
import { refusal } from '../support/refusal.ts'
import { makeSandbox } from '../support/sandbox.ts'

const long = 'x'.repeat(200)
const small = { maxOutputBytes: 100 }
const badPath = 5 as never

async function code(call: () => Promise<unknown>, context: object = small): Promise<string> {
  const fixture = makeSandbox()
  fixture.put('big', long)
  fixture.put('small', 'x\n')
  mkdirSync(fixture.at('dir'))
  return (await refusal(fixture.within(call, context))).code
}

describe('"Order of checks"', () => {
  test('"write & edit: size of content/patch BEFORE path"', async () => {
    for (const path of ['../escape', '', badPath, 'dir', 'a\0b', 'big/x']) {
      expect(await code(() => writeFileTool(path, long)), String(path)).toBe('TOOL_CONTENT_TOO_LARGE')
      expect(await code(() => editFileTool(path, long)), String(path)).toBe('TOOL_PATCH_TOO_LARGE')
    }
    expect(await code(() => editFileTool('missing', long))).toBe('TOOL_PATCH_TOO_LARGE')
  })

  test('the size is judged before the root is opened, too', async () => {
    const context = { rootDir: '/no/such/root', maxOutputBytes: 100 }
    expect(await code(() => writeFileTool('x', long), context)).toBe('TOOL_CONTENT_TOO_LARGE')
    expect(await code(() => writeFileTool('x', 'x'), context)).toBe('TOOL_ROOT_INVALID')
  })

  test('with a size that fits, the path is judged', async () => {
    expect(await code(() => writeFileTool('../escape', 'x'))).toBe('TOOL_PATH_ESCAPE')
    expect(await code(() => editFileTool('../escape', 'x'))).toBe('TOOL_PATH_ESCAPE')
    for (const path of ['', badPath]) {
      expect(await code(() => writeFileTool(path, 'x'))).toBe('TOOL_PATH_INVALID')
      expect(await code(() => editFileTool(path, 'x'))).toBe('TOOL_PATH_INVALID')
    }
  })

  test('"read/edit: path, then stat size, then read": the size of the file before the patch is looked at', async () => {
    expect(await code(() => readFileTool('../big'))).toBe('TOOL_PATH_ESCAPE')
    expect(await code(() => readFileTool('big'))).toBe('TOOL_FILE_TOO_LARGE')
    expect(await code(() => editFileTool('big', 'garbage'))).toBe('TOOL_FILE_TOO_LARGE')
    expect(await code(() => editFileTool('small', 'garbage'))).toBe('TOOL_PATCH_FAILED')
  })

  test('"bash: validation, network guard, cwd, spawn."', async () => {
    const url = 'https://example.com'
    expect(await code(() => bashTool('', [url], { cwd: '..' }))).toBe('INVALID_INPUT')
    expect(await code(() => bashTool('curl', [5 as never]))).toBe('INVALID_INPUT')
    expect(await code(() => bashTool('curl', [], { cwd: 5 as never }))).toBe('INVALID_INPUT')
    expect(await code(() => bashTool('no-such', [url], { cwd: '..' }))).toBe('TOOL_NETWORK_DISABLED')
    expect(await code(() => bashTool('no-such', [], { cwd: '..' }))).toBe('TOOL_PATH_ESCAPE')
    expect(await code(() => bashTool('no-such', [], { cwd: 'missing' }))).toBe('TOOL_FILE_NOT_FOUND')
    expect(await code(() => bashTool('no-such', [], { cwd: 'dir' }))).toBe('PROCESS_FAILED')
  })

  test('grep: the path, then the pattern', async () => {
    expect(await code(() => grepTool('(', '..'))).toBe('TOOL_PATH_ESCAPE')
    expect(await code(() => grepTool('(', 'dir'))).toBe('TOOL_GREP_FAILED')
    expect(await code(() => grepTool('x', ''))).toBe('TOOL_PATH_INVALID')
    expect(await code(() => grepTool('x', badPath))).toBe('TOOL_PATH_INVALID')
  })
})

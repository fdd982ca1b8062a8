import { existsSync, lstatSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { bashTool, editFileTool, grepTool, readFileTool, writeFileTool } from 'toolwright'
import { describe, expect, test, vi } from 'vitest'
import { expectReadable, refusal } from '../../support/refusal.ts'
import { makeSandbox, type Sandbox } from '../../support/sandbox.ts'

const patch = '@@ -1 +1 @@\n-secret\n+changed\n'

/** Every tool with a path it is to use: for `bash` the working directory. */
const tools: [string, (path: string) => Promise<unknown>][] = [
  ['read', (path) => readFileTool(path)],
  ['write', (path) => writeFileTool(path, 'changed\n')],
  ['edit', (path) => editFileTool(path, patch)],
  ['grep', (path) => grepTool('secret', path)],
  ['bash', (path) => bashTool('ls', [], { cwd: path })],
]

/** A sandbox with a file and a directory outside of the root. */
function guarded(): Sandbox & { unchanged(): void } {
  const box = makeSandbox()
  writeFileSync(join(box.outside, 'file'), 'secret\n')
  mkdirSync(join(box.outside, 'dir'))
  box.put('inside/file', 'secret\n')
  return {
    ...box,
    unchanged() {
      expect(readFileSync(join(box.outside, 'file'), 'utf8')).toBe('secret\n')
      expect(readdirSync(box.outside).sort()).toEqual(['dir', 'file'])
      expect(readdirSync(join(box.outside, 'dir'))).toEqual([])
    },
  }
}

const fileTools = tools.filter(([name]) => name !== 'bash')

describe('001 Sandboxing: "All tools are sandboxed to rootDir (defaults to the workflow directory)."', () => {
  test.each(tools)('%s does not reach out of rootDir', async (_name, use) => {
    const box = guarded()
    for (const path of ['../outside/file', '..', join(box.outside, 'file'), '/', '/etc', 'inside/../../outside']) {
      const error = await refusal(box.within(() => use(path)))
      expect(error, path).toMatchObject({ code: 'TOOL_PATH_ESCAPE', summary: 'Path escapes sandbox root' })
      expectReadable(error)
    }
    box.unchanged()
  })

  test('"(defaults to the workflow directory)": process.cwd() when the call is made', async () => {
    const first = makeSandbox()
    const second = makeSandbox()
    for (const box of [first, second]) {
      box.put('a', box.root)
      const cwd = vi.spyOn(process, 'cwd').mockReturnValue(box.root)
      expect(await readFileTool('a')).toBe(box.root)
      expect(await bashTool('pwd')).toBe(`${box.root}\n`)
      cwd.mockRestore()
    }
  })
})

describe('001 Path resolution: "Relative paths resolve against rootDir. Absolute paths must fall within root."', () => {
  test('relative paths resolve against rootDir, not the process’s directory', async () => {
    const box = makeSandbox()
    box.put('package.json', 'mine')
    expect(await box.within(() => readFileTool('package.json'))).toBe('mine')
  })

  test('absolute paths within the root are taken, the root itself included', async () => {
    const box = guarded()
    expect(await box.within(() => readFileTool(box.at('inside/file')))).toBe('secret\n')
    expect(await box.within(() => bashTool('ls', [], { cwd: box.root }))).toBe('inside\n')
    expect(await box.within(() => grepTool('secret', box.at('inside')))).toBe('inside/file:1:secret\n')
  })

  test('a sibling whose name begins with that of the root is outside', async () => {
    const box = makeSandbox()
    mkdirSync(`${box.root}-evil`)
    writeFileSync(`${box.root}-evil/file`, 'secret\n')
    const error = await refusal(box.within(() => readFileTool(`${box.root}-evil/file`)))
    expect(error.code).toBe('TOOL_PATH_ESCAPE')
  })

  test('a root that is reached through a link takes its own paths in both spellings', async () => {
    const box = guarded()
    const linked = join(box.outside, '..', 'linked')
    symlinkSync(box.root, linked)
    for (const path of ['inside/file', join(box.root, 'inside/file'), join(linked, 'inside/file')]) {
      expect(await box.within(() => readFileTool(path), { rootDir: linked }), path).toBe('secret\n')
    }
  })

  test('the root directory / takes every absolute path', async () => {
    const box = guarded()
    expect(await box.within(() => readFileTool(box.at('inside/file')), { rootDir: '/' })).toBe('secret\n')
    const written = () => writeFileTool(box.at('new'), 'x')
    expect(await box.within(written, { rootDir: '/' })).toBe('ok')
  })
})

describe('001 Symlinks: "Rejected if target is outside sandbox."', () => {
  test.each(tools)('%s: a link to a file, a directory, and a link on the way', async (_name, use) => {
    const box = guarded()
    symlinkSync(join(box.outside, 'file'), box.at('to-file'))
    symlinkSync(box.outside, box.at('to-dir'))
    symlinkSync('../outside/dir', box.at('relative'))
    symlinkSync('to-dir', box.at('to-link'))
    for (const path of ['to-file', 'to-dir', 'to-dir/file', 'to-dir/new', 'relative', 'relative/new', 'to-link/file']) {
      const error = await refusal(box.within(() => use(path)))
      expect(error, path).toMatchObject({
        code: 'TOOL_PATH_ESCAPE',
        summary: 'Path escapes sandbox root (via symlink)',
      })
      expectReadable(error)
    }
    box.unchanged()
  })

  test.each(fileTools)('%s: "dangling links included"', async (_name, use) => {
    const box = guarded()
    symlinkSync(join(box.outside, 'new'), box.at('dangling'))
    const error = await refusal(box.within(() => use('dangling')))
    expect(error.code).toBe('TOOL_PATH_ESCAPE')
    expect(existsSync(join(box.outside, 'new'))).toBe(false)
    box.unchanged()
  })

  test.each(tools)('%s: "a path that leaves it at any step, also only to come back"', async (_name, use) => {
    const box = guarded()
    symlinkSync(box.outside, box.at('out'))
    for (const path of ['../root/inside/file', 'out/../root/inside/file']) {
      expect((await refusal(box.within(() => use(path)))).code, path).toBe('TOOL_PATH_ESCAPE')
    }
  })

  test('"Links that stay inside the root work"', async () => {
    const box = guarded()
    symlinkSync('inside', box.at('dir'))
    symlinkSync(box.at('inside/file'), box.at('file'))
    for (const path of ['file', 'dir/file', 'dir/../inside/file']) {
      expect(await box.within(() => readFileTool(path)), path).toBe('secret\n')
    }
    expect(await box.within(() => bashTool('ls', [], { cwd: 'dir' }))).toBe('file\n')
  })

  test('"A write through a link inside replaces its target."', async () => {
    const box = guarded()
    symlinkSync('inside/file', box.at('link'))
    expect(await box.within(() => writeFileTool('link', 'written\n'))).toBe('ok')
    expect(lstatSync(box.at('link')).isSymbolicLink()).toBe(true)
    expect(box.text('inside/file')).toBe('written\n')
  })

  test('grep does not follow links out of the root', async () => {
    const box = guarded()
    symlinkSync(box.outside, box.at('out'))
    expect(await box.within(() => grepTool('secret'))).toBe('inside/file:1:secret\n')
  })

  test.runIf(process.platform === 'linux')('a link that is swapped all the time never leads outside', async () => {
    const box = guarded()
    mkdirSync(box.at('real'))
    box.put('real/file', 'mine\n')
    const flip = 'i=0; while [ $i -lt 400 ]; do ln -sfn real d; ln -sfn ../outside d; i=$((i+1)); done'
    symlinkSync('real', box.at('d'))
    const state = { flipping: true, reads: 0 }
    const flipper = box
      .within(() => bashTool('sh', ['-c', flip]))
      .finally(() => {
        state.flipping = false
      })
    while (state.flipping) {
      const results = await Promise.allSettled([box.within(() => readFileTool('d/file')), box.within(() => writeFileTool('d/new', 'x'))])
      const [read] = results
      if (read.status === 'fulfilled') expect(read.value).toBe('mine\n')
      state.reads += 1
    }
    await flipper
    expect(state.reads).toBeGreaterThan(20)
    box.unchanged()
  })
})

describe('001 Output size, Timeouts, Network', () => {
  test('Output size: "Process output is truncated to maxOutputBytes (default 200KB)"', async () => {
    const box = makeSandbox()
    const print = (bytes: number) => box.within(() => bashTool('sh', ['-c', `yes | head -c ${bytes}`]))
    expect(await print(200_000)).toHaveLength(200_000)
    const cut = await print(300_000)
    expect(Buffer.byteLength(cut)).toBeLessThanOrEqual(200_000)
    expect(Buffer.byteLength(cut)).toBeGreaterThan(190_000)
    expect(cut).toContain('bytes')
  })

  test('Output size: "read, write, and edit reject files, content, or patches that exceed it"', async () => {
    const box = makeSandbox()
    box.put('big', 'x'.repeat(101))
    box.put('small', 'x\n')
    const codes = await Promise.all(
      [
        () => readFileTool('big'),
        () => writeFileTool('new', 'x'.repeat(101)),
        () => editFileTool('small', `@@ -1 +1 @@\n-x\n+${'y'.repeat(100)}\n`),
        () => editFileTool('big', '@@ -1 +1 @@\n-x\n+y\n'),
      ].map(async (use) => (await refusal(box.within(use, { maxOutputBytes: 100 }))).code),
    )
    expect(codes).toEqual(['TOOL_FILE_TOO_LARGE', 'TOOL_CONTENT_TOO_LARGE', 'TOOL_PATCH_TOO_LARGE', 'TOOL_FILE_TOO_LARGE'])
  })

  test('Timeouts: "exceeded processes killed with SIGKILL"', async () => {
    const box = makeSandbox()
    const error = await refusal(box.within(() => bashTool('sleep', ['30']), { timeoutMs: 200 }))
    expect(error.code).toBe('PROCESS_TIMEOUT')
  })

  test('Network: "bash blocks network commands by default."', async () => {
    const box = makeSandbox()
    expect((await refusal(box.within(() => bashTool('curl', ['x'])))).code).toBe('TOOL_NETWORK_DISABLED')
  })
})

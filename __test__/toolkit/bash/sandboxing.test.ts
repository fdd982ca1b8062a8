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
  const fixture = makeSandbox()
  writeFileSync(join(fixture.outside, 'file'), 'secret\n')
  mkdirSync(join(fixture.outside, 'dir'))
  fixture.put('inside/file', 'secret\n')
  return {
    ...fixture,
    unchanged() {
      expect(readFileSync(join(fixture.outside, 'file'), 'utf8')).toBe('secret\n')
      expect(readdirSync(fixture.outside).sort()).toEqual(['dir', 'file'])
      expect(readdirSync(join(fixture.outside, 'dir'))).toEqual([])
    },
  }
}

const fileTools = tools.filter(([name]) => name !== 'bash')

describe('001 Sandboxing: "All tools are sandboxed to rootDir (defaults to the workflow directory)."', () => {
  test.each(tools)('%s does not reach out of rootDir', async (_name, use) => {
    const fixture = guarded()
    for (const path of ['../outside/file', '..', join(fixture.outside, 'file'), '/', '/etc', 'inside/../../outside']) {
      const error = await refusal(fixture.within(() => use(path)))
      expect(error, path).toMatchObject({ code: 'TOOL_PATH_ESCAPE', summary: 'Path escapes sandbox root' })
      expectReadable(error)
    }
    fixture.unchanged()
  })

  test('"(defaults to the workflow directory)": process.cwd() when the call is made', async () => {
    const first = makeSandbox()
    const second = makeSandbox()
    for (const fixture of [first, second]) {
      fixture.put('a', fixture.root)
      const cwd = vi.spyOn(process, 'cwd').mockReturnValue(fixture.root)
      expect(await readFileTool('a')).toBe(fixture.root)
      expect(await bashTool('pwd')).toBe(`${fixture.root}\n`)
      cwd.mockRestore()
    }
  })
})

describe('001 Path resolution: "Relative paths resolve against rootDir. Absolute paths must fall within root."', () => {
  test('relative paths resolve against rootDir, not the process’s directory', async () => {
    const fixture = makeSandbox()
    fixture.put('package.json', 'mine')
    expect(await fixture.within(() => readFileTool('package.json'))).toBe('mine')
  })

  test('absolute paths within the root are taken, the root itself included', async () => {
    const fixture = guarded()
    expect(await fixture.within(() => readFileTool(fixture.at('inside/file')))).toBe('secret\n')
    expect(await fixture.within(() => bashTool('ls', [], { cwd: fixture.root }))).toBe('inside\n')
    expect(await fixture.within(() => grepTool('secret', fixture.at('inside')))).toBe('inside/file:1:secret\n')
  })

  test('a sibling whose name begins with that of the root is outside', async () => {
    const fixture = makeSandbox()
    mkdirSync(`${fixture.root}-evil`)
    writeFileSync(`${fixture.root}-evil/file`, 'secret\n')
    const error = await refusal(fixture.within(() => readFileTool(`${fixture.root}-evil/file`)))
    expect(error.code).toBe('TOOL_PATH_ESCAPE')
  })

  test('a root that is reached through a link takes its own paths in both spellings', async () => {
    const fixture = guarded()
    const linked = join(fixture.outside, '..', 'linked')
    symlinkSync(fixture.root, linked)
    for (const path of ['inside/file', join(fixture.root, 'inside/file'), join(linked, 'inside/file')]) {
      expect(await fixture.within(() => readFileTool(path), { rootDir: linked }), path).toBe('secret\n')
    }
  })

  test('the root directory / takes every absolute path', async () => {
    const fixture = guarded()
    expect(await fixture.within(() => readFileTool(fixture.at('inside/file')), { rootDir: '/' })).toBe('secret\n')
    const written = () => writeFileTool(fixture.at('new'), 'x')
    expect(await fixture.within(written, { rootDir: '/' })).toBe('ok')
  })
})

describe('001 Symlinks: "Rejected if target is outside sandbox."', () => {
  test.each(tools)('%s: a link to a file, a directory, and a link on the way', async (_name, use) => {
    const fixture = guarded()
    symlinkSync(join(fixture.outside, 'file'), fixture.at('to-file'))
    symlinkSync(fixture.outside, fixture.at('to-dir'))
    symlinkSync('../outside/dir', fixture.at('relative'))
    symlinkSync('to-dir', fixture.at('to-link'))
    for (const path of ['to-file', 'to-dir', 'to-dir/file', 'to-dir/new', 'relative', 'relative/new', 'to-link/file']) {
      const error = await refusal(fixture.within(() => use(path)))
      expect(error, path).toMatchObject({
        code: 'TOOL_PATH_ESCAPE',
        summary: 'Path escapes sandbox root (via symlink)',
      })
      expectReadable(error)
    }
    fixture.unchanged()
  })

  test.each(fileTools)('%s: "dangling links included"', async (_name, use) => {
    const fixture = guarded()
    symlinkSync(join(fixture.outside, 'new'), fixture.at('dangling'))
    const error = await refusal(fixture.within(() => use('dangling')))
    expect(error.code).toBe('TOOL_PATH_ESCAPE')
    expect(existsSync(join(fixture.outside, 'new'))).toBe(false)
    fixture.unchanged()
  })

  test.each(tools)('%s: "a path that leaves it at any step, also only to come back"', async (_name, use) => {
    const fixture = guarded()
    symlinkSync(fixture.outside, fixture.at('out'))
    for (const path of ['../root/inside/file', 'out/../root/inside/file']) {
      expect((await refusal(fixture.within(() => use(path)))).code, path).toBe('TOOL_PATH_ESCAPE')
    }
  })

  test('"Links that stay inside the root work"', async () => {
    const fixture = guarded()
    symlinkSync('inside', fixture.at('dir'))
    symlinkSync(fixture.at('inside/file'), fixture.at('file'))
    for (const path of ['file', 'dir/file', 'dir/../inside/file']) {
      expect(await fixture.within(() => readFileTool(path)), path).toBe('secret\n')
    }
    expect(await fixture.within(() => bashTool('ls', [], { cwd: 'dir' }))).toBe('file\n')
  })

  test('"A write through a link inside replaces its target."', async () => {
    const fixture = guarded()
    symlinkSync('inside/file', fixture.at('link'))
    expect(await fixture.within(() => writeFileTool('link', 'written\n'))).toBe('ok')
    expect(lstatSync(fixture.at('link')).isSymbolicLink()).toBe(true)
    expect(fixture.text('inside/file')).toBe('written\n')
  })

  test('grep does not follow links out of the root', async () => {
    const fixture = guarded()
    symlinkSync(fixture.outside, fixture.at('out'))
    expect(await fixture.within(() => grepTool('secret'))).toBe('inside/file:1:secret\n')
  })

  test.runIf(process.platform === 'linux')('a link that is swapped all the time never leads outside', async () => {
    const fixture = guarded()
    mkdirSync(fixture.at('real'))
    fixture.put('real/file', 'mine\n')
    const flip = 'i=0; while [ $i -lt 400 ]; do ln -sfn real d; ln -sfn ../outside d; i=$((i+1)); done'
    symlinkSync('real', fixture.at('d'))
    const state = { flipping: true, reads: 0 }
    const flipper = fixture
      .within(() => bashTool('sh', ['-c', flip]))
      .finally(() => {
        state.flipping = false
      })
    while (state.flipping) {
      const results = await Promise.allSettled([
        fixture.within(() => readFileTool('d/file')),
        fixture.within(() => writeFileTool('d/new', 'x')),
      ])
      const [read] = results
      if (read.status === 'fulfilled') expect(read.value).toBe('mine\n')
      state.reads += 1
    }
    await flipper
    expect(state.reads).toBeGreaterThan(20)
    fixture.unchanged()
  })
})

describe('001 Output size, Timeouts, Network', () => {
  test('Output size: "Process output is truncated to maxOutputBytes (default 200KB)"', async () => {
    const fixture = makeSandbox()
    const print = (bytes: number) => fixture.within(() => bashTool('sh', ['-c', `yes | head -c ${bytes}`]))
    expect(await print(200_000)).toHaveLength(200_000)
    const cut = await print(300_000)
    expect(Buffer.byteLength(cut)).toBeLessThanOrEqual(200_000)
    expect(Buffer.byteLength(cut)).toBeGreaterThan(190_000)
    expect(cut).toContain('bytes')
  })

  test('Output size: "read, write, and edit reject files, content, or patches that exceed it"', async () => {
    const fixture = makeSandbox()
    fixture.put('big', 'x'.repeat(101))
    fixture.put('small', 'x\n')
    const codes = await Promise.all(
      [
        () => readFileTool('big'),
        () => writeFileTool('new', 'x'.repeat(101)),
        () => editFileTool('small', `@@ -1 +1 @@\n-x\n+${'y'.repeat(100)}\n`),
        () => editFileTool('big', '@@ -1 +1 @@\n-x\n+y\n'),
      ].map(async (use) => (await refusal(fixture.within(use, { maxOutputBytes: 100 }))).code),
    )
    expect(codes).toEqual(['TOOL_FILE_TOO_LARGE', 'TOOL_CONTENT_TOO_LARGE', 'TOOL_PATCH_TOO_LARGE', 'TOOL_FILE_TOO_LARGE'])
  })

  test('Timeouts: "exceeded processes killed with SIGKILL"', async () => {
    const fixture = makeSandbox()
    const error = await refusal(fixture.within(() => bashTool('sleep', ['30']), { timeoutMs: 200 }))
    expect(error.code).toBe('PROCESS_TIMEOUT')
  })

  test('Network: "bash blocks network commands by default."', async () => {
    const fixture = makeSandbox()
    expect((await refusal(fixture.within(() => bashTool('curl', ['x'])))).code).toBe('TOOL_NETWORK_DISABLED')
  })
})

import { execFileSync } from 'node:child_process'
import { linkSync, mkdirSync, readdirSync, rmSync, statSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { bashTool, editFileTool, grepTool, readFileTool, writeFileTool } from 'toolwright'
import { describe, expect, test } from 'vitest'
import { expectGone, sleepingMark } from '../support/processes.ts'
import { refusal } from '../support/refusal.ts'
import { makeSandbox } from '../support/sandbox.ts'

describe('paths', () => {
  test('"absolute via resolve(), relative against rootDir": `.` and doubled slashes aside', async () => {
    const fixture = makeSandbox()
    fixture.put('a/b', 'x')
    for (const path of ['a/b', './a/./b', 'a//b', `${fixture.root}//a/b`, `${fixture.root}/./a/b`, `${fixture.root}/a/../a/b`]) {
      expect(await fixture.within(() => readFileTool(path)), path).toBe('x')
    }
  })

  test('"must start with resolve(root)+sep or equal root"', async () => {
    const fixture = makeSandbox()
    fixture.put('a', 'x\n')
    expect(await fixture.within(() => grepTool('x', fixture.root))).toBe('a:1:x\n')
    expect(await fixture.within(() => grepTool('x', '.'))).toBe('a:1:x\n')
    for (const path of [`${fixture.root}x`, `${fixture.root}-x/a`, '/', join(fixture.root, '..')]) {
      expect((await refusal(fixture.within(() => readFileTool(path)))).code, path).toBe('TOOL_PATH_ESCAPE')
    }
  })

  test('"nearest existing ancestor must be inside realpath(root)": a new file below a link that leads out', async () => {
    const fixture = makeSandbox()
    symlinkSync(fixture.outside, fixture.at('out'))
    const error = await refusal(fixture.within(() => writeFileTool('out/new/deep/file', 'x')))
    expect(error.code).toBe('TOOL_PATH_ESCAPE')
    expect(readdirSync(fixture.outside)).toEqual([])
  })

  test('a relative rootDir is below the directory of the process', async () => {
    await expect(makeSandbox().within(() => readFileTool('package.json'), { rootDir: '.' })).resolves.toContain('"toolwright"')
  })

  test('names that look odd are names', async () => {
    const fixture = makeSandbox()
    for (const name of ['...', ' ', '-', '~', 'a\nb', 'a\\b', '*', 'C:', 'ünï', '..a', 'a..']) {
      expect(await fixture.within(() => writeFileTool(name, name)), name).toBe('ok')
      expect(await fixture.within(() => readFileTool(name)), name).toBe(name)
    }
  })
})

describe('read', () => {
  test.runIf(process.platform === 'linux')('a FIFO is refused at once instead of hanging', async () => {
    const fixture = makeSandbox()
    execFileSync('mkfifo', [fixture.at('pipe')])
    for (const call of [
      () => readFileTool('pipe'),
      () => writeFileTool('pipe', 'x'),
      () => editFileTool('pipe', '@@ -1 +1 @@\n-x\n+y\n'),
    ]) {
      expect((await refusal(fixture.within(call))).code).toBe('TOOL_NOT_A_FILE')
    }
    expect(statSync(fixture.at('pipe')).isFIFO()).toBe(true)
  })
})

describe('write', () => {
  test('readers see the old file or the new one, never a part', async () => {
    const fixture = makeSandbox()
    const [a, b] = ['a'.repeat(150_000), 'b'.repeat(150_000)]
    fixture.put('f', a)
    const write = async () => {
      for (let turn = 0; turn < 30; turn += 1) await fixture.within(() => writeFileTool('f', turn % 2 === 0 ? b : a))
    }
    const read = async () => {
      for (let turn = 0; turn < 60; turn += 1) expect([a, b]).toContain(await fixture.within(() => readFileTool('f')))
    }
    await Promise.all([write(), read(), read()])
    expect(readdirSync(fixture.root)).toEqual(['f'])
  })

  test('a hard link keeps the old content, the path gets the new one', async () => {
    const fixture = makeSandbox()
    linkSync(fixture.put('f', 'old'), fixture.at('other'))
    await fixture.within(() => writeFileTool('f', 'new'))
    expect([fixture.text('f'), fixture.text('other')]).toEqual(['new', 'old'])
  })

  test('a new file has the mode that the umask leaves', async () => {
    const fixture = makeSandbox()
    await fixture.within(() => writeFileTool('f', 'x'))
    await fixture.within(() => bashTool('touch', ['g']))
    expect(statSync(fixture.at('f')).mode).toBe(statSync(fixture.at('g')).mode)
  })
})

describe('bash', () => {
  test('"stdin null"', async () => {
    const fixture = makeSandbox()
    expect(await fixture.within(() => bashTool('cat'))).toBe('')
  })

  test('"env inherited": variables set in this process are there', async () => {
    const fixture = makeSandbox()
    process.env['TOOLWRIGHT_PROBE'] = 'seen'
    try {
      expect(await fixture.within(() => bashTool('printenv', ['TOOLWRIGHT_PROBE']))).toBe('seen\n')
      delete process.env['TOOLWRIGHT_PROBE']
      expect((await refusal(fixture.within(() => bashTool('printenv', ['TOOLWRIGHT_PROBE'])))).code).toBe('TOOL_COMMAND_FAILED')
    } finally {
      delete process.env['TOOLWRIGHT_PROBE']
    }
  })

  test('the program is looked up in the PATH of this process as it is now', async () => {
    const fixture = makeSandbox()
    fixture.put('bin/only-here', '#!/bin/sh\necho found\n')
    execFileSync('chmod', ['+x', fixture.at('bin/only-here')])
    const path = process.env['PATH']
    process.env['PATH'] = `${fixture.at('bin')}:${path}`
    try {
      expect(await fixture.within(() => bashTool('only-here'))).toBe('found\n')
    } finally {
      process.env['PATH'] = path
    }
  })

  test('"cwd sandboxed": PWD says the same as pwd', async () => {
    const fixture = makeSandbox()
    mkdirSync(fixture.at('sub'))
    const show = ['-c', 'echo "$PWD"; pwd -P']
    expect(await fixture.within(() => bashTool('sh', show))).toBe(`${fixture.root}\n${fixture.root}\n`)
    const sub = fixture.at('sub')
    expect(await fixture.within(() => bashTool('sh', show, { cwd: 'sub' }))).toBe(`${sub}\n${sub}\n`)
  })

  test('a working directory that was removed', async () => {
    const fixture = makeSandbox()
    mkdirSync(fixture.at('sub'))
    rmSync(fixture.at('sub'), { recursive: true })
    expect((await refusal(fixture.within(() => bashTool('pwd', [], { cwd: 'sub' })))).code).toBe('TOOL_FILE_NOT_FOUND')
  })

  test('a background child that holds stdout neither delays the command nor loses its output', async () => {
    const fixture = makeSandbox()
    const mark = sleepingMark(20)
    const start = performance.now()
    const printed = await fixture.within(() => bashTool('sh', ['-c', `sleep ${mark} & echo done`]))
    expect(performance.now() - start).toBeLessThan(5_000)
    expect(printed).toBe('done\n')
    // and it does not survive the call.
    await expectGone(mark)
  })

  test('stderr is kept when stdout fills the limit', async () => {
    const fixture = makeSandbox()
    const command = 'yes | head -c 300000; echo the reason >&2; exit 1'
    const error = await refusal(fixture.within(() => bashTool('sh', ['-c', command])))
    expect(error.details['output']).toContain('the reason')
    expect(error.message).toContain('the reason')
  })

  test.each(['PROCESS_TIMEOUT', 'AbortError', 'ok'])('nothing keeps the host process alive after a call: %s', (how) => {
    const fixture = makeSandbox()
    const entry = new URL('../../dist/index.js', import.meta.url).href
    fixture.put(
      'main.mjs',
      `import { createTools } from '${entry}'
        const { bash } = createTools({ rootDir: '.', toolTimeoutMs: ${how === 'PROCESS_TIMEOUT' ? 200 : 60_000} })
        const abortSignal = ${how === 'AbortError' ? 'AbortSignal.timeout(200)' : 'undefined'}
        const script = 'setsid sleep 8 & ${how === 'ok' ? 'true' : 'sleep 8'}'
        const ended = await bash.execute({ cmd: 'sh', args: ['-c', script] }, { abortSignal }).then(
          () => 'ok', (error) => error.code === 'PROCESS_TIMEOUT' ? error.code : 'AbortError')
        console.log(ended)`,
    )
    const start = performance.now()
    const said = execFileSync(process.execPath, ['main.mjs'], { cwd: fixture.root, encoding: 'utf8' })
    expect(said).toBe(`${how}\n`)
    expect(performance.now() - start).toBeLessThan(6_000)
  })

  test('output that is not UTF-8 is shown with U+FFFD', async () => {
    const fixture = makeSandbox()
    expect(await fixture.within(() => bashTool('printf', ['a\\377b']))).toBe('a\u{fffd}b')
  })
})

import { readdirSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { bashTool, createTools, editFileTool, grepTool, readFileTool, writeFileTool } from 'toolwright'
import { describe, expect, test } from 'vitest'
import { runs } from '../support/randomised.ts'
import { refusal } from '../support/refusal.ts'
import { makeSandbox, type Sandbox } from '../support/sandbox.ts'

const numbered = (count: number): string => Array.from({ length: count }, (_, index) => `line ${index}\n`).join('')

const mark = (line: number, by: string): string => `@@ -${line + 1} +${line + 1} @@\n-line ${line}\n+line ${line} by ${by}\n`

describe('edits of one file at the same time', () => {
  test('20 edits of different lines all land', async () => {
    const fixture = makeSandbox()
    for (let round = 0; round < runs(3); round += 1) {
      fixture.put('f', numbered(20))
      const edits = Array.from({ length: 20 }, (_, line) => fixture.within(() => editFileTool('f', mark(line, 'me'))))
      expect(await Promise.all(edits)).toEqual(Array(20).fill('ok'))
      expect(fixture.text('f')).toBe(numbered(20).replaceAll('\n', ' by me\n'))
      expect(readdirSync(fixture.root)).toEqual(['f'])
    }
  })

  test('of 20 edits of the same line exactly one lands, and the others say why', async () => {
    const fixture = makeSandbox()
    fixture.put('f', numbered(3))
    const edits = Array.from({ length: 20 }, (_, who) => fixture.within(() => editFileTool('f', mark(1, `${who}`))))
    const settled = await Promise.allSettled(edits)
    const winners = settled.flatMap(({ status }, who) => (status === 'fulfilled' ? [who] : []))
    expect(winners).toHaveLength(1)
    expect(fixture.text('f')).toBe(`line 0\nline 1 by ${winners[0]}\nline 2\n`)
    for (const one of settled) {
      if (one.status === 'rejected') expect(one.reason).toMatchObject({ code: 'TOOL_PATCH_FAILED' })
    }
  })

  test('by several tool sets and different spellings of the path', async () => {
    const fixture = makeSandbox()
    fixture.put('d/f', numbered(12))
    const roots = [fixture.root, fixture.at('d'), `${fixture.root}/./`]
    const edits = Array.from({ length: 12 }, (_, line) => {
      const rootDir = roots[line % 3] ?? fixture.root
      const path = rootDir === fixture.at('d') ? 'f' : ['d/f', './d//f', fixture.at('d/f')][line % 3]
      return createTools({ rootDir }).edit.execute({ path: path ?? 'd/f', patch: mark(line, 'all') })
    })
    expect(await Promise.all(edits)).toEqual(Array(12).fill('ok'))
    expect(fixture.text('d/f')).toBe(numbered(12).replaceAll('\n', ' by all\n'))
  })
})

/** One call of the mixture, with its result checked. */
function mixed(fixture: Sandbox, index: number): Promise<void> {
  const own = `own/${index}`
  switch (index % 8) {
    case 0:
      return fixture.within(async () => expect(await readFileTool('shared')).toMatch(/^(?:line \d+( by \d+)?\n)+$/u))
    case 1:
      return fixture.within(async () => {
        expect(await writeFileTool(own, `content ${index}\n`)).toBe('ok')
        expect(await readFileTool(own)).toBe(`content ${index}\n`)
      })
    case 2:
      return fixture.within(async () => expect(await editFileTool('shared', mark(index, `${index}`))).toBe('ok'))
    case 3:
      return fixture.within(async () => expect(await grepTool('needle', 'hay')).toBe('hay/stack:500:a needle\n'))
    case 4:
      return fixture.within(async () => expect(await bashTool('printf', ['%s', `${index}`])).toBe(`${index}`))
    case 5:
      return fixture.within(async () => expect((await refusal(readFileTool(own))).code).toBe('TOOL_FILE_NOT_FOUND'))
    case 6:
      return fixture.within(async () => {
        const error = await refusal(bashTool('sh', ['-c', `echo ${index}; exit ${(index % 250) + 1}`]))
        expect(error.details).toMatchObject({ exitCode: (index % 250) + 1, output: `${index}\n` })
      })
    default:
      return fixture.within(async () => {
        const big = `${index}\n`.repeat(10_000)
        expect(await writeFileTool('contended', big)).toBe('ok')
        expect(new Set((await readFileTool('contended')).trimEnd().split('\n')).size).toBe(1)
      })
  }
}

function prepare(): Sandbox {
  const fixture = makeSandbox()
  fixture.put('shared', numbered(400))
  fixture.put('hay/stack', `${'straw\n'.repeat(499)}a needle\n`)
  return fixture
}

describe('many calls at once', () => {
  test('200 mixed calls over shared and separate files: each settles with its own result', async () => {
    const fixture = prepare()
    const settled = await Promise.allSettled(Array.from({ length: 200 }, (_, index) => mixed(fixture, index)))
    expect(settled.filter(({ status }) => status === 'rejected')).toEqual([])
    for (let index = 2; index < 200; index += 8) expect(fixture.text('shared')).toContain(`line ${index} by ${index}\n`)
    // An empty `.git` holds the place of what is protected while commands run.
    const names = readdirSync(fixture.root).filter((name) => name !== '.git')
    expect(names.sort()).toEqual(['contended', 'hay', 'own', 'shared'])
  })

  test.runIf(process.platform === 'linux')('no file descriptor is left open', async () => {
    const open = () => readdirSync('/proc/self/fd').length
    const fixture = prepare()
    await Promise.all(Array.from({ length: 64 }, (_, index) => mixed(fixture, index)))
    await sleep(100)
    const before = open()
    for (let round = 0; round < runs(3); round += 1) {
      fixture.put('shared', numbered(400))
      await Promise.all(Array.from({ length: 64 }, (_, index) => mixed(fixture, index + 64 * (round % 2))))
      const controller = new AbortController()
      const { bash, grep } = createTools({ rootDir: fixture.root })
      const aborted = Array.from({ length: 8 }, (_, index) =>
        index % 2 === 0
          ? bash.execute({ cmd: 'sleep', args: ['9'] }, { abortSignal: controller.signal })
          : grep.execute({ pattern: '(a.*)+b' }, { abortSignal: controller.signal }),
      )
      setTimeout(() => controller.abort(), 20)
      await Promise.allSettled(aborted)
    }
    await sleep(200)
    // Up to sixteen workers of the sandbox wait for the next command, with two descriptors each; one
    // descriptor for each of these calls would be many more.
    expect(open()).toBeLessThanOrEqual(before + 2 + 2 * 16)
  })

  test('30 commands at once neither wait for each other nor hold up a read', async () => {
    const fixture = prepare()
    const start = performance.now()
    const commands = Array.from({ length: 30 }, () => fixture.within(() => bashTool('sleep', ['1'])))
    expect(await fixture.within(() => readFileTool('hay/stack'))).toContain('needle')
    const readAfter = performance.now() - start
    await Promise.all(commands)
    expect(performance.now() - start).toBeLessThan(15_000)
    expect(readAfter).toBeLessThan(performance.now() - start)
  })

  test('commands begin in turn, but none waits for another one to end', async () => {
    const fixture = makeSandbox()
    const { bash } = createTools({ rootDir: fixture.root })
    const waiting = Array.from({ length: 40 }, () =>
      bash.execute({ cmd: 'sh', args: ['-c', 'until [ -e last ]; do sleep 0.05; done; echo seen'] }),
    )
    const last = bash.execute({ cmd: 'touch', args: ['last'] })
    expect(await Promise.all(waiting)).toEqual(Array(40).fill('seen\n'))
    expect(await last).toBe('')
  })

  test('a command that is aborted before its turn never begins, and settles at once', async () => {
    const fixture = makeSandbox()
    const { bash } = createTools({ rootDir: fixture.root })
    const controller = new AbortController()
    const begun = Array.from({ length: 64 }, () => bash.execute({ cmd: 'sleep', args: ['20'] }, { abortSignal: controller.signal }))
    const last = bash.execute({ cmd: 'touch', args: ['last'] }, { abortSignal: controller.signal })
    const settled = Promise.allSettled([...begun, last])
    // All of them have been asked for, and most have not begun.
    await new Promise(setImmediate)
    const aborted = performance.now()
    controller.abort(new Error('enough'))
    for (const one of await settled) expect(one).toMatchObject({ status: 'rejected', reason: { message: 'enough' } })
    expect(performance.now() - aborted).toBeLessThan(5_000)
    expect(readdirSync(fixture.root)).not.toContain('last')
    expect(await bash.execute({ cmd: 'echo', args: ['next'] })).toBe('next\n')
  })

  test('64 at once do not block the event loop', async () => {
    const fixture = prepare()
    const state = { running: true, longestMs: 0, turns: 0 }
    const work = Promise.all(Array.from({ length: 64 }, () => fixture.within(() => bashTool('sleep', ['1.5'])))).finally(() => {
      state.running = false
    })
    for (let last = performance.now(), now = last; state.running; last = now) {
      await sleep(1)
      now = performance.now()
      state.longestMs = Math.max(state.longestMs, now - last)
      state.turns += 1
    }
    await work
    // One command that is waited for would take longer than the longest turn may.
    expect(state.longestMs).toBeLessThan(1_000)
    expect(state.turns).toBeGreaterThan(50)
  })
})

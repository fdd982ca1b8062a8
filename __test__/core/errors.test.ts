import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'
import { ToolError, toolErrorCodes } from 'toolwright'
import { withHint } from '../../ts/core/errors.js'

const root = fileURLToPath(new URL('../..', import.meta.url))
const text = (path: string): string => readFileSync(join(root, path), 'utf8')
const documented = [...text('docs/errors.md').matchAll(/^### ([A-Z_]+)$/gmu)].map((match) => match[1] as string)

/** The codes that Rust sources use as `Code::Name`, by the list of them all. */
function codesInRust(): Set<string> {
  const list = text('crates/core/src/code.rs')
  const byName = new Map([...list.matchAll(/(\w+) = "([A-Z_]+)"/gu)].map(([, name, code]) => [name, code as string]))
  const used = new Set<string>()
  for (const folder of ['crates', 'src']) {
    for (const entry of readdirSync(join(root, folder), { withFileTypes: true, recursive: true })) {
      if (!entry.isFile() || !entry.name.endsWith('.rs') || entry.name === 'contract_code.rs') continue
      const source = readFileSync(join(entry.parentPath, entry.name), 'utf8').split('#[cfg(test)]')[0] ?? ''
      for (const [, name] of source.matchAll(/\bCode::(\w+)/gu)) used.add(byName.get(name as string) ?? '')
    }
  }
  return used
}

/** Upper-case words with an underscore in string literals: how codes, and only codes, are written. */
function codesIn(folder: string, ending: string): Set<string> {
  const codes = new Set<string>()
  for (const entry of readdirSync(join(root, folder), { withFileTypes: true, recursive: true })) {
    if (!entry.isFile() || !entry.name.endsWith(ending) || entry.name === 'code.rs') continue
    const source = readFileSync(join(entry.parentPath, entry.name), 'utf8').split('#[cfg(test)]')[0] ?? ''
    for (const [, code] of source.matchAll(
      /["']((?:TOOL|PROCESS|OUTCOME|INVALID|INTERNAL|NATIVE|JOURNAL|REPLAY|TASK|CAPABILITY|CONTRACT|THREAD|FORK)_[A-Z_]+)["']/gu,
    )) {
      codes.add(code as string)
    }
  }
  return codes
}

describe('error codes', () => {
  test('every code has its place in docs/errors.md, and every place its code', () => {
    expect(documented.toSorted()).toEqual([...toolErrorCodes].toSorted())
  })

  test('the index lists every code once, in the order of the sections', () => {
    const index = [...text('docs/errors.md').matchAll(/^\| \[([A-Z_]+)\]\(#([a-z_]+)\) \| \S/gmu)]
    expect(index.map(([, code]) => code)).toEqual([...toolErrorCodes])
    expect(index.every(([, code, anchor]) => anchor === code?.toLowerCase())).toBe(true)
    expect(documented).toEqual([...toolErrorCodes])
  })

  test('every code that the Rust and TypeScript sources use is public', () => {
    const used = new Set([...codesIn('crates', '.rs'), ...codesIn('src', '.rs'), ...codesIn('ts', '.ts')])
    expect([...used].filter((code) => !(toolErrorCodes as readonly string[]).includes(code))).toEqual([])
  })

  test('every public code is used somewhere besides its declaration', () => {
    const used = new Set([
      ...codesInRust(),
      ...codesIn('crates', '.rs'),
      ...codesIn('src', '.rs'),
      ...codesIn('ts/core/network-guard', '.ts'),
      ...codesIn('ts/toolkit', '.ts'),
      ...codesIn('ts/language-servers', '.ts'),
      ...codesIn('ts/fork', '.ts'),
      ...codesIn('ts/journal', '.ts'),
      ...codesIn('ts/contract', '.ts'),
      ...codesIn('ts/postgres', '.ts'),
      ...codesIn('ts/durable', '.ts'),
      ...codesIn('ts/standard-agents', '.ts'),
    ])
    for (const [, code] of text('ts/core/native.ts').matchAll(/'([A-Z]+_[A-Z_]+)'/gu)) used.add(code as string)
    expect(toolErrorCodes.filter((code) => !used.has(code))).toEqual([])
  })

  test('every place says cause and next move', () => {
    const places = text('docs/errors.md').split(/^### /gmu).slice(1)
    for (const place of places) {
      expect(place, place.split('\n')[0]).toMatch(/\*\*Cause\*\*: \S/u)
      expect(place, place.split('\n')[0]).toMatch(/\*\*Next move\*\*: \S/u)
    }
  })
})

describe('ToolError', () => {
  test('another hint takes the place of the first; a message without its hint is kept whole', () => {
    const error = new ToolError({ code: 'TOOL_FILE_NOT_FOUND', summary: 'No such file', hint: 'Check the path.' })
    expect(withHint(error, 'List the directory.').message).toBe('No such file [TOOL_FILE_NOT_FOUND] List the directory.')
    const rendered = new ToolError({
      code: 'TOOL_FILE_NOT_FOUND',
      summary: 'No such file',
      hint: 'Check the path.',
      message: 'It is gone!',
    })
    expect(withHint(rendered, 'List the directory.').message).toBe('It is gone! List the directory.')
  })

  test('the message is what, where, code and next move; without a link', () => {
    const error = new ToolError({
      code: 'TOOL_GREP_FAILED',
      summary: 'It failed',
      place: 'It failed: `a.ts`',
      hint: 'Do this.',
    })
    expect(error.message).toBe('It failed: `a.ts` [TOOL_GREP_FAILED] Do this.')
    expect(error).toMatchObject({ name: 'ToolError', code: 'TOOL_GREP_FAILED', summary: 'It failed', hint: 'Do this.' })
    expect(error.details).toEqual({})
    expect(error.message).not.toContain('http')
  })

  test('isInstance knows its own and nothing else', () => {
    const error = new ToolError({ code: 'INVALID_INPUT', summary: 'x', cause: new Error('y') })
    expect(ToolError.isInstance(error)).toBe(true)
    expect(error.cause).toBeInstanceOf(Error)
    for (const value of [new Error('x'), { code: 'INVALID_INPUT' }, null, undefined, 'x']) {
      expect(ToolError.isInstance(value)).toBe(false)
    }
  })
})

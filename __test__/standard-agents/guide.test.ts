import { execFileSync } from 'node:child_process'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { createThread } from 'toolwright/standard-agents'
import { expect, test } from 'vitest'
import { startScript } from '../support/child-script.ts'
import { codeBlocks } from '../support/code-blocks.ts'
import { makeFolder, putFile } from './tool-folder.ts'

const [tool, program, suite, server, rights, ...others] = codeBlocks('standard-agents.md')

/** The guide's files, where the guide has them. */
function makeGuide(): string {
  const path = /^\/\/ (?<path>agents\/tools\/\w+\.ts)\n/u.exec(tool?.code ?? '')?.groups?.['path'] ?? ''
  return makeFolder({ [path]: tool?.code ?? '', 'main.ts': program?.code ?? '' })
}

test('the guide has a tool, a program, the suite of a store, and a server with its rights', () => {
  const languages = [tool, program, suite, server, rights].map((block) => block?.language)
  expect([...languages, others]).toEqual(['ts', 'ts', 'ts', 'ts', 'sql', []])
  expect(suite?.code).toContain('threadSuite(')
  expect(server?.code).toContain('postgresThreads(')
})

test('they run as they are printed', async () => {
  const folder = makeGuide()
  const { code, stdout, stderr } = await startScript('main.ts', [], ['env', '-C', folder]).ended
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
  expect(stdout).toMatch(/\[ ['"]search_knowledge_base['"] \]/u)
  expect(stdout).toContain('["A refund takes five working days."]')
  await using thread = await createThread({ tools: {}, store: `file:${join(folder, 'thread.db')}`, threadId: 'customer-7' })
  expect(await thread.messages.list()).toMatchObject([{ toolName: 'search_knowledge_base', status: 'success' }])
})

test('they compile as they are printed', () => {
  const folder = makeGuide()
  // The guide shows the state that it does not use.
  const compilerOptions = { rootDir: '../..', noUnusedParameters: false }
  putFile(folder, 'tsconfig.json', JSON.stringify({ extends: '../../tsconfig.check.json', compilerOptions, include: ['.'] }))
  const tsc = fileURLToPath(new URL('../../node_modules/typescript/bin/tsc', import.meta.url))
  expect(execFileSync(process.execPath, [tsc, '-p', folder], { encoding: 'utf8' })).toBe('')
}, 60_000)

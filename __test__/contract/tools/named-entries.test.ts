/** A session's patches act on links themselves, and its rules judge the links. A tool is named by a text. */
import { existsSync, lstatSync, mkdtempSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { applyPatchTool, createSession } from 'toolwright/contract'
import { afterAll, expect, test } from 'vitest'

const made: string[] = []
afterAll(() => made.forEach((path) => rmSync(path, { recursive: true, force: true })))

async function session() {
  const workspace = mkdtempSync(join(tmpdir(), 'toolwright-'))
  made.push(workspace)
  writeFileSync(join(workspace, 'target.json'), '{}\n')
  symlinkSync('target.json', join(workspace, 'link.json'))
  symlinkSync('nowhere', join(workspace, 'dangling'))
  const permissions = [
    { permission: '*', pattern: '**', action: 'allow' as const },
    { permission: 'fs.write', pattern: '**/target.json', action: 'deny' as const },
  ]
  return {
    workspace,
    opened: await createSession({ workspace, headless: true, tools: [applyPatchTool], manifest: { name: 'm', permissions } }),
  }
}

test('a link is deleted and moved itself, whatever the rules say of the file that it leads to', async () => {
  const { workspace, opened } = await session()
  const patch = '*** Begin Patch\n*** Delete File: link.json\n*** Update File: dangling\n*** Move to: moved\n*** End Patch\n'
  expect(await opened.call('apply_patch', { patch })).toMatchObject({
    type: 'output',
    data: {
      files: [
        { path: 'link.json', change: 'delete', link: true },
        { path: 'dangling', change: 'move', moved_to: 'moved', link: true },
      ],
    },
  })
  expect(existsSync(join(workspace, 'target.json'))).toBe(true)
  expect(lstatSync(join(workspace, 'moved')).isSymbolicLink()).toBe(true)
  expect(readdirSync(workspace).toSorted()).toEqual(['moved', 'target.json'])
  const refused = await opened.call('apply_patch', { patch: '*** Begin Patch\n*** Delete File: target.json\n*** End Patch\n' })
  expect(refused).toMatchObject({ type: 'error', metadata: { code: 'permission_denied' } })
  await opened.close()
})

test('an id that is no text names no tool', async () => {
  const { opened } = await session()
  for (const id of [['read'], { toString: () => 'read' }, 1, null]) {
    expect(await opened.call(id as never, { path: 'target.json' })).toMatchObject({ type: 'error', metadata: { code: 'unknown_tool' } })
  }
  await opened.close()
})

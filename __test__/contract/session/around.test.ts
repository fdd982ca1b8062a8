import { execFileSync } from 'node:child_process'
import { mkdirSync, readdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { makeSandbox, type Sandbox } from '../../support/sandbox.ts'
import { allowAll, dataOf, openSession } from '../scene.ts'

// What lies around the workspace of a session: the repository of a linked work tree, and directories that are granted.
const GIT = 'git -c user.name=a -c user.email=a@b -c init.defaultBranch=main'
const git = (directory: string, script: string): string =>
  execFileSync('sh', ['-c', script.replaceAll(/\bgit\b/gu, GIT)], { cwd: directory, encoding: 'utf8' })

const openWith = async (fixture: Sandbox, root: string, fs: { read?: string[]; write?: string[] } = {}) => {
  const { call } = await openSession(
    { ...fixture, root },
    {
      manifest: {
        name: 'test',
        permissions: allowAll,
        requires: { fs: { read: ['{workspace}/**', ...(fs.read ?? [])], write: ['{workspace}/**', ...(fs.write ?? [])] } },
      },
    },
  )
  return async (command: string) => {
    const envelope = await call('bash', { command })
    const { stdout, stderr, exit_code: code } = dataOf<{ stdout: string; stderr: string; exit_code: number }>(envelope)
    return { code, output: stdout + stderr, notes: (envelope.metadata.notes ?? []).join(' ') }
  }
}

describe('a repository outside of the workspace', () => {
  const scene = () => {
    const fixture = makeSandbox()
    const main = join(fixture.outside, 'main')
    mkdirSync(join(main, 'packages/p'), { recursive: true })
    writeFileSync(join(main, 'packages/p/a'), 'x\n')
    git(main, 'git init -q . && git add . && git commit -qm one && git worktree add -q -b tree ../tree')
    return { fixture, main, repository: join(main, '.git') }
  }

  test('of a linked work tree is named with what to grant, and the grant is enough to commit', async () => {
    const { fixture, repository } = scene()
    const tree = join(fixture.outside, 'tree')
    const refused = await (await openWith(fixture, tree))(`${GIT} status`)
    expect(refused).toMatchObject({ code: 128, notes: expect.stringContaining(`fs.read and fs.write for \`${repository}/**\``) as string })
    const grant = [`${repository}/**`]
    const run = await openWith(fixture, tree, { read: grant, write: grant })
    expect(await run(`echo y > b && ${GIT} add b && ${GIT} commit -qm two && ${GIT} log --format=%s`)).toEqual({
      code: 0,
      output: 'two\none\n',
      notes: '',
    })
    expect(git(tree, 'git log --format=%s; git status --porcelain')).toBe('two\none\n')
  })

  test('of a directory above is the same, whether it is seen or not', async () => {
    const { fixture, main, repository } = scene()
    const root = join(main, 'packages/p')
    const around = [`${main}/**`]
    const hidden = await (await openWith(fixture, root))(`echo y > b && ${GIT} add b`)
    const both = `fs.read for \`${main}/**\` and fs.write for \`${repository}/**\``
    expect(hidden).toMatchObject({ code: 128, notes: expect.stringContaining(both) as string })
    const seen = await (await openWith(fixture, root, { read: around }))(`${GIT} add b`)
    expect(seen).toMatchObject({ code: 128, notes: expect.stringContaining(`fs.write for \`${repository}/**\``) as string })
    const run = await openWith(fixture, root, { read: around, write: [`${repository}/**`] })
    expect(await run(`${GIT} add b && ${GIT} commit -qm two && ${GIT} log --format=%s`)).toMatchObject({ code: 0, output: 'two\none\n' })
    // What has no repository says so, without a note.
    const elsewhere = await (await openWith(fixture, root))(`mkdir -p /tmp/other && cd /tmp/other && ${GIT} status`)
    expect(elsewhere).toMatchObject({ code: 128, notes: '' })
  })
})

test('a grant that is named by a link is seen under that name', async () => {
  const fixture = makeSandbox()
  const real = join(fixture.outside, 'real')
  mkdirSync(real)
  writeFileSync(join(real, 'f'), 'granted\n')
  const link = join(fixture.outside, 'link')
  symlinkSync(real, link)
  const run = await openWith(fixture, fixture.root, { read: [`${link}/**`], write: [`${link}/**`] })
  expect(await run(`cat ${link}/f ${real}/f && echo more > ${link}/g`)).toEqual({ code: 0, output: 'granted\ngranted\n', notes: '' })
  expect(readdirSync(real)).toEqual(['f', 'g'])
  const only = await openWith(fixture, fixture.root, { read: [`${link}/**`] })
  expect(await only(`cat ${link}/f`)).toMatchObject({ code: 0, output: 'granted\n' })
  expect((await only(`echo x > ${link}/h`)).code).not.toBe(0)
})

import { chmodSync, lchownSync, mkdirSync, renameSync, symlinkSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { dirname, join } from 'node:path'
import fc from 'fast-check'
import { describe, expect, onTestFinished, test } from 'vitest'
import { parseSkill } from '../../../ts/contract/skills/skill-file.ts'
import { readPlainFile } from '../../../ts/contract/skills/skill-file.ts'
import { wrapSkill } from '../../../ts/contract/skills/skill-index.ts'
import { makeSandbox } from '../../support/sandbox.ts'
import { dataOf, failureOf, openSession } from '../scene.ts'

const skill = (name: string, description: string, body = `Body of ${name}.`): string =>
  `---\nname: ${name}\ndescription: ${description}\n---\n\n${body}\n`

/** A workspace `project/sub`, a home, and directories of other sources, all below one directory. */
function places() {
  const fixture = makeSandbox()
  const make = (path: string): string => {
    mkdirSync(fixture.at(path), { recursive: true })
    return fixture.at(path)
  }
  const put = (path: string, text: string): void => {
    make(dirname(path))
    writeFileSync(fixture.at(path), text)
  }
  return {
    fixture,
    put,
    workspace: make('project/sub'),
    home: make('home'),
    bundled: make('bundled'),
    configured: make('configured'),
    userData: make('data'),
  }
}

const open = ({ fixture, workspace, home, bundled, configured, userData }: ReturnType<typeof places>, url?: string) =>
  openSession(fixture, {
    workspace,
    userData,
    skills: { home },
    manifest: { name: 'test', skills: [{ path: configured }, ...(url === undefined ? [] : [{ url }]), { bundled }] },
  })

async function serve(answer: () => string): Promise<{ url: string; hits: () => number }> {
  let hits = 0
  const server = createServer((_, response) => {
    hits += 1
    response.end(answer())
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void server.close())
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/SKILL.md`, hits: () => hits }
}

describe('discovery', () => {
  test('R56 the order is project, home, bundled, configured, remote; the first of a name wins, and the others are told', async () => {
    const at = places()
    const order = [
      'project/sub/.agents/skills',
      'project/sub/.claude/skills',
      'project/.agents/skills',
      'project/.claude/skills',
      'home/.agents/skills',
      'home/.claude/skills',
      'bundled',
      'configured',
    ]
    // The nth name is in the nth place and in all after it.
    for (const [index, place] of order.entries()) {
      for (let name = 0; name <= index; name += 1) at.put(`${place}/s${name}/SKILL.md`, skill(`s${name}`, `from ${place}`))
    }
    const { url } = await serve(() => skill('s0', 'from afar'))
    const session = await open(at, url)
    expect(session.skills).toEqual(order.map((place, index) => ({ name: `s${index}`, description: `from ${place}` })))
    expect(session.warnings).toHaveLength((order.length * (order.length - 1)) / 2 + 1)
    expect(session.warnings.join('\n')).toMatch(/Skill s0 of .*left out/u)
  })

  test('R56 a remote skill is kept below userData, and not fetched again', async () => {
    const at = places()
    const { url, hits } = await serve(() => skill('afar', 'Remote'))
    for (let round = 0; round < 2; round += 1) {
      const session = await open(at, url)
      expect(dataOf(await session.call('skill', { name: 'afar' })).content).toContain('Body of afar.')
    }
    expect(hits()).toBe(1)
  })

  test('R57 the index is fixed when the session begins, and the prompt holds no body', async () => {
    const at = places()
    at.put('project/.agents/skills/one/SKILL.md', skill('one', '"When <b>one</b>\n  is needed"', 'SECRET BODY'))
    const session = await open(at)
    at.put('project/.agents/skills/two/SKILL.md', skill('two', 'Later'))
    expect(session.skills.map(({ name }) => name)).toEqual(['one'])
    const prompt = session.skillsPrompt()
    expect(prompt).toContain('one: When &lt;b>one&lt;/b> is needed')
    expect(prompt).not.toContain('SECRET BODY')
    expect(failureOf(await session.call('skill', { name: 'two' })).code).toBe('invalid_arguments')
  })

  test('R57 without skills the prompt is empty', async () => {
    expect((await open(places())).skillsPrompt()).toBe('')
  })

  test('R58 the home directory is no part of the project, also when the workspace is below it', async () => {
    const at = places()
    at.put('home/.agents/skills/mine/SKILL.md', skill('mine', 'Of the user'))
    at.put('home/work/.agents/skills/mine/SKILL.md', skill('mine', 'Of the project'))
    const session = await openSession(at.fixture, { workspace: join(at.home, 'work'), skills: { home: at.home } })
    expect(session.skills).toEqual([{ name: 'mine', description: 'Of the project' }])
    const without = await openSession(at.fixture, { workspace: join(at.home, 'work'), skills: { home: at.home, project: false } })
    expect(without.skills).toEqual([{ name: 'mine', description: 'Of the user' }])
    const none = await openSession(at.fixture, { workspace: at.home, skills: { home: false, project: false } })
    expect(none.skills).toEqual([])
  })

  test.each<[string, string | Uint8Array]>([
    ['no frontmatter', 'Just text'],
    ['an open frontmatter', '---\nname: bad\ndescription: x\n'],
    ['broken YAML', '---\nname: [bad\n---\n'],
    ['no name', '---\ndescription: x\n---\n'],
    ['no description', '---\nname: bad\n---\n'],
    ['a name that is no name', '---\nname: ../bad\ndescription: x\n---\n'],
    ['a name in capitals', '---\nname: Bad\ndescription: x\n---\n'],
    ['a list', '---\n- name: bad\n---\n'],
    [
      'too many aliases',
      `---\na: &a [x,x,x,x,x,x,x,x,x]\n${'bcdefghi'
        .split('')
        .map((key, index) => `${key}: &${key} [${Array(9).fill(`*${'abcdefgh'[index]}`).join(',')}]`)
        .join('\n')}\nname: bad\ndescription: x\n---\n`,
    ],
    ['text that is not UTF-8', Buffer.concat([Buffer.from(skill('bad', 'x')), Buffer.from([0xff, 0xfe])])],
    ['too many bytes', skill('bad', 'x', 'x'.repeat(1_000_001))],
  ])('R58 skipped with a warning: %s', async (_what, text) => {
    const at = places()
    at.put('project/.agents/skills/good/SKILL.md', skill('good', 'Good'))
    at.put('project/.agents/skills/bad/SKILL.md', '')
    writeFileSync(at.fixture.at('project/.agents/skills/bad/SKILL.md'), text)
    const session = await open(at)
    expect(session.skills.map(({ name }) => name)).toEqual(['good'])
    expect(session.warnings).toEqual([expect.stringMatching(/bad\/SKILL\.md is left out: /u)])
  })

  test.each(['.agents', '.agents/skills', '.claude/skills'])('R58 a link is refused where %s should be', async (folder) => {
    const at = places()
    at.put('elsewhere/skills/linked/SKILL.md', skill('linked', 'x', 'SECRET'))
    mkdirSync(join(at.fixture.at('project'), dirname(folder)), { recursive: true })
    symlinkSync(at.fixture.at(folder === '.agents' ? 'elsewhere' : 'elsewhere/skills'), join(at.fixture.at('project'), folder))
    const session = await open(at)
    expect(session.skills).toEqual([])
    expect(session.warnings).toEqual([expect.stringMatching(/are left out: a link leads to them/u)])
    // In the user's own home it is the user's own choice.
    const own = await openSession(at.fixture, { workspace: at.home, skills: { home: at.fixture.at('project'), project: false } })
    expect(own.skills).toEqual([{ name: 'linked', description: 'x' }])
  })

  test('R58 links are refused: of the file, and of its directory', async () => {
    const at = places()
    at.put('elsewhere/SKILL.md', skill('linked', 'x', 'SECRET'))
    mkdirSync(at.fixture.at('project/.agents/skills/a'), { recursive: true })
    symlinkSync(at.fixture.at('elsewhere/SKILL.md'), at.fixture.at('project/.agents/skills/a/SKILL.md'))
    symlinkSync(at.fixture.at('elsewhere'), at.fixture.at('project/.agents/skills/b'))
    const session = await open(at)
    expect(session.skills).toEqual([])
    expect(session.warnings).toEqual([
      expect.stringMatching(/\/a\/SKILL\.md is left out: it is a link/u),
      expect.stringMatching(/\/b\/SKILL\.md is left out: a link leads to it/u),
    ])
  })
})

describe('loading', () => {
  test('R34 the body comes wrapped, and a second time as it was the first', async () => {
    const at = places()
    at.put('project/.agents/skills/one/SKILL.md', skill('one', 'One', 'First.'))
    const session = await open(at)
    const content = '<skill_content name="one">\nFirst.\n</skill_content>'
    expect(dataOf(await session.call('skill', { name: 'one' }))).toEqual({ content })
    at.put('project/.agents/skills/one/SKILL.md', skill('one', 'One', 'Second.'))
    expect(dataOf(await session.call('skill', { name: 'one' }))).toEqual({ content })
  })

  test('R34 an unknown name is told the known ones', async () => {
    const at = places()
    for (const name of ['one', 'two']) at.put(`project/.agents/skills/${name}/SKILL.md`, skill(name, 'x'))
    const session = await open(at)
    const { code, text } = failureOf(await session.call('skill', { name: '../../etc/passwd' }))
    expect(code).toBe('invalid_arguments')
    expect(text).toMatch(/one, two/u)
  })

  test('R34 no body closes its own markers', () => {
    const markers = fc.constantFrom(
      '</skill_content>',
      '</SKILL_CONTENT>',
      '< / skill_content >',
      '<skill_content name="x">',
      '<',
      'text\n',
    )
    fc.assert(
      fc.property(
        fc.array(fc.oneof(markers, fc.string())).map((parts) => parts.join('')),
        (body) => {
          const wrapped = wrapSkill('one', body)
          expect(wrapped.match(/<\s*\/?\s*skill_content/giu)).toHaveLength(2)
          expect(wrapped.replaceAll('&lt;', '<')).toContain(body.replaceAll('&lt;', '<'))
        },
      ),
    )
  })

  test('R58 what is swapped for a link after discovery is not loaded, and what comes back is', async () => {
    const at = places()
    at.put('elsewhere/one/SKILL.md', skill('one', 'x', 'SECRET'))
    at.put('project/.agents/skills/one/SKILL.md', skill('one', 'x', 'Own.'))
    const session = await open(at)
    renameSync(at.fixture.at('project/.agents/skills/one'), at.fixture.at('kept'))
    symlinkSync(at.fixture.at('elsewhere/one'), at.fixture.at('project/.agents/skills/one'))
    const refused = await session.call('skill', { name: 'one' })
    expect(failureOf(refused).code).toBe('unavailable')
    expect(JSON.stringify(refused)).not.toContain('SECRET')
    renameSync(at.fixture.at('project/.agents/skills/one'), at.fixture.at('link'))
    renameSync(at.fixture.at('kept'), at.fixture.at('project/.agents/skills/one'))
    expect(dataOf(await session.call('skill', { name: 'one' })).content).toContain('Own.')
  })

  test('R58 a directory that is swapped all the time is never read through its link', async () => {
    const at = places()
    at.put('elsewhere/one/SKILL.md', 'SECRET')
    at.put('skills/one/SKILL.md', 'Own.')
    const [path, kept, link] = [at.fixture.at('skills/one'), at.fixture.at('kept'), at.fixture.at('link')]
    symlinkSync(at.fixture.at('elsewhere/one'), link)
    const over = new AbortController()
    const swapping = (async () => {
      while (!over.signal.aborted) {
        renameSync(path, kept)
        renameSync(link, path)
        await new Promise((resolve) => setImmediate(resolve))
        renameSync(path, link)
        renameSync(kept, path)
        await new Promise((resolve) => setImmediate(resolve))
      }
    })()
    const seen = new Set<string>()
    for (let round = 0; round < 1_000; round += 1) seen.add(await readPlainFile(join(path, 'SKILL.md')).catch(() => 'refused'))
    over.abort()
    await swapping
    expect(seen).toContain('Own.')
    expect(seen).not.toContain('SECRET')
  })

  test('a pipe or a directory in place of the file holds nobody up', async () => {
    const at = places()
    mkdirSync(at.fixture.at('project/.agents/skills/one/SKILL.md'), { recursive: true })
    const session = await open(at)
    expect(session.warnings).toEqual([expect.stringMatching(/it is no file|EISDIR/u)])
  })

  test('any text either is a skill or is refused with a reason', async () => {
    await fc.assert(
      fc.asyncProperty(fc.string(), fc.string(), async (header, body) => {
        const parsed = await parseSkill(`---\n${header}\n---\n${body}`).catch((error: unknown) => error)
        if (parsed instanceof Error) expect(parsed.message).toMatch(/^it/u)
        else expect(parsed).toMatchObject({ name: expect.stringMatching(/^[a-z0-9-]+$/u) })
      }),
    )
  })
})

/** Only root can give files to another user. */
describe.skipIf(process.getuid?.() !== 0)('of another user', () => {
  const [other, owner] = [65_533, 65_532]
  const own = (fixture: ReturnType<typeof makeSandbox>, path: string, uid: number): void => lchownSync(fixture.at(path), uid, uid)

  test('R58 R59 neither skills nor instructions in the directories around the workspace', async () => {
    const at = places()
    at.put('project/.agents/skills/met/SKILL.md', skill('met', 'x'))
    at.put('project/.claude/skills/file/SKILL.md', skill('file', 'x'))
    at.put('project/AGENTS.md', 'Planted.')
    at.put('project/CLAUDE.md', 'Ours.')
    own(at.fixture, 'project/.agents/skills', other)
    own(at.fixture, 'project/.claude/skills/file/SKILL.md', other)
    own(at.fixture, 'project/AGENTS.md', other)
    const session = await open(at)
    expect(session.skills).toEqual([])
    expect(session.warnings.join('\n')).toMatch(
      /\.agents\/skills are left out: .*another user.*\n.*file\/SKILL\.md is left out: it belongs to another user/u,
    )
    const instructions = await session.projectInstructions()
    expect(instructions).toContain('Ours.')
    expect(instructions).not.toContain('Planted.')
  })

  test('R58 nor those of ours, to which a link of theirs leads', async () => {
    const at = places()
    at.put('downloads/.agents/skills/planted/SKILL.md', skill('planted', 'x'))
    symlinkSync(at.fixture.at('downloads/.agents'), at.fixture.at('project/.agents'))
    expect((await open(at)).warnings).toEqual([expect.stringMatching(/are left out: a link leads to them/u)])
    own(at.fixture, 'project/.agents', other)
    const session = await open(at)
    expect(session.skills).toEqual([])
    expect(session.warnings).toEqual([expect.stringMatching(/another user/u)])
  })

  test('R56 R59 but those of the owner of the workspace are taken, and what the host has chosen is', async () => {
    const at = places()
    at.put('project/sub/.agents/skills/one/SKILL.md', skill('one', 'x'))
    at.put('project/sub/AGENTS.md', 'Of the owner.')
    at.put('bundled/two/SKILL.md', skill('two', 'x'))
    for (const path of ['', '/.agents', '/.agents/skills', '/.agents/skills/one', '/.agents/skills/one/SKILL.md', '/AGENTS.md'])
      own(at.fixture, `project/sub${path}`, owner)
    for (const path of ['bundled', 'bundled/two', 'bundled/two/SKILL.md']) own(at.fixture, path, other)
    const session = await open(at)
    expect(session.skills.map(({ name }) => name)).toEqual(['one', 'two'])
    expect(session.warnings).toEqual([])
    expect(await session.projectInstructions()).toContain('Of the owner.')
  })
})

test('R59 instructions of the project are concatenated with the nearest last, within their limit', async () => {
  const at = places()
  at.put('project/AGENTS.md', 'Outer.')
  at.put('project/CLAUDE.md', 'Not taken: AGENTS.md is there.')
  at.put('project/sub/CONTEXT.md', 'Inner.')
  const session = await open(at)
  const text = await session.projectInstructions()
  expect(text.indexOf('Outer.')).toBeGreaterThan(0)
  expect(text.indexOf('Inner.')).toBeGreaterThan(text.indexOf('Outer.'))
  expect(text).not.toContain('Not taken')
  at.put('project/AGENTS.md', 'ä'.repeat(40_000))
  const cut = await session.projectInstructions()
  expect(Buffer.byteLength(cut)).toBeLessThanOrEqual(32_000)
  expect(cut).toMatch(/Inner\.$/u)
  chmodSync(at.fixture.at('project/AGENTS.md'), 0o000)
})

import { mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { basename } from 'node:path'
import { expect, test } from 'vitest'
import { makeSandbox, type Sandbox } from '../support/sandbox.ts'
import { connectTo } from './mcp-client.ts'

const SECRET = 'the secret beside the root'

interface Attack {
  tool: string
  args: (box: Sandbox) => Record<string, unknown>
}

const read = (path: (box: Sandbox) => string): Attack => ({ tool: 'read', args: (box) => ({ path: path(box) }) })
const write = (path: (box: Sandbox) => string): Attack => ({ tool: 'write', args: (box) => ({ path: path(box), content: 'taken' }) })
const edit = (path: (box: Sandbox) => string): Attack => ({
  tool: 'edit',
  args: (box) => ({ path: path(box), old_string: 'secret', new_string: 'taken' }),
})
const bash = (command: (box: Sandbox) => string): Attack => ({ tool: 'bash', args: (box) => ({ command: command(box) }) })
const out = (box: Sandbox): string => `${box.outside}/secret.txt`

/** The classes of attack that were reported against other servers for files and commands. */
const attacks: Record<string, Attack[]> = {
  'a path with the root as its prefix (CVE-2025-53110)': [
    read(({ root }) => `${root}-other/secret.txt`),
    write(({ root }) => `${root}-other/new.txt`),
    edit(({ root }) => `${root}-other/secret.txt`),
    { tool: 'glob', args: ({ root }) => ({ pattern: '**', path: `${root}-other` }) },
  ],
  'a link to a file outside (CVE-2025-53109)': [read(() => 'link.txt'), write(() => 'link.txt'), edit(() => 'link.txt')],
  'a link to a directory outside, for old and for new files (CVE-2025-53109, DesktopCommander #219)': [
    read(() => 'linked/secret.txt'),
    write(() => 'linked/new.txt'),
    edit(() => 'linked/secret.txt'),
    { tool: 'grep', args: () => ({ pattern: 'secret', path: 'linked' }) },
    { tool: 'glob', args: () => ({ pattern: '*', path: 'linked' }) },
  ],
  'a link whose target does not exist yet (servers #1845)': [write(() => 'dangling.txt')],
  'a chain of links': [read(() => 'chain/secret.txt'), write(() => 'chain/new.txt')],
  'steps up': [
    read(({ outside }) => `../${basename(outside)}/secret.txt`),
    read(({ outside }) => `inner/../../${basename(outside)}/secret.txt`),
    read(({ outside }) => `./inner/./..//../${basename(outside)}/secret.txt`),
    write(({ outside }) => `../${basename(outside)}/new.txt`),
    write(({ outside }) => `missing/../../${basename(outside)}/new.txt`),
    { tool: 'grep', args: () => ({ pattern: 'secret', path: '..' }) },
  ],
  'steps up in a pattern': [
    { tool: 'glob', args: ({ outside }) => ({ pattern: `../${basename(outside)}/*` }) },
    { tool: 'glob', args: ({ outside }) => ({ pattern: `${outside}/*` }) },
    { tool: 'grep', args: () => ({ pattern: 'secret', glob: '../**' }) },
  ],
  'steps up through a link': [read(({ outside }) => `linked/../${basename(outside)}/secret.txt`)],
  'an absolute path (cyanheads #21)': [read(out), write(({ outside }) => `${outside}/new.txt`), edit(out), read(() => '/etc/passwd')],
  'encoded steps': [
    read(({ outside }) => `%2e%2e/${basename(outside)}/secret.txt`),
    read(({ outside }) => `..%2f${basename(outside)}%2fsecret.txt`),
    read(({ outside }) => `..\\${basename(outside)}\\secret.txt`),
    read(({ outside }) => `\u{ff0e}\u{ff0e}/${basename(outside)}/secret.txt`),
  ],
  'a URL': [read((box) => `file://${out(box)}`)],
  'the home directory': [read(() => '~/.ssh/id_rsa'), write(({ outside }) => `~/../..${outside}/new.txt`)],
  'a NUL character that ends the path for the system': [read((box) => `inner/a.txt\0${out(box)}`), read((box) => `${out(box)}\0.txt`)],
  'what the kernel shows of the process': [
    read((box) => `/proc/self/root${out(box)}`),
    read((box) => `/proc/self/cwd/../${basename(box.outside)}/secret.txt`),
    read(() => '/proc/self/environ'),
    read(() => '/dev/fd/0'),
  ],
  'a command that names the file (CVE-2026-25871, DesktopCommander #403)': [
    bash((box) => `cat ${out(box)}`),
    bash(({ outside }) => `cd ../${basename(outside)} && cat secret.txt`),
    bash(({ outside }) => `cp ../${basename(outside)}/secret.txt . && cat secret.txt`),
    bash(({ outside }) => `echo taken > ${outside}/new.txt`),
    bash(() => 'cat link.txt linked/secret.txt'),
    bash((box) => `ln -s ${out(box)} fresh && cat fresh`),
  ],
  'a command that hides what it does from a check of its words (DesktopCommander #420)': [
    bash((box) => `sh -c 'ca''t ${out(box)}'`),
    bash((box) => `eval "$(echo Y2F0Cg== | base64 -d) ${out(box)}"`),
    bash((box) => `python3 -c "print(open('${out(box)}').read())"`),
    bash((box) => `x=${out(box)}; while read -r l; do echo "$l"; done < "$x"`),
    bash((box) => `/usr/bin/env cat ${out(box)}`),
    bash((box) => `tar cf - ${out(box)} | tar xOf -`),
  ],
  'a directory to run in': [{ tool: 'bash', args: ({ outside }) => ({ command: 'cat secret.txt', workdir: outside }) }],
}

test.each(Object.entries(attacks))('%s leads nowhere', async (_, rows) => {
  const box = makeSandbox()
  box.put('inner/a.txt', 'mine')
  mkdirSync(`${box.root}-other`)
  for (const folder of [box.outside, `${box.root}-other`]) writeFileSync(`${folder}/secret.txt`, SECRET)
  symlinkSync(out(box), box.at('link.txt'))
  symlinkSync(box.outside, box.at('linked'))
  symlinkSync('linked', box.at('chain'))
  symlinkSync(`${box.outside}/new.txt`, box.at('dangling.txt'))
  // Everything is allowed, so that nothing but the roots stands in the way.
  const { call } = await connectTo(box.root, '2026', { args: ['--allow', '*'] })
  for (const { tool, args } of rows) {
    const given = args(box)
    const result = await call(tool, given)
    expect([given, result.text.includes(SECRET) || result.text.includes('root:x:0')]).toEqual([given, false])
    // A search that finds nothing and a command that fails are results.
    const harmless = result.isError || tool === 'bash' || tool === 'glob' || tool === 'grep'
    expect([given, result.text, harmless]).toEqual([given, result.text, true])
    if (tool === 'glob') expect([given, result.text.includes('secret.txt')]).toEqual([given, false])
    for (const folder of [box.outside, `${box.root}-other`]) {
      expect([given, readdirSync(folder)]).toEqual([given, ['secret.txt']])
      expect(readFileSync(`${folder}/secret.txt`, 'utf8')).toBe(SECRET)
    }
  }
})

/** What was reported against lists of allowed commands: a rule allows its words alone. */
test.each([
  'echo a; touch taken',
  'echo a && touch taken',
  'echo a | tee taken',
  'echo a\ntouch taken',
  'echo $(touch taken)',
  'echo `touch taken`',
  'echo <(touch taken)',
  'echo a > taken',
  'echo a & touch taken',
  'FOO=1 touch taken',
  '/bin/sh -c "touch taken"',
  'env touch taken',
  'echoo; touch taken',
])('--allow "bash:echo *" does not allow %j', async (command) => {
  const box = makeSandbox()
  const { call } = await connectTo(box.root, '2026', { args: ['--allow', 'bash:echo *'] })
  expect(await call('bash', { command })).toMatchObject({ code: 'permission_unattended' })
  expect(readdirSync(box.root)).not.toContain('taken')
})

import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { makeSandbox } from '../../../support/sandbox.ts'
import { dataOf, failureOf, manifest, openScene, openSession, rule } from '../../scene.ts'

/** Sets variables of this process for one test. */
function withVariables(variables: Record<string, string>): void {
  const before = Object.keys(variables).map((name) => [name, process.env[name]] as const)
  Object.assign(process.env, variables)
  onTestFinished(() => {
    for (const [name, value] of before) {
      if (value === undefined) delete process.env[name]
      else process.env[name] = value
    }
  })
}

/** A PATH with a few programs of the system, and no bash. */
function pathWithoutBash(more: Record<string, string> = {}): string {
  const directory = mkdtempSync(join(tmpdir(), 'path-'))
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }))
  const programs = [
    'sh',
    'cat',
    'tr',
    'sed',
    'cut',
    'seq',
    'printf',
    'echo',
    'env',
    'ls',
    'grep',
    'sleep',
    'true',
    'false',
    'test',
    'mkdir',
    'rm',
  ]
  for (const name of programs) symlinkSync(`/bin/${name}`, join(directory, name))
  for (const [name, text] of Object.entries(more)) {
    writeFileSync(join(directory, name), text)
    chmodSync(join(directory, name), 0o755)
  }
  return directory
}

/** A line for bash, what it prints, what the refusal of `sh` calls it, and the line that says the same to `sh`. */
const constructs: readonly [line: string, printed: string, found: string, portable: string | undefined][] = [
  ['sh -c "exit 1" &> o && echo PASSED; cat o', '', '&> file', 'sh -c "exit 1" > o 2>&1 && echo PASSED; cat o'],
  ['echo a &>> o; cat o', 'a\n', '&>> file', 'echo a >> o 2>&1; cat o'],
  ['[[ a == b ]] || echo other', 'other\n', '[[ … ]]', '[ a = b ] || echo other'],
  ['arr=(a b); echo "${arr[1]}"', 'b\n', 'name=(…)', 'set -- a b; echo "$2"'],
  ['set -o pipefail; false | true || echo failed', 'failed\n', 'pipefail', 'false > o && true < o || echo failed'],
  ['echo "x=1" > v; source ./v; echo $x', '1\n', 'source file', 'echo "x=1" > v; . ./v; echo $x'],
  ['cat <(echo a)', 'a\n', '<(command)', 'echo a | cat'],
  ['cat <<< text', 'text\n', '<<< text', "printf '%s\\n' text | cat"],
  ['echo {1..3}', '1 2 3\n', '{a,b}', 'echo $(seq 1 3)'],
  ['echo {a,b}', 'a b\n', '{a,b}', 'echo a b'],
  ["echo $'a\\tb'", 'a\tb\n', "$'…'", 'echo "$(printf \'a\\tb\')"'],
  ['sh -c "echo e >&2" |& tr e f', 'f\n', 'a |& b', 'sh -c "echo e >&2" 2>&1 | tr e f'],
  ['function f { echo f; }; f', 'f\n', 'function name', 'f() { echo f; }; f'],
  ['i=1; ((i += 2)); echo $i', '3\n', '((…))', 'i=1; i=$((i + 2)); echo $i'],
  ['for ((i = 0; i < 2; i++)); do echo $i; done', '0\n1\n', 'for ((…))', 'i=0; while [ "$i" -lt 2 ]; do echo $i; i=$((i + 1)); done'],
  ['x=ab; echo "${x^^}"', 'AB\n', '${name^^}', "x=ab; printf '%s\\n' \"$x\" | tr '[:lower:]' '[:upper:]'"],
  ['x=y y=1; echo "${!x}"', '1\n', '${!name}', 'x=y y=1; echo "$y"'],
  ['x=aba; echo "${x/a/c}"', 'cba\n', '${name/a/b}', "x=aba; printf '%s\\n' \"$x\" | sed 's/a/c/'"],
  ['x=abc; echo "${x:1:1}"', 'b\n', '${name:1:2}', 'x=abc; printf \'%s\\n\' "$x" | cut -c2-2'],
  ['x=a; x+=b; echo $x', 'ab\n', 'name+=value', 'x=a; x="${x}b"; echo $x'],
  ["echo -e 'a\\tb'", 'a\tb\n', 'echo -e', "printf 'a\\tb\\n'"],
  ['[ a == a ] && echo same', 'same\n', '[ a == b ]', '[ a = a ] && echo same'],
  ['case x in x) echo 1;& y) echo 2;; esac', '1\n2\n', ';&', 'case x in x) echo 1; echo 2;; y) echo 2;; esac'],
  ['coproc { echo a; }; cat <&"${COPROC[0]}"; wait', 'a\n', 'coproc', undefined],
  ['select x in a b; do echo $x; break; done <<< 2 2> o', 'b\n', 'select', undefined],
]

describe('bash', () => {
  test.each(constructs)('%s', async (line, printed) => {
    const { call } = await openScene()
    expect(dataOf(await call('bash', { command: line })).stdout).toBe(printed)
  })

  test('a test that fails and writes its output to a file does not pass', async () => {
    const { call, text } = await openScene()
    const command = 'sh -c "echo 1 failing; exit 1" &> log && echo PASSED'
    expect(dataOf(await call('bash', { command }))).toEqual({ stdout: '', stderr: '', exit_code: 1, signal: null, timed_out: false })
    expect(text('log')).toBe('1 failing\n')
  })

  test('it reads no startup file, no functions and no options of the environment', async () => {
    const { call, put, root, outside } = await openScene()
    put('startup', 'echo startup\nls() { echo function; }\n')
    withVariables({
      HOME: outside,
      BASH_ENV: join(root, 'startup'),
      ENV: join(root, 'startup'),
      SHELLOPTS: 'noglob:xtrace',
      BASHOPTS: 'expand_aliases:extglob',
      PS4: '$(echo hacked)',
      POSIXLY_CORRECT: '1',
      BASH_COMPAT: '31',
      CDPATH: '/',
      GLOBIGNORE: '*',
      'BASH_FUNC_echo%%': '() { command echo hacked; }',
    })
    for (const name of ['.bashrc', '.bash_profile', '.profile', '.bash_login']) writeFileSync(join(outside, name), 'echo startup\n')
    const command =
      'echo a; shopt -q expand_aliases || echo none; echo s*; set -x; : b; set +x; [[ -o posix ]] || echo bash; cd tmp 2> /dev/null || echo here'
    const { stdout, stderr } = dataOf(await call('bash', { command }))
    expect(stdout).toBe('a\nnone\nstartup\nbash\nhere\n')
    expect(stderr).toBe('+ : b\n+ set +x\n')
    const before = dataOf(await call('bash', { command: 'env | grep -c "^BASH_\\|^ENV=\\|^PS4=\\|^POSIXLY" ; true' }))
    expect(before.stdout).toBe('0\n')
  })

  test('a line that begins with a dash is a line, and errors name the line', async () => {
    const { call } = await openScene()
    expect(dataOf(await call('bash', { command: '-i' }))).toMatchObject({
      exit_code: 127,
      stderr: expect.stringMatching(/\/bash: line 1: -i: command not found\n$/u),
    })
    const inSh = await openScene({ shell: 'sh' })
    expect(dataOf(await inSh.call('bash', { command: '-i' })).exit_code).toBe(127)
  })

  test('a rule for ls lets nothing else run, in any of the words of bash', async () => {
    const { call, put, text } = await openScene(manifest([rule('bash ls allow'), rule('bash ls * allow')]))
    put('kept', 'kept')
    for (const command of [
      'ls &> /dev/null; rm kept',
      'ls & rm kept',
      'ls |& rm kept',
      '{rm,-f,kept}',
      'r{m,} kept',
      "$'rm' kept",
      'ls <(rm kept)',
      'ls > >(rm kept)',
      'ls <<< "$(rm kept)"',
      '[[ $(rm kept) ]]',
      "[[ -v 'a[$(rm kept)]' ]]",
      '((a[$(rm kept)0]))',
      'a=($(rm kept))',
      'function ls { rm kept; }; ls',
      'coproc rm kept; ls',
      'time rm kept',
      '! rm kept',
      'x=RM; ${x,,} kept',
      'x=rm y=x; ${!y} kept',
      'select x in a; do rm kept; done',
      'case x in x) ls;& y) rm kept;; esac',
      'source <(echo rm kept)',
      'shopt -s expand_aliases; alias ls="rm kept"\nls',
      'ls > kept',
      'ls &> kept',
      'ls >& kept',
    ]) {
      expect(failureOf(await call('bash', { command })).code, command).toBe('permission_unattended')
    }
    expect(text('kept')).toBe('kept')
    for (const command of ['ls &> /dev/null', 'ls kept |& ls', 'time ls', 'ls <<< x']) {
      expect(dataOf(await call('bash', { command })).exit_code, command).toBe(0)
    }
  })

  test('the watchdog and the prompt see the line as bash reads it', async () => {
    const seen: unknown[] = []
    const { call } = await openScene({
      ...manifest([]),
      watchdog: ({ commands }) => {
        seen.push(commands?.map(({ text, redirects }) => [text, redirects]))
        return { action: 'allow' }
      },
      host: {
        prompt: ({ subjects, rules }) => {
          seen.push(
            subjects.map(({ resource }) => resource),
            rules?.map(({ pattern }) => pattern),
          )
          return { decision: 'reject_once' }
        },
      },
    })
    await call('bash', { command: 'npm test &> log && echo ok' })
    await call('bash', { command: 'npm test |& cat' })
    expect(seen).toEqual([
      [
        ['npm test', [{ operator: '&>', path: 'log' }]],
        ['echo ok', []],
      ],
      ['npm test', 'echo ok'],
      [],
      [
        ['npm test', []],
        ['cat', []],
      ],
      ['npm test', 'cat'],
      ['npm test', 'cat'],
    ])
  })
})

describe('sh', () => {
  test.each(constructs)('%s is refused, and what is to be written instead works', async (line, printed, found, portable) => {
    const { call } = await openScene({ shell: 'sh' })
    const { code, text } = failureOf(await call('bash', { command: line }))
    expect(code).toBe('invalid_arguments')
    expect(text).toContain(`\`${found}\` is syntax of bash, and commands run with sh here`)
    expect(text).toMatch(/Nothing was run\. Instead, write .+\.$/u)
    if (portable !== undefined) expect(dataOf(await call('bash', { command: portable })).stdout).toBe(printed)
  })

  test('the words of the refusals', async () => {
    const { call } = await openScene({ shell: 'sh' })
    const texts: string[] = []
    for (const [line] of constructs) texts.push(`${line}\n  ${failureOf(await call('bash', { command: line })).text}`)
    expect(texts.join('\n')).toMatchSnapshot()
  })

  test('nothing of a refused line runs, and rules are not asked', async () => {
    const { call, root } = await openScene({ shell: 'sh', ...manifest([rule('bash * deny')]) })
    expect(failureOf(await call('bash', { command: 'touch made; sh -c "exit 1" &> o && echo PASSED' })).code).toBe('invalid_arguments')
    expect(() => readFileSync(join(root, 'made'))).toThrow(/ENOENT/u)
  })

  test('a line for another shell is not refused', async () => {
    const { call } = await openScene({ shell: 'sh' })
    expect(dataOf(await call('bash', { command: "bash -c '[[ a == a ]] && echo same'" })).stdout).toBe('same\n')
  })
})

describe('which shell', () => {
  const descriptionOf = (session: { registered: readonly { id: string; description: string }[] }): string =>
    session.registered.find(({ id }) => id === 'bash')?.description ?? ''

  test('the description names it, for the model too', async () => {
    const bash = await openScene()
    const sh = await openScene({ shell: 'sh', limits: { bashBytes: 5_000 } })
    expect([descriptionOf(bash.session), descriptionOf(sh.session)]).toMatchSnapshot()
    expect((bash.session.tools['bash'] as { description?: string }).description).toBe(descriptionOf(bash.session))
  })

  test('without bash in PATH it is sh, and bash cannot be asked for', async () => {
    withVariables({ PATH: pathWithoutBash() })
    const { call, session } = await openScene()
    expect(descriptionOf(session)).toContain('with sh -c')
    expect(failureOf(await call('bash', { command: 'sh -c "exit 1" &> o && echo PASSED' })).code).toBe('invalid_arguments')
    expect(dataOf(await call('bash', { command: 'sh -c "exit 1" > o 2>&1 && echo PASSED; echo $?' })).stdout).toBe('1\n')
    await expect(openScene({ shell: 'bash' })).rejects.toMatchObject({ code: 'INVALID_INPUT' })
  })

  test('it is looked up once: a PATH that changes later changes nothing', async () => {
    const { call } = await openScene()
    withVariables({ PATH: pathWithoutBash() })
    expect(dataOf(await call('bash', { command: '[[ a == a ]] && echo bash' })).stdout).toBe('bash\n')
  })

  test('a bash that commands could have made is passed over, and so are relative directories and busybox', async () => {
    const fixture = makeSandbox()
    const fake = '#!/bin/sh\necho fake\n'
    fixture.put('bin/bash', fake)
    chmodSync(fixture.at('bin/bash'), 0o755)
    const elsewhere = pathWithoutBash()
    symlinkSync(fixture.at('bin/bash'), join(elsewhere, 'bash'))
    const applet = pathWithoutBash({ busybox: fake })
    symlinkSync(join(applet, 'busybox'), join(applet, 'bash'))
    const directory = pathWithoutBash()
    mkdirSync(join(directory, 'bash'))
    for (const path of [`${fixture.at('bin')}:${pathWithoutBash()}`, elsewhere, `bin:.::${pathWithoutBash()}`, applet, directory]) {
      withVariables({ PATH: path })
      const session = await openSession(fixture)
      expect(descriptionOf(session)).toContain('with sh -c')
      expect(JSON.stringify(await session.call('bash', { command: 'echo true' }))).not.toContain('fake')
    }
  })

  test('an option that is none is refused', async () => {
    await expect(openScene({ shell: 'zsh' as 'bash' })).rejects.toMatchObject({ code: 'INVALID_INPUT' })
  })
})

import { readdirSync } from 'node:fs'
import { openJournal } from 'toolwright'
import { providerExecutors, type ProviderExecutorsOptions } from 'toolwright/providers'
import { describe, expect, onTestFinished, test } from 'vitest'
import { expectGone, sleepingMark } from '../support/processes.ts'
import { refusal } from '../support/refusal.ts'
import { makeSandbox } from '../support/sandbox.ts'

function session(options: ProviderExecutorsOptions = {}) {
  const fixture = makeSandbox()
  const executors = providerExecutors({ rootDir: fixture.root, env: { set: { GIVEN: 'given' } }, ...options })
  onTestFinished(() => executors.close())
  const { bash } = executors.anthropic
  const out = async (command: string): Promise<string> => (await bash({ command })).stdout
  return { fixture, executors, bash, out, run: (command: string) => bash({ command }) }
}

describe('R6: what stays from one command to the next', () => {
  test('the directory, variables, arrays, functions, aliases, options and the file mask', async () => {
    const { fixture, run, out } = session()
    await run(
      [
        'mkdir -p "a dir/b"; cd "a dir"; cd b',
        `export EXPORTED='it'"'"'s $HOME'; PLAIN=$'two\\nlines\\t\\x01'; declare -i NUMBER=3; readonly FIXED=fixed`,
        'LIST=(one "two three" [7]=seven); declare -A MAP=([key]="a value" [other]=b)',
        'greet() { echo "hello $1"; }; exported_greet() { greet exported; }; export -f exported_greet greet',
        "alias say='echo said'; shopt -s extglob expand_aliases; set -o pipefail; umask 027; GIVEN=changed",
      ].join('\n'),
    )
    expect(await out('pwd; echo "$OLDPWD"')).toBe(`${fixture.root}/a dir/b\n${fixture.root}/a dir\n`)
    expect(await out('printf "%s|" "$EXPORTED" "$PLAIN" "$FIXED" "$GIVEN"; env | grep -c "^EXPORTED="')).toBe(
      "it's $HOME|two\nlines\t\u0001|fixed|changed|1\n",
    )
    expect(await out('NUMBER+=4; echo $NUMBER ${#LIST[@]} "${LIST[1]}" "${LIST[7]}" "${MAP[key]}"')).toBe('7 3 two three seven a value\n')
    expect(await out('greet you; bash -c exported_greet; say it; echo @(a|b); umask; false | true || echo pipefail')).toBe(
      'hello you\nhello exported\nsaid it\n@(a|b)\n0027\npipefail\n',
    )
    expect(await out('cd - > /dev/null; pwd')).toBe(`${fixture.root}/a dir\n`)
    await run('unset PLAIN LIST GIVEN; unset -f greet; unalias say')
    expect(await out('echo "${PLAIN-none} ${LIST-none} ${GIVEN-none}"; type -t greet say')).toBe('none none none\n')
  })

  test('nothing of the session itself is seen by commands, and nothing of one session by another', async () => {
    const { out } = session()
    const other = session()
    await other.run('OTHERS=1; cd /')
    expect(await out('set | grep -c toolwright; env | grep -c __toolwright; declare -F; echo "$# [$OTHERS]"; pwd | grep -c root')).toMatch(
      /^\d+\n0\n0 \[\]\n1\n$/u,
    )
    expect(await out('trap; declare -p nothing 2>&1')).not.toContain('given')
  })

  test('a directory that is gone is reported, and the command starts in the root', async () => {
    const { fixture, run } = session()
    await run('mkdir gone; cd gone')
    await run('rmdir ../gone')
    const { stdout, stderr } = await run('pwd')
    expect(stdout).toBe(`${fixture.root}\n`)
    expect(stderr).toBe(`[The directory ${fixture.root}/gone is gone. The command starts in ${fixture.root}.]\n`)
  })

  test('a restart forgets everything; its text is the documented one', async () => {
    const { run, bash, out } = session()
    await run('X=1; mkdir d; cd d')
    expect(await bash({ restart: true })).toEqual({ stdout: 'tool has been restarted.', stderr: '', exitCode: 0 })
    expect(await out('echo "[$X]"; pwd | grep -c "/d$"')).toBe('[]\n0\n')
    await run('X=1')
    expect((await bash({ restart: true, command: 'echo "[$X]"' })).stdout).toBe('[]\n')
  })
})

describe('R7: commands that fight the session', () => {
  test.each([
    ['exit', 'KEPT=yes; exit 7', 7, 'yes'],
    ['set -e', 'KEPT=yes; set -e; false; echo never', 1, 'yes'],
    ['set -u', 'KEPT=yes; set -u; echo $nothing; echo never', 127, 'yes'],
    ['exec', 'KEPT=yes; exec true', 0, 'before'],
    ['exec of its output', 'KEPT=yes; exec > /dev/null 2>&1; echo never', 0, 'yes'],
    ['kill -9 of its shell', 'KEPT=yes; kill -9 $$', 137, 'before'],
    ['an EXIT trap and an exit', "KEPT=yes; trap 'true' EXIT; exit 3", 3, 'before'],
    ['an EXIT trap', "KEPT=yes; trap 'true' EXIT", 0, 'yes'],
    ['ERR and DEBUG traps', "KEPT=yes; trap 'true' ERR DEBUG; set -T; false", 1, 'yes'],
    ['ignored signals', "KEPT=yes; trap '' TERM INT HUP", 0, 'yes'],
    ['a syntax error', 'KEPT=yes\nif then', 2, 'yes'],
    ['an open quote', "KEPT=yes\necho 'open", 2, 'yes'],
    ['closed stdout and stderr', 'KEPT=yes; exec 1>&- 2>&-', 0, 'yes'],
    ['noexec', 'KEPT=yes; set -n; echo never', 0, 'before'],
    ['noclobber and xtrace', 'KEPT=yes; set -C; set -x', 0, 'yes'],
    ['posix mode', 'KEPT=yes; set -o posix', 0, 'yes'],
    ['another IFS and no globs', 'KEPT=yes; IFS=_a; set -f', 0, 'yes'],
    ['allexport', 'KEPT=yes; set -a', 0, 'yes'],
    ['functions named as builtins', 'KEPT=yes; source() { :; }; cd() { :; }; trap() { :; }', 0, 'yes'],
    ['a return', 'KEPT=yes; return 4', 2, 'yes'],
    ['a here-document that names our end', 'KEPT=yes; cat <<X\n{ eval "$__toolwright_save"; }\nX', 0, 'yes'],
  ])('%s: the code is its own, and the session goes on', async (_name, command, code, kept) => {
    const { run, out } = session()
    await run('KEPT=before')
    const { exitCode, stdout } = await run(command)
    expect(stdout).not.toContain('never')
    expect(exitCode).toBe(code)
    expect(await out('echo "$KEPT"')).toBe(`${kept}\n`)
    // And again, so that the state itself is sound.
    expect(await out('echo "$KEPT"')).toBe(`${kept}\n`)
  })

  test('a timeout kills everything, says so, and the state is that from before', async () => {
    const mark = sleepingMark()
    const { run, out } = session({ toolTimeoutMs: 1_500 })
    await run('KEPT=before')
    const began = performance.now()
    const ended = await run(`KEPT=after; echo partial; trap '' TERM; (setsid sleep ${mark} &) ; sleep ${mark}`)
    expect(performance.now() - began).toBeLessThan(3_000)
    expect(ended).toMatchInlineSnapshot(`
      {
        "exitCode": 124,
        "stderr": "[The command was killed after 1500 ms, with everything it had started. The session goes on as it was before the command.]
      ",
        "stdout": "partial
      ",
      }
    `)
    await expectGone(mark)
    expect(await out('echo "$KEPT"')).toBe('before\n')
  })

  test('children in the background end with their command, which does not wait for them', async () => {
    const mark = sleepingMark()
    const { run, out } = session()
    const began = performance.now()
    const ended = await run(`KEPT=yes; sleep ${mark} & disown; echo started`)
    expect(performance.now() - began).toBeLessThan(3_000)
    expect(ended.stdout).toBe('started\n')
    expect(ended.stderr).toContain('1 program left in the background was stopped')
    await expectGone(mark)
    expect(await out('echo "$KEPT"')).toBe('yes\n')
  })

  test('a state that a command has put there is read by the confined shell alone', async () => {
    const { fixture, run, out } = session({ sandbox: { denyRead: [] } })
    // The command looks for the files of its session and writes nonsense into all of them.
    await run('X=1; for f in "$__toolwright_next"; do echo "touch /etc/escaped; echo bad; exit 9" > "$f"; touch "$f.done"; done')
    expect(await out('echo on')).toMatch(/^(?:on\n)?$/u)
    expect(readdirSync('/etc')).not.toContain('escaped')
    await run('true')
    expect(readdirSync(fixture.root).filter((name) => name !== '.git')).toEqual([])
  })

  test('100 random kills of the shell leave a session whose state is that of some earlier command', async () => {
    const { run, out } = session()
    await run('COUNT=0')
    let last = 0
    for (let nth = 1; nth <= 25; nth += 1) {
      await run(`COUNT=${nth}; (sleep 0.00${nth % 10}; kill -9 $$) & :`)
      const count = Number(await out('echo "$COUNT"'))
      expect(count === nth || count === last, `${count} after ${nth}`).toBe(true)
      last = count
    }
  })
})

describe('a call', () => {
  test('of one session waits for those before it', async () => {
    const { bash } = session()
    const ended = await Promise.all(['X=1; sleep 0.2', 'X=${X}2', 'echo $X'].map((command) => bash({ command })))
    expect(ended[2]?.stdout).toBe('12\n')
  })

  test('R13: is aborted with everything it has started, and the next one goes on', async () => {
    const mark = sleepingMark()
    const { bash, out, run } = session()
    await run('KEPT=before')
    const controller = new AbortController()
    const call = bash({ command: `KEPT=after; sleep ${mark} & sleep ${mark}` }, { abortSignal: controller.signal })
    setTimeout(() => controller.abort(), 200)
    await expect(call).rejects.toThrow(/abort/u)
    await expectGone(mark)
    expect(await out('echo "$KEPT"')).toBe('before\n')
  })

  test('that is refused throws, and the session stays', async () => {
    const { bash, out, run } = session()
    await run('KEPT=yes')
    expect((await refusal(bash({ command: 'curl https://example.com' }))).code).toBe('TOOL_NETWORK_DISABLED')
    expect((await refusal(bash({ command: 'git push' }))).code).toBe('TOOL_GIT_REMOTE_DISABLED')
    expect((await refusal(bash({}))).message).toContain('no command provided.')
    expect((await refusal(bash({ command: `echo ${'x'.repeat(200_000)}` }))).code).toBe('INVALID_INPUT')
    expect((await refusal(bash({ command: 'a\0b' }))).code).toBe('INVALID_INPUT')
    expect(await out('echo "$KEPT"')).toBe('yes\n')
  })

  test('is confined: no write outside of the root', async () => {
    const { fixture, run } = session()
    const { exitCode, stderr } = await run(`echo x > ${fixture.outside}/escaped`)
    expect(exitCode).not.toBe(0)
    expect(stderr).not.toBe('')
    expect(readdirSync(fixture.outside)).toEqual([])
  })

  test('R13: is recorded as a call of bash, with the command and its end', async () => {
    const journal = await openJournal('memory:')
    const { run } = session({ journal, runId: 'run' })
    await run('echo recorded; exit 3')
    const calls = await journal.listToolCalls('run', 'agent', 0)
    expect(calls).toMatchObject([{ toolName: 'bash', status: 'success', sideEffect: true }])
    expect(JSON.parse(calls[0]?.inputJson ?? '')).toEqual({ command: 'echo recorded; exit 3' })
    expect(JSON.parse(calls[0]?.outputJson ?? '')).toEqual({ stdout: 'recorded\n', stderr: '', exitCode: 3 })
    await journal.close()
  })
})

describe.skipIf(process.platform !== 'linux')('patches in commands of providers', () => {
  test('each has a row, whichever tool has run the command', async () => {
    const journal = await openJournal(':memory:')
    const { fixture, executors } = session({ journal, runId: 'r' })
    const patch = (name: string) => `apply_patch <<'EOF'\n*** Begin Patch\n*** Add File: ${name}\n+x\n*** End Patch\nEOF`
    await executors.anthropic.bash({ command: 'mkdir sub; cd sub' })
    await executors.anthropic.bash({ command: patch('a') })
    await executors.openai.shell({ action: { commands: [patch('b'), patch('c'), 'apply_patch x'] } })
    await executors.openai.localShell({ action: { type: 'exec', command: ['sh', '-c', patch('d')] } })
    expect([fixture.text('sub/a'), fixture.text('b'), fixture.text('c'), fixture.text('d')]).toEqual(['x\n', 'x\n', 'x\n', 'x\n'])
    const rows = await journal.listRun('r')
    expect(rows.map(({ toolName, seq, status }) => `${seq} ${toolName} ${status}`)).toEqual([
      '1 bash success',
      '2 bash success',
      '3 apply_patch success',
      '4 shell success',
      '5 apply_patch success',
      '6 apply_patch success',
      '7 apply_patch error',
      '8 local_shell success',
      '9 apply_patch success',
    ])
    expect(JSON.parse(rows[2]?.inputJson ?? '')).toMatchObject({ directory: 'sub', inside: { tool: 'bash', seq: 2 } })
    await journal.close()
  })
})

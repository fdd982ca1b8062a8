import { setTimeout as pause } from 'node:timers/promises'
import { expect } from 'vitest'
import { type Promises, printed, rejectsWith } from './promise.ts'

export const promisesOfRun: Promises = {
  'description: says something of the environment': async ({ session, base }) => {
    expect(session.description).toContain(base)
  },
  'run: gives exit code, stdout and stderr apart': async ({ session }) => {
    const result = await session.run({ command: 'echo out; echo err >&2; exit 3' })
    expect(result).toEqual({ exitCode: 3, stdout: 'out\n', stderr: 'err\n' })
  },
  'run: a command that is not there is a result': async ({ session }) => {
    expect((await session.run({ command: 'no-such-command-at-all' })).exitCode).toBe(127)
  },
  'run: starts in the base directory': async ({ session, base }) => {
    expect((await session.run({ command: 'pwd' })).stdout).toBe(`${base}\n`)
  },
  'run: cd affects only its own command': async (subject) => {
    await printed(subject, 'mkdir -p d && cd d && pwd')
    expect(await printed(subject, 'pwd')).toBe(`${subject.base}\n`)
  },
  'run: a relative workingDirectory begins at the base directory': async ({ session, base }) => {
    await session.run({ command: 'mkdir -p a/b' })
    expect((await session.run({ command: 'pwd', workingDirectory: 'a/b' })).stdout).toBe(`${base}/a/b\n`)
  },
  'run: an absolute workingDirectory is used as it is': async ({ session, base }) => {
    await session.run({ command: 'mkdir -p a/b' })
    expect((await session.run({ command: 'pwd', workingDirectory: `${base}/a` })).stdout).toBe(`${base}/a\n`)
  },
  'run: an absolute workingDirectory outside of the base directory': async ({ session }) => {
    await session.run({ command: 'mkdir -p /tmp/place/in' })
    expect((await session.run({ command: 'pwd', workingDirectory: '/tmp/place/in' })).stdout).toBe('/tmp/place/in\n')
  },
  'run: env is set for the command': async ({ session }) => {
    expect((await session.run({ command: 'echo "$WORD"', env: { WORD: 'here' } })).stdout).toBe('here\n')
  },
  'run: env reaches the programs of the command': async ({ session }) => {
    expect((await session.run({ command: 'bash -c \'echo "$WORD"\'', env: { WORD: 'inner' } })).stdout).toBe('inner\n')
  },
  'run: env is taken literally': async ({ session }) => {
    const WORD = 'a\'b"c $HOME `id` $(id) \\ \n* ; é'
    expect((await session.run({ command: 'printf %s "$WORD"', env: { WORD } })).stdout).toBe(WORD)
  },
  'run: env takes precedence over the default environment': async ({ session }) => {
    expect((await session.run({ command: 'echo "$HOME"', env: { HOME: '/other' } })).stdout).toBe('/other\n')
  },
  'run: env is gone with the command': async ({ session }) => {
    await session.run({ command: 'true', env: { WORD: 'here' } })
    expect((await session.run({ command: 'echo "[$WORD]"' })).stdout).toBe('[]\n')
  },
  'run: variables of a command are gone with it': async ({ session }) => {
    await session.run({ command: 'export WORD=here' })
    expect((await session.run({ command: 'echo "[$WORD]"' })).stdout).toBe('[]\n')
  },
  'run: pipes and redirections': async (subject) => {
    expect(await printed(subject, "printf 'b\\na\\n' | sort > sorted; cat < sorted")).toBe('a\nb\n')
  },
  'run: the grammar of bash': async (subject) => {
    expect(await printed(subject, 'x=(1 2 3); [[ ${#x[@]} == 3 ]] && echo "${x[@]:1}"')).toBe('2 3\n')
  },
  'run: several lines, with a document in them': async (subject) => {
    expect(await printed(subject, 'for n in 1 2; do\n  echo $n\ndone\ncat <<END\nlast\nEND')).toBe('1\n2\nlast\n')
  },
  'run: characters beyond ASCII': async (subject) => {
    expect(await printed(subject, "printf '%s' 'é 漢 😀'")).toBe('é 漢 😀')
  },
  'run: an output of 5 MB is whole': async (subject) => {
    const text = await printed(subject, "head -c 5000000 /dev/zero | tr '\\0' x")
    expect(text.length).toBe(5_000_000)
    expect(/^x+$/u.test(text)).toBe(true)
  },
  'run: no output at all': async ({ session }) => {
    expect(await session.run({ command: 'true' })).toEqual({ exitCode: 0, stdout: '', stderr: '' })
  },
  'run: input is at its end': async (subject) => {
    expect(await printed(subject, 'cat; echo end')).toBe('end\n')
  },
  'run: exit codes up to 255': async ({ session }) => {
    expect((await session.run({ command: 'exit 255' })).exitCode).toBe(255)
  },
  'run: twenty at once': async ({ session }) => {
    const runs = Array.from({ length: 20 }, (_, n) => session.run({ command: `echo ${n}`, env: { N: `${n}` } }))
    expect((await Promise.all(runs)).map(({ stdout }) => stdout)).toEqual(runs.map((_, n) => `${n}\n`))
  },
  'run: a signal that was aborted before rejects with its reason, and nothing is run': async (subject) => {
    const reason = new Error('before')
    await rejectsWith(subject.session.run({ command: 'touch ran', abortSignal: AbortSignal.abort(reason) }), reason)
    expect(await printed(subject, 'ls')).not.toContain('ran')
  },
  'run: an abort rejects with the reason while the command runs': async ({ session }) => {
    const [controller, reason] = [new AbortController(), new Error('enough')]
    const work = session.run({ command: 'sleep 5', abortSignal: controller.signal })
    setTimeout(() => controller.abort(reason), 100)
    const began = performance.now()
    await rejectsWith(work, reason)
    expect(performance.now() - began).toBeLessThan(3_000)
  },
  'run: an abort kills the command': async (subject) => {
    const controller = new AbortController()
    const work = subject.session.run({ command: 'touch began; sleep 1; touch late', abortSignal: controller.signal })
    setTimeout(() => controller.abort(), 300)
    await expect(work).rejects.toMatchObject({ name: 'AbortError' })
    await pause(1_200)
    expect(await printed(subject, 'ls')).toMatch(/^(?!.*late)/su)
  },
}

import { setTimeout as pause } from 'node:timers/promises'
import { expect } from 'vitest'
import { allBytes, bytesOf, collect, collectText, type Promises, printed, rejectsWith, until } from './promise.ts'

export const promisesOfSpawn: Promises = {
  'spawn: gives the process while it runs': async ({ session }) => {
    const began = performance.now()
    const process = await session.spawn({ command: 'sleep 3' })
    expect(performance.now() - began).toBeLessThan(2_000)
    await process.kill()
  },
  'spawn: stdout comes while the process runs': async ({ session }) => {
    const process = await session.spawn({ command: 'echo early; sleep 3; echo late' })
    const began = performance.now()
    expect(await until(process.stdout.getReader(), 'early')).toBe('early\n')
    expect(performance.now() - began).toBeLessThan(2_000)
    await process.kill()
  },
  'spawn: stdout and stderr are apart': async ({ session }) => {
    const process = await session.spawn({ command: 'echo out; echo err >&2' })
    expect(await Promise.all([collectText(process.stdout), collectText(process.stderr)])).toEqual(['out\n', 'err\n'])
  },
  'spawn: output is bytes as they are': async ({ session }) => {
    await session.writeBinaryFile({ path: 'bytes', content: allBytes })
    const process = await session.spawn({ command: 'cat bytes' })
    expect(await collect(process.stdout)).toEqual(allBytes)
  },
  'spawn: 10 MB of output are whole': async ({ session }) => {
    const process = await session.spawn({ command: "head -c 10000000 /dev/zero | tr '\\0' x" })
    expect((await collect(process.stdout)).length).toBe(10_000_000)
    expect(await process.wait()).toEqual({ exitCode: 0 })
  },
  'spawn: wait gives the exit code': async ({ session }) => {
    const process = await session.spawn({ command: 'exit 7' })
    expect(await process.wait()).toEqual({ exitCode: 7 })
  },
  'spawn: wait can be called again, and after the end': async ({ session }) => {
    const process = await session.spawn({ command: 'exit 2' })
    expect(await Promise.all([process.wait(), process.wait()])).toEqual([{ exitCode: 2 }, { exitCode: 2 }])
    expect(await process.wait()).toEqual({ exitCode: 2 })
  },
  'spawn: output can be read after the end': async ({ session }) => {
    const process = await session.spawn({ command: 'echo kept' })
    await process.wait()
    expect(await collectText(process.stdout)).toBe('kept\n')
  },
  'spawn: kill ends the process': async ({ session }) => {
    const process = await session.spawn({ command: 'sleep 20' })
    const began = performance.now()
    await process.kill()
    expect((await process.wait()).exitCode).not.toBe(0)
    expect(performance.now() - began).toBeLessThan(3_000)
  },
  'spawn: kill is idempotent': async ({ session }) => {
    const process = await session.spawn({ command: 'sleep 20' })
    await Promise.all([process.kill(), process.kill()])
    await process.kill()
    const ended = await session.spawn({ command: 'true' })
    await ended.wait()
    await ended.kill()
  },
  'spawn: a process that ignores signals is killed': async ({ session }) => {
    const process = await session.spawn({ command: "trap '' TERM INT HUP; echo ready; while true; do sleep 0.1; done" })
    await until(process.stdout.getReader(), 'ready')
    await process.kill()
    expect((await process.wait()).exitCode).not.toBe(0)
  },
  'spawn: the streams end with the process': async ({ session }) => {
    const process = await session.spawn({ command: 'sleep 20' })
    const reader = process.stdout.getReader()
    const next = reader.read()
    await process.kill()
    expect((await next).done).toBe(true)
  },
  'spawn: a signal that was aborted before rejects with its reason, and nothing is run': async (subject) => {
    const reason = new Error('before')
    await rejectsWith(subject.session.spawn({ command: 'touch ran', abortSignal: AbortSignal.abort(reason) }), reason)
    expect(await printed(subject, 'ls')).not.toContain('ran')
  },
  'spawn: after an abort wait rejects with the reason': async ({ session }) => {
    const [controller, reason] = [new AbortController(), new Error('enough')]
    const process = await session.spawn({ command: 'sleep 20', abortSignal: controller.signal })
    setTimeout(() => controller.abort(reason), 50)
    await rejectsWith(process.wait(), reason)
    await rejectsWith(process.wait(), reason)
  },
  'spawn: an abort kills the process': async (subject) => {
    const controller = new AbortController()
    const process = await subject.session.spawn({ command: 'echo began; sleep 1; touch late', abortSignal: controller.signal })
    await until(process.stdout.getReader(), 'began')
    controller.abort()
    await pause(1_300)
    expect(await printed(subject, 'ls')).not.toContain('late')
  },
  'spawn: without stdin the input is at its end, and the handle has none': async ({ session }) => {
    const process = await session.spawn({ command: 'cat; echo end' })
    expect(await collectText(process.stdout)).toBe('end\n')
    expect('stdin' in process).toBe(false)
    expect('stdin' in (await session.spawn({ command: 'true', stdin: false }))).toBe(false)
  },
  'spawn: what is written to stdin reaches the process at once': async ({ session }) => {
    const process = await session.spawn({ command: 'cat', stdin: true })
    const [writer, reader] = [process.stdin.getWriter(), process.stdout.getReader()]
    await writer.write(bytesOf('one\n'))
    expect(await until(reader, 'one\n')).toBe('one\n')
    await writer.write(bytesOf('two\n'))
    expect(await until(reader, 'two\n')).toBe('two\n')
    await process.kill()
  },
  'spawn: closing stdin is the end of the input, and ends nothing else': async ({ session }) => {
    const process = await session.spawn({ command: 'cat; echo after; exit 4', stdin: true })
    const writer = process.stdin.getWriter()
    await writer.write(bytesOf('in\n'))
    await writer.close()
    expect(await collectText(process.stdout)).toBe('in\nafter\n')
    expect(await process.wait()).toEqual({ exitCode: 4 })
  },
  'spawn: pending writes arrive before the end of the input': async ({ session }) => {
    const process = await session.spawn({ command: 'wc -c', stdin: true })
    const writer = process.stdin.getWriter()
    const part = new Uint8Array(500_000).fill(120)
    const writes = [writer.write(part), writer.write(part), writer.write(part), writer.close()]
    expect((await collectText(process.stdout)).trim()).toBe('1500000')
    await Promise.all(writes)
  },
  'spawn: input is bytes as they are': async ({ session }) => {
    const process = await session.spawn({ command: 'cat', stdin: true })
    const writer = process.stdin.getWriter()
    await writer.write(allBytes)
    await writer.close()
    expect(await collect(process.stdout)).toEqual(allBytes)
  },
  'spawn: a writer is held back while the process does not read': async ({ session }) => {
    const process = await session.spawn({ command: 'sleep 20', stdin: true })
    const writer = process.stdin.getWriter()
    let written = 0
    const writing = (async () => {
      for (let n = 0; n < 100; n += 1) {
        await writer.write(new Uint8Array(100_000))
        written += 100_000
      }
    })().catch(() => undefined)
    await pause(500)
    expect(written).toBeLessThan(2_000_000)
    await process.kill()
    await writing
  },
  'spawn: env and workingDirectory': async ({ session, base }) => {
    await session.run({ command: 'mkdir -p sub' })
    const process = await session.spawn({ command: 'pwd; echo "$WORD"', workingDirectory: 'sub', env: { WORD: 'it is' } })
    expect(await collectText(process.stdout)).toBe(`${base}/sub\nit is\n`)
  },
  'spawn: files of a process are there for the methods': async ({ session }) => {
    const process = await session.spawn({ command: 'echo made > made' })
    await process.wait()
    expect(await session.readTextFile({ path: 'made' })).toBe('made\n')
  },
  'spawn: several processes at once': async ({ session }) => {
    const all = await Promise.all(Array.from({ length: 8 }, (_, n) => session.spawn({ command: `echo ${n}; exit ${n}` })))
    expect(await Promise.all(all.map((process) => collectText(process.stdout)))).toEqual(all.map((_, n) => `${n}\n`))
    expect(await Promise.all(all.map((process) => process.wait()))).toEqual(all.map((_, exitCode) => ({ exitCode })))
  },
}

import { setTimeout as pause } from 'node:timers/promises'
import { type Attack, commandLine } from './attacks/attack.ts'
import type { Host } from './stage/host.ts'
import { type How, Scene } from './stage/scene.ts'

/** What came of an attack. */
export interface Attempt {
  /** Whether it had its effect. */
  happened: boolean
  /** Whether it was begun: a command that was not run proves nothing. */
  tried: boolean
  /** All that is known, for whoever reads the failure. */
  account: string
}

/** Makes an attack, in a scene of its own. */
export async function attempt(host: Host, attack: Attack, how: How): Promise<Attempt> {
  const scene = await Scene.make(host, how, attack.ownRoot === true, attack.sandbox)
  try {
    const fixture = await attack.stage(scene)
    const { killAfterMs, inheritInput } = fixture
    const ended = await scene.run(commandLine(fixture, how, scene.attackProgram), {
      ...(killAfterMs !== undefined && { killAfterMs }),
      ...(inheritInput !== undefined && how === 'plain' && { inheritInput }),
    })
    const { output } = ended
    let happened = await fixture.happened(output)
    // What was sent may still be on its way: it is waited for longer where it should come.
    for (const waits = how === 'plain' && !output.includes('refused') ? [5, 20, 100, 300] : [20]; !happened && waits.length > 0;) {
      await pause(waits.shift())
      happened = await fixture.happened(output)
    }
    const account = [output.trim(), `ended with ${ended.how}`, ended.code, ended.message].filter(Boolean).join('\n')
    return { happened, tried: output.includes('trying'), account }
  } finally {
    await scene.end()
  }
}

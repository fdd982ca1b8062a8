// Our session is the AI SDK's, of the version that is installed and of the one that the harnesses pin. The compiler is the
// test: `npm run check`.
import type { HarnessV1NetworkSandboxSession, HarnessV1SandboxProvider } from '@ai-sdk/harness'
import type { Experimental_SandboxProcess, Experimental_SandboxSession } from 'ai'
import {
  createNetworkSandboxSession,
  createSandboxProvider,
  createSandboxSession,
  type SandboxProcess,
  type SandboxSession,
} from 'toolwright/sandbox'

const session = createSandboxSession({ rootDir: '.' })

/** What the agents of harnesses hand to tools. */
type PinnedSession = ReturnType<HarnessV1NetworkSandboxSession['restricted']>

export const installed = session satisfies Experimental_SandboxSession
export const pinned = session satisfies PinnedSession
export const network = createNetworkSandboxSession({ rootDir: '.' }) satisfies HarnessV1NetworkSandboxSession
export const provider = createSandboxProvider({ rootDir: '.' }) satisfies HarnessV1SandboxProvider
/** A session of another implementation can be passed to what takes ours. */
export const back = (other: Experimental_SandboxSession): Pick<SandboxSession, 'description'> => other
export const process = (one: SandboxProcess): Experimental_SandboxProcess => one

export async function streams(): Promise<[WritableStream<Uint8Array>, ReadableStream<Uint8Array>]> {
  const { stdin, stdout } = await session.spawn({ command: 'cat', stdin: true })
  return [stdin, stdout]
}

// @ts-expect-error -- without stdin there is none
export const none = async () => (await session.spawn({ command: 'cat' })).stdin
// @ts-expect-error -- it needs a directory
export const nowhere = () => createSandboxSession({})

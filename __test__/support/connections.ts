import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { onTestFinished } from 'vitest'
import type { HostConnection } from '../../index.js'

/** The connections of the calls that a test makes from here on. */
export function noteConnections(): HostConnection[] {
  const all: HostConnection[] = []
  const listen = (message: unknown): void => void all.push(...((message as { connections?: HostConnection[] }).connections ?? []))
  for (const name of ['asyncEnd', 'error']) {
    subscribe(`tracing:toolwright:call:${name}`, listen)
    onTestFinished(() => void unsubscribe(`tracing:toolwright:call:${name}`, listen))
  }
  return all
}

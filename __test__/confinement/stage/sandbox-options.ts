import * as toolwright from 'toolwright'

/** What the suites ask of the sandbox: the `sandbox` option of `createTools`. */
export interface SandboxOptions {
  files?: 'root' | 'full'
  readScope?: 'all' | 'system'
  writableRoots?: string[]
  readable?: string[]
  denyRead?: string[]
  denyWrite?: string[]
  git?: 'forked' | 'strict'
  network?: { allow: string[]; addresses?: Record<string, string>; tlsNames?: boolean }
  loopback?: 'private' | 'none' | 'host'
  isolation?: 'shared' | 'call'
  required?: boolean
  limits?: { processes?: number; memoryBytes?: number; cpuSeconds?: number; fileSizeBytes?: number }
}

/** Whether this build confines commands. */
export const isConfining = 'sandboxReport' in toolwright

/** What `sandboxReport` gives, as plain data. */
export async function sandboxReport(options?: object): Promise<unknown> {
  if (!isConfining) return undefined
  const { sandboxReport } = toolwright as unknown as { sandboxReport(options?: object): Promise<unknown> }
  return sandboxReport(options)
}

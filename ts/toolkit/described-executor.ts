/**
 * Facts about a function that does the work of another package's tool, such as `openai.tools.shell({ execute })`. The tool is
 * that package's object, and only its `execute` is ours.
 */
import { type DefinedToolMetadata, getDefinedToolMetadata, metadataKey } from './define-tool.js'

interface ExecutorMetadata extends DefinedToolMetadata {
  /** Whether a call with this input changes nothing. */
  onlyLooks?: ((input: unknown) => boolean) | undefined
}

/** The same function, with metadata. */
export function describedExecutor<F extends (...args: never[]) => unknown>(
  name: string,
  execute: F,
  onlyLooks?: (input: unknown) => boolean,
): F {
  const metadata: ExecutorMetadata = {
    name,
    sideEffect: true,
    idempotent: false,
    acceptsIdempotencyKey: false,
    hasRevert: false,
    ...(onlyLooks && { onlyLooks }),
  }
  return Object.defineProperty(execute, metadataKey, { value: metadata })
}

/** Whether a call of a tool has a side effect, and can safely be repeated; `null` for an unknown tool. */
export function effectOf(tool: unknown, input: unknown): Pick<DefinedToolMetadata, 'sideEffect' | 'idempotent'> | null {
  const own = getDefinedToolMetadata(tool)
  if (own !== null) return own
  const metadata: ExecutorMetadata | null = getDefinedToolMetadata((tool as { execute?: unknown } | null | undefined)?.execute)
  if (metadata?.onlyLooks?.(input) === true) return { sideEffect: false, idempotent: true }
  return metadata
}

/** Whether a command of an editor or a memory only reads. */
export const isView = (input: unknown): boolean => (input as { command?: unknown } | null | undefined)?.command === 'view'

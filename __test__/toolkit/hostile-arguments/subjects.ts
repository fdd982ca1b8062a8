import { readFileSync } from 'node:fs'

/** A function of an entry point, or a method of what one gives. */
export interface Subject {
  name: string
  /** How many parameters it needs at least. */
  needs: number
  call(args: readonly unknown[]): unknown
}

type Callable = (...args: unknown[]) => unknown

const { exports } = JSON.parse(readFileSync(new URL('../../../package.json', import.meta.url), 'utf8')) as { exports: object }

/** Every function of every entry point, and every tool, each once: a new one is among them by itself. */
export async function exportedSubjects(): Promise<Subject[]> {
  const subjects = new Map<unknown, Subject>()
  for (const entry of Object.keys(exports).filter((name) => !name.endsWith('.json'))) {
    const module = (await import(`toolwright${entry.slice(1)}`)) as Record<string, unknown>
    for (const [name, value] of Object.entries(module)) {
      for (const subject of subjectsIn(`${entry === '.' ? '' : entry.slice(2)}#${name}`.replace(/^#/u, ''), value)) {
        if (!subjects.has(subject.key)) subjects.set(subject.key, subject)
      }
    }
  }
  return [...subjects.values()]
}

function subjectsIn(name: string, value: unknown): (Subject & { key: unknown })[] {
  if (typeof value === 'function') {
    const isClass = /^class\b/u.test(Function.prototype.toString.call(value))
    const call = (args: readonly unknown[]): unknown =>
      isClass ? Reflect.construct(value, args) : Reflect.apply(value as Callable, undefined, args)
    return [{ key: value, name, needs: value.length, call }]
  }
  if (typeof value !== 'object' || value === null) return []
  const { execute } = value as { execute?: unknown }
  if (typeof execute === 'function')
    return [{ key: execute, name: `${name}.execute`, needs: 1, call: (args) => Reflect.apply(execute as Callable, value, args) }]
  return Object.entries(value).flatMap(([key, one]) => subjectsIn(`${name}.${(one as { id?: string } | null)?.id ?? key}`, one))
}

/** Every method of an object, those of its class included; but for those that end it. */
export function methodsOf(name: string, object: object): Subject[] {
  const methods = new Map<string, Callable>()
  for (let at: object | null = object; at !== null && at !== Object.prototype; at = Object.getPrototypeOf(at) as object | null) {
    for (const [key, { value }] of Object.entries(Object.getOwnPropertyDescriptors(at))) {
      if (typeof value === 'function' && !['constructor', 'close', 'stop', 'destroy'].includes(key) && !methods.has(key))
        methods.set(key, value as Callable)
    }
  }
  return [...methods].map(([key, method]) => ({
    name: `${name}.${key}`,
    needs: method.length,
    call: (args) => Reflect.apply(method, object, args),
  }))
}

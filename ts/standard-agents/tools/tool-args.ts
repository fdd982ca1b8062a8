import type { z } from 'zod/v4'

/** How many levels may nest below a node. */
type Levels = 0 | 1 | 2 | 3 | 4 | 5 | 6 | 7

/** One level less. */
type Below = [never, 0, 1, 2, 3, 4, 5, 6]

/** A schema by its Zod type, so that formats and refinements (`z.email()`, `z.int()`) count as what they refine. */
type Kind<DEF> = z.core.$ZodType & { _zod: { def: DEF } }

type Plain = { type: 'string' | 'number' | 'boolean' | 'null' | 'enum' } | { type: 'literal'; values: (string | number | boolean | null)[] }

type Wrapping = 'optional' | 'nullable' | 'default'

/**
 * A schema that an argument of a tool may have: strings, numbers, booleans, null, literals, enums;
 * optional, nullable and default of these; arrays, objects, records with string keys and unions, nested up to
 * seven levels. Wrappers add no level.
 *
 * @typeParam LEVELS how many levels may nest in it
 */
export type ToolArgsNode<LEVELS extends Levels = 7> =
  | Kind<Plain>
  | Kind<{ type: Wrapping; innerType: ToolArgsNode<LEVELS> }>
  | (LEVELS extends 0
      ? never
      : | Kind<{ type: 'array'; element: ToolArgsNode<Below[LEVELS]> }>
        | Kind<{ type: 'object'; shape: { readonly [field: string]: ToolArgsNode<Below[LEVELS]> } }>
        | Kind<{ type: 'record'; keyType: Kind<{ type: 'string' }>; valueType: ToolArgsNode<Below[LEVELS]> }>
        | Kind<{ type: 'union'; options: readonly ToolArgsNode<Below[LEVELS]>[] }>)

/** The arguments of a tool: a Zod 4 object. */
export type ToolArgs = z.ZodObject<Record<string, ToolArgsNode>>

/** The thread environment variables that a tool needs: a Zod 4 object. */
export type ToolTenvs = z.ZodObject<Record<string, ToolArgsNode>>

/**
 * The same as {@link ToolArgsNode}, computed instead of compared: TypeScript stops comparing after a few levels
 * and accepts anything deeper.
 */
type Fits<NODE, LEVELS extends Levels> = NODE extends { _zod: { def: infer DEF } }
  ? DEF extends Plain
    ? true
    : DEF extends { type: Wrapping; innerType: infer INNER }
      ? Fits<INNER, LEVELS>
      : LEVELS extends 0
        ? false
        : DEF extends { type: 'array'; element: infer ELEMENT }
          ? Fits<ELEMENT, Below[LEVELS]>
          : DEF extends { type: 'object'; shape: infer SHAPE }
            ? AllFit<SHAPE, Below[LEVELS]>
            : DEF extends { type: 'record'; keyType: Kind<{ type: 'string' }>; valueType: infer VALUE }
              ? Fits<VALUE, Below[LEVELS]>
              : DEF extends { type: 'union'; options: infer OPTIONS extends readonly unknown[] }
                ? Fits<OPTIONS[number], Below[LEVELS]>
                : false
  : false

/** Whether every field does: `false` or `boolean` when one does not. Fields without names are not known. */
type AllFit<SHAPE, LEVELS extends Levels> = string extends keyof SHAPE
  ? true
  : keyof SHAPE extends never
    ? true
    : { [FIELD in keyof SHAPE]: Fits<SHAPE[FIELD], LEVELS> }[keyof SHAPE]

/** `unknown` for an object whose fields are all supported, seven levels deep; an error that says so otherwise. */
export type Checked<FIELD extends 'args' | 'tenvs', SCHEMA> = SCHEMA extends { shape: infer SHAPE }
  ? [AllFit<SHAPE, 7>] extends [true]
    ? unknown
    : { [KEY in FIELD]: 'A type that is not supported, or more than seven levels' }
  : unknown

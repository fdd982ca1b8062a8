export declare const FLOOR: readonly [number, number]
export declare function neededGlibc(library: Buffer): [number, number] | undefined
export declare function glibcProblem(library: Buffer): string | undefined

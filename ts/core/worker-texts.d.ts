/**
 * The programs of threads, each a CommonJS script that needs nothing beside it. The build writes them
 * (`scripts/setup/workers.mjs`), and no file of `ts/` holds them.
 */

/** `ts/contract/web/markdown-worker.ts`. */
export declare const markdownWorker: string
/** `ts/contract/call/argument-checks/check-worker.ts`. */
export declare const checkWorker: string

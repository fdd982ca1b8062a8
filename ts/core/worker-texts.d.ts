/**
 * The programs of threads, each a self-contained CommonJS script. The build writes them
 * (`scripts/setup/workers.mjs`), and no file of `ts/` holds them.
 */

/**
 * `ts/contract/web/markdown-worker.ts`. Its data is `{ html, url }`; it sends `{ text }`, or `{ problem }` where the page cannot be
 * converted, and ends.
 */
export declare const markdownWorker: string
/**
 * `ts/contract/call/argument-checks/check-worker.ts`. It sends `{ ready }` once it listens, and `{ problems }` for each
 * `{ schema, args }`, until it is ended.
 */
export declare const checkWorker: string

import { existsSync } from 'node:fs'

/** A browser of the system. */
export const chromiumPath = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'].find((path) => existsSync(path))

if (chromiumPath === undefined) console.warn('skipped: tests in a browser: no Chromium is installed (Debian: apt install chromium)')

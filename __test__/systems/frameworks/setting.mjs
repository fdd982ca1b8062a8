// What the test gives a program: where the model answers, the root, and when to abort.
export const { BASE_URL: baseURL = '', ROOT: rootDir = '.', ABORT = '' } = process.env
const controller = new AbortController()
export const signal = controller.signal
if (ABORT !== '') process.once('SIGUSR2', () => controller.abort())
